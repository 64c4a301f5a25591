package portable

import (
	"testing"

	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func TestVar(t *testing.T) {
	x := tensor.Of([]float32{1, 2, 4, 7, 7, 7}, 2, 3)
	n := float32(nan)
	for _, c := range []struct {
		correction any
		want, mean []float32
	}{
		{nil, []float32{7.0 / 3, 0}, []float32{7.0 / 3, 7}},
		{0, []float32{14.0 / 9, 0}, []float32{7.0 / 3, 7}},
		{2.5, []float32{28.0 / 3, 0}, []float32{7.0 / 3, 7}},
		{3, []float32{n, n}, []float32{n, n}},
		{4, []float32{n, n}, []float32{n, n}},
	} {
		v, mean := kerneltest.Zeros(tensor.F32, 2), kerneltest.Zeros(tensor.F32, 2)
		kerneltest.Run(t, VarMean, "aten::var_mean.correction_out", x, []int{1}, c.correction, false, v, mean)
		kerneltest.Close(t, tensor.Of(c.want), v, 1e-6, 1e-6)
		kerneltest.Close(t, tensor.Of(c.mean), mean, 1e-6, 1e-6)
		kerneltest.Run(t, Var, "aten::var.correction_out", x, []int{-1}, c.correction, false, v)
		kerneltest.Close(t, tensor.Of(c.want), v, 1e-6, 1e-6)
	}
}

func TestVarHalfRounds(t *testing.T) {
	// In float16 the sum stays at 2048: adding 1 is lost.
	x := kerneltest.Zeros(tensor.F16, 4096)
	for i := range tensor.Raw[tensor.Float16](x) {
		tensor.Raw[tensor.Float16](x)[i] = tensor.ToFloat16(1)
	}
	v, mean := kerneltest.Zeros(tensor.F16), kerneltest.Zeros(tensor.F16)
	kerneltest.Run(t, VarMean, "aten::var_mean.correction_out", x, nil, 0, false, v, mean)
	kerneltest.Equal(t, tensor.Scalar(tensor.ToFloat16(0.5)), mean)
}

func TestVarOfNothing(t *testing.T) {
	out := kerneltest.Zeros(tensor.F64, 2)
	kerneltest.Run(t, Var, "aten::var.out", kerneltest.Zeros(tensor.F32, 2, 0), []int{1}, true, false, out)
	kerneltest.Equal(t, tensor.Of([]float64{nan, nan}), out)
}
