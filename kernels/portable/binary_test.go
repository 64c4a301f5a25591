package portable

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

var (
	inf32 = float32(math.Inf(1))
	nan32 = float32(math.NaN())
)

// binaryCase is a call of an operator that takes two operands and an output.
type binaryCase struct {
	name    string
	kernels runtime.Kernels
	op      string
	args    []any // without the output
	want    *tensor.Tensor
}

func runBinaryCases(t *testing.T, cases []binaryCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out := kerneltest.Zeros(c.want.DType(), c.want.Shape()...)
			kerneltest.Run(t, c.kernels, c.op, append(c.args, out)...)
			kerneltest.Equal(t, c.want, out)
		})
	}
}

func TestArithmetic(t *testing.T) {
	i8, u8 := tensor.Of([]int8{100, -100}), tensor.Of([]uint8{200, 7})
	b := tensor.Of([]bool{true, false})
	runBinaryCases(t, []binaryCase{
		{"int8 wraps", Add, "aten::add.out", []any{i8, i8, 1}, tensor.Of([]int8{-56, 56})},
		{"uint8 and int8", Add, "aten::add.out", []any{u8, i8, 1}, tensor.Of([]int16{300, -93})},
		{"uint8 and int8 to int8", Add, "aten::add.out", []any{u8, i8, 1}, tensor.Of([]int8{44, -93})},
		{"alpha", Add, "aten::add.out", []any{tensor.Of([]float32{1, 2}), tensor.Of([]int32{3, 4}), 0.5}, tensor.Of([]float32{2.5, 4})},
		{"add scalar", Add, "aten::add.Scalar_out", []any{i8, 5, 3}, tensor.Of([]int8{115, -85})},
		{"int + float scalar", Add, "aten::add.Scalar_out", []any{i8, 0.5, 1}, tensor.Of([]float32{100.5, -99.5})},
		{"bools", Add, "aten::add.out", []any{b, tensor.Of([]bool{true}), 1}, tensor.Of([]bool{true, true})},
		{"bools, alpha 0", Add, "aten::add.out", []any{b, tensor.Of([]bool{true}), 0}, tensor.Of([]bool{true, false})},
		{"bools to float", Add, "aten::add.out", []any{b, b, 1}, tensor.Of([]float32{1, 0})},
		{"bool + int scalar", Add, "aten::add.Scalar_out", []any{b, 2, 1}, tensor.Of([]int64{3, 2})},
		{"sub", Sub, "aten::sub.out", []any{u8, tensor.Of([]uint8{201, 3}), 1}, tensor.Of([]uint8{255, 4})},
		{"sub alpha", Sub, "aten::sub.out", []any{tensor.Of([]float64{1}), tensor.Of([]float64{2, 3}), 2}, tensor.Of([]float64{-3, -5})},
		{"sub scalar", Sub, "aten::sub.Scalar_out", []any{i8, 1, 2}, tensor.Of([]int8{98, -102})},
		{"rsub", Rsub, "aten::rsub.Scalar_out", []any{i8, 1, 1}, tensor.Of([]int8{-99, 101})},
		{"rsub alpha", Rsub, "aten::rsub.Scalar_out", []any{tensor.Of([]float32{3, 4}), 1, 0.5}, tensor.Of([]float32{-0.5, -1})},
		{"mul", Mul, "aten::mul.out", []any{i8, i8}, tensor.Of([]int8{16, 16})},
		{"mul bools", Mul, "aten::mul.out", []any{b, tensor.Of([]bool{true})}, tensor.Of([]bool{true, false})},
		{"mul scalar", Mul, "aten::mul.Scalar_out", []any{u8, 2}, tensor.Of([]uint8{144, 14})},
		{"halves", Mul, "aten::mul.out", []any{tensor.Of([]tensor.Float16{tensor.ToFloat16(300)}), tensor.Of([]tensor.Float16{tensor.ToFloat16(300)})},
			tensor.Of([]tensor.Float16{tensor.ToFloat16(inf32)})},
		{"div ints", Div, "aten::div.out", []any{i8, tensor.Of([]int64{8, 0})}, tensor.Of([]float32{12.5, -inf32})},
		{"div scalar", Div, "aten::div.Scalar_out", []any{b, 4}, tensor.Of([]float32{0.25, 0})},
		{"maximum NaN", Maximum, "aten::maximum.out", []any{tensor.Of([]float32{nan32, 1, -inf32}), tensor.Of([]float32{1, nan32, 2})}, tensor.Of([]float32{nan32, nan32, 2})},
		{"minimum", Minimum, "aten::minimum.out", []any{i8, tensor.Scalar(int64(0))}, tensor.Of([]int64{0, -100})},
		{"maximum bools", Maximum, "aten::maximum.out", []any{b, tensor.Of([]bool{false})}, b},
		{"atan2 ints", Atan2, "aten::atan2.out", []any{tensor.Of([]int32{1, 0}), tensor.Of([]int32{0, -1})}, tensor.Of([]float32{math.Pi / 2, math.Pi})},
	})
}

