package quantized

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func TestChooseQParams(t *testing.T) {
	for _, c := range []struct {
		name  string
		x     []float32
		scale float64
		zero  int64
	}{
		{"range", []float32{-1, 3}, 4.0 / 255, -64},
		{"positive", []float32{1, 3}, 3.0 / 255, -128},
		{"zeros", []float32{0, 0}, 0.1, 127},
		{"denormal", []float32{0, 1e-44}, 0.1, 127},
		{"small", []float32{0, 1e-5}, float64(smallestScale), -128},
		{"NaN first", []float32{float32(nan), -1, 3}, 4.0 / 255, -64},
		{"NaN last", []float32{-1, 3, float32(nan)}, 4.0 / 255, -64},
		{"nothing", []float32{}, 0.1, 127},
		{"infinite", []float32{float32(inf), -1}, inf, math.MinInt32},
	} {
		scale, zero := kerneltest.Zeros(tensor.F64, 1), kerneltest.Zeros(tensor.I64, 1)
		kerneltest.Run(t, ChooseQParams, "quantized_decomposed::choose_qparams.Tensor_out", tensor.Of(c.x), -128, 127, 0.0, tensor.I8, scale, zero)
		kerneltest.Equal(t, tensor.Of([]float64{c.scale}), scale)
		kerneltest.Equal(t, tensor.Of([]int64{c.zero}), zero)
	}
	scale, zero := kerneltest.Zeros(tensor.F64, 1), kerneltest.Zeros(tensor.I64, 1)
	for _, r := range [][2]int{{5, 5}, {math.MinInt, math.MaxInt}} {
		err := kerneltest.Call(ChooseQParams, "quantized_decomposed::choose_qparams.Tensor_out", tensor.Of([]float32{1}), r[0], r[1], 0.0, tensor.I8, scale, zero)
		assert.ErrorIs(t, err, errs.InvalidArgument)
	}
}

func TestChooseQParamsPerToken(t *testing.T) {
	x := tensor.Of([]float32{-1, 3, 0, 2, 2, 2}, 2, 3)
	wantScale, wantZero := tensor.Of([]float64{4.0 / 255, 2.0 / 255}, 2, 1), tensor.Of([]int64{-64, -128}, 2, 1)
	for _, order := range []tensor.DimOrder{{0, 1}, {1, 0}} {
		scale, zero := kerneltest.Dynamic(tensor.F64, 4, 1), kerneltest.Dynamic(tensor.I64, 4, 1)
		kerneltest.Run(t, ChooseQParamsPerToken, "quantized_decomposed::choose_qparams_per_token_asymmetric.out", x.WithOrder(order), tensor.I8, scale, zero)
		kerneltest.Equal(t, wantScale, scale)
		kerneltest.Equal(t, wantZero, zero)
	}
	// Lines without elements have parameters too.
	scale, zero := kerneltest.Zeros(tensor.F64, 2, 1), kerneltest.Zeros(tensor.I64, 2, 1)
	kerneltest.Run(t, ChooseQParamsPerToken, "quantized_decomposed::choose_qparams_per_token_asymmetric.out", kerneltest.Zeros(tensor.F32, 2, 0), tensor.I8, scale, zero)
	kerneltest.Equal(t, tensor.Of([]float64{0.1, 0.1}, 2, 1), scale)
	assert.Error(t, kerneltest.Call(ChooseQParamsPerToken, "quantized_decomposed::choose_qparams_per_token_asymmetric.out", tensor.Scalar[float32](1), tensor.I8, scale, zero))
}

