package gemm_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/etgo-ml/etgo/internal/compute/gemm"
	"github.com/etgo-ml/etgo/internal/parallel"
)

// run computes p on some threads, with garbage in the scratch memory.
func run[T gemm.Number](p *gemm.Product[T], threads int) {
	pool := parallel.New(threads)
	defer pool.Close()
	scratch := make([]T, p.Plan(threads))
	for i := range scratch {
		scratch[i] = number[T](1000)
	}
	p.SetScratch(scratch)
	n, grain := p.Packing()
	pool.For(n, grain, p.Packer())
	n, grain = p.Multiplying()
	pool.For(n, grain, p)
}

// number converts n, which Go does not do for a type that may be complex.
func number[T gemm.Number](n int) (v T) {
	switch v := any(&v).(type) {
	case *float32:
		*v = float32(n)
	case *float64:
		*v = float64(n)
	case *int64:
		*v = int64(n)
	case *complex64:
		*v = complex(float32(n), 2)
	case *complex128:
		*v = complex(float64(n), 2)
	}
	return v
}

type matrix[T gemm.Number] struct {
	gemm.Matrix[T]
	lanes int
}

// newMatrix returns random operands for some batches: the steps of a lane are
// side by side, or those of neighbouring lanes, or neither.
func newMatrix[T gemm.Number](layout string, batches, lanes, steps int) *matrix[T] {
	m := &matrix[T]{lanes: lanes}
	m.Steps = steps
	switch layout {
	case "steps":
		m.Lane, m.Step = steps, 1
	case "lanes":
		m.Lane, m.Step = 1, lanes
	default:
		m.Lane, m.Step = 2*steps+3, 2
	}
	m.Offset = 1
	m.Batch = max(lanes*m.Lane, steps*m.Step) + 5
	m.Data = make([]T, batches*m.Batch+2)
	for i := range m.Data {
		m.Data[i] = number[T](rand.IntN(19) - 9)
	}
	return m
}

func (m *matrix[T]) at(batch, lane, step int) T {
	return m.Data[m.Offset+batch*m.Batch+lane*m.Lane+step*m.Step]
}

// loader hides a slice behind Source.
type loader[T gemm.Number] []T

func (l loader[T]) Load(dst []T, off, stride int) {
	for i := range dst {
		dst[i] = l[off+i*stride]
	}
}

// sink stores what it is given in row-major order.
type sink[T gemm.Number] struct {
	data          []T
	batches, m, n int
}

func (s *sink[T]) Store(block []T, row, col, repeat, batch, i, m, j, n int) {
	for r := range m {
		for c := range n {
			s.data[((repeat*s.batches+batch)*s.m+i+r)*s.n+j+c] = block[r*row+c*col]
		}
	}
}

func TestProduct(t *testing.T) {
	shapes := [][3]int{{1, 1, 1}, {1, 70, 33}, {70, 1, 33}, {2, 5, 2000}, {3, 600, 7}, {5, 9, 3}, {33, 47, 8}, {70, 7, 9}, {6, 40, 1100}, {4, 5, 0}, {1, 6, 0}}
	layouts := []string{"steps", "lanes", "other"}
	for _, s := range shapes {
		for _, la := range layouts {
			for _, lb := range layouts {
				for _, bias := range []string{"none", "row", "col"} {
					name := fmt.Sprintf("%v %s %s bias %s", s, la, lb, bias)
					t.Run(name, func(t *testing.T) {
						testProduct[float32](t, s[0], s[1], s[2], la, lb, bias)
						testProduct[int64](t, s[0], s[1], s[2], la, lb, bias)
						testProduct[complex64](t, s[0], s[1], s[2], la, lb, bias)
					})
				}
			}
		}
	}
}

// testProduct compares with the definition. The numbers are small integers, so
// that sums are exact in every order.
func testProduct[T gemm.Number](t *testing.T, m, n, k int, la, lb, bias string) {
	const batches, repeats = 2, 2
	a := newMatrix[T](la, batches, m, k)
	b := newMatrix[T](lb, batches*repeats, n, k)
	b.Repeat = b.Batch * batches
	var rowBias, colBias []T
	p := gemm.Product[T]{M: m, N: n, K: k, A: &a.Matrix, B: &b.Matrix, Batches: batches, Repeats: repeats}
	switch bias {
	case "row":
		rowBias = newMatrix[T]("lanes", 1, batches*m, 1).Data[:batches*m]
	case "col":
		p.Batches = 1
		colBias = newMatrix[T]("lanes", 1, n, 1).Data[:n]
	}
	p.RowBias, p.ColBias = rowBias, colBias

	want := make([]T, p.Repeats*p.Batches*m*n)
	for i := range want {
		product, row, col := i/(m*n), i/n%m, i%n
		repeat, batch := product/p.Batches, product%p.Batches
		for s := range k {
			want[i] += a.at(batch, row, s) * b.at(repeat*batches+batch, col, s)
		}
		if rowBias != nil {
			want[i] += rowBias[batch*m+row]
		}
		if colBias != nil {
			want[i] += colBias[col]
		}
	}
	for _, threads := range []int{1, 3} {
		for _, converted := range []bool{false, true} {
			for _, repeats := range []int{repeats, 1} {
				p := p
				p.Repeats = repeats
				want := want[:repeats*p.Batches*m*n]
				if converted {
					ca, cb := a.Matrix, b.Matrix
					ca.Source, cb.Source = loader[T](a.Data), loader[T](b.Data)
					ca.Data, cb.Data = nil, nil
					p.A, p.B = &ca, &cb
				}
				q := p
				got := make([]T, len(want))
				q.C = gemm.Output[T]{Data: got, Repeat: p.Batches * m * n, Batch: m * n, Row: n, Col: 1}
				run(&q, threads)
				assert.Equal(t, want, got, "%d threads, converted: %v", threads, converted)

				q = p
				s := &sink[T]{data: make([]T, len(want)), batches: p.Batches, m: m, n: n}
				q.C = gemm.Output[T]{Sink: s}
				run(&q, threads)
				assert.Equal(t, want, s.data, "to a sink, %d threads, converted: %v", threads, converted)
			}
		}
	}
}

func TestProductAllocatesNothing(t *testing.T) {
	a, b := newMatrix[float32]("steps", 1, 40, 50), newMatrix[float32]("lanes", 1, 60, 50)
	c := make([]float32, 40*60)
	scratch := make([]float32, 1<<16)
	p := new(gemm.Product[float32])
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		*p = gemm.Product[float32]{M: 40, N: 60, K: 50, A: &a.Matrix, B: &b.Matrix, Batches: 1, Repeats: 1,
			C: gemm.Output[float32]{Data: c, Row: 60, Col: 1}}
		p.SetScratch(scratch[:p.Plan(1)])
		n, _ := p.Packing()
		p.Packer().Run(0, 0, n)
		n, _ = p.Multiplying()
		p.Run(0, 0, n)
	}))
}

func BenchmarkProduct(b *testing.B) {
	for _, s := range [][3]int{{64, 3136, 64}, {512, 49, 2048}, {256, 256, 256}, {1, 4096, 4096}, {16, 12544, 32}} {
		for _, layout := range []string{"steps", "lanes"} {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", s[0], s[1], s[2], layout), func(b *testing.B) {
				benchmarkProduct(b, s[0], s[1], s[2], 1, layout)
			})
		}
	}
}
