package kit

import (
	"github.com/etgo-ml/etgo/internal/bulk"
	"github.com/etgo-ml/etgo/tensor"
)

// moveRange copies the elements lo <= i < hi of c's box; T has the size of an
// element.
func moveRange[T any](c *Copy, dst, src []T, lo, hi int) {
	var w walker
	w.start(c, lo, hi)
	for w.next(c) {
		switch {
		case c.tabled:
			moveRows(c, &w.block, dst, src)
		case c.col.dst == 1 && c.col.src == 1:
			moveRuns(c, &w.block, dst, src)
		case c.col.dst == 1 && c.row.src == 1 && w.rows > 1:
			transpose(c, &w.block, dst, src)
		default:
			moveStrided(c, &w.block, dst, src)
		}
	}
}

// shortRun is the length up to which a loop is faster than a call of memmove.
const shortRun = 8

func moveRuns[T any](c *Copy, b *block, dst, src []T) {
	d, s := b.dst, b.src
	size := c.dst.DType().Size()
	for range b.rows {
		to, from := dst[d:d+b.cols], src[s:s+b.cols]
		if len(to) > shortRun {
			bulk.Copy(to, from, size)
		} else {
			for i := range to {
				to[i] = from[i]
			}
		}
		d += c.row.dst
		s += c.row.src
	}
}

func moveStrided[T any](c *Copy, b *block, dst, src []T) {
	row, col := c.row, c.col
	for r := range b.rows {
		d, s := b.dst+r*row.dst, b.src+r*row.src
		switch {
		case col.src == 0 && col.dst == 1:
			fill(dst[d:d+b.cols], src[s])
		case col.dst == 1:
			to := dst[d : d+b.cols]
			for i := range to {
				to[i] = src[s]
				s += col.src
			}
		default:
			for range b.cols {
				dst[d] = src[s]
				d += col.dst
				s += col.src
			}
		}
	}
}

// transposeRows is how many rows of the destination are written together: their
// cache lines stay in the first level while all columns are filled in.
const transposeRows = 16

// transpose copies a block whose columns lie side by side in the destination and
// whose rows do in the source.
func transpose[T any](c *Copy, b *block, dst, src []T) {
	pitch, step := c.row.dst, c.col.src
	for r := 0; r < b.rows; r += transposeRows {
		n := min(transposeRows, b.rows-r)
		d, s := b.dst+r*pitch, b.src+r
		i := 0
		for ; i+8 <= b.cols; i += 8 {
			transpose8(dst[d+i:], src, s+i*step, n, pitch, step)
		}
		for ; i < b.cols; i++ {
			to := d + i
			for _, v := range src[s+i*step:][:n] {
				dst[to] = v
				to += pitch
			}
		}
	}
}

// transpose8 writes n rows, pitch apart, of 8 columns: column i is the n
// elements of src from s+i*step on.
func transpose8[T any](dst, src []T, s, n, pitch, step int) {
	s0 := src[s:][:n]
	s1 := src[s+step:][:n]
	s2 := src[s+2*step:][:n]
	s3 := src[s+3*step:][:n]
	s4 := src[s+4*step:][:n]
	s5 := src[s+5*step:][:n]
	s6 := src[s+6*step:][:n]
	s7 := src[s+7*step:][:n]
	d := 0
	for r := range s0 {
		to := (*[8]T)(dst[d:])
		to[0] = s0[r]
		to[1] = s1[r]
		to[2] = s2[r]
		to[3] = s3[r]
		to[4] = s4[r]
		to[5] = s5[r]
		to[6] = s6[r]
		to[7] = s7[r]
		d += pitch
	}
}

// rowOffsets returns where row r of the block starts.
func (c *Copy) rowOffsets(b *block, r int) (dst, src int) {
	dst, src = b.dst, b.src
	if c.dstTab != nil {
		dst += int(c.dstTab[b.first+r])
	} else {
		dst += r * c.row.dst
	}
	if c.srcTab != nil {
		src += int(c.srcTab[b.first+r])
	} else {
		src += r * c.row.src
	}
	return dst, src
}