// The bytes of a bool tensor may be other than 0 and 1.
func TestArithmeticOfOddBools(t *testing.T) {
	odd, err := tensor.FromBytes(tensor.Bool, []byte{0, 1, 2, 255}, []int{4})
	require.NoError(t, err)
	want := tensor.Of([]bool{false, true, true, true})
	runBinaryCases(t, []binaryCase{
		{"add", Add, "aten::add.out", []any{odd, odd, 1}, want},
		{"mul", Mul, "aten::mul.out", []any{odd, odd}, want},
		{"to int", Mul, "aten::mul.out", []any{odd, tensor.Of([]int32{3})}, tensor.Of([]int32{0, 3, 3, 3})},
		{"maximum", Maximum, "aten::maximum.out", []any{odd, odd}, want},
		{"eq", Eq, "aten::eq.Tensor_out", []any{odd, tensor.Of([]bool{true})}, want},
		{"logical", LogicalXor, "aten::logical_xor.out", []any{odd, tensor.Of([]bool{true})}, tensor.Of([]bool{true, false, false, false})},
		{"bitwise", BitwiseAnd, "aten::bitwise_and.Tensor_out", []any{odd, odd}, want},
	})
}

func TestDivision(t *testing.T) {
	a, b := tensor.Of([]int32{7, -7, 7, -7, math.MinInt32}), tensor.Of([]int32{2, 2, -2, -2, -1})
	f := tensor.Of([]float32{7, -7, 1, nan32, inf32})
	g := tensor.Of([]float32{-2, 2, 0, 0, 1})
	big := tensor.Of([]int64{1<<62 + 1})
	runBinaryCases(t, []binaryCase{
		{"trunc ints", Div, "aten::div.out_mode", []any{a, b, "trunc"}, tensor.Of([]int32{3, -3, -3, 3, math.MinInt32})},
		{"trunc int64 passes through float64", Div, "aten::div.Scalar_mode_out", []any{big, 1, "trunc"}, tensor.Of([]int64{1 << 62})},
		{"floor int64 does not", Div, "aten::div.Scalar_mode_out", []any{big, 1, "floor"}, big},
		{"floor ints", Div, "aten::div.out_mode", []any{a, b, "floor"}, tensor.Of([]int32{3, -4, -4, 3, math.MinInt32})},
		{"floor_divide ints", FloorDivide, "aten::floor_divide.out", []any{a, b}, tensor.Of([]int32{3, -4, -4, 3, math.MinInt32})},
		{"trunc floats", Div, "aten::div.out_mode", []any{f, g, "trunc"}, tensor.Of([]float32{-3, -3, inf32, nan32, inf32})},
		{"floor floats", Div, "aten::div.out_mode", []any{f, g, "floor"}, tensor.Of([]float32{-4, -4, inf32, inf32, nan32})},
		{"floor float64", FloorDivide, "aten::floor_divide.out", []any{f, tensor.Of([]float64{-2, 2, 0, 0, 1})}, tensor.Of([]float64{-4, -4, math.Inf(1), math.Inf(1), math.NaN()})},
		{"no mode", Div, "aten::div.out_mode", []any{a, b, nil}, tensor.Of([]float32{3.5, -3.5, -3.5, 3.5, 1 << 31})},
		{"remainder ints", Remainder, "aten::remainder.Tensor_out", []any{a, b}, tensor.Of([]int32{1, -1, 1, -1, 0})},
		{"remainder floats", Remainder, "aten::remainder.Tensor_out", []any{f, g}, tensor.Of([]float32{-1, 1, nan32, nan32, nan32})},
		{"remainder float64 is rounded", Remainder, "aten::remainder.Scalar_out", []any{tensor.Of([]float64{0.1}), 1.0}, tensor.Of([]float64{float64(float32(0.1))})},
		{"fmod ints", Fmod, "aten::fmod.Tensor_out", []any{a, b}, tensor.Of([]int32{1, -1, 1, -1, 0})},
		{"fmod by int tensor 0", Fmod, "aten::fmod.Tensor_out", []any{a, tensor.Of([]int32{0})}, tensor.Of([]int32{math.MinInt32, math.MinInt32, math.MinInt32, math.MinInt32, math.MinInt32})},
		{"fmod scalar", Fmod, "aten::fmod.Scalar_out", []any{f, 2}, tensor.Of([]float32{1, -1, 1, nan32, nan32})},
	})
}

