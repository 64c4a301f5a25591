package kit

import "github.com/etgo-ml/etgo/tensor"

// RowMajor reads and writes spans of a tensor's elements by their row-major
// number, whatever its dim order. It is read-only after Begin, so goroutines may
// share it.
type RowMajor struct {
	t    *tensor.Tensor
	nest Nest
}

// Begin makes r walk t.
func (r *RowMajor) Begin(t *tensor.Tensor) {
	r.t = t
	r.nest.Begin(1)
	for d, size := range t.Shape() {
		r.nest.Dim(size, [MaxOperands]int{t.Strides()[d]})
	}
}

// LoadRowMajor converts len(dst) elements of r's tensor, from number pos on, to
// C; see Load.
func LoadRowMajor[C Number](dst []C, r *RowMajor, pos int) {
	if len(dst) == 0 {
		return
	}
	var c Cursor
	r.nest.Seek(&c, pos)
	for len(dst) > 0 {
		n := r.nest.Run(&c, len(dst))
		LoadStrided(dst[:n], r.t, c.Off[0], r.nest.Stride(0))
		r.nest.Advance(&c, n)
		dst = dst[n:]
	}
}

// StoreRowMajor converts src to the type of r's tensor and stores it from element
// number pos on; see Store.
func StoreRowMajor[C Number](r *RowMajor, pos int, src []C) {
	if len(src) == 0 {
		return
	}
	var c Cursor
	r.nest.Seek(&c, pos)
	for len(src) > 0 {
		n := r.nest.Run(&c, len(src))
		StoreStrided(r.t, c.Off[0], r.nest.Stride(0), src[:n])
		r.nest.Advance(&c, n)
		src = src[n:]
	}
}
