package portable

import (
	"math"
	"testing"

	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func TestSumOfNothing(t *testing.T) {
	for _, x := range []*tensor.Tensor{kerneltest.Zeros(tensor.F32, 0, 3), kerneltest.Zeros(tensor.F32, 3, 0)} {
		d := 0
		if x.Size(1) == 0 {
			d = 1
		}
		out := tensor.Of([]float32{7, 7, 7})
		kerneltest.Run(t, Sum, "aten::sum.IntList_out", x, []int{d}, false, nil, out)
		kerneltest.Equal(t, tensor.Of([]float32{0, 0, 0}), out)
		kerneltest.Run(t, Mean, "aten::mean.out", x, []int{d}, false, nil, out)
		kerneltest.Equal(t, tensor.Of([]float32{float32(nan), float32(nan), float32(nan)}), out)
		kerneltest.Run(t, Prod, "aten::prod.int_out", x, d, false, nil, out)
		kerneltest.Equal(t, tensor.Of([]float32{1, 1, 1}), out)
	}
}

// TestSumOfEmptyRows has outputs without elements before and beside them.
func TestSumOfEmptyRows(t *testing.T) {
	for _, dims := range [][]int{{1}, {0, 1}, {1, 2}} {
		x := kerneltest.Zeros(tensor.F32, 4, 0, 3)
		out := like(x, tensor.F32, dims...)
		want := out.Clone()
		for i := range tensor.Raw[float32](out) {
			tensor.Raw[float32](out)[i] = 7
		}
		kerneltest.Run(t, Sum, "aten::sum.IntList_out", x, dims, true, nil, out)
		kerneltest.Equal(t, want, out)
	}
}

func TestSumOfScalar(t *testing.T) {
	out := kerneltest.Zeros(tensor.F32)
	kerneltest.Run(t, Sum, "aten::sum.IntList_out", tensor.Scalar[float32](3), []int{-1}, true, nil, out)
	kerneltest.Equal(t, tensor.Scalar[float32](3), out)
}

func TestSumTypes(t *testing.T) {
	// Truth is or-ed: numbers that add up to zero do not.
	b := kerneltest.Zeros(tensor.Bool)
	kerneltest.Run(t, Sum, "aten::sum.IntList_out", tensor.Of([]int32{1, -1, 256}), nil, false, tensor.Bool, b)
	kerneltest.Equal(t, tensor.Scalar(true), b)
	kerneltest.Run(t, Prod, "aten::prod.out", tensor.Of([]int32{256, 256, 2}), tensor.Bool, b)
	kerneltest.Equal(t, tensor.Scalar(true), b)
	kerneltest.Run(t, Prod, "aten::prod.out", tensor.Of([]uint8{16, 16, 2}), tensor.Bool, b)
	kerneltest.Equal(t, tensor.Scalar(true), b)

	// Integers wrap and do not pass through floating point.
	i := kerneltest.Zeros(tensor.I64, 1)
	kerneltest.Run(t, Sum, "aten::sum.IntList_out", tensor.Of([]int64{math.MaxInt64, 2, 1 << 53}, 3, 1), []int{0}, false, nil, i)
	kerneltest.Equal(t, tensor.Of([]int64{math.MinInt64 + 1<<53 + 1}), i)

	// Bytes other than 0 and 1 in a bool tensor count as 1.
	x := kerneltest.Zeros(tensor.Bool, 3)
	copy(x.Bytes(), []byte{2, 0, 255})
	n := kerneltest.Zeros(tensor.I64)
	kerneltest.Run(t, Sum, "aten::sum.IntList_out", x, nil, false, nil, n)
	kerneltest.Equal(t, tensor.Scalar[int64](2), n)

	c := kerneltest.Zeros(tensor.C64, 2)
	kerneltest.Run(t, Sum, "aten::sum.IntList_out", tensor.Of([]complex64{1, 2i, 3 + 1i, 4}, 2, 2), []int{0}, false, nil, c)
	kerneltest.Equal(t, tensor.Of([]complex64{4 + 1i, 4 + 2i}), c)
	h := kerneltest.Zeros(tensor.C32)
	one := tensor.ToFloat16(1)
	kerneltest.Run(t, Sum, "aten::sum.IntList_out", tensor.Of([]tensor.Complex32{{Real: one}, {Real: one, Imag: one}}), nil, false, nil, h)
	kerneltest.Equal(t, tensor.Scalar(tensor.Complex32{Real: tensor.ToFloat16(2), Imag: one}), h)
}

// TestSumLong goes through more elements than a worker converts at once.
func TestSumLong(t *testing.T) {
	x := kerneltest.Zeros(tensor.I32, 3, 5000)
	for i := range tensor.Raw[int32](x) {
		tensor.Raw[int32](x)[i] = int32(i)
	}
	out := kerneltest.Zeros(tensor.I64, 3)
	kerneltest.Run(t, Sum, "aten::sum.IntList_out", x, []int{1}, false, nil, out)
	kerneltest.Equal(t, tensor.Of([]int64{12497500, 37497500, 62497500}), out)
	kerneltest.Run(t, Sum, "aten::sum.IntList_out", x.WithOrder(tensor.DimOrder{1, 0}), []int{1}, false, nil, out)
	kerneltest.Equal(t, tensor.Of([]int64{12497500, 37497500, 62497500}), out)

	cols := kerneltest.Zeros(tensor.I64, 5000)
	kerneltest.Run(t, Sum, "aten::sum.IntList_out", x, []int{0}, false, nil, cols)
	if got := tensor.Raw[int64](cols)[4999]; got != 4999*3+15000 {
		t.Fatal(got)
	}
}

func TestProdHalfRounds(t *testing.T) {
	// A product that leaves the range of float16 does not come back.
	out := kerneltest.Zeros(tensor.F16)
	kerneltest.Run(t, Prod, "aten::prod.out", as(t, tensor.F16, tensor.Of([]float32{300, 300, 0})), nil, out)
	kerneltest.Equal(t, tensor.Scalar(tensor.ToFloat16(float32(nan))), out)
}