func TestBinaryErrors(t *testing.T) {
	i, u, f := kerneltest.Zeros(tensor.I32, 2), kerneltest.Zeros(tensor.U8, 2), kerneltest.Zeros(tensor.F32, 2)
	b, q, c := kerneltest.Zeros(tensor.Bool, 2), kerneltest.Zeros(tensor.QInt8, 2), kerneltest.Zeros(tensor.C64, 2)
	for name, err := range map[string]error{
		"float to int":       kerneltest.Fails(t, Add, "aten::add.out", f, i, 1, i),
		"int to bool":        kerneltest.Fails(t, Add, "aten::add.out", i, i, 1, b),
		"complex to float":   kerneltest.Fails(t, Add, "aten::add.out", c, f, 1, f),
		"quantised":          kerneltest.Fails(t, Add, "aten::add.out", q, q, 1, q),
		"to quantised":       kerneltest.Fails(t, Add, "aten::add.out", f, f, 1, q),
		"quantised and real": kerneltest.Fails(t, Add, "aten::add.out", q, f, 1, f),
		"float alpha":        kerneltest.Fails(t, Add, "aten::add.out", i, i, 1.5, i),
		"alpha range":        kerneltest.Fails(t, Sub, "aten::sub.out", u, u, -1, u),
		"bool alpha":         kerneltest.Fails(t, Sub, "aten::sub.out", f, f, true, f),
		"sub bools":          kerneltest.Fails(t, Sub, "aten::sub.out", b, b, 1, b),
		"rsub alpha":         kerneltest.Fails(t, Rsub, "aten::rsub.Scalar_out", i, 1, 1.5, i),
		"mode":               kerneltest.Fails(t, Div, "aten::div.out_mode", f, f, "up", f),
		"mode of bools":      kerneltest.Fails(t, Div, "aten::div.out_mode", b, b, "floor", b),
		"div to int":         kerneltest.Fails(t, Div, "aten::div.out", i, i, i),
		"div mode by 0":      kerneltest.Fails(t, Div, "aten::div.out_mode", i, i, "trunc", i),
		"div scalar by 0":    kerneltest.Fails(t, Div, "aten::div.Scalar_mode_out", i, 0, "floor", i),
		"floor_divide by 0":  kerneltest.Fails(t, FloorDivide, "aten::floor_divide.out", u, u, u),
		"remainder by 0":     kerneltest.Fails(t, Remainder, "aten::remainder.Tensor_out", i, b, i),
		"remainder scalar 0": kerneltest.Fails(t, Remainder, "aten::remainder.Scalar_out", i, 0, i),
		"fmod scalar 0":      kerneltest.Fails(t, Fmod, "aten::fmod.Scalar_out", i, false, i),
		"pow of bools":       kerneltest.Fails(t, Pow, "aten::pow.Tensor_Tensor_out", b, b, b),
		"atan2 to int":       kerneltest.Fails(t, Atan2, "aten::atan2.out", i, i, i),
		"shift a float":      kerneltest.Fails(t, BitwiseLeftShift, "aten::bitwise_left_shift.Tensor_Scalar_out", f, 1, f),
		"not of a float":     kerneltest.Fails(t, BitwiseNot, "aten::bitwise_not.out", f, f),
	} {
		require.ErrorIs(t, err, errs.InvalidArgument, name)
	}
}

// An output that overlaps the divisor may put zeros into it.
func TestDivisionByOverlappingOutput(t *testing.T) {
	memory := make([]byte, 4096)
	for i := range memory {
		memory[i] = 1
	}
	divisor, err := tensor.FromBytes(tensor.U8, memory[:2048], []int{2048})
	require.NoError(t, err)
	out, err := tensor.FromBytes(tensor.U8, memory[8:2056], []int{2048})
	require.NoError(t, err)
	reg := runtime.NewRegistry()
	require.NoError(t, reg.Register(FloorDivide))
	a, b, o := runtime.TensorValue(kerneltest.Zeros(tensor.U8, 2048)), runtime.TensorValue(divisor), runtime.TensorValue(out)
	require.NoError(t, callSafely(reg.Kernel("aten::floor_divide.out"), runtime.Args{&a, &b, &o}))
}