// moveRows copies a block of a copy with tables.
func moveRows[T any](c *Copy, b *block, dst, src []T) {
	if b.cols == 1 && c.dstTab == nil && c.srcTab != nil {
		d := b.dst
		for _, off := range c.srcTab[b.first:][:b.rows] {
			dst[d] = src[b.src+int(off)]
			d += c.row.dst
		}
		return
	}
	for r := range b.rows {
		d, s := c.rowOffsets(b, r)
		switch {
		case b.cols == 1:
			dst[d] = src[s]
		case c.col.src == 1 && c.col.dst == 1:
			copy(dst[d:d+b.cols], src[s:s+b.cols])
		default:
			for range b.cols {
				dst[d] = src[s]
				d += c.col.dst
				s += c.col.src
			}
		}
	}
}

// convert copies the elements lo <= i < hi of the box between two types.
func (c *Copy) convert(lo, hi int) {
	var w walker
	w.start(c, lo, hi)
	for w.next(c) {
		for r := range w.rows {
			d, s := c.rowOffsets(&w.block, r)
			convertSpan(c.dst, d, c.col.dst, c.src, s, c.col.src, w.cols)
		}
	}
}

// convertSpan converts n elements of src from srcOff on, srcStride apart, to
// dst's type and stores them from dstOff on, dstStride apart: dst[i] =
// static_cast<dst type>(src[i]). The imaginary part of a complex number is lost
// in a real one.
func convertSpan(dst *tensor.Tensor, dstOff, dstStride int, src *tensor.Tensor, srcOff, srcStride, n int) {
	if dst.DType().IsComplex() && src.DType().IsComplex() {
		for i := range n {
			storeComplex(dst, dstOff+i*dstStride, loadComplex(src, srcOff+i*srcStride))
		}
		return
	}
	if dstStride == 1 {
		// The common types need no second buffer.
		switch dst.DType() {
		case tensor.F32:
			LoadStrided(tensor.Raw[float32](dst)[dstOff:dstOff+n], src, srcOff, srcStride)
			return
		case tensor.F64:
			LoadStrided(tensor.Raw[float64](dst)[dstOff:dstOff+n], src, srcOff, srcStride)
			return
		case tensor.I64:
			LoadStrided(tensor.Raw[int64](dst)[dstOff:dstOff+n], src, srcOff, srcStride)
			return
		case tensor.I32:
			LoadStrided(tensor.Raw[int32](dst)[dstOff:dstOff+n], src, srcOff, srcStride)
			return
		}
	}
	// The intermediate type holds every value of the source's.
	switch src.DType() {
	case tensor.F32, tensor.F16, tensor.BF16, tensor.C64, tensor.C32:
		convertVia[float32](dst, dstOff, dstStride, src, srcOff, srcStride, n)
	case tensor.F64, tensor.C128:
		convertVia[float64](dst, dstOff, dstStride, src, srcOff, srcStride, n)
	case tensor.U64:
		convertVia[uint64](dst, dstOff, dstStride, src, srcOff, srcStride, n)
	default:
		convertVia[int64](dst, dstOff, dstStride, src, srcOff, srcStride, n)
	}
}

func convertVia[C Number](dst *tensor.Tensor, dstOff, dstStride int, src *tensor.Tensor, srcOff, srcStride, n int) {
	var buf [256]C
	for n > 0 {
		span := buf[:min(n, len(buf))]
		LoadStrided(span, src, srcOff, srcStride)
		StoreStrided(dst, dstOff, dstStride, span)
		srcOff += len(span) * srcStride
		dstOff += len(span) * dstStride
		n -= len(span)
	}
}

func loadComplex(t *tensor.Tensor, off int) complex128 {
	switch t.DType() {
	case tensor.C32:
		v := tensor.Raw[tensor.Complex32](t)[off]
		return complex(float64(v.Real.Float32()), float64(v.Imag.Float32()))
	case tensor.C64:
		return complex128(tensor.Raw[complex64](t)[off])
	}
	return tensor.Raw[complex128](t)[off]
}

func storeComplex(t *tensor.Tensor, off int, v complex128) {
	switch t.DType() {
	case tensor.C32:
		tensor.Raw[tensor.Complex32](t)[off] = tensor.Complex32{
			Real: tensor.ToFloat16(float32(real(v))),
			Imag: tensor.ToFloat16(float32(imag(v))),
		}
	case tensor.C64:
		tensor.Raw[complex64](t)[off] = complex64(v)
	default:
		tensor.Raw[complex128](t)[off] = v
	}
}

