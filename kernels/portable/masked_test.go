package portable

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func TestMaskedScatterNeedsEnough(t *testing.T) {
	out := kerneltest.Zeros(tensor.F32, 3)
	mask := tensor.Of([]bool{true, false, true})
	kerneltest.Run(t, MaskedScatter, "aten::masked_scatter.out", counting(3), mask, tensor.Of([]float32{8, 9, 7}), out)
	kerneltest.Equal(t, tensor.Of([]float32{8, 1, 9}), out)
	err := kerneltest.Fails(t, MaskedScatter, "aten::masked_scatter.out", counting(3), mask, tensor.Of([]float32{8}), out)
	require.ErrorIs(t, err, errs.InvalidArgument)
	err = kerneltest.Fails(t, MaskedScatter, "aten::masked_scatter.out", counting(3), counting(3), counting(3), out)
	require.ErrorIs(t, err, errs.InvalidArgument)
}

func TestMaskedSelectOfNothing(t *testing.T) {
	out := kerneltest.Dynamic(tensor.F32, 4)
	kerneltest.Run(t, MaskedSelect, "aten::masked_select.out", counting(2, 0), kerneltest.Zeros(tensor.Bool, 2, 1), out)
	require.Equal(t, []int{0}, out.Shape())
	kerneltest.Run(t, MaskedSelect, "aten::masked_select.out", tensor.Scalar(float32(5)), tensor.Scalar(true), out)
	kerneltest.Equal(t, tensor.Of([]float32{5}), out)
}

func TestNonzeroOfAllTypes(t *testing.T) {
	h := tensor.ToFloat16
	for _, in := range []*tensor.Tensor{
		tensor.Of([]bool{false, true, true}), tensor.Of([]uint64{0, 1 << 63, 2}), tensor.Of([]complex64{0, 1i, 2}),
		tensor.Of([]tensor.Float16{0x8000, h(1), h(-2)}), tensor.Of([]int8{0, -1, 5}),
	} {
		out := kerneltest.Dynamic(tensor.I64, 3, 1)
		kerneltest.Run(t, Nonzero, "aten::nonzero.out", in, out)
		kerneltest.Equal(t, tensor.Of([]int64{1, 2}, 2, 1), out)
	}
	out := kerneltest.Dynamic(tensor.I64, 5, 0)
	kerneltest.Run(t, Nonzero, "aten::nonzero.out", tensor.Scalar(int32(3)), out)
	require.Equal(t, []int{1, 0}, out.Shape())
	err := kerneltest.Fails(t, Nonzero, "aten::nonzero.out", kerneltest.Zeros(tensor.C32, 2), kerneltest.Dynamic(tensor.I64, 2, 1))
	require.ErrorIs(t, err, errs.InvalidArgument)
	err = kerneltest.Fails(t, Nonzero, "aten::nonzero.out", counting(2), kerneltest.Dynamic(tensor.I32, 2, 1))
	require.ErrorIs(t, err, errs.InvalidArgument)
}

func TestRepeatInterleaveErrors(t *testing.T) {
	const name = "aten::repeat_interleave.Tensor_out"
	out := kerneltest.Dynamic(tensor.I64, 4)
	kerneltest.Run(t, RepeatInterleave, name, tensor.Of([]int64{0, 3}), 3, out)
	kerneltest.Equal(t, tensor.Of([]int64{1, 1, 1}), out)
	for _, args := range [][]any{
		{tensor.Of([]int64{1, -1, 2}), nil, out},
		{tensor.Of([]int64{1 << 62, 1 << 62, 1 << 62}), nil, out},
		{tensor.Of([]int64{1, 2}), 4, out},
		{tensor.Of([]int32{1, 2}), nil, out},
		{kerneltest.Zeros(tensor.I64, 1, 1), nil, out},
	} {
		require.ErrorIs(t, kerneltest.Fails(t, RepeatInterleave, name, args...), errs.InvalidArgument)
	}
}
