package portable

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

// TestLayerNormFar wants the variance to survive a mean far from zero.
func TestLayerNormFar(t *testing.T) {
	for _, n := range []int{3, 300} {
		x := make([]float32, n)
		for i := range x {
			x[i] = 4096 + float32(i%3)
		}
		out := kerneltest.Zeros(tensor.F32, n)
		mean, rstd := kerneltest.Zeros(tensor.F32, 1), kerneltest.Zeros(tensor.F32, 1)
		kerneltest.Run(t, NativeLayerNorm, "aten::native_layer_norm.out", tensor.Of(x), []int{n}, nil, nil, 0.0, out, mean, rstd)
		kerneltest.Close(t, tensor.Of([]float32{4097}), mean, 1e-7, 0)
		kerneltest.Close(t, tensor.Of([]float32{float32(math.Sqrt(1.5))}), rstd, 1e-6, 0)
		require.InDelta(t, math.Sqrt(1.5), tensor.Raw[float32](out)[2], 1e-5)
	}
}

func TestLayerNormConstant(t *testing.T) {
	x, bias := tensor.Of([]float32{3.3, 3.3, 3.3, 3.3, 3.3, 3.3, 3.3}), tensor.Of(ramp(7))
	out := kerneltest.Zeros(tensor.F32, 7)
	kerneltest.Run(t, NativeLayerNorm, "aten::native_layer_norm.out", x, []int{7}, nil, bias, 1e-5, out, kerneltest.Zeros(tensor.F32, 1), kerneltest.Zeros(tensor.F32, 1))
	kerneltest.Close(t, bias, out, 0, 1e-6)
}

func TestNormOfNothing(t *testing.T) {
	mean, rstd := tensor.Of([]float32{7, 7}, 2, 1), tensor.Of([]float32{7, 7}, 2, 1)
	kerneltest.Run(t, NativeLayerNorm, "aten::native_layer_norm.out", kerneltest.Zeros(tensor.F32, 2, 0), []int{0}, nil, nil, 1e-5, kerneltest.Zeros(tensor.F32, 2, 0), mean, rstd)
	kerneltest.Equal(t, tensor.Of([]float32{0, 0}, 2, 1), mean)
	kerneltest.Equal(t, tensor.Of([]float32{float32(nan), float32(nan)}, 2, 1), rstd)

	mean, rstd = tensor.Of([]float32{7, 7}, 1, 2), tensor.Of([]float32{7, 7}, 1, 2)
	kerneltest.Run(t, NativeGroupNorm, "aten::native_group_norm.out", kerneltest.Zeros(tensor.F32, 1, 4, 0), nil, nil, 1, 4, 0, 2, 1e-5, kerneltest.Zeros(tensor.F32, 1, 4, 0), mean, rstd)
	kerneltest.Equal(t, tensor.Of([]float32{0, 0}, 1, 2), mean)
	kerneltest.Equal(t, tensor.Of([]float32{float32(nan), float32(nan)}, 1, 2), rstd)

	kerneltest.Run(t, NativeBatchNormLegitNoTraining, "aten::_native_batch_norm_legit_no_training.out", kerneltest.Zeros(tensor.F32, 0, 2), nil, nil, tensor.Of(ramp(2)), tensor.Of(ramp(2)), 0.1, 1e-5,
		kerneltest.Zeros(tensor.F32, 0, 2), kerneltest.Zeros(tensor.F32, 0), kerneltest.Zeros(tensor.F32, 0))
}

// TestNormsAgree: with one group per channel and batch, a group norm is a layer
// norm of rows and, with one batch, a batch norm by the input's own statistics.
func TestNormsAgree(t *testing.T) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
		rtol, atol := 1e-5, 1e-5
		if d.IsReducedFloat() {
			rtol, atol = 0.02, 0.03
		}
		x := as(t, d, tensor.Of(ramp(3*50), 1, 3, 50))
		layer, group, batch := like(x, d), like(x, d), like(x, d)
		stats := func(shape ...int) *tensor.Tensor { return kerneltest.Zeros(d, shape...) }
		kerneltest.Run(t, NativeLayerNorm, "aten::native_layer_norm.out", x, []int{50}, nil, nil, 1e-5, layer, stats(1, 3, 1), stats(1, 3, 1))
		kerneltest.Run(t, NativeGroupNorm, "aten::native_group_norm.out", x, nil, nil, 1, 3, 50, 3, 1e-5, group, stats(1, 3), stats(1, 3))
		kerneltest.Run(t, NativeBatchNormLegit, "aten::_native_batch_norm_legit.no_stats_out", x, nil, nil, true, 0.1, 1e-5, batch, stats(3), stats(3))
		kerneltest.Close(t, layer, group, rtol, atol)
		kerneltest.Close(t, layer, batch, rtol, atol)
	}
}

func TestNormRejects(t *testing.T) {
	x, out := kerneltest.Zeros(tensor.F32, 2, 4), kerneltest.Zeros(tensor.F32, 2, 4)
	stats := kerneltest.Zeros(tensor.F32, 2, 1)
	for _, shape := range [][]int{{}, {3}, {1, 2, 4}, {-4}} {
		kerneltest.Fails(t, NativeLayerNorm, "aten::native_layer_norm.out", x, shape, nil, nil, 1e-5, out, stats, stats)
	}
	kerneltest.Fails(t, NativeLayerNorm, "aten::native_layer_norm.out", x, []int{4}, tensor.Of(ramp(3)), nil, 1e-5, out, stats, stats)
	kerneltest.Fails(t, NativeLayerNorm, "aten::native_layer_norm.out", x, []int{4}, kerneltest.Zeros(tensor.F64, 4), nil, 1e-5, out, stats, stats)
	for _, c := range [][4]int{{3, 4, 1, 1}, {2, 5, 1, 1}, {2, 4, 2, 1}, {2, 4, 1, 3}, {2, 4, 1, 0}, {2, 4, 1, -1}} {
		kerneltest.Fails(t, NativeGroupNorm, "aten::native_group_norm.out", x, nil, nil, c[0], c[1], c[2], c[3], 1e-5, out, stats, stats)
	}
	none := kerneltest.Zeros(tensor.F32, 0)
	kerneltest.Fails(t, NativeBatchNormLegitNoTraining, "aten::_native_batch_norm_legit_no_training.out", x, nil, nil, tensor.Of(ramp(3)), tensor.Of(ramp(4)), 0.1, 1e-5, out, none, none)
	kerneltest.Fails(t, NativeBatchNormLegitNoTraining, "aten::_native_batch_norm_legit_no_training.out", tensor.Of(ramp(4)), nil, nil, tensor.Of(ramp(4)), tensor.Of(ramp(4)), 0.1, 1e-5, kerneltest.Zeros(tensor.F32, 4), none, none)
	kerneltest.Fails(t, NativeBatchNormLegit, "aten::_native_batch_norm_legit.out", x, nil, nil, tensor.Of(ramp(4)), tensor.Of(ramp(4)), true, 0.1, 1e-5, out, none, none)
}
