package gemm_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/etgo-ml/etgo/internal/compute/gemm"
	"github.com/etgo-ml/etgo/internal/cpu"
	"github.com/etgo-ml/etgo/internal/parallel"
	"github.com/etgo-ml/etgo/internal/ukernel"
)

func TestZZMin(t *testing.T) {
	if os.Getenv("ZZ") == "" {
		t.Skip()
	}
	for _, s := range [][3]int{{512, 512, 512}, {256, 256, 256}, {1, 4096, 4096}, {1, 1024, 1024}, {96, 784, 576}, {320, 49, 960}, {1024, 1024, 1024}, {16, 12544, 32}} {
		for _, tier := range []cpu.Tier{cpu.Generic, cpu.AVX2, cpu.AVX512} {
			restore := gemm.UseKernels(ukernel.ForF32(tier))
			for _, layout := range []string{"steps", "lanes"} {
				for _, threads := range []int{1, 2} {
					m, n, k := s[0], s[1], s[2]
					pool := parallel.New(threads)
					x, y := newMatrix[float32]("steps", 1, m, k), newMatrix[float32](layout, 1, n, k)
					c := make([]float32, m*n)
					var scratch []float32
					best := time.Hour
					end := time.Now().Add(700 * time.Millisecond)
					for time.Now().Before(end) {
						t0 := time.Now()
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
						best = min(best, time.Since(t0))
					}
					pool.Close()
					fmt.Printf("%v %v %s threads %d: %v %.1f GFLOP/s %.1f GB/s\n", s, tier, layout, threads, best, 2*float64(m*n*k)/float64(best), 4*float64(n*k)/float64(best))
				}
			}
			restore()
		}
	}
}
