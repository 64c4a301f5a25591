//go:build unix

package ukernel

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/cpu"
)

// onTiers runs a test on each tier that has kernels, with operands at either end
// of guarded memory. Operands are small integers, so that sums are exact in every
// order.
func onTiers(t *testing.T, test func(t *testing.T, f *F32, slice func(i, n int) []float32)) {
	var mem [4]*guarded
	for i := range mem {
		mem[i] = newGuarded(t, 16<<10)
	}
	for _, tier := range cpu.Tiers() {
		f := ForF32(tier)
		if f == nil {
			continue
		}
		for _, last := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/last=%v", tier, last), func(t *testing.T) {
				test(t, f, func(i, n int) []float32 { return mem[i].slice(n, last) })
			})
		}
	}
}

func TestTile(t *testing.T) {
	onTiers(t, func(t *testing.T, f *F32, slice func(i, n int) []float32) {
		for m := 1; m <= f.MR; m++ {
			rows := f.TileRows(m)
			for k := range 71 {
				for _, more := range []int{0, 5} {
					ldb, ldc := f.NR+more, f.NR+2*more
					a, b := slice(0, k*f.MR), slice(1, max(0, (k-1)*ldb+f.NR))
					c := slice(2, (rows-1)*ldc+f.NR)
					want := slices.Clone(c)
					for _, accumulate := range []bool{true, false} {
						gemmF32Generic(rows, f.MR, f.NR, k, a, b, ldb, want, ldc, accumulate)
						f.Tile(rows, k, a, b, ldb, c, ldc, accumulate)
						require.Equal(t, want, c, "%d rows, k %d, %d more, accumulate: %v", rows, k, more, accumulate)
					}
				}
			}
		}
	})
}

func TestTileRows(t *testing.T) {
	for _, f := range []F32{{MR: 12}, {MR: 6}} {
		for m := 1; m <= f.MR; m++ {
			rows := f.TileRows(m)
			require.GreaterOrEqual(t, rows, m)
			require.Less(t, rows-m, f.MR/3)
			require.Zero(t, rows%(f.MR/3))
		}
	}
}

func TestAddRows(t *testing.T) {
	onTiers(t, func(t *testing.T, f *F32, slice func(i, n int) []float32) {
		for n := range 150 {
			for rows := range 10 {
				ldb := n + rows%3
				y, x, b := slice(0, n), slice(1, rows), slice(2, max(0, (rows-1)*ldb+n))
				want := slices.Clone(y)
				axpyF32Generic(want, x, b, ldb)
				f.AddRows(y, x, b, ldb)
				require.Equal(t, want, y, "n %d, %d rows", n, rows)
			}
		}
	})
}

func TestDots(t *testing.T) {
	onTiers(t, func(t *testing.T, f *F32, slice func(i, n int) []float32) {
		for k := range 150 {
			for n := range 10 {
				ldb := k + n%3
				y, x, b := slice(0, n), slice(1, k), slice(2, max(0, (n-1)*ldb+k))
				want := make([]float32, n)
				dotF32Generic(want, x, b, ldb)
				f.Dots(y, x, b, ldb)
				require.Equal(t, want, y, "k %d, n %d", k, n)
			}
		}
	})
}

// TestDotsPlace wants the same bits for a lane wherever it is.
func TestDotsPlace(t *testing.T) {
	onTiers(t, func(t *testing.T, f *F32, slice func(i, n int) []float32) {
		x, lane, b := slice(1, 77), slice(2, 77), slice(3, 77*7)
		for i := range x {
			x[i] *= 0.1
			lane[i] *= 0.3
		}
		y := make([]float32, 7)
		for i := range 7 {
			copy(b[i*77:], lane)
		}
		f.Dots(y, x, b, 77)
		for _, v := range y {
			require.Equal(t, y[0], v)
		}
	})
}

func TestTaps(t *testing.T) {
	onTiers(t, func(t *testing.T, f *F32, slice func(i, n int) []float32) {
		for n := range 150 {
			for _, offsets := range [][]int{{}, {0}, {0, 1, 2, 20, 21, 22}, {7, 3, 0}} {
				for step := 1; step <= 2; step++ {
					size := 0
					for _, o := range offsets {
						size = max(size, o+(n-1)*step+1)
					}
					y, x, w := slice(0, n), slice(1, size), slice(2, len(offsets))
					want := make([]float32, n)
					tapsF32Generic(want, x, step, offsets, w, 3)
					f.Taps(y, x, step, offsets, w, 3)
					require.Equal(t, want, y, "n %d, offsets %v, step %d", n, offsets, step)
				}
			}
		}
	})
}

func TestInterleave(t *testing.T) {
	onTiers(t, func(t *testing.T, f *F32, slice func(i, n int) []float32) {
		for lanes := range 33 {
			for _, k := range []int{0, 1, 3, 4, 5, 8, 11, 20, 31} {
				for _, width := range []int{lanes, lanes + 3} {
					ld := k + lanes%3
					src, dst := slice(0, max(0, (lanes-1)*ld+k)), slice(1, max(0, (k-1)*width+lanes))
					want := slices.Clone(dst)
					transposeF32Generic(want, width, src, ld, lanes, k)
					f.Interleave(dst, width, src, ld, lanes, k)
					require.Equal(t, want, dst, "%d lanes of %d, k %d", lanes, width, k)
				}
			}
		}
	})
}

// TestBounds wants a panic where a slice is too short.
func TestBounds(t *testing.T) {
	onTiers(t, func(t *testing.T, f *F32, slice func(i, n int) []float32) {
		a, b, c := slice(0, 3*f.MR), slice(1, 3*f.NR), slice(2, f.MR*f.NR)
		cut := func(s []float32) []float32 { return s[: len(s)-1 : len(s)-1] }
		require.Panics(t, func() { f.Tile(f.MR, 3, cut(a), b, f.NR, c, f.NR, false) })
		require.Panics(t, func() { f.Tile(f.MR, 3, a, cut(b), f.NR, c, f.NR, false) })
		require.Panics(t, func() { f.Tile(f.MR, 3, a, b, f.NR, cut(c), f.NR, false) })
		require.Panics(t, func() { f.AddRows(c[:4], a[:3], b[:11], 4) })
		require.Panics(t, func() { f.Dots(c[:3], a[:4], b[:11], 4) })
		require.Panics(t, func() { f.Taps(c[:4], a[:5:5], 1, []int{0, 2}, b[:2], 0) })
		require.Panics(t, func() { f.Taps(c[:4], a[:7:7], 2, []int{1}, b[:1], 0) })
		require.Panics(t, func() { f.Interleave(c[:11:11], 4, a[:12], 3, 4, 3) })
		require.Panics(t, func() { f.Interleave(c[:12], 4, a[:11:11], 3, 4, 3) })
	})
}
