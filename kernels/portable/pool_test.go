package portable

import (
	"testing"

	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

// channelsLast returns x as it is and with the channels last.
func channelsLast(x *tensor.Tensor) []*tensor.Tensor {
	return []*tensor.Tensor{x, x.WithOrder(tensor.ChannelsLast(4))}
}

func TestMaxPool(t *testing.T) {
	n := float32(nan)
	for _, c := range []struct {
		in                                []float32
		h, w                              int
		kernel, stride, padding, dilation []int
		ceil                              bool
		want                              []float32
		places                            []int64
		oh, ow                            int
	}{
		// A NaN stays if it comes first and counts for nothing if not.
		{[]float32{n, 5, 1, n}, 1, 4, []int{1, 2}, []int{}, []int{0}, []int{1}, false, []float32{n, 1}, []int64{0, 2}, 1, 2},
		// The first of equal ones wins, padding never does.
		{[]float32{-3, -3, -4}, 1, 3, []int{1, 2}, []int{1}, []int{0, 1}, []int{1}, false, []float32{-3, -3, -3, -4}, []int64{0, 0, 1, 2}, 1, 4},
		// With ceil the last window is cut off.
		{[]float32{1, 2, 3, 4, 5}, 1, 5, []int{1, 2}, []int{2}, []int{0}, []int{1}, true, []float32{2, 4, 5}, []int64{1, 3, 4}, 1, 3},
		// A dilated window may meet nothing.
		{[]float32{7}, 1, 1, []int{1, 2}, []int{1}, []int{0, 1}, []int{1, 2}, false, []float32{0}, []int64{0}, 1, 1},
	} {
		for _, in := range channelsLast(tensor.Of(c.in, 1, 1, c.h, c.w)) {
			out, places := kerneltest.Zeros(tensor.F32, 1, 1, c.oh, c.ow), kerneltest.Zeros(tensor.I64, 1, 1, c.oh, c.ow)
			kerneltest.Run(t, MaxPool2dWithIndices, "aten::max_pool2d_with_indices.out", in, c.kernel, c.stride, c.padding, c.dilation, c.ceil, out, places)
			kerneltest.Equal(t, tensor.Of(c.want, 1, 1, c.oh, c.ow), out)
			kerneltest.Equal(t, tensor.Of(c.places, 1, 1, c.oh, c.ow), places)
		}
	}
}

func TestMaxPoolBackwardAddsUp(t *testing.T) {
	grad, places := tensor.Of([]float32{1, 2, 4, 8}, 1, 2, 2), tensor.Of([]int64{0, 0, -1, 15}, 1, 2, 2)
	out := f32(1, 4, 4)
	args := []any{grad, f32(1, 4, 4), []int{2}, []int{2}, []int{0}, []int{1}, false, places, out}
	kerneltest.Run(t, MaxPool2dWithIndicesBackward, "aten::max_pool2d_with_indices_backward.grad_input", args...)
	want := kerneltest.Zeros(tensor.F32, 1, 4, 4)
	tensor.Raw[float32](want)[0], tensor.Raw[float32](want)[15] = 3, 8
	kerneltest.Equal(t, want, out)

	tensor.Raw[int64](places)[1] = 16
	kerneltest.Fails(t, MaxPool2dWithIndicesBackward, "aten::max_pool2d_with_indices_backward.grad_input", args...)
}

func TestAvgPool(t *testing.T) {
	in := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}
	for _, c := range []struct {
		padding    int
		ceil, pads bool
		divisor    any
		want       []float32
		size       int
	}{
		{0, false, true, nil, []float32{3}, 1},
		{0, true, true, nil, []float32{3, 4.5, 7.5, 9}, 2},
		{1, false, true, nil, []float32{0.25, 1.25, 2.75, 7}, 2},
		{1, false, false, nil, []float32{1, 2.5, 5.5, 7}, 2},
		{0, false, true, 2, []float32{6}, 1},
		{0, false, true, -4, []float32{-3}, 1},
	} {
		for _, x := range channelsLast(tensor.Of(in, 1, 1, 3, 3)) {
			out := kerneltest.Zeros(tensor.F32, 1, 1, c.size, c.size)
			kerneltest.Run(t, AvgPool2d, "aten::avg_pool2d.out", x, []int{2}, []int{2}, []int{c.padding}, c.ceil, c.pads, c.divisor, out)
			kerneltest.Equal(t, tensor.Of(c.want, 1, 1, c.size, c.size), out)
		}
	}
	// Integers are divided towards zero.
	out := kerneltest.Zeros(tensor.I64, 1, 1, 1)
	kerneltest.Run(t, AvgPool2d, "aten::avg_pool2d.out", tensor.Of([]int64{-3, -4}, 1, 1, 2), []int{1, 2}, []int{}, []int{0}, false, true, nil, out)
	kerneltest.Equal(t, tensor.Of([]int64{-3}, 1, 1, 1), out)
}

