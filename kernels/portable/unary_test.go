package portable

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func TestUnary(t *testing.T) {
	f16 := func(v float32) tensor.Float16 { return tensor.ToFloat16(v) }
	negNaN := math.Float32frombits(0xffc00000)
	runBinaryCases(t, []binaryCase{
		{"abs", Abs, "aten::abs.out", []any{tensor.Of([]float32{-1, 2, -inf32, nan32})}, tensor.Of([]float32{1, 2, inf32, nan32})},
		{"abs int8", Abs, "aten::abs.out", []any{tensor.Of([]int8{-5, -128, 5})}, tensor.Of([]int8{5, -128, 5})},
		{"abs uint8", Abs, "aten::abs.out", []any{tensor.Of([]uint8{200})}, tensor.Of([]uint8{200})},
		{"abs half", Abs, "aten::abs.out", []any{tensor.Of([]tensor.Float16{f16(-1.5)})}, tensor.Of([]tensor.Float16{f16(1.5)})},
		{"neg", Neg, "aten::neg.out", []any{tensor.Of([]uint8{1, 0})}, tensor.Of([]uint8{255, 0})},
		{"neg half", Neg, "aten::neg.out", []any{tensor.Of([]tensor.Float16{f16(-1.5), f16(2)})}, tensor.Of([]tensor.Float16{f16(1.5), f16(-2)})},
		{"sign", Sign, "aten::sign.out", []any{tensor.Of([]float32{-3, 0, 4, nan32})}, tensor.Of([]float32{-1, 0, 1, nan32})},
		{"sign bool", Sign, "aten::sign.out", []any{tensor.Of([]bool{true, false})}, tensor.Of([]bool{true, false})},
		{"floor", Floor, "aten::floor.out", []any{tensor.Of([]float32{-1.5, 1.5})}, tensor.Of([]float32{-2, 1})},
		{"ceil int32 passes through float32", Ceil, "aten::ceil.out", []any{tensor.Of([]int32{7, 1<<24 + 1, math.MaxInt32})}, tensor.Of([]int32{7, 1 << 24, math.MinInt32})},
		{"trunc", Trunc, "aten::trunc.out", []any{tensor.Of([]float64{-1.5, 1.5})}, tensor.Of([]float64{-1, 1})},
		{"round", Round, "aten::round.out", []any{tensor.Of([]float32{0.5, 1.5, -2.5, 2.6})}, tensor.Of([]float32{0, 2, -2, 3})},
		{"round ints", Round, "aten::round.out", []any{tensor.Of([]int64{1<<53 + 1})}, tensor.Of([]int64{1<<53 + 1})},
		{"exp of bools", Exp, "aten::exp.out", []any{tensor.Of([]bool{false, true})}, tensor.Of([]float32{1, math.E})},
		{"sqrt of ints to half", Sqrt, "aten::sqrt.out", []any{tensor.Of([]int64{16})}, tensor.Of([]tensor.Float16{f16(4)})},
		{"float64 to float32", Log, "aten::log.out", []any{tensor.Of([]float64{1})}, tensor.Of([]float32{0})},
		{"reciprocal", Reciprocal, "aten::reciprocal.out", []any{tensor.Of([]float32{4, 0})}, tensor.Of([]float32{0.25, inf32})},
		{"rsqrt", Rsqrt, "aten::rsqrt.out", []any{tensor.Of([]float64{4, -1})}, tensor.Of([]float64{0.5, math.NaN()})},
		{"isinf", IsInf, "aten::isinf.out", []any{tensor.Of([]float32{inf32, -inf32, nan32, 1})}, tensor.Of([]bool{true, true, false, false})},
		{"isinf float64", IsInf, "aten::isinf.out", []any{tensor.Of([]float64{1e300, math.Inf(1)})}, tensor.Of([]bool{false, true})},
		{"isnan ints", IsNaN, "aten::isnan.out", []any{tensor.Of([]int32{1})}, tensor.Of([]bool{false})},
		{"relu", Relu, "aten::relu.out", []any{tensor.Of([]float32{-1, 2, nan32, negNaN, -inf32, inf32, -1e-45})}, tensor.Of([]float32{0, 2, nan32, nan32, 0, inf32, 0})},
		{"relu half", Relu, "aten::relu.out", []any{tensor.Of([]tensor.Float16{f16(-1), f16(2), 0xfe00})}, tensor.Of([]tensor.Float16{0, f16(2), 0xfe00})},
		{"relu bfloat16", Relu, "aten::relu.out", []any{tensor.Of([]tensor.BFloat16{0xbf80, 0x3f80, 0xffc0, 0xff80})}, tensor.Of([]tensor.BFloat16{0, 0x3f80, 0xffc0, 0})},
		{"relu int", Relu, "aten::relu.out", []any{tensor.Of([]int16{-1, 3})}, tensor.Of([]int16{0, 3})},
		{"sigmoid of ints", Sigmoid, "aten::sigmoid.out", []any{tensor.Of([]int8{0})}, tensor.Of([]float32{0.5})},
	})
}

