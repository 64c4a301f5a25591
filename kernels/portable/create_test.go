package portable

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func TestCreate(t *testing.T) {
	two := []int64{2}
	runBinaryCases(t, []binaryCase{
		{"arange", Arange, "aten::arange.out", []any{2.5}, tensor.Of([]int32{0, 1, 2})},
		{"arange down", Arange, "aten::arange.start_out", []any{1, -2, -1.5}, tensor.Of([]float64{1, -0.5})},
		{"arange of nothing", Arange, "aten::arange.start_out", []any{3, 3, 1}, kerneltest.Zeros(tensor.F32, 0)},
		{"zeros", Zeros, "aten::zeros.out", []any{two}, kerneltest.Zeros(tensor.QInt8, 2)},
		{"ones", Ones, "aten::ones.out", []any{two}, tensor.Of([]bool{true, true})},
		{"ones half", Ones, "aten::ones.out", []any{two}, tensor.Of([]tensor.BFloat16{0x3f80, 0x3f80})},
		{"full", Full, "aten::full.out", []any{two, -1}, tensor.Of([]uint8{255, 255})},
		{"full with a fraction", Full, "aten::full.out", []any{two, 1.5}, tensor.Of([]int16{1, 1})},
		{"full bool", Full, "aten::full.out", []any{two, 0.5}, tensor.Of([]bool{true, true})},
		{"full_like", FullLike, "aten::full_like.out", []any{tensor.Of([]int8{1, 2}), math.Inf(-1), nil}, tensor.Of([]float32{-inf32, -inf32})},
		{"scalar", ScalarTensor, "aten::scalar_tensor.out", []any{7}, tensor.Scalar(float64(7))},
		{"fill", Fill, "aten::fill.Scalar_out", []any{tensor.Of([]int8{1, 2}), true}, tensor.Of([]int8{1, 1})},
		{"fill of a tensor", Fill, "aten::fill.Tensor_out", []any{tensor.Of([]int8{1, 2}), tensor.Scalar(float32(300.5))}, tensor.Of([]int8{44, 44})},
		{"fill of a bool", Fill, "aten::fill.Tensor_out", []any{tensor.Of([]float32{1, 2}), tensor.Of([]bool{true})}, tensor.Of([]float32{1, 1})},
	})
	long := kerneltest.Zeros(tensor.I64, 3000)
	kerneltest.Run(t, Full, "aten::full.out", []int64{3000}, 5, long)
	for _, v := range tensor.Raw[int64](long) {
		require.EqualValues(t, 5, v)
	}
	empty := kerneltest.Dynamic(tensor.F32, 4)
	kerneltest.Run(t, Empty, "aten::empty.out", two, nil, empty)
	require.Equal(t, []int{2}, empty.Shape())
}

func TestCreateErrors(t *testing.T) {
	f, u := kerneltest.Dynamic(tensor.F32, 9), kerneltest.Zeros(tensor.U8, 2)
	for name, err := range map[string]error{
		"step 0":        kerneltest.Fails(t, Arange, "aten::arange.start_out", 0, 3, 0, f),
		"direction":     kerneltest.Fails(t, Arange, "aten::arange.start_out", 0, 3, -1, f),
		"NaN":           kerneltest.Fails(t, Arange, "aten::arange.out", math.NaN(), f),
		"endless":       kerneltest.Fails(t, Arange, "aten::arange.out", math.Inf(1), f),
		"bool end":      kerneltest.Fails(t, Arange, "aten::arange.out", true, f),
		"bool step":     kerneltest.Fails(t, Arange, "aten::arange.start_out", 0, 1, true, f),
		"arange bool":   kerneltest.Fails(t, Arange, "aten::arange.out", 2, kerneltest.Zeros(tensor.Bool, 2)),
		"negative size": kerneltest.Fails(t, Zeros, "aten::zeros.out", []int64{-1}, f),
		"huge size":     kerneltest.Fails(t, Ones, "aten::ones.out", []int64{math.MaxInt64}, f),
		"rank":          kerneltest.Fails(t, Ones, "aten::ones.out", make([]int64, 17), f),
		"value":         kerneltest.Fails(t, Full, "aten::full.out", []int64{2}, 256, u),
		"complex":       kerneltest.Fails(t, Full, "aten::full.out", []int64{2}, 1, kerneltest.Zeros(tensor.C64, 2)),
		"fill type":     kerneltest.Fails(t, Fill, "aten::fill.Scalar_out", f, 1, u),
		"fill elements": kerneltest.Fails(t, Fill, "aten::fill.Tensor_out", u, u, u),
	} {
		require.ErrorIs(t, err, errs.InvalidArgument, name)
	}
}

func TestRandom(t *testing.T) {
	const n = 20000
	size := []int64{n}
	x := kerneltest.Zeros(tensor.F32, n)
	require.NoError(t, kerneltest.Call(Rand, "aten::rand.out", size, x))
	sum := 0.0
	for _, v := range tensor.Raw[float32](x) {
		require.True(t, v >= 0 && v <= 1)
		sum += float64(v)
	}
	require.InDelta(t, 0.5, sum/n, 0.02)

	require.NoError(t, kerneltest.Call(Randn, "aten::randn.out", size, x))
	sum, squares := 0.0, 0.0
	for _, v := range tensor.Raw[float32](x) {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	require.InDelta(t, 0, sum/n, 0.05)
	require.InDelta(t, 1, squares/n, 0.1)

	require.ErrorIs(t, kerneltest.Fails(t, Rand, "aten::rand.out", size, kerneltest.Zeros(tensor.I32, n)), errs.InvalidArgument)
}

func TestNativeDropout(t *testing.T) {
	const n = 20000
	x, out, mask := kerneltest.Zeros(tensor.F32, n), kerneltest.Zeros(tensor.F32, n), kerneltest.Zeros(tensor.Bool, n)
	require.NoError(t, kerneltest.Call(Ones, "aten::ones.out", []int64{n}, x))
	require.NoError(t, kerneltest.Call(NativeDropout, "aten::native_dropout.out", x, 0.25, nil, out, mask))
	kept := 0
	for i, v := range tensor.Raw[float32](out) {
		require.EqualValues(t, v, tensor.Raw[uint8](mask)[i])
		kept += int(v)
	}
	require.InDelta(t, 0.75, float64(kept)/n, 0.02)

	i, iOut, iMask := tensor.Of([]int32{3, 4}), kerneltest.Zeros(tensor.I32, 2), kerneltest.Zeros(tensor.Bool, 2)
	require.NoError(t, kerneltest.Call(NativeDropout, "aten::native_dropout.out", i, 0.5, false, iOut, iMask))
	kerneltest.Equal(t, i, iOut)
	kerneltest.Equal(t, tensor.Of([]bool{true, true}), iMask)
	require.ErrorIs(t, kerneltest.Fails(t, NativeDropout, "aten::native_dropout.out", i, 0.5, true, iOut, iMask), errs.InvalidArgument)
	require.ErrorIs(t, kerneltest.Fails(t, NativeDropout, "aten::native_dropout.out", x, 1.5, true, out, mask), errs.InvalidArgument)
}
