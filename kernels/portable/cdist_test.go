package portable

import (
	"testing"

	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func TestDistances(t *testing.T) {
	x := tensor.Of([]float32{0, 0, 3, 4, 3, 0}, 3, 2)
	for _, c := range []struct {
		p    float64
		want []float32 // of the pairs 0-1, 0-2, 1-2
	}{
		{0, []float32{2, 1, 1}},
		{0.5, []float32{13.928203, 3, 4}},
		{1, []float32{7, 3, 4}},
		{2, []float32{5, 3, 4}},
		{3, []float32{4.497941, 3, 4}},
		{inf, []float32{4, 3, 4}},
	} {
		for _, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16} {
			rtol := 1e-6
			if d.IsReducedFloat() {
				rtol = 0.03
			}
			in, out := as(t, d, x), kerneltest.Zeros(d, 3)
			kerneltest.Run(t, PdistForward, "aten::_pdist_forward.out", in, c.p, out)
			kerneltest.Close(t, as(t, d, tensor.Of(c.want)), out, rtol, 0)

			w := c.want
			all := kerneltest.Zeros(d, 3, 3)
			kerneltest.Run(t, CdistForward, "aten::_cdist_forward.out", in, in, c.p, nil, all)
			kerneltest.Close(t, as(t, d, tensor.Of([]float32{0, w[0], w[1], w[0], 0, w[2], w[1], w[2], 0}, 3, 3)), all, rtol, 0)
		}
	}
}

func TestDistancesBroadcast(t *testing.T) {
	a, b := tensor.Of([]float32{1, 2, 3, 4}, 2, 1, 2, 1), tensor.Of([]float32{0, 10, 20}, 3, 1, 1)
	out := kerneltest.Zeros(tensor.F32, 2, 3, 2, 1)
	kerneltest.Run(t, CdistForward, "aten::_cdist_forward.out", a, b, 1.0, 1, out)
	kerneltest.Equal(t, tensor.Of([]float32{1, 2, 9, 8, 19, 18, 3, 4, 7, 6, 17, 16}, 2, 3, 2, 1), out)
}

func TestDistancesOfNothing(t *testing.T) {
	out := tensor.Of([]float32{7, 7}, 2, 1)
	kerneltest.Run(t, CdistForward, "aten::_cdist_forward.out", kerneltest.Zeros(tensor.F32, 2, 0), kerneltest.Zeros(tensor.F32, 1, 0), 2.0, nil, out)
	kerneltest.Equal(t, tensor.Of([]float32{0, 0}, 2, 1), out)
	for _, rows := range []int{0, 1} {
		kerneltest.Run(t, PdistForward, "aten::_pdist_forward.out", kerneltest.Zeros(tensor.F32, rows, 3), 2.0, kerneltest.Zeros(tensor.F32, 0))
	}
}

func TestDistancesRejects(t *testing.T) {
	x, out := kerneltest.Zeros(tensor.F32, 2, 3), kerneltest.Zeros(tensor.F32, 2, 2)
	kerneltest.Fails(t, CdistForward, "aten::_cdist_forward.out", x, kerneltest.Zeros(tensor.F32, 2, 2), 2.0, nil, out)
	kerneltest.Fails(t, CdistForward, "aten::_cdist_forward.out", x, kerneltest.Zeros(tensor.F32, 3), 2.0, nil, out)
	kerneltest.Fails(t, CdistForward, "aten::_cdist_forward.out", x, x, -1.0, nil, out)
	kerneltest.Fails(t, CdistForward, "aten::_cdist_forward.out", x, x, nan, nil, out)
	kerneltest.Fails(t, CdistForward, "aten::_cdist_forward.out", x, x, 2.0, 3, out)
	kerneltest.Fails(t, PdistForward, "aten::_pdist_forward.out", tensor.Of(ramp(3)), 2.0, kerneltest.Zeros(tensor.F32, 3))
	kerneltest.Fails(t, PdistForward, "aten::_pdist_forward.out", kerneltest.Zeros(tensor.F32, 1<<30, 0), 2.0, kerneltest.Zeros(tensor.F32, 3))
}