// accumulate adds the elements lo <= i < hi of the box to the destination.
func (c *Copy) accumulate(lo, hi int) {
	var w walker
	w.start(c, lo, hi)
	var to, from [256]int
	for w.next(c) {
		for r := range w.rows {
			d, s := c.rowOffsets(&w.block, r)
			for i := 0; i < w.cols; i += len(to) {
				n := min(w.cols-i, len(to))
				for k := range n {
					to[k] = d + (i+k)*c.col.dst
					from[k] = s + (i+k)*c.col.src
				}
				AddAt(c.dst, to[:n], c.src, from[:n])
			}
		}
	}
}

// MoveAt sets dst[to[i]] = src[from[i]] for each i in order. Both tensors have
// one type and the offsets are inside them.
func MoveAt(dst *tensor.Tensor, to []int, src *tensor.Tensor, from []int) {
	switch dtype := dst.DType(); {
	case dtype == tensor.C32:
		moveAt(tensor.Raw[tensor.Complex32](dst), to, tensor.Raw[tensor.Complex32](src), from)
	case dtype == tensor.C64:
		moveAt(tensor.Raw[complex64](dst), to, tensor.Raw[complex64](src), from)
	case dtype == tensor.C128:
		moveAt(tensor.Raw[complex128](dst), to, tensor.Raw[complex128](src), from)
	case dtype.Size() == 1:
		moveAt(dst.Bytes(), to, src.Bytes(), from)
	case dtype.Size() == 2:
		moveAt(words[uint16](dst), to, words[uint16](src), from)
	case dtype.Size() == 4:
		moveAt(words[uint32](dst), to, words[uint32](src), from)
	case dtype.Size() == 8:
		moveAt(words[uint64](dst), to, words[uint64](src), from)
	}
}

func moveAt[T any](dst []T, to []int, src []T, from []int) {
	from = from[:len(to)]
	for i, d := range to {
		dst[d] = src[from[i]]
	}
}

// AddAt adds src[from[i]] to dst[to[i]] for each i in order. Both tensors have
// one type and the offsets are inside them. Integers wrap, bools are or-ed,
// halves are added as float32 and rounded each time.
func AddAt(dst *tensor.Tensor, to []int, src *tensor.Tensor, from []int) {
	switch dst.DType() {
	case tensor.F32:
		addAt(tensor.Raw[float32](dst), to, tensor.Raw[float32](src), from)
	case tensor.F64:
		addAt(tensor.Raw[float64](dst), to, tensor.Raw[float64](src), from)
	case tensor.I8, tensor.U8:
		addAt(dst.Bytes(), to, src.Bytes(), from)
	case tensor.I16, tensor.U16:
		addAt(words[uint16](dst), to, words[uint16](src), from)
	case tensor.I32, tensor.U32:
		addAt(words[uint32](dst), to, words[uint32](src), from)
	case tensor.I64, tensor.U64:
		addAt(words[uint64](dst), to, words[uint64](src), from)
	case tensor.F16:
		d, s := tensor.Raw[tensor.Float16](dst), tensor.Raw[tensor.Float16](src)
		for i, k := range to {
			d[k] = tensor.ToFloat16(d[k].Float32() + s[from[i]].Float32())
		}
	case tensor.BF16:
		d, s := tensor.Raw[tensor.BFloat16](dst), tensor.Raw[tensor.BFloat16](src)
		for i, k := range to {
			d[k] = tensor.ToBFloat16(d[k].Float32() + s[from[i]].Float32())
		}
	case tensor.Bool:
		d, s := dst.Bytes(), src.Bytes()
		for i, k := range to {
			if d[k]|s[from[i]] != 0 {
				d[k] = 1
			}
		}
	case tensor.C32, tensor.C64, tensor.C128:
		for i, k := range to {
			storeComplex(dst, k, loadComplex(dst, k)+loadComplex(src, from[i]))
		}
	}
}

func addAt[T Number](dst []T, to []int, src []T, from []int) {
	from = from[:len(to)]
	for i, d := range to {
		dst[d] += src[from[i]]
	}
}