func TestPow(t *testing.T) {
	runBinaryCases(t, []binaryCase{
		{"ints", Pow, "aten::pow.Tensor_Tensor_out", []any{tensor.Of([]int32{2, -3, 2, 10}), tensor.Of([]int32{10, 3, -1, 30})}, tensor.Of([]int32{1024, -27, 0, math.MinInt32})},
		{"int8 overflow", Pow, "aten::pow.Tensor_Scalar_out", []any{tensor.Of([]int8{2, 3}), 7}, tensor.Of([]int8{-128, -117})},
		{"squares", Pow, "aten::pow.Tensor_Scalar_out", []any{tensor.Of([]float32{-3, 0.5, inf32}), 2}, tensor.Of([]float32{9, 0.25, inf32})},
		{"scalar base", Pow, "aten::pow.Scalar_out", []any{2, tensor.Of([]float32{3, -1, 0.5})}, tensor.Of([]float32{8, 0.5, math.Sqrt2})},
		{"float64", Pow, "aten::pow.Tensor_Scalar_out", []any{tensor.Of([]float64{4}), 0.5}, tensor.Of([]float64{2})},
	})
}

func TestComplex(t *testing.T) {
	a := tensor.Of([]complex64{1 + 2i, -1i})
	h := tensor.Of([]tensor.Complex32{{Real: tensor.ToFloat16(3), Imag: tensor.ToFloat16(-4)}})
	runBinaryCases(t, []binaryCase{
		{"add", Add, "aten::add.out", []any{a, a, 1}, tensor.Of([]complex64{2 + 4i, -2i})},
		{"add alpha, broadcast", Add, "aten::add.out", []any{a, tensor.Of([]complex64{1}), 2}, tensor.Of([]complex64{3 + 2i, 2 - 1i})},
		{"add real", Add, "aten::add.out", []any{a, tensor.Of([]float32{1, 2}), 1}, tensor.Of([]complex64{2 + 2i, 2 - 1i})},
		{"sub", Sub, "aten::sub.out", []any{tensor.Of([]complex128{1i}), a, 1}, tensor.Of([]complex128{-1 - 1i, 2i})},
		{"mul", Mul, "aten::mul.out", []any{a, a}, tensor.Of([]complex64{-3 + 4i, -1})},
		{"mul half", Mul, "aten::mul.out", []any{h, h}, tensor.Of([]tensor.Complex32{{Real: tensor.ToFloat16(-7), Imag: tensor.ToFloat16(-24)}})},
		{"div", Div, "aten::div.out", []any{a, tensor.Of([]complex64{1i})}, tensor.Of([]complex64{2 - 1i, -1})},
		{"abs", Abs, "aten::abs.out", []any{tensor.Of([]complex64{3 + 4i, -1i})}, tensor.Of([]float32{5, 1})},
		{"abs half", Abs, "aten::abs.out", []any{h}, tensor.Of([]float32{5})},
		{"abs double", Abs, "aten::abs.out", []any{tensor.Of([]complex128{3 + 4i})}, tensor.Of([]float64{5})},
		{"conj", ConjPhysical, "aten::_conj_physical.out", []any{a}, tensor.Of([]complex64{1 - 2i, 1i})},
		{"conj half", ConjPhysical, "aten::_conj_physical.out", []any{h}, tensor.Of([]tensor.Complex32{{Real: tensor.ToFloat16(3), Imag: tensor.ToFloat16(4)}})},
		{"conj double", ConjPhysical, "aten::_conj_physical.out", []any{tensor.Of([]complex128{2i})}, tensor.Of([]complex128{-2i})},
	})
	f := kerneltest.Zeros(tensor.F32, 2)
	require.ErrorIs(t, kerneltest.Fails(t, ConjPhysical, "aten::_conj_physical.out", f, f), errs.InvalidArgument)
	require.ErrorIs(t, kerneltest.Fails(t, Abs, "aten::abs.out", a, kerneltest.Zeros(tensor.I32, 2)), errs.InvalidArgument)
}
