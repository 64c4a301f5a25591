package ukernel

import (
	"sync"

	"github.com/etgo-ml/etgo/internal/cpu"
)

// F32 are the kernels for float32 of a tier.
type F32 struct {
	// MR and NR are the rows and columns of a tile.
	MR, NR int
	// tiles are the kernels for MR rows, and for two and one thirds of them.
	tiles [3]tileFunc
	tier  cpu.Tier
}

type tileFunc func(k int, a, b *float32, ldb int, c *float32, ldc int, accumulate bool)

// ActiveF32 returns the kernels of the active tier, or nil if it has none.
var ActiveF32 = sync.OnceValue(func() *F32 { return ForF32(cpu.Active()) })

// TileRows returns the number of rows of the smallest tile that has m <= MR rows.
func (f *F32) TileRows(m int) int {
	third := f.MR / 3
	return max(1, (m+third-1)/third) * third
}

// Tile computes a tile of a matrix product, or adds it to c:
//
//	c[i*ldc+j] = sum over p < k of a[p*MR+i] * b[p*ldb+j]
//
// for i < rows, which is what TileRows returns, and j < NR. a is packed in panels
// of MR rows.
func (f *F32) Tile(rows, k int, a, b []float32, ldb int, c []float32, ldc int, accumulate bool) {
	_ = c[(rows-1)*ldc+f.NR-1]
	tile := f.tiles[3-rows/(f.MR/3)]
	if k <= 0 {
		tile(0, nil, nil, 0, &c[0], ldc, accumulate)
		return
	}
	_, _ = a[k*f.MR-1], b[(k-1)*ldb+f.NR-1]
	tile(k, &a[0], &b[0], ldb, &c[0], ldc, accumulate)
}

// AddRows adds multiples of rows to y, in their order: y[j] gets the sum over p of
// x[p] * b[p*ldb+j].
func (f *F32) AddRows(y, x, b []float32, ldb int) {
	if len(y) == 0 || len(x) == 0 {
		return
	}
	_ = b[(len(x)-1)*ldb+len(y)-1]
	for len(x) >= 4 {
		f.axpy(len(y), &y[0], &x[0], &b[0], ldb)
		x = x[4:]
		if len(x) > 0 {
			b = b[4*ldb:]
		}
	}
	for p, v := range x {
		f.axpy1(len(y), &y[0], v, &b[p*ldb])
	}
}

// Dots computes y[i] = sum over p of x[p] * b[i*ldb+p].
func (f *F32) Dots(y, x, b []float32, ldb int) {
	if len(x) == 0 || len(y) == 0 {
		clear(y)
		return
	}
	_ = b[(len(y)-1)*ldb+len(x)-1]
	for len(y) >= 4 {
		f.dot(len(x), &x[0], &b[0], ldb, &y[0])
		y = y[4:]
		if len(y) > 0 {
			b = b[4*ldb:]
		}
	}
	for i := range y {
		var same [4]float32
		f.dot(len(x), &x[0], &b[i*ldb], 0, &same[0])
		y[i] = same[0]
	}
}

// Taps computes y[i] = bias + sum over t of w[t] * x[offsets[t]+i*step], for steps
// 1 and 2.
func (f *F32) Taps(y, x []float32, step int, offsets []int, w []float32, bias float32) {
	n := len(y)
	if n == 0 {
		return
	}
	if len(offsets) == 0 {
		for i := range y {
			y[i] = bias
		}
		return
	}
	w = w[:len(offsets)]
	last := (n - 1) * step
	for _, o := range offsets {
		_, _ = x[o], x[o+last]
	}
	f.taps(step, n, &y[0], &x[0], len(offsets), &offsets[0], &w[0], bias)
}

// Interleave packs lanes, of which the k steps are side by side and the beginnings
// ld apart: dst[p*width+i] = src[i*ld+p].
func (f *F32) Interleave(dst []float32, width int, src []float32, ld, lanes, k int) {
	if k <= 0 || lanes <= 0 {
		return
	}
	_, _ = dst[(k-1)*width+lanes-1], src[(lanes-1)*ld+k-1]
	blocks := k &^ 3
	if lanes < 4 || blocks == 0 {
		blocks = 0
	} else {
		for l := 0; l < lanes; {
			if lanes-l >= 8 {
				f.transpose8(blocks, &src[l*ld], ld, &dst[l], width)
				l += 8
				continue
			}
			l = min(l, lanes-4) // again some of the lanes before
			f.transpose4(blocks, &src[l*ld], ld, &dst[l], width)
			l += 4
		}
	}
	for l := range lanes {
		for p := blocks; p < k; p++ {
			dst[p*width+l] = src[l*ld+p]
		}
	}
}
