package portable

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func TestCopiesConvert(t *testing.T) {
	out := kerneltest.Zeros(tensor.I8, 3)
	kerneltest.Run(t, ToCopy, "aten::_to_copy.out", tensor.Of([]float32{-1.9, 3.5, 257}), false, nil, out)
	kerneltest.Equal(t, tensor.Of([]int8{-1, 3, 1}), out)

	out = kerneltest.Zeros(tensor.F32, 2)
	kerneltest.Run(t, ToDimOrderCopy, "dim_order_ops::_to_dim_order_copy.out", tensor.Of([]complex64{1 + 2i, 3}), false, nil, out)
	kerneltest.Equal(t, tensor.Of([]float32{1, 3}), out)

	err := kerneltest.Fails(t, Clone, "aten::clone.out", counting(3), nil, kerneltest.Zeros(tensor.F64, 3))
	require.ErrorIs(t, err, errs.InvalidArgument)
	err = kerneltest.Fails(t, Copy, "aten::copy_", kerneltest.Zeros(tensor.F32, 3), counting(2), false)
	require.ErrorIs(t, err, errs.InvalidArgument)
}

func TestCopyOfAllTypes(t *testing.T) {
	for d := tensor.DType(0); d.Valid(); d++ {
		in, out := kerneltest.Zeros(d, 2, 3), kerneltest.Zeros(d, 3, 2)
		for i := range in.Bytes() {
			in.Bytes()[i] = byte(i + 1)
		}
		kerneltest.Run(t, TCopy, "aten::t_copy.out", in, out)
		back := kerneltest.Zeros(d, 2, 3)
		kerneltest.Run(t, TCopy, "aten::t_copy.out", out, back)
		require.Equal(t, in.Bytes(), back.Bytes(), d)
		require.NotEqual(t, in.Bytes(), out.Bytes(), d)
	}
}

func TestResizes(t *testing.T) {
	out := kerneltest.Dynamic(tensor.F32, 4, 6)
	kerneltest.Run(t, ExpandCopy, "aten::expand_copy.out", counting(1, 5), ints(3, -1), false, out)
	require.Equal(t, []int{3, 5}, out.Shape())
	err := kerneltest.Fails(t, ExpandCopy, "aten::expand_copy.out", counting(1, 7), ints(4, -1), false, out)
	require.ErrorIs(t, err, errs.InvalidArgument)
}

func TestScalars(t *testing.T) {
	one := tensor.Scalar(float32(7))
	for _, shape := range [][]int{{}, {1}, {1, 1}} {
		kerneltest.Run(t, ViewCopy, "aten::view_copy.out", one, ints(make([]int64, 0)...), kerneltest.Zeros(tensor.F32))
		out := kerneltest.Zeros(tensor.F32, shape...)
		sizes := ints(1, 1)[:len(shape)]
		kerneltest.Run(t, ExpandCopy, "aten::expand_copy.out", one, sizes, false, out)
		require.Equal(t, []float32{7}, tensor.Raw[float32](out))
	}
	out := kerneltest.Zeros(tensor.F32)
	kerneltest.Run(t, TransposeCopy, "aten::transpose_copy.int_out", one, 0, -1, out)
	kerneltest.Equal(t, one, out)
	kerneltest.Run(t, Flip, "aten::flip.out", one, ints(-1), out)
	kerneltest.Equal(t, one, out)
	kerneltest.Run(t, Roll, "aten::roll.out", one, ints(3), ints(0), out)
	kerneltest.Equal(t, one, out)
	kerneltest.Run(t, UnsqueezeCopy, "aten::unsqueeze_copy.out", one, -1, kerneltest.Zeros(tensor.F32, 1))
	kerneltest.Run(t, UnfoldCopy, "aten::unfold_copy.out", one, 0, 1, 1, kerneltest.Zeros(tensor.F32, 1))
}

