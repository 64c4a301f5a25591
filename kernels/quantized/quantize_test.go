package quantized

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

func bf16(values ...float32) *tensor.Tensor {
	s := make([]tensor.BFloat16, len(values))
	for i, v := range values {
		s[i] = tensor.ToBFloat16(v)
	}
	return tensor.Of(s)
}

func TestRegister(t *testing.T) {
	require.NoError(t, Register(runtime.NewRegistry()))
}

func TestRound(t *testing.T) {
	for _, c := range []struct {
		x, zero float64
		lo, hi  int64
		want    int64
	}{
		{0.5, 0, -128, 127, 0},
		{1.5, 0, -128, 127, 2},
		{-2.5, 1, -128, 127, -1},
		{1e6, 0, -128, 127, 127},
		{-1e6, 0, -128, 127, -128},
		{1 << 40, 0, -128, 127, 127},
		{1 << 63, 0, -128, 127, -128}, // beyond int64
		{nan, 0, -128, 127, -128},
		{inf, 0, -128, 127, -128},
		{4194304.5, 0, math.MinInt32, math.MaxInt32, 4194304},
		{4194305.5, 0, math.MinInt32, math.MaxInt32, 4194306},
		{8388609, 0, math.MinInt32, math.MaxInt32, 8388609},
		{1, 1 << 24, math.MinInt32, math.MaxInt32, 1 << 24}, // the sum is a float32
	} {
		assert.Equal(t, c.want, round(float32(c.x), float32(c.zero), c.lo, c.hi), "%+v", c)
	}
}

func TestQuantizeTypes(t *testing.T) {
	values := []float32{-3, -0.25, 0, 0.25, 0.75, 2, 100, -100}
	want := []int64{-5, 1, 1, 1, 3, 5, 10, -10} // scale 0.5, zero point 1, -10 ... 10
	x32 := tensor.Of(values)
	x64, x16 := kerneltest.Zeros(tensor.F64, len(values)), kerneltest.Zeros(tensor.F16, len(values))
	for i, v := range values {
		tensor.Raw[float64](x64)[i] = float64(v)
		tensor.Raw[tensor.Float16](x16)[i] = tensor.ToFloat16(v)
	}
	for _, x := range []*tensor.Tensor{x32, x64, x16, bf16(values...)} {
		for _, d := range []tensor.DType{tensor.I8, tensor.I16, tensor.I32} {
			out := kerneltest.Zeros(d, len(values))
			kerneltest.Run(t, QuantizePerTensor, "quantized_decomposed::quantize_per_tensor.out", x, 0.5, 1, -10, 10, d, out)
			for i, w := range want {
				assert.Equal(t, w, at(out, i), "%v to %v, element %d", x, d, i)
			}
		}
	}
	for _, d := range []tensor.DType{tensor.U8, tensor.U16, tensor.Bits16} {
		out := kerneltest.Zeros(d, len(values))
		kerneltest.Run(t, QuantizePerTensor, "quantized_decomposed::quantize_per_tensor.out", x32, 0.5, 1, 0, 10, d, out)
		for i, w := range want {
			assert.Equal(t, max(w, 0), at(out, i), "%v, element %d", d, i)
		}
	}
}

// at returns element i of an integer tensor.
func at(t *tensor.Tensor, i int) int64 {
	switch t.DType() {
	case tensor.U8:
		return int64(t.Bytes()[i])
	case tensor.I8:
		return int64(int8(t.Bytes()[i]))
	case tensor.I16:
		return int64(tensor.Raw[int16](t)[i])
	case tensor.I32:
		return int64(tensor.Raw[int32](t)[i])
	}
	return int64(tensor.Cast[uint16](t.Bytes())[i])
}