func TestAdaptiveAvgPool(t *testing.T) {
	in := tensor.Of([]float32{1, 2, 3, 4, 5}, 1, 1, 1, 5)
	out := kerneltest.Zeros(tensor.F32, 1, 1, 2, 3) // larger than the input in h
	kerneltest.Run(t, AdaptiveAvgPool2d, "aten::_adaptive_avg_pool2d.out", in, []int{2, 3}, out)
	kerneltest.Equal(t, tensor.Of([]float32{1.5, 3, 4.5, 1.5, 3, 4.5}, 1, 1, 2, 3), out)
}

// TestPoolLarge is large enough for several threads.
func TestPoolLarge(t *testing.T) {
	x := f32(1, 40, 60, 60)
	mean, most, places := kerneltest.Zeros(tensor.F32, 1, 40, 30, 30), kerneltest.Zeros(tensor.F32, 1, 40, 30, 30), kerneltest.Zeros(tensor.I64, 1, 40, 30, 30)
	for _, in := range channelsLast(x) {
		for _, order := range []tensor.DimOrder{nil, tensor.ChannelsLast(4)} {
			m, g, p := mean.WithOrder(order), most.WithOrder(order), places.WithOrder(order)
			kerneltest.Run(t, AvgPool2d, "aten::avg_pool2d.out", in, []int{3}, []int{2}, []int{1}, false, true, nil, m)
			kerneltest.Run(t, MaxPool2dWithIndices, "aten::max_pool2d_with_indices.out", in, []int{3}, []int{2}, []int{1}, []int{1}, false, g, p)
		}
	}
}

func TestPoolRejects(t *testing.T) {
	x, out, places := f32(1, 2, 4, 4), f32(1, 2, 2, 2), kerneltest.Zeros(tensor.I64, 1, 2, 2, 2)
	for name, a := range map[string][]any{
		"stride 0":       {x, []int{2}, []int{0}, []int{0}, []int{1}, false, out, places},
		"kernel 0":       {x, []int{0}, []int{2}, []int{0}, []int{1}, false, out, places},
		"no kernel":      {x, []int{}, []int{2}, []int{0}, []int{1}, false, out, places},
		"dilation 0":     {x, []int{2}, []int{2}, []int{0}, []int{0}, false, out, places},
		"half padding":   {x, []int{2}, []int{2}, []int{2}, []int{1}, false, out, places},
		"too large":      {x, []int{6}, []int{2}, []int{0}, []int{1}, false, out, places},
		"empty channels": {f32(1, 0, 4, 4), []int{2}, []int{2}, []int{0}, []int{1}, false, out, places},
		"rank":           {f32(4, 4), []int{2}, []int{2}, []int{0}, []int{1}, false, out, places},
		"indices dtype":  {x, []int{2}, []int{2}, []int{0}, []int{1}, false, out, f32(1, 2, 2, 2)},
		"bool":           {kerneltest.Zeros(tensor.Bool, 1, 2, 4, 4), []int{2}, []int{2}, []int{0}, []int{1}, false, kerneltest.Zeros(tensor.Bool, 1, 2, 2, 2), places},
	} {
		t.Run(name, func(t *testing.T) {
			kerneltest.Fails(t, MaxPool2dWithIndices, "aten::max_pool2d_with_indices.out", a...)
		})
	}
	kerneltest.Fails(t, AvgPool2d, "aten::avg_pool2d.out", x, []int{2}, []int{2}, []int{0}, false, true, 0, out)
	kerneltest.Fails(t, AdaptiveAvgPool2d, "aten::_adaptive_avg_pool2d.out", x, []int{0, 2}, out)
	kerneltest.Fails(t, AdaptiveAvgPool2d, "aten::_adaptive_avg_pool2d.out", x, []int{2}, out)

	// An empty batch is fine, whatever its windows.
	kerneltest.Run(t, AdaptiveAvgPool2d, "aten::_adaptive_avg_pool2d.out", f32(0, 2, 4, 4), []int{1 << 40, 1}, kerneltest.Zeros(tensor.F32, 0, 2, 1<<40, 1))
}