func TestEmbedding(t *testing.T) {
	const byteOut, fourBit, twoBit = "quantized_decomposed::embedding_byte.out", "quantized_decomposed::embedding_4bit.out", "quantized_decomposed::embedding_2bit.dtype_out"
	scales, zeros := tensor.Of([]float32{1, 2, 3, 4}, 2, 2), tensor.Of([]float32{0, 1, 0, -1}, 2, 2)
	w := tensor.Of([]int8{1, 2, 3, 4, -1, -2, -3, -4}, 2, 4)
	want := []float32{-3, -6, -8, -12, 1, 2, 4, 6}
	for _, order := range []tensor.DimOrder{{0, 1}, {1, 0}} {
		for _, index := range []*tensor.Tensor{tensor.Of([]int64{1, 0}), tensor.Of([]int32{1, 0})} {
			out := like(tensor.Of(want, 2, 4), tensor.F32, order)
			kerneltest.Run(t, EmbeddingByte, byteOut, w.WithOrder(order), scales.WithOrder(order), zeros, -128, 127, index, out)
			kerneltest.Equal(t, tensor.Of(want, 2, 4), out)
		}
	}

	// The first weight is in the high four bits, and in the low two.
	packed := tensor.Of([]uint8{0x9f, 0b11_10_01_00}, 2, 1)
	out := kerneltest.Zeros(tensor.F32, 2)
	kerneltest.Run(t, Embedding4Bit, fourBit, packed, tensor.Of([]float32{1, 1}), nil, -8, 7, tensor.Scalar[int64](0), out)
	kerneltest.Equal(t, tensor.Of([]float32{1, 7}), out)
	half := kerneltest.Zeros(tensor.BF16, 1, 1, 4)
	kerneltest.Run(t, Embedding2Bit, twoBit, packed, bf16(1, 2), tensor.Of([]int8{0, 1}), -2, 1, tensor.Of([]int64{1}, 1, 1), tensor.BF16, half)
	kerneltest.Equal(t, tensor.Of([]tensor.BFloat16{0xc0c0, 0xc080, 0xc000, 0}, 1, 1, 4), half)

	// A row of more than one span.
	long := kerneltest.Zeros(tensor.U8, 2, 3000)
	for i := range long.Bytes() {
		long.Bytes()[i] = uint8(i)
	}
	row := kerneltest.Zeros(tensor.F32, 1, 3000)
	kerneltest.Run(t, EmbeddingByte, byteOut, long, tensor.Of([]float32{1, 1, 1, 1}, 2, 2), nil, 0, 255, tensor.Of([]int64{1}), row)
	for i, v := range tensor.Raw[float32](row) {
		assert.Equal(t, float32(uint8(3000+i)), v)
	}

	for _, err := range []error{
		kerneltest.Call(EmbeddingByte, byteOut, w, scales, nil, -128, 127, tensor.Of([]int64{2}), kerneltest.Zeros(tensor.F32, 1, 4)),
		kerneltest.Call(EmbeddingByte, byteOut, w, scales, nil, -128, 127, tensor.Of([]int64{-1}), kerneltest.Zeros(tensor.F32, 1, 4)),
		kerneltest.Call(EmbeddingByte, byteOut, w, kerneltest.Zeros(tensor.F32, 2, 3), nil, -128, 127, tensor.Of([]int64{0}), kerneltest.Zeros(tensor.F32, 1, 4)),
		kerneltest.Call(EmbeddingByte, byteOut, w, kerneltest.Zeros(tensor.F32, 2, 0), nil, -128, 127, tensor.Of([]int64{0}), kerneltest.Zeros(tensor.F32, 1, 4)),
		kerneltest.Call(EmbeddingByte, byteOut, w, scales, kerneltest.Zeros(tensor.F32, 2), -128, 127, tensor.Of([]int64{0}), kerneltest.Zeros(tensor.F32, 1, 4)),
		kerneltest.Call(Embedding4Bit, fourBit, w, scales, nil, -128, 127, tensor.Of([]int64{0}), kerneltest.Zeros(tensor.F32, 1, 8)),
		kerneltest.Call(Embedding2Bit, twoBit, packed, bf16(1, 2), nil, -2, 1, tensor.Of([]int64{1}, 1, 1), tensor.F32, half),
		kerneltest.Call(EmbeddingByte, byteOut, w, scales, nil, -128, 127,
			kerneltest.Zeros(tensor.I64, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), kerneltest.Zeros(tensor.F32, 1, 4)),
	} {
		assert.ErrorIs(t, err, errs.InvalidArgument)
	}
}

func TestMixed(t *testing.T) {
	x := tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	w := tensor.Of([]int8{1, -1, 2, 0, 3, 1}, 2, 3) // [out, in]
	for _, order := range []tensor.DimOrder{{0, 1}, {1, 0}} {
		out := like(kerneltest.Zeros(tensor.F32, 2, 2), tensor.F32, order)
		kerneltest.Run(t, MixedLinear, "quantized_decomposed::mixed_linear.out", x.WithOrder(order), w.WithOrder(order), tensor.Of([]float32{2, 10}), nil, nil, out)
		kerneltest.Equal(t, tensor.Of([]float32{10, 90, 22, 210}, 2, 2), out)
		// Two groups, of two and one elements.
		kerneltest.Run(t, MixedLinear, "quantized_decomposed::mixed_linear.out", x, w, tensor.Of([]float32{1, 10, 1, 10}, 2, 2).WithOrder(order), nil, tensor.F32, out)
		kerneltest.Equal(t, tensor.Of([]float32{59, 36, 119, 75}, 2, 2), out)
		kerneltest.Run(t, MixedMM, "quantized_decomposed::mixed_mm.out", x, tensor.Of([]int8{1, 0, -1, 3, 2, 1}, 3, 2).WithOrder(order), tensor.Of([]float32{1, 2, 3}), nil, out)
		kerneltest.Equal(t, tensor.Of([]float32{15, 21, 30, 48}, 2, 2), out)
	}
	// ExecuTorch has no bfloat16.
	out := kerneltest.Zeros(tensor.BF16, 1, 1)
	kerneltest.Run(t, MixedMM, "quantized_decomposed::mixed_mm.out",
		tensor.Of([]tensor.BFloat16{0x3f80, 0x4000}, 1, 2), tensor.Of([]int8{3, 4}, 2, 1), bf16(1, 2), nil, out)
	kerneltest.Equal(t, tensor.Of([]tensor.BFloat16{0x4198}, 1, 1), out)

	assert.ErrorIs(t, kerneltest.Call(MixedLinear, "quantized_decomposed::mixed_linear.out", x, w, tensor.Of([]float32{2, 10}), tensor.Of([]float32{0, 0}), nil, kerneltest.Zeros(tensor.F32, 2, 2)), errs.InvalidArgument)
	assert.ErrorIs(t, kerneltest.Call(MixedLinear, "quantized_decomposed::mixed_linear.out", x, w, kerneltest.Zeros(tensor.F32, 2, 0), nil, nil, kerneltest.Zeros(tensor.F32, 2, 2)), errs.InvalidArgument)
	assert.ErrorIs(t, kerneltest.Call(MixedMM, "quantized_decomposed::mixed_mm.out", x, w, tensor.Of([]float32{1, 1}), nil, kerneltest.Zeros(tensor.F32, 2, 3)), errs.InvalidArgument)
}