// TestLayouts has every pair of dim orders of input and output, and parameters
// along each axis.
func TestLayouts(t *testing.T) {
	shape := []int{2, 3, 2, 5}
	x := kerneltest.Zeros(tensor.F32, shape...)
	for i := range tensor.Raw[float32](x) {
		tensor.Raw[float32](x)[i] = float32(i) - 30
	}
	orders := []tensor.DimOrder{{0, 1, 2, 3}, {0, 2, 3, 1}, {3, 1, 0, 2}}
	for axis := range shape {
		n := shape[axis]
		scales, zeros := kerneltest.Zeros(tensor.F64, n), kerneltest.Zeros(tensor.I64, n)
		for i := range n {
			tensor.Raw[float64](scales)[i] = 0.5 * float64(i+1)
			tensor.Raw[int64](zeros)[i] = int64(i)
		}
		var wantQ, wantX *tensor.Tensor
		for _, from := range orders {
			for _, to := range orders {
				q := like(x, tensor.I8, to)
				kerneltest.Run(t, QuantizePerChannel, "quantized_decomposed::quantize_per_channel.out",
					x.WithOrder(from), scales, zeros, axis, -128, 127, tensor.I8, q)
				y := like(x, tensor.F32, from)
				kerneltest.Run(t, DequantizePerChannel, "quantized_decomposed::dequantize_per_channel.out",
					q, scales, zeros, axis-4, -128, 127, tensor.I8, nil, y)
				if wantQ == nil {
					wantQ, wantX = q, y
					requireRoundTrip(t, x, y)
				}
				kerneltest.Equal(t, wantQ, q)
				kerneltest.Equal(t, wantX, y)
			}
		}
	}
}

// requireRoundTrip wants y to be within half of the largest scale of x.
func requireRoundTrip(t *testing.T, x, y *tensor.Tensor) {
	for i, v := range tensor.Raw[float32](x) {
		require.InDelta(t, v, tensor.Raw[float32](y)[i], 1.25)
	}
}

func like(t *tensor.Tensor, d tensor.DType, order tensor.DimOrder) *tensor.Tensor {
	u, err := tensor.New(d, t.Shape(), tensor.WithDimOrder(order))
	if err != nil {
		panic(err)
	}
	return u
}

func TestPerToken(t *testing.T) {
	x := tensor.Of([]float32{1, 2, 3, 10, 20, 30, -1, -2, -3, 0.5, 1, 1.5}, 2, 2, 3)
	scales := tensor.Of([]float32{1, 10, 0.5, 0.25}, 2, 2, 1) // ExecuTorch wants float64
	zeros := tensor.Of([]int32{0, 1, 2, 3}, 2, 2, 1)
	q := kerneltest.Zeros(tensor.I8, 2, 2, 3)
	kerneltest.Run(t, QuantizePerToken, "quantized_decomposed::quantize_per_token.out", x, scales, zeros, -128, 127, tensor.I8, q)
	kerneltest.Equal(t, tensor.Of([]int8{1, 2, 3, 2, 3, 4, 0, -2, -4, 5, 7, 9}, 2, 2, 3), q)
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.F64} {
		y := kerneltest.Zeros(d, 2, 2, 3)
		kerneltest.Run(t, DequantizePerToken, "quantized_decomposed::dequantize_per_token.out", q, scales, zeros, -128, 127, tensor.I8, d, y)
		z := kerneltest.Zeros(tensor.I8, 2, 2, 3)
		kerneltest.Run(t, QuantizePerToken, "quantized_decomposed::quantize_per_token.out", y, scales, zeros, -128, 127, tensor.I8, z)
		kerneltest.Equal(t, q, z)
	}
}

func TestDequantizeWraps(t *testing.T) {
	y := kerneltest.Zeros(tensor.F32, 2)
	kerneltest.Run(t, DequantizePerTensor, "quantized_decomposed::dequantize_per_tensor.out",
		tensor.Of([]int32{math.MinInt32, 5}), 1.0, 1, math.MinInt32, math.MaxInt32, tensor.I32, nil, y)
	kerneltest.Equal(t, tensor.Of([]float32{math.MaxInt32, 4}), y)
}

func TestDequantizeWithoutZeroPoints(t *testing.T) {
	y := kerneltest.Zeros(tensor.BF16, 2, 2)
	kerneltest.Run(t, DequantizePerChannel, "quantized_decomposed::dequantize_per_channel.out",
		tensor.Of([]uint8{1, 2, 3, 4}, 2, 2), bf16(1, 2), nil, 0, 0, 255, tensor.U8, tensor.BF16, y)
	kerneltest.Equal(t, tensor.Of([]tensor.BFloat16{0x3f80, 0x4000, 0x40c0, 0x4100}, 2, 2), y)
}

