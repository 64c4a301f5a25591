package portable

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func topk(t *testing.T, in *tensor.Tensor, k int, largest bool) (values *tensor.Tensor, indices []int64) {
	t.Helper()
	values = kerneltest.Zeros(in.DType(), k)
	out := kerneltest.Zeros(tensor.I64, k)
	kerneltest.Run(t, Topk, "aten::topk.values", in, k, 0, largest, true, values, out)
	return values, tensor.Raw[int64](out)
}

func TestTopkOrder(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	x := tensor.Of([]float32{1, nan, -inf, 0, inf, float32(math.Copysign(0, -1)), nan, 1, -2})
	_, at := topk(t, x, 9, true)
	require.Equal(t, []int64{1, 6, 4, 0, 7, 3, 5, 8, 2}, at)
	_, at = topk(t, x, 9, false)
	require.Equal(t, []int64{2, 8, 3, 5, 0, 7, 4, 1, 6}, at)

	v, at := topk(t, tensor.Of([]uint64{1, 1 << 63, 1<<63 - 1}), 2, true)
	require.Equal(t, []int64{1, 2}, at)
	require.Equal(t, []uint64{1 << 63, 1<<63 - 1}, tensor.Raw[uint64](v))
	_, at = topk(t, tensor.Of([]int64{0, math.MinInt64, math.MaxInt64}), 3, true)
	require.Equal(t, []int64{2, 0, 1}, at)
	_, at = topk(t, tensor.Of([]bool{false, true, true}), 2, false)
	require.Equal(t, []int64{0, 1}, at)
}

func TestTopkOfManyElements(t *testing.T) {
	data := make([]int32, 5000)
	for i := range data {
		data[i] = int32(i*7919) % 5003
	}
	for _, k := range []int{1, 3, 700, 5000} {
		v, _ := topk(t, tensor.Of(data), k, true)
		want := slices.Clone(data)
		slices.Sort(want)
		slices.Reverse(want)
		require.Equal(t, want[:k], tensor.Raw[int32](v))
	}
}

func TestTopkEdges(t *testing.T) {
	v, i := kerneltest.Zeros(tensor.F32), kerneltest.Zeros(tensor.I64)
	kerneltest.Run(t, Topk, "aten::topk.values", tensor.Scalar(float32(3)), 1, -1, true, true, v, i)
	kerneltest.Equal(t, tensor.Scalar(float32(3)), v)
	kerneltest.Run(t, Topk, "aten::topk.values", counting(0, 3), 2, 1, true, true, kerneltest.Zeros(tensor.F32, 0, 2), kerneltest.Zeros(tensor.I64, 0, 2))

	values, indices := kerneltest.Dynamic(tensor.F32, 9), kerneltest.Dynamic(tensor.I64, 9)
	for name, err := range map[string]error{
		"k":       kerneltest.Fails(t, Topk, "aten::topk.values", counting(3), 4, 0, true, true, values, indices),
		"k < 0":   kerneltest.Fails(t, Topk, "aten::topk.values", counting(3), -1, 0, true, true, values, indices),
		"complex": kerneltest.Fails(t, Topk, "aten::topk.values", kerneltest.Zeros(tensor.C64, 3), 1, 0, true, true, kerneltest.Zeros(tensor.C64, 1), indices),
		"indices": kerneltest.Fails(t, Topk, "aten::topk.values", counting(3), 1, 0, true, true, values, kerneltest.Dynamic(tensor.I32, 9)),
	} {
		require.ErrorIs(t, err, errs.InvalidArgument, name)
	}
}