func TestUnaryErrors(t *testing.T) {
	i, f, b := kerneltest.Zeros(tensor.I32, 2), kerneltest.Zeros(tensor.F32, 2), kerneltest.Zeros(tensor.Bool, 2)
	c, q := kerneltest.Zeros(tensor.C64, 2), kerneltest.Zeros(tensor.QInt8, 2)
	for name, err := range map[string]error{
		"exp to int":       kerneltest.Fails(t, Exp, "aten::exp.out", i, i),
		"exp of complex":   kerneltest.Fails(t, Exp, "aten::exp.out", c, f),
		"exp of quantised": kerneltest.Fails(t, Exp, "aten::exp.out", q, f),
		"neg of bool":      kerneltest.Fails(t, Neg, "aten::neg.out", b, b),
		"neg to other":     kerneltest.Fails(t, Neg, "aten::neg.out", i, f),
		"floor of bool":    kerneltest.Fails(t, Floor, "aten::floor.out", b, b),
		"round of complex": kerneltest.Fails(t, Round, "aten::round.out", c, c),
		"isnan to uint8":   kerneltest.Fails(t, IsNaN, "aten::isnan.out", f, kerneltest.Zeros(tensor.U8, 2)),
		"gelu of ints":     kerneltest.Fails(t, Gelu, "aten::gelu.out", i, "none", i),
		"gelu mode":        kerneltest.Fails(t, Gelu, "aten::gelu.out", f, "erf", f),
		"elu of ints":      kerneltest.Fails(t, Elu, "aten::elu.out", i, 1, 1, 1, i),
		"slope overflows":  kerneltest.Fails(t, LeakyRelu, "aten::leaky_relu.out", kerneltest.Zeros(tensor.F16, 1), 1e6, kerneltest.Zeros(tensor.F16, 1)),
		"hardtanh bound":   kerneltest.Fails(t, Hardtanh, "aten::hardtanh.out", kerneltest.Zeros(tensor.U8, 1), -1.0, 1.0, kerneltest.Zeros(tensor.U8, 1)),
		"hardtanh of bool": kerneltest.Fails(t, Hardtanh, "aten::hardtanh.out", b, 0, 1, b),
		"glu odd":          kerneltest.Fails(t, Glu, "aten::glu.out", kerneltest.Zeros(tensor.F32, 3), 0, kerneltest.Zeros(tensor.F32, 1)),
		"glu of a scalar":  kerneltest.Fails(t, Glu, "aten::glu.out", kerneltest.Zeros(tensor.F32), 0, kerneltest.Zeros(tensor.F32)),
		"glu dim":          kerneltest.Fails(t, Glu, "aten::glu.out", f, 1, kerneltest.Zeros(tensor.F32, 1)),
	} {
		require.ErrorIs(t, err, errs.InvalidArgument, name)
	}
}

