package portable

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func TestSliceBounds(t *testing.T) {
	for _, tt := range []struct {
		start, end any
		step       int
		want       []float32
	}{
		{nil, nil, 1, []float32{0, 1, 2, 3, 4}},
		{-2, nil, 1, []float32{3, 4}},
		{nil, -2, 2, []float32{0, 2}},
		{1, math.MaxInt64, 3, []float32{1, 4}},
		{math.MinInt64, 2, 1, []float32{0, 1}},
		{3, 2, 1, nil},
		{9, 12, 1, nil},
		{0, -9, 1, nil},
		{4, nil, math.MaxInt64, []float32{4}},
	} {
		out := kerneltest.Dynamic(tensor.F32, 5)
		kerneltest.Run(t, SliceCopy, "aten::slice_copy.Tensor_out", counting(5), 0, tt.start, tt.end, tt.step, out)
		require.Equal(t, tt.want, append([]float32(nil), tensor.Raw[float32](out)...), "%v:%v:%v", tt.start, tt.end, tt.step)

		src := tensor.Of(make([]float32, len(tt.want)))
		out = kerneltest.Zeros(tensor.F32, 5)
		kerneltest.Run(t, SliceScatter, "aten::slice_scatter.out", counting(5), src, 0, tt.start, tt.end, tt.step, out)
		sum := float32(10)
		for _, v := range tt.want {
			sum -= v
		}
		for _, v := range tensor.Raw[float32](out) {
			sum -= v
		}
		require.Zero(t, sum)
	}
}

func TestNarrowFromTheEnd(t *testing.T) {
	out := kerneltest.Zeros(tensor.F32, 2, 2)
	kerneltest.Run(t, NarrowCopy, "aten::narrow_copy.out", counting(2, 3), -1, -2, 2, out)
	kerneltest.Equal(t, tensor.Of([]float32{1, 2, 4, 5}, 2, 2), out)
	kerneltest.Run(t, NarrowCopy, "aten::narrow_copy.out", counting(2, 3), -1, 3, 0, kerneltest.Zeros(tensor.F32, 2, 0))
}

func TestScattersConvert(t *testing.T) {
	out := kerneltest.Zeros(tensor.F32, 2, 2)
	kerneltest.Run(t, SelectScatter, "aten::select_scatter.out", counting(2, 2), tensor.Of([]int64{-7, 300}), 1, 0, out)
	kerneltest.Equal(t, tensor.Of([]float32{-7, 1, 300, 3}, 2, 2), out)
}

func TestSliceErrors(t *testing.T) {
	x, out := counting(2, 3), kerneltest.Dynamic(tensor.F32, 2, 3)
	line := kerneltest.Dynamic(tensor.F32, 3)
	for name, err := range map[string]error{
		"step":           kerneltest.Fails(t, SliceCopy, "aten::slice_copy.Tensor_out", x, 0, nil, nil, 0, out),
		"dimension":      kerneltest.Fails(t, SliceCopy, "aten::slice_copy.Tensor_out", x, -3, nil, nil, 1, out),
		"type":           kerneltest.Fails(t, SliceCopy, "aten::slice_copy.Tensor_out", x, 0, nil, nil, 1, kerneltest.Dynamic(tensor.F64, 2, 3)),
		"scalar":         kerneltest.Fails(t, SliceCopy, "aten::slice_copy.Tensor_out", tensor.Scalar(float32(1)), 0, nil, nil, 1, out),
		"narrow start":   kerneltest.Fails(t, NarrowCopy, "aten::narrow_copy.out", x, 0, math.MinInt64, 1, out),
		"narrow length":  kerneltest.Fails(t, NarrowCopy, "aten::narrow_copy.out", x, 0, 1, math.MaxInt64, out),
		"select":         kerneltest.Fails(t, SelectCopy, "aten::select_copy.int_out", x, 0, 2, line),
		"select before":  kerneltest.Fails(t, SelectCopy, "aten::select_copy.int_out", x, 0, -3, line),
		"select scatter": kerneltest.Fails(t, SelectScatter, "aten::select_scatter.out", x, counting(2), 0, 1, out),
		"slice scatter":  kerneltest.Fails(t, SliceScatter, "aten::slice_scatter.out", x, counting(2, 2), 1, 0, 1, 1, out),
	} {
		require.ErrorIs(t, err, errs.InvalidArgument, name)
	}
}
