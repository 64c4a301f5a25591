package portable

import (
	"math"
	"testing"

	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

// softmaxOf computes softmax, or its logarithm, along dimension 1 of a [2, n, m].
func softmaxOf(x []float32, n, m int, log bool) []float32 {
	y := make([]float32, len(x))
	for i := range 2 {
		for k := range m {
			sum := 0.0
			for j := range n {
				sum += math.Exp(float64(x[(i*n+j)*m+k]))
			}
			for j := range n {
				at := (i*n+j)*m + k
				y[at] = float32(math.Exp(float64(x[at])) / sum)
				if log {
					y[at] = float32(float64(x[at]) - math.Log(sum))
				}
			}
		}
	}
	return y
}

func TestSoftmax(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {7, 1}, {1000, 1}, {5, 3}, {5, 9}, {3, 700}} {
		n, m := size[0], size[1]
		x := ramp(2 * n * m)
		for _, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16} {
			rtol, atol := 1e-5, 1e-6
			if d.IsReducedFloat() {
				rtol, atol = 0.03, 0.002
			}
			in, out := as(t, d, tensor.Of(x, 2, n, m)), kerneltest.Zeros(d, 2, n, m)
			kerneltest.Run(t, Softmax, "aten::_softmax.out", in, 1, false, out)
			kerneltest.Close(t, as(t, d, tensor.Of(softmaxOf(x, n, m, false), 2, n, m)), out, rtol, atol)
			kerneltest.Run(t, LogSoftmax, "aten::_log_softmax.out", in, -2, false, out)
			kerneltest.Close(t, as(t, d, tensor.Of(softmaxOf(x, n, m, true), 2, n, m)), out, rtol, atol*5)
		}
	}
}

func TestSoftmaxEdges(t *testing.T) {
	n, i := float32(nan), float32(inf)
	for _, c := range []struct{ in, want, log []float32 }{
		{[]float32{1, -i, 1}, []float32{0.5, 0, 0.5}, []float32{-math.Ln2, -i, -math.Ln2}},
		{[]float32{-i, -i}, []float32{n, n}, []float32{n, n}},
		{[]float32{1, i, 0}, []float32{n, n, n}, []float32{n, n, n}},
		{[]float32{0, n, 3}, []float32{n, n, n}, []float32{n, n, n}},
		{[]float32{3e38, -3e38}, []float32{1, 0}, []float32{0, -i}},
		{nil, nil, nil},
	} {
		x := tensor.Of(c.in)
		out := kerneltest.Zeros(tensor.F32, len(c.in))
		kerneltest.Run(t, Softmax, "aten::_softmax.out", x, 0, false, out)
		kerneltest.Close(t, tensor.Of(c.want), out, 1e-6, 0)
		kerneltest.Run(t, LogSoftmax, "aten::_log_softmax.out", x, 0, false, out)
		kerneltest.Close(t, tensor.Of(c.log), out, 1e-6, 0)
	}
	out := kerneltest.Zeros(tensor.F32)
	kerneltest.Run(t, Softmax, "aten::_softmax.out", tensor.Scalar[float32](3), -1, false, out)
	kerneltest.Equal(t, tensor.Scalar[float32](1), out)
	kerneltest.Run(t, LogSoftmax, "aten::_log_softmax.out", kerneltest.Zeros(tensor.F32, 0, 3), 1, false, kerneltest.Zeros(tensor.F32, 0, 3))
}

func TestSoftmaxInPlace(t *testing.T) {
	for _, dim := range []int{0, 1} {
		x := tensor.Of(ramp(400), 20, 20)
		want := kerneltest.Zeros(tensor.F32, 20, 20)
		kerneltest.Run(t, LogSoftmax, "aten::_log_softmax.out", x, dim, false, want)
		kerneltest.Run(t, LogSoftmax, "aten::_log_softmax.out", x, dim, false, x)
		kerneltest.Equal(t, want, x)
	}
}

func TestSoftmaxHalfToFloat(t *testing.T) {
	out := kerneltest.Zeros(tensor.F32, 2)
	kerneltest.Run(t, Softmax, "aten::_softmax.out", as(t, tensor.F16, tensor.Of([]float32{0, 1})), 0, true, out)
	kerneltest.Close(t, tensor.Of([]float32{0.26894142, 0.73105858}), out, 1e-6, 0)
}