func TestActivations(t *testing.T) {
	x := tensor.Of([]float32{-2, -0.5, 0, 0.5, 2, nan32})
	runBinaryCases(t, []binaryCase{
		{"leaky relu", LeakyRelu, "aten::leaky_relu.out", []any{x, 0.5}, tensor.Of([]float32{-1, -0.25, 0, 0.5, 2, nan32})},
		{"leaky relu float64", LeakyRelu, "aten::leaky_relu.out", []any{tensor.Of([]float64{-2, 3}), 0.5}, tensor.Of([]float64{-1, 3})},
		{"hardtanh", Hardtanh, "aten::hardtanh.out", []any{x, -1, 1}, tensor.Of([]float32{-1, -0.5, 0, 0.5, 1, nan32})},
		{"hardtanh ints", Hardtanh, "aten::hardtanh.out", []any{tensor.Of([]int8{-9, 3}), -1.5, 100}, tensor.Of([]int8{-1, 3})},
		{"clamp max wins", Clamp, "aten::clamp.out", []any{x, 1, 0.25}, tensor.Of([]float32{0.25, 0.25, 0.25, 0.25, 0.25, nan32})},
		{"clamp ints by a fraction", Clamp, "aten::clamp.out", []any{tensor.Of([]int32{1, 9}), nil, 2.5}, tensor.Of([]float32{1, 2.5})},
		{"clamp min only", Clamp, "aten::clamp.out", []any{tensor.Of([]uint8{1, 255}), 3, nil}, tensor.Of([]uint8{3, 255})},
		{"clamp tensors", Clamp, "aten::clamp.Tensor_out", []any{x, nil, tensor.Of([]float32{nan32, 0, 0, 0, 0, 0})}, tensor.Of([]float32{nan32, -0.5, 0, 0, 0, nan32})},
		{"where", Where, "aten::where.self_out", []any{tensor.Of([]uint8{0, 3}), tensor.Of([]int32{1, 2}), tensor.Scalar(float32(0.5))}, tensor.Of([]float32{0.5, 2})},
		{"where of bools", Where, "aten::where.self_out", []any{tensor.Of([]bool{true, false}), tensor.Of([]bool{true}), tensor.Of([]bool{false})}, tensor.Of([]bool{true, false})},
		{"masked fill", MaskedFill, "aten::masked_fill.Scalar_out", []any{tensor.Of([]int8{1, 2}), tensor.Of([]bool{true, false}), 2.9}, tensor.Of([]int8{2, 2})},
		{"masked fill half", MaskedFill, "aten::masked_fill.Scalar_out", []any{tensor.Of([]tensor.Float16{1}), tensor.Of([]bool{true, false}), math.Inf(-1)}, tensor.Of([]tensor.Float16{0xfc00, 1})},
		{"logit eps", Logit, "aten::logit.out", []any{tensor.Of([]float32{0.5, 0.5}), 0.25}, tensor.Of([]float32{0, 0})},
		{"logit of bools", Logit, "aten::logit.out", []any{tensor.Of([]bool{false, true}), nil}, tensor.Of([]float64{math.Inf(-1), math.Inf(1)})},
	})

	out := kerneltest.Zeros(tensor.F32, 6)
	kerneltest.Run(t, Elu, "aten::elu.out", x, 2, 3, 0.5, out)
	kerneltest.Close(t, tensor.Of([]float32{-3.79272342, -1.32719529, 0, 1.5, 6, nan32}), out, 1e-6, 0)

	// Halves along the middle dimension of a channels-last input.
	in := tensor.Of([]float32{1, 2, 3, 4, 0, 0, 0, 0}, 1, 4, 2, 1).WithOrder(tensor.ChannelsLast(4))
	glu := kerneltest.Zeros(tensor.F32, 1, 2, 2, 1)
	kerneltest.Run(t, Glu, "aten::glu.out", in, 1, glu)
	kerneltest.Equal(t, tensor.Of([]float32{0.5, 1, 1.5, 2}, 1, 2, 2, 1), glu)
	glu64 := kerneltest.Zeros(tensor.F64, 1, 2, 2, 1)
	kerneltest.Run(t, Glu, "aten::glu.out", tensor.Of([]float64{1, 2, 3, 4, 0, 0, 0, 0}, 1, 4, 2, 1), -3, glu64)
	kerneltest.Equal(t, tensor.Of([]float64{0.5, 1, 1.5, 2}, 1, 2, 2, 1), glu64)
}

func TestClampAndWhereErrors(t *testing.T) {
	u, f, i := kerneltest.Zeros(tensor.U8, 2), kerneltest.Zeros(tensor.F32, 2), kerneltest.Zeros(tensor.I32, 2)
	for name, err := range map[string]error{
		"no bound":        kerneltest.Fails(t, Clamp, "aten::clamp.out", f, nil, nil, f),
		"no tensor bound": kerneltest.Fails(t, Clamp, "aten::clamp.Tensor_out", f, nil, nil, f),
		"negative bound":  kerneltest.Fails(t, Clamp, "aten::clamp.out", u, -1, 3, u),
		"out type":        kerneltest.Fails(t, Clamp, "aten::clamp.out", i, 0.5, nil, i),
		"condition":       kerneltest.Fails(t, Where, "aten::where.self_out", i, f, f, f),
		"where out":       kerneltest.Fails(t, Where, "aten::where.self_out", u, f, i, i),
		"mask":            kerneltest.Fails(t, MaskedFill, "aten::masked_fill.Scalar_out", f, u, 1, f),
		"fill out":        kerneltest.Fails(t, MaskedFill, "aten::masked_fill.Scalar_out", f, kerneltest.Zeros(tensor.Bool, 2), 1, i),
	} {
		require.ErrorIs(t, err, errs.InvalidArgument, name)
	}
}
