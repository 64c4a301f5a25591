package portable

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func list(t ...*tensor.Tensor) []*tensor.Tensor { return t }

func TestCatConverts(t *testing.T) {
	out := kerneltest.Zeros(tensor.F32, 5)
	kerneltest.Run(t, Cat, "aten::cat.out", list(tensor.Of([]int32{-1, 2}), tensor.Of([]bool{true}), tensor.Of([]float32{.5, float32(math.Inf(1))})), 0, out)
	kerneltest.Equal(t, tensor.Of([]float32{-1, 2, 1, .5, float32(math.Inf(1))}), out)

	err := kerneltest.Fails(t, Cat, "aten::cat.out", list(counting(2), counting(3)), 0, kerneltest.Zeros(tensor.I64, 5))
	require.ErrorIs(t, err, errs.InvalidArgument)
	err = kerneltest.Fails(t, Stack, "aten::stack.out", list(kerneltest.Zeros(tensor.C64, 2)), 0, kerneltest.Zeros(tensor.F32, 1, 2))
	require.ErrorIs(t, err, errs.InvalidArgument)
}

func TestCatOfEmptyTensors(t *testing.T) {
	none := kerneltest.Zeros(tensor.F32, 0)
	out := kerneltest.Zeros(tensor.F32, 2, 3)
	kerneltest.Run(t, Cat, "aten::cat.out", list(none, counting(2, 3), kerneltest.Zeros(tensor.F32, 7, 0)), 1, out)
	kerneltest.Equal(t, counting(2, 3), out)

	out = kerneltest.Dynamic(tensor.F32, 5)
	kerneltest.Run(t, Cat, "aten::cat.out", list(none, none), 0, out)
	require.Equal(t, []int{0}, out.Shape())

	out = kerneltest.Dynamic(tensor.F32, 5, 1)
	kerneltest.Run(t, Cat, "aten::cat.out", list(kerneltest.Zeros(tensor.F32, 2, 0), none, kerneltest.Zeros(tensor.F32, 3, 0)), -2, out)
	require.Equal(t, []int{5, 0}, out.Shape())
}

func TestCatErrors(t *testing.T) {
	out := kerneltest.Dynamic(tensor.F32, 4, 4)
	for name, err := range map[string]error{
		"nothing":       kerneltest.Fails(t, Cat, "aten::cat.out", list(), 0, out),
		"scalars":       kerneltest.Fails(t, Cat, "aten::cat.out", list(tensor.Scalar(float32(1))), 0, out),
		"shapes":        kerneltest.Fails(t, Cat, "aten::cat.out", list(counting(2, 3), counting(2, 2)), 0, out),
		"ranks":         kerneltest.Fails(t, Cat, "aten::cat.out", list(counting(2, 3), counting(2)), 0, out),
		"dimension":     kerneltest.Fails(t, Cat, "aten::cat.out", list(counting(2, 3)), 2, out),
		"stack nothing": kerneltest.Fails(t, Stack, "aten::stack.out", list(), 0, out),
		"stack shapes":  kerneltest.Fails(t, Stack, "aten::stack.out", list(counting(2), counting(3)), 0, out),
		"split by 0":    kerneltest.Fails(t, SplitCopy, "aten::split_copy.Tensor_out", counting(4), 0, 0, list(kerneltest.Zeros(tensor.F32, 4))),
		"split number":  kerneltest.Fails(t, SplitCopy, "aten::split_copy.Tensor_out", counting(4), 2, 0, list(kerneltest.Zeros(tensor.F32, 2))),
		"split scalar":  kerneltest.Fails(t, SplitCopy, "aten::split_copy.Tensor_out", tensor.Scalar(float32(1)), 2, 0, list()),
		"sizes sum":     kerneltest.Fails(t, SplitWithSizesCopy, "aten::split_with_sizes_copy.out", counting(4), ints(1, 2), 0, list(out, out)),
		"sizes huge":    kerneltest.Fails(t, SplitWithSizesCopy, "aten::split_with_sizes_copy.out", counting(4), ints(math.MaxInt64, math.MaxInt64, 6), 0, list(out, out, out)),
		"unbind number": kerneltest.Fails(t, UnbindCopy, "aten::unbind_copy.int_out", counting(2, 3), 0, list(kerneltest.Zeros(tensor.F32, 3))),
	} {
		require.ErrorIs(t, err, errs.InvalidArgument, name)
	}
}

func TestSplitOfNothing(t *testing.T) {
	out := kerneltest.Zeros(tensor.F32, 0, 3)
	kerneltest.Run(t, SplitCopy, "aten::split_copy.Tensor_out", kerneltest.Zeros(tensor.F32, 0, 3), 0, 0, list(out))
	kerneltest.Run(t, SplitWithSizesCopy, "aten::split_with_sizes_copy.out", kerneltest.Zeros(tensor.F32, 0, 3), ints(), 0, list())
}