func TestAsStridedCopy(t *testing.T) {
	const name = "aten::as_strided_copy.out"
	out := kerneltest.Zeros(tensor.F32, 2, 3)
	kerneltest.Run(t, AsStridedCopy, name, counting(10), ints(2, 3), ints(4, 0), 1, out)
	kerneltest.Equal(t, tensor.Of([]float32{1, 1, 1, 5, 5, 5}, 2, 3), out)

	// Strides count elements in memory.
	last := counting(1, 2, 2, 2).WithOrder(tensor.ChannelsLast(4))
	out = kerneltest.Zeros(tensor.F32, 3)
	kerneltest.Run(t, AsStridedCopy, name, last, ints(3), ints(1), nil, out)
	kerneltest.Equal(t, tensor.Of([]float32{0, 4, 1}), out)

	for _, bad := range [][3]any{
		{ints(3), ints(5), 0}, {ints(3), ints(-1), 2}, {ints(3), ints(1), 8}, {ints(3), ints(1), -1},
		{ints(3), ints(1, 1), 0}, {ints(3), ints(1 << 62), 0}, {ints(1), ints(1), 1 << 62},
	} {
		err := kerneltest.Fails(t, AsStridedCopy, name, counting(10), bad[0], bad[1], bad[2], kerneltest.Zeros(tensor.F32, len(bad[0].([]int64))*3))
		require.ErrorIs(t, err, errs.InvalidArgument)
	}
}

func TestViewErrors(t *testing.T) {
	x := counting(2, 3, 4)
	out := kerneltest.Dynamic(tensor.F32, 4, 3, 2)
	for name, err := range map[string]error{
		"permute twice":   kerneltest.Fails(t, PermuteCopy, "aten::permute_copy.out", x, ints(0, 1, -2), out),
		"permute rank":    kerneltest.Fails(t, PermuteCopy, "aten::permute_copy.out", x, ints(0, 1), out),
		"permute range":   kerneltest.Fails(t, PermuteCopy, "aten::permute_copy.out", x, ints(0, 1, 3), out),
		"transpose":       kerneltest.Fails(t, TransposeCopy, "aten::transpose_copy.int_out", x, 0, 3, out),
		"t of rank 3":     kerneltest.Fails(t, TCopy, "aten::t_copy.out", x, out),
		"squeeze twice":   kerneltest.Fails(t, SqueezeCopy, "aten::squeeze_copy.dims_out", x, ints(0, -3), out),
		"expand smaller":  kerneltest.Fails(t, ExpandCopy, "aten::expand_copy.out", x, ints(3, 4), false, out),
		"expand new -1":   kerneltest.Fails(t, ExpandCopy, "aten::expand_copy.out", counting(3), ints(-1, 4, 3), false, out),
		"diagonal":        kerneltest.Fails(t, DiagonalCopy, "aten::diagonal_copy.out", x, 0, 1, -2, kerneltest.Zeros(tensor.F32, 2, 3)),
		"unfold too long": kerneltest.Fails(t, UnfoldCopy, "aten::unfold_copy.out", x, 0, 3, 1, out),
		"unfold step":     kerneltest.Fails(t, UnfoldCopy, "aten::unfold_copy.out", x, 0, 1, 0, out),
		"real":            kerneltest.Fails(t, ViewAsRealCopy, "aten::view_as_real_copy.out", x, out),
		"shuffle":         kerneltest.Fails(t, PixelShuffle, "aten::pixel_shuffle.out", x, 2, out),
		"shuffle zero":    kerneltest.Fails(t, PixelShuffle, "aten::pixel_shuffle.out", x, 0, out),
		"unshuffle":       kerneltest.Fails(t, PixelUnshuffle, "aten::pixel_unshuffle.out", x, 1<<40, out),
		"roll":            kerneltest.Fails(t, Roll, "aten::roll.out", x, ints(1, 2), ints(0), out),
		"repeat":          kerneltest.Fails(t, Repeat, "aten::repeat.out", x, ints(1, 1, -1), out),
		"repeat huge":     kerneltest.Fails(t, Repeat, "aten::repeat.out", x, ints(1, 1<<62, 1<<62), out),
		"tril":            kerneltest.Fails(t, Tril, "aten::tril.out", counting(3), 0, kerneltest.Zeros(tensor.F32, 3)),
		"device":          kerneltest.Fails(t, DeviceCopy, "et_copy::_h2d_copy.out", x, out),
	} {
		require.ErrorIs(t, err, errs.InvalidArgument, name)
	}
}

func TestRollWithoutDims(t *testing.T) {
	out := kerneltest.Zeros(tensor.F32, 2, 3)
	kerneltest.Run(t, Roll, "aten::roll.out", counting(2, 3), ints(-2), ints(), out)
	kerneltest.Equal(t, tensor.Of([]float32{2, 3, 4, 5, 0, 1}, 2, 3), out)
	err := kerneltest.Fails(t, Roll, "aten::roll.out", counting(2, 3), ints(-2), ints(), out.WithOrder(tensor.DimOrder{1, 0}))
	require.ErrorIs(t, err, errs.NotSupported)
}