func TestQuantizeScalarAndEmpty(t *testing.T) {
	q := kerneltest.Zeros(tensor.I8)
	kerneltest.Run(t, QuantizePerTensor, "quantized_decomposed::quantize_per_tensor.out", tensor.Scalar[float32](3), 1.0, 0, -128, 127, tensor.I8, q)
	kerneltest.Equal(t, tensor.Scalar[int8](3), q)
	kerneltest.Run(t, QuantizePerChannel, "quantized_decomposed::quantize_per_channel.out",
		tensor.Scalar[float32](3), tensor.Scalar(0.5), tensor.Scalar[int64](1), -1, -128, 127, tensor.I8, q)
	kerneltest.Equal(t, tensor.Scalar[int8](7), q)
	for _, shape := range [][]int{{0, 3}, {3, 0}} {
		n := shape[0]
		scales, zeros := kerneltest.Zeros(tensor.F64, n, 1), kerneltest.Zeros(tensor.I64, n, 1)
		kerneltest.Run(t, QuantizePerToken, "quantized_decomposed::quantize_per_token.out",
			kerneltest.Zeros(tensor.F32, shape...), scales, zeros, -128, 127, tensor.I8, kerneltest.Zeros(tensor.I8, shape...))
	}
}

func TestQuantizeRefuses(t *testing.T) {
	x, q := kerneltest.Zeros(tensor.F32, 2, 3), kerneltest.Zeros(tensor.I8, 2, 3)
	s, z := kerneltest.Zeros(tensor.F64, 2), kerneltest.Zeros(tensor.I64, 2)
	perTensor, perChannel := "quantized_decomposed::quantize_per_tensor.out", "quantized_decomposed::quantize_per_channel.out"
	for _, err := range []error{
		kerneltest.Call(QuantizePerTensor, perTensor, x, 1.0, 0, -129, 127, tensor.I8, q),
		kerneltest.Call(QuantizePerTensor, perTensor, x, 1.0, 0, -128, 128, tensor.I8, q),
		kerneltest.Call(QuantizePerTensor, perTensor, x, 1.0, 0, -128, 127, tensor.U8, q),
		kerneltest.Call(QuantizePerTensor, perTensor, q, 1.0, 0, -128, 127, tensor.I8, q),
		kerneltest.Call(QuantizePerTensor, perTensor, x, 1.0, 0, 0, 1, tensor.Bool, kerneltest.Zeros(tensor.Bool, 2, 3)),
		kerneltest.Call(QuantizePerTensor, perTensor, x, 1.0, 0, -128, 127, tensor.I8, kerneltest.Zeros(tensor.I8, 3, 2)),
		kerneltest.Call(QuantizePerChannel, perChannel, x, s, z, 2, -128, 127, tensor.I8, q),
		kerneltest.Call(QuantizePerChannel, perChannel, x, s, z, 1, -128, 127, tensor.I8, q),
		kerneltest.Call(QuantizePerChannel, perChannel, x, z, z, 0, -128, 127, tensor.I8, q),
		kerneltest.Call(QuantizePerChannel, perChannel, x, s, s, 0, -128, 127, tensor.I8, q),
		kerneltest.Call(QuantizePerToken, "quantized_decomposed::quantize_per_token.out",
			tensor.Scalar[float32](1), tensor.Scalar(1.0), tensor.Scalar[int64](0), -128, 127, tensor.I8, kerneltest.Zeros(tensor.I8)),
		kerneltest.Call(DequantizePerTensor, "quantized_decomposed::dequantize_per_tensor.out", q, 1.0, 0, 5, 4, tensor.I8, nil, x),
		kerneltest.Call(DequantizePerTensor, "quantized_decomposed::dequantize_per_tensor.out", q, 1.0, 0, -128, 127, tensor.I8, tensor.F16, x),
		kerneltest.Call(DequantizePerTensor, "quantized_decomposed::dequantize_per_tensor.out", x, 1.0, 0, -128, 127, tensor.F32, nil, x),
	} {
		assert.ErrorIs(t, err, errs.InvalidArgument)
	}
}

