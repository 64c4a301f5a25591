package ukernel

import (
	"fmt"
	"testing"

	"github.com/etgo-ml/etgo/internal/cpu"
)

// benchTiers runs a benchmark on each tier that has kernels.
func benchTiers(b *testing.B, bench func(b *testing.B, f *F32)) {
	for _, tier := range cpu.Tiers() {
		if f := ForF32(tier); f != nil && tier != cpu.AVX512VNNI {
			b.Run(tier.String(), func(b *testing.B) { bench(b, f) })
		}
	}
}

// report adds a rate in billions of what is n in an operation.
func report(b *testing.B, n int, unit string) {
	b.ReportMetric(float64(n)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), unit)
}

// BenchmarkTile is the peak of a core: the operands of the tile stay in L1.
func BenchmarkTile(b *testing.B) {
	benchTiers(b, func(b *testing.B, f *F32) {
		for _, rows := range []int{f.MR, f.MR * 2 / 3, f.MR / 3} {
			for _, k := range []int{32, 256} {
				b.Run(fmt.Sprintf("%dx%dx%d", rows, f.NR, k), func(b *testing.B) {
					x, y, c := make([]float32, k*f.MR), make([]float32, k*f.NR), make([]float32, f.MR*f.NR)
					for b.Loop() {
						f.Tile(rows, k, x, y, f.NR, c, f.NR, false)
					}
					report(b, 2*rows*f.NR*k, "GFLOP/s")
				})
			}
		}
	})
}

func BenchmarkAddRows(b *testing.B) { benchmarkGEMV(b, true) }

func BenchmarkDots(b *testing.B) { benchmarkGEMV(b, false) }

// benchmarkGEMV reads a matrix from L2 or from memory.
func benchmarkGEMV(b *testing.B, rows bool) {
	benchTiers(b, func(b *testing.B, f *F32) {
		for _, n := range []int{256, 4096} {
			b.Run(fmt.Sprintf("%dx%d", n, n), func(b *testing.B) {
				x, y, m := make([]float32, n), make([]float32, n), make([]float32, n*n)
				for i := range m {
					m[i] = 1 // else all of it may be one page
				}
				for b.Loop() {
					if rows {
						f.AddRows(y, x, m, n)
					} else {
						f.Dots(y, x, m, n)
					}
				}
				report(b, 4*n*n, "GB/s")
				report(b, 2*n*n, "GFLOP/s")
			})
		}
	})
}

func BenchmarkTaps(b *testing.B) {
	offsets := []int{0, 1, 2, 500, 501, 502, 1000, 1001, 1002}
	benchTiers(b, func(b *testing.B, f *F32) {
		for _, step := range []int{1, 2} {
			for _, n := range []int{7, 28, 112} {
				b.Run(fmt.Sprintf("step=%d/n=%d", step, n), func(b *testing.B) {
					x, y, w := make([]float32, 1600), make([]float32, n), make([]float32, 9)
					for b.Loop() {
						f.Taps(y, x, step, offsets, w, 1)
					}
					report(b, 2*9*n, "GFLOP/s")
				})
			}
		}
	})
}

func BenchmarkInterleave(b *testing.B) {
	benchTiers(b, func(b *testing.B, f *F32) {
		for _, width := range []int{f.MR, f.NR} {
			b.Run(fmt.Sprint(width), func(b *testing.B) {
				const k = 256
				src, dst := make([]float32, k*width), make([]float32, k*width)
				for b.Loop() {
					f.Interleave(dst, width, src, k, width, k)
				}
				report(b, 4*k*width, "GB/s")
			})
		}
	})
}
