package gemm_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/etgo-ml/etgo/internal/compute/gemm"
	"github.com/etgo-ml/etgo/internal/cpu"
	"github.com/etgo-ml/etgo/internal/parallel"
	"github.com/etgo-ml/etgo/internal/ukernel"
)

// onTiers runs a test with the kernels of each tier.
func onTiers(t *testing.T, test func(t *testing.T)) {
	for _, tier := range cpu.Tiers() {
		t.Run(tier.String(), func(t *testing.T) {
			t.Cleanup(gemm.UseKernels(ukernel.ForF32(tier)))
			test(t)
		})
	}
}

func TestTiers(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		for _, s := range [][3]int{{1, 70, 33}, {3, 1100, 7}, {2, 5, 600}, {13, 45, 16}, {24, 64, 64}, {47, 33, 8}, {30, 50, 530}, {4, 6, 0}} {
			for _, la := range []string{"steps", "lanes", "other"} {
				for _, lb := range []string{"steps", "lanes", "other"} {
					for _, bias := range []string{"none", "row", "col"} {
						testProduct[float32](t, s[0], s[1], s[2], la, lb, bias)
					}
				}
			}
		}
	})
}

// TestSameBits wants the same bits from any number of threads, whatever the layout
// of the result, and for a lane wherever it is.
func TestSameBits(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		for _, s := range [][3]int{{1, 700, 300}, {3, 300, 77}, {7, 300, 300}, {40, 500, 700}, {600, 40, 300}} {
			for _, layout := range []string{"steps", "lanes"} {
				testSameBits(t, layout, s[0], s[1], s[2])
			}
		}
	})
}

func testSameBits(t *testing.T, layout string, m, n, k int) {
	a, b := newMatrix[float32](layout, 1, m, k), newMatrix[float32](layout, 1, n, k)
	for i := range a.Data {
		a.Data[i] *= rand.Float32()
	}
	// Columns 0 and 5 of b repeat at the end.
	for j := range n {
		for s := range k {
			from := j
			if j >= n-8 {
				from = 5 * (j & 1)
			}
			b.Data[b.Offset+j*b.Lane+s*b.Step] = float32((from*7+s*3)%23) / 7
		}
	}
	p := gemm.Product[float32]{M: m, N: n, K: k, A: &a.Matrix, B: &b.Matrix, Batches: 1, Repeats: 1}
	var want []float32
	for _, threads := range []int{1, 2, 3, 8} {
		for _, strides := range [][2]int{{n, 1}, {1, m}, {3 * n, 3}} {
			q := p
			q.C = gemm.Output[float32]{Data: make([]float32, 3*m*n), Row: strides[0], Col: strides[1]}
			run(&q, threads)
			got := make([]float32, m*n)
			for i := range got {
				got[i] = q.C.Data[0+i/n*strides[0]+i%n*strides[1]]
			}
			if want == nil {
				want = got
			}
			name := fmt.Sprintf("%dx%dx%d %s, %d threads, strides %v", m, n, k, layout, threads, strides)
			if !assert.Equal(t, want, got, name) {
				return
			}
		}
	}
	for i := range m {
		row := want[i*n:][:n]
		for j := n - 8; j < n; j++ {
			assert.Equal(t, row[5*(j&1)], row[j], "row %d, columns %d and %d", i, j, 5*(j&1))
		}
	}
}

// BenchmarkSquare is the usual measure, 512 cubed, and a product of a vector.
func BenchmarkSquare(b *testing.B) {
	for _, s := range [][3]int{{512, 512, 512}, {1, 4096, 4096}, {96, 784, 576}} {
		for _, tier := range cpu.Tiers() {
			if tier == cpu.AVX512VNNI {
				continue // has the kernels of AVX512
			}
			for _, threads := range []int{1, 2} {
				for _, layout := range []string{"steps", "lanes"} {
					b.Run(fmt.Sprintf("%v/%v/threads=%d/%s", s, tier, threads, layout), func(b *testing.B) {
						b.Cleanup(gemm.UseKernels(ukernel.ForF32(tier)))
						benchmarkProduct(b, s[0], s[1], s[2], threads, layout)
					})
				}
			}
		}
	}
}

func benchmarkProduct(b *testing.B, m, n, k, threads int, layout string) {
	pool := parallel.New(threads)
	b.Cleanup(pool.Close)
	x, y := newMatrix[float32]("steps", 1, m, k), newMatrix[float32](layout, 1, n, k)
	c := make([]float32, m*n)
	var scratch []float32
	for b.Loop() {
		p := gemm.Product[float32]{M: m, N: n, K: k, A: &x.Matrix, B: &y.Matrix, Batches: 1, Repeats: 1,
			C: gemm.Output[float32]{Data: c, Row: n, Col: 1}}
		if size := p.Plan(threads); scratch == nil {
			scratch = make([]float32, size)
		}
		p.SetScratch(scratch)
		count, grain := p.Packing()
		pool.For(count, grain, p.Packer())
		count, grain = p.Multiplying()
		pool.For(count, grain, &p)
	}
	b.ReportMetric(2*float64(m*n*k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
	if m == 1 {
		b.ReportMetric(4*float64(n*k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GB/s")
	}
}
