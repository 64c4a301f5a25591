package portable

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

// TestExtremes puts special numbers at each place of a row and a column.
func TestExtremes(t *testing.T) {
	const n = 11
	for at := range n {
		for _, special := range []float64{nan, inf, -inf, 9, -9} {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(i % 3)
			}
			x[at] = float32(special)
			top, topAt, low, lowAt := x[0], 0, x[0], 0
			for i, v := range x {
				if v > top || v != v && top == top {
					top, topAt = v, i
				}
				if v < low || v != v && low == low {
					low, lowAt = v, i
				}
			}
			for _, shape := range [][]int{{n, 1}, {1, n}, {n}} {
				dim := 0
				if shape[0] == 1 {
					dim = 1
				}
				in := tensor.Of(x, shape...)
				value, index := kerneltest.Zeros(tensor.F32, 1), kerneltest.Zeros(tensor.I64, 1)
				if len(shape) == 1 {
					value, index = kerneltest.Zeros(tensor.F32), kerneltest.Zeros(tensor.I64)
				}
				check := func(v float32, i int) {
					t.Helper()
					require.Equal(t, int64(i), tensor.Raw[int64](index)[0])
					got := tensor.Raw[float32](value)[0]
					require.True(t, got == v || got != got && v != v, "%v, want %v", got, v)
				}
				kerneltest.Run(t, Max, "aten::max.dim_max", in, dim, false, value, index)
				check(top, topAt)
				kerneltest.Run(t, Min, "aten::min.dim_min", in, dim, false, value, index)
				check(low, lowAt)
				kerneltest.Run(t, Amax, "aten::amax.out", in, []int{dim}, false, value)
				check(top, lowAt) // the index is still the minimum's
				kerneltest.Run(t, Amin, "aten::amin.out", in, []int{dim}, false, value)
				check(low, lowAt)
			}
		}
	}
}

// TestArgmaxOrder wants the index of the first of equals in row-major order,
// whatever order the elements have in memory.
func TestArgmaxOrder(t *testing.T) {
	x := tensor.Of([]float32{0, 0, 5, 0, 5, 0}, 2, 3)
	out := kerneltest.Zeros(tensor.I64)
	for _, in := range []*tensor.Tensor{x, x.WithOrder(tensor.DimOrder{1, 0})} {
		kerneltest.Run(t, Argmax, "aten::argmax.out", in, nil, false, out)
		kerneltest.Equal(t, tensor.Scalar[int64](2), out)
	}
}

func TestExtremeOfNothing(t *testing.T) {
	f, i := kerneltest.Zeros(tensor.F32), kerneltest.Zeros(tensor.I16)
	kerneltest.Run(t, Max, "aten::max.unary_out", kerneltest.Zeros(tensor.F32, 0), f)
	kerneltest.Equal(t, tensor.Scalar(float32(-inf)), f)
	kerneltest.Run(t, Min, "aten::min.unary_out", kerneltest.Zeros(tensor.I16, 0), i)
	kerneltest.Equal(t, tensor.Scalar[int16](32767), i)

	// There is nothing to fill where no output element is.
	kerneltest.Run(t, Amax, "aten::amax.out", kerneltest.Zeros(tensor.F32, 0, 2), []int{1}, false, kerneltest.Zeros(tensor.F32, 0))
}

func TestExtremeTypes(t *testing.T) {
	// The elements are compared in the output's type.
	out := kerneltest.Zeros(tensor.I8)
	kerneltest.Run(t, Max, "aten::max.unary_out", tensor.Of([]int32{5, 300, -3}), out)
	kerneltest.Equal(t, tensor.Scalar[int8](44), out)

	b, i := kerneltest.Zeros(tensor.Bool, 1), kerneltest.Zeros(tensor.I64, 1)
	kerneltest.Run(t, Max, "aten::max.dim_max", tensor.Of([]bool{false, true, true}), 0, true, b, i)
	kerneltest.Equal(t, tensor.Of([]bool{true}), b)
	kerneltest.Equal(t, tensor.Of([]int64{1}), i)
}
