package quantized

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func TestAffineBlocks(t *testing.T) {
	// Blocks of 1 x 2 in a tensor of 2 x 4.
	x := tensor.Of([]float32{1, 2, 3, 4, -1, -2, 30, 40}, 2, 4)
	scale, zero := tensor.Of([]float32{1, 0.5, 2, 10}, 2, 2), tensor.Of([]int8{0, 1, 2, 3}, 2, 2)
	for _, order := range []tensor.DimOrder{{0, 1}, {1, 0}} {
		for _, name := range []string{"torchao::quantize_affine", "torchao::quantize_affine.out"} {
			q := like(x, tensor.I8, order)
			kerneltest.Run(t, QuantizeAffine, name, x.WithOrder(order), []int{1, 2}, scale, zero, tensor.I8, -8, 7, q)
			kerneltest.Equal(t, tensor.Of([]int8{1, 2, 7, 7, 2, 1, 6, 7}, 2, 4), q)
			y := like(x, tensor.F32, tensor.DimOrder{0, 1})
			kerneltest.Run(t, DequantizeAffine, "torchao::dequantize_affine.out", q, []int{1, 2}, scale, zero, tensor.I8, -8, 7, tensor.F32, y)
			kerneltest.Equal(t, tensor.Of([]float32{1, 2, 3, 3, 0, -2, 30, 40}, 2, 4), y)
		}
	}
}

func TestAffineSaturates(t *testing.T) {
	q := kerneltest.Zeros(tensor.I32, 3)
	kerneltest.Run(t, QuantizeAffine, "torchao::quantize_affine", tensor.Of([]float32{1e20, -1e20, float32(inf)}), []int{3},
		tensor.Of([]float32{1}), nil, tensor.I32, nil, nil, q)
	kerneltest.Equal(t, tensor.Of([]int32{1<<31 - 1, -1 << 31, 1<<31 - 1}), q)
}

// TestAffineRounds has a product and a sum that bfloat16 rounds.
func TestAffineRounds(t *testing.T) {
	y := kerneltest.Zeros(tensor.BF16, 1)
	kerneltest.Run(t, DequantizeAffine, "torchao::dequantize_affine", tensor.Of([]int16{1001}), []int{1},
		bf16(1), tensor.Of([]int64{-500}), tensor.I16, nil, nil, tensor.BF16, y)
	kerneltest.Equal(t, bf16(1504), y) // 1001 is 1000 there
}

func TestChooseQParamsAffine(t *testing.T) {
	x := tensor.Of([]float32{-1, 3, 0, 2, 0, 0, 0, float32(nan)}, 2, 4)
	for _, c := range []struct {
		mapping     string
		block       []int
		keep        bool
		shape       []int
		scale, zero []float32
	}{
		{"ASYMMETRIC", []int{1, 2}, false, []int{2, 2}, []float32{4. / 255, 2. / 255, 0x1p-126, float32(nan)}, []float32{-64, -128, -128, float32(nan)}},
		{"SYMMETRIC", []int{1, 2}, true, []int{2, 2}, []float32{3. / 127.5, 2. / 127.5, 0x1p-126, float32(nan)}, []float32{0, 0, 0, 0}},
		{"SYMMETRIC_NO_CLIPPING_ERR", []int{2, 1}, false, []int{4}, []float32{1. / 128, 3. / 127, 0x1p-126, float32(nan)}, []float32{0, 0, 0, 0}},
		{"SYMMETRIC", []int{2, 4}, true, []int{1, 1}, []float32{float32(nan)}, []float32{0}},
		{"SYMMETRIC", []int{2, 4}, false, nil, []float32{float32(nan)}, []float32{0}},
		{"SYMMETRIC", []int{1, 1}, false, nil, []float32{float32(nan)}, []float32{0}}, // amin over no dimension
	} {
		scale, zero := kerneltest.Zeros(tensor.F32, c.shape...), kerneltest.Zeros(tensor.F32, c.shape...)
		kerneltest.Run(t, ChooseQParamsAffine, "torchao::choose_qparams_affine.out", x, c.mapping, c.block, tensor.I8,
			nil, nil, nil, nil, tensor.F32, c.keep, scale, zero)
		for i, v := range c.scale {
			want := []float32{v, c.zero[i]}
			kerneltest.Equal(t, tensor.Of(want), tensor.Of([]float32{tensor.Raw[float32](scale)[i], tensor.Raw[float32](zero)[i]}))
		}
	}
}

func TestAffineRefuses(t *testing.T) {
	x, q := kerneltest.Zeros(tensor.F32, 2, 4), kerneltest.Zeros(tensor.I8, 2, 4)
	s := tensor.Of([]float32{1, 1})
	quantize := func(block []int, scale *tensor.Tensor, lo, hi any) error {
		return kerneltest.Call(QuantizeAffine, "torchao::quantize_affine", x, block, scale, nil, tensor.I8, lo, hi, q)
	}
	for _, err := range []error{
		quantize([]int{1, 3}, s, nil, nil),
		quantize([]int{1, 0}, s, nil, nil),
		quantize([]int{1, -4}, s, nil, nil),
		quantize([]int{1}, s, nil, nil),
		quantize([]int{1, 2}, s, nil, nil),
		quantize([]int{1, 4}, s, -129, nil),
		quantize([]int{1, 4}, s, nil, nan),
		quantize([]int{1, 4}, q, nil, nil),
		kerneltest.Call(ChooseQParamsAffine, "torchao::choose_qparams_affine", x, "CUBIC", []int{1, 4}, tensor.I8, nil, nil, nil, nil, nil, false, s, s),
		kerneltest.Call(ChooseQParamsAffine, "torchao::choose_qparams_affine", nil, "SYMMETRIC", []int{1, 4}, tensor.I8, nil, nil, nil, nil, nil, false, s, s),
		kerneltest.Call(DequantizeAffine, "torchao::dequantize_affine", q, []int{1, 4}, s, nil, tensor.I8, nil, nil, tensor.F16, x),
	} {
		assert.ErrorIs(t, err, errs.InvalidArgument)
	}
}