func TestAdd(t *testing.T) {
	// -128 ... 127 is no range to ExecuTorch, and it does not broadcast.
	out := kerneltest.Zeros(tensor.I8, 2, 2)
	kerneltest.Run(t, Add, "quantized_decomposed::add.out",
		tensor.Of([]int8{-128, 0, 1, 127}, 2, 2), 0.5, 0, -128, 127,
		tensor.Of([]int8{2, -2}, 2), 1.0, 1, -128, 127,
		0.5, -1, -128, 127, out)
	kerneltest.Equal(t, tensor.Of([]int8{-127, -7, 2, 120}, 2, 2), out)

	i := kerneltest.Zeros(tensor.I64, 1)
	assert.ErrorIs(t, kerneltest.Call(Add, "quantized_decomposed::add.out",
		i, 0.5, 0, 0, 255, i, 0.5, 0, 0, 255, 0.5, 0, 3, 2, i), errs.InvalidArgument)
	f := kerneltest.Zeros(tensor.F32, 1)
	assert.ErrorIs(t, kerneltest.Call(Add, "quantized_decomposed::add.out",
		f, 0.5, 0, 0, 255, f, 0.5, 0, 0, 255, 0.5, 0, 0, 255, f), errs.InvalidArgument)
}

func TestAllocs(t *testing.T) {
	x, q := kerneltest.Zeros(tensor.F32, 64, 600), kerneltest.Zeros(tensor.I8, 64, 600)
	h := kerneltest.Zeros(tensor.F16, 64, 600)
	s, z := kerneltest.Zeros(tensor.F64, 64, 1), kerneltest.Zeros(tensor.I64, 64, 1)
	f := kerneltest.Zeros(tensor.F32, 64)
	square := kerneltest.Zeros(tensor.F32, 64, 64)
	for _, c := range []struct {
		kernels runtime.Kernels
		name    string
		args    []any
	}{
		{QuantizePerTensor, "quantized_decomposed::quantize_per_tensor.out", []any{x, 1.0, 0, -128, 127, tensor.I8, q}},
		{QuantizePerToken, "quantized_decomposed::quantize_per_token.out", []any{h, s, z, -128, 127, tensor.I8, q}},
		{DequantizePerChannel, "quantized_decomposed::dequantize_per_channel.out", []any{q, s, nil, 0, -128, 127, tensor.I8, nil, x}},
		{DequantizePerTensor, "quantized_decomposed::dequantize_per_tensor.out", []any{q, 1.0, 0, -128, 127, tensor.I8, nil, h}},
		{ChooseQParamsPerToken, "quantized_decomposed::choose_qparams_per_token_asymmetric.out", []any{x, tensor.I8, s, z}},
		{EmbeddingByte, "quantized_decomposed::embedding_byte.out", []any{q, f, nil, -128, 127, tensor.Of([]int64{1, 2, 3}), kerneltest.Zeros(tensor.F32, 3, 600)}},
		{MixedMM, "quantized_decomposed::mixed_mm.out", []any{square, q, f, nil, kerneltest.Zeros(tensor.F32, 64, 600)}},
		{MixedLinear, "quantized_decomposed::mixed_linear.out", []any{x, q, f, nil, nil, square}},
		{Add, "quantized_decomposed::add.out", []any{q, 0.5, 0, 0, 127, q, 0.5, 0, 0, 127, 0.5, 0, 0, 127, q}},
		{QuantizeAffine, "torchao::quantize_affine", []any{x, []int{1, 600}, s, z, tensor.I8, nil, nil, q}},
		{ChooseQParamsAffine, "torchao::choose_qparams_affine", []any{x, "SYMMETRIC", []int{1, 600}, tensor.I8, nil, nil, nil, nil, nil, false, f, f.Clone()}},
	} {
		n, err := kerneltest.Allocs(c.kernels, c.name, c.args...)
		require.NoError(t, err, c.name)
		assert.Zero(t, n, c.name)
	}
}
