package portable

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

// conv2d calls Convolution with what most calls have in common.
func conv2d(t testing.TB, in, weight, bias *tensor.Tensor, stride, padding, groups int, out *tensor.Tensor) {
	t.Helper()
	args := []any{in, weight, nil, []int{stride}, []int{padding}, []int{1}, false, []int{0}, groups, out}
	if bias != nil {
		args[2] = bias
	}
	kerneltest.Run(t, Convolution, "aten::convolution.out", args...)
}

func TestConvolution(t *testing.T) {
	in := tensor.Of([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, 1, 3, 3)
	out := kerneltest.Zeros(tensor.F32, 1, 1, 2, 2)
	conv2d(t, in, tensor.Of([]float32{1, 0, 0, -1}, 1, 1, 2, 2), tensor.Of([]float32{10}), 1, 0, 1, out)
	kerneltest.Equal(t, tensor.Of([]float32{6, 6, 6, 6}, 1, 1, 2, 2), out)

	// Transposed, each input spreads over the outputs.
	out = kerneltest.Zeros(tensor.F32, 1, 1, 5)
	kerneltest.Run(t, Convolution, "aten::convolution.out", tensor.Of([]float32{1, 2}, 1, 1, 2), tensor.Of([]float32{1, 10, 100}, 1, 1, 3),
		tensor.Of([]float32{0.5}), []int{2}, []int{0}, []int{1}, true, []int{0}, 1, out)
	kerneltest.Equal(t, tensor.Of([]float32{1.5, 10.5, 102.5, 20.5, 200.5}, 1, 1, 5), out)

	// The bias may have a type of its own, and integers wrap.
	bytes := kerneltest.Zeros(tensor.U8, 1, 1, 1)
	kerneltest.Run(t, Convolution, "aten::convolution.out", tensor.Of([]uint8{200}, 1, 1, 1), tensor.Of([]uint8{2}, 1, 1, 1),
		tensor.Of([]float32{3.7}), []int{1}, []int{0}, []int{1}, false, []int{0}, 1, bytes)
	kerneltest.Equal(t, tensor.Of([]uint8{147}, 1, 1, 1), bytes)
}

// TestConvolutionLarge is large enough for several threads and blocks.
func TestConvolutionLarge(t *testing.T) {
	for _, c := range []struct{ in, out, groups, kernel, stride int }{
		{16, 40, 1, 3, 1}, {40, 24, 1, 1, 1}, {40, 40, 40, 3, 2}, {40, 40, 40, 5, 1}, {24, 48, 4, 3, 2},
	} {
		size := 40
		places := (size-1)/c.stride + 1
		in, weight, bias := f32(2, c.in, size, size), f32(c.out, c.in/c.groups, c.kernel, c.kernel), f32(c.out)
		want := kerneltest.Zeros(tensor.F64, 2, c.out, places, places)
		conv2d(t, converted(in, tensor.F64), converted(weight, tensor.F64), converted(bias, tensor.F64), c.stride, c.kernel/2, c.groups, want)
		want = converted(want, tensor.F32)
		last := tensor.ChannelsLast(4)
		for _, order := range []tensor.DimOrder{nil, last} {
			in, weight, out := in, weight, kerneltest.Zeros(tensor.F32, 2, c.out, places, places)
			if order != nil {
				in, weight, out = in.WithOrder(last), weight.WithOrder(last), out.WithOrder(last)
			}
			conv2d(t, in, weight, bias, c.stride, c.kernel/2, c.groups, out)
			kerneltest.Close(t, want, out, 1e-4, 1e-3)
		}
	}
}

// TestConvolutionBackward compares with how a convolution's outputs change, by
// the definition of the gradient: the sum of grad*output is linear in everything.
func TestConvolutionBackward(t *testing.T) {
	in, weight, grad := f32(2, 4, 5, 6), f32(6, 2, 3, 2), f32(2, 6, 3, 7)
	stride, padding, dilation := []int{2, 1}, []int{1, 1}, []int{1, 1}
	gi, gw, gb := f32(2, 4, 5, 6), f32(6, 2, 3, 2), f32(6)
	kerneltest.Run(t, ConvolutionBackward, "aten::convolution_backward.out", grad, in, weight, []int{6}, stride, padding, dilation, false, []int{0, 0}, 2,
		[]bool{true, true, true}, gi, gw, gb)
	dot := func(a, b *tensor.Tensor) (sum float64) {
		for i, v := range tensor.Raw[float32](a) {
			sum += float64(v) * float64(tensor.Raw[float32](b)[i])
		}
		return sum
	}
	out := func(in, weight, bias *tensor.Tensor) *tensor.Tensor {
		y := f32(2, 6, 3, 7)
		kerneltest.Run(t, Convolution, "aten::convolution.out", in, weight, bias, stride, padding, dilation, false, []int{0, 0}, 2, y)
		return y
	}
	none := kerneltest.Zeros(tensor.F32, 6)
	for seed := range 3 {
		x, w, b := f32(2, 4, 5, 6), f32(6, 2, 3, 2), f32(6)
		for _, v := range []*tensor.Tensor{x, w, b} { // any direction
			d := tensor.Raw[float32](v)
			for i := range d {
				d[i] = float32((i*(seed+5))%7) - 3
			}
		}
		require.InEpsilon(t, dot(grad, out(x, weight, none)), dot(gi, x), 1e-4)
		require.InEpsilon(t, dot(grad, out(in, w, none)), dot(gw, w), 1e-4)
		require.InEpsilon(t, dot(grad, out(kerneltest.Zeros(tensor.F32, 2, 4, 5, 6), weight, b)), dot(gb, b), 1e-4)
	}

	// What the mask leaves out is not written.
	before := gw.Clone()
	kerneltest.Run(t, ConvolutionBackward, "aten::convolution_backward.out", grad, in, weight, nil, stride, padding, dilation, false, []int{0, 0}, 2,
		[]bool{true, false, false}, gi, gw, f32(1))
	kerneltest.Equal(t, before, gw)
}

// An empty batch is fine, also with the channels last.
func TestConvolutionOfNothing(t *testing.T) {
	for _, order := range []tensor.DimOrder{nil, tensor.ChannelsLast(4)} {
		out, err := tensor.New(tensor.F32, []int{1, 2, 3, 3}, tensor.WithDimOrder(order), tensor.WithDynamism(tensor.DynamicBound))
		require.NoError(t, err)
		conv2d(t, f32(0, 1, 3, 3), f32(2, 1, 1, 1), nil, 1, 0, 1, out)
		require.Equal(t, []int{0, 2, 3, 3}, out.Shape())
	}
}

func TestConvolutionRejects(t *testing.T) {
	x, w, out := f32(1, 4, 5, 5), f32(6, 4, 3, 3), f32(1, 6, 3, 3)
	ok := []any{x, w, nil, []int{1}, []int{0}, []int{1}, false, []int{0}, 1, out}
	kerneltest.Run(t, Convolution, "aten::convolution.out", ok...)
	for name, change := range map[string]func(args []any){
		"kernel beyond the input": func(a []any) { a[0] = f32(1, 4, 2, 5) },
		"channels":                func(a []any) { a[0] = f32(1, 5, 5, 5) },
		"rank":                    func(a []any) { a[0] = f32(4, 5, 5) },
		"dtype":                   func(a []any) { a[1] = converted(w, tensor.F64) },
		"out dtype":               func(a []any) { a[9] = converted(out, tensor.F64) },
		"bool": func(a []any) {
			a[0], a[1], a[9] = converted(x, tensor.Bool), converted(w, tensor.Bool), converted(out, tensor.Bool)
		},
		"bias":                   func(a []any) { a[2] = f32(5) },
		"complex bias":           func(a []any) { a[2] = kerneltest.Zeros(tensor.C64, 6) },
		"stride 0":               func(a []any) { a[3] = []int{0} },
		"stride of 3 dimensions": func(a []any) { a[3] = []int{1, 1, 1} },
		"huge stride":            func(a []any) { a[3] = []int{1 << 40} },
		"negative padding":       func(a []any) { a[4] = []int{-1} },
		"dilation 0":             func(a []any) { a[5] = []int{0} },
		"groups 0":               func(a []any) { a[8] = 0 },
		"groups that do not fit": func(a []any) { a[8] = 4 },
		"out shape":              func(a []any) { a[9] = f32(1, 6, 3, 4) },
		"output padding":         func(a []any) { a[6], a[7], a[1] = true, []int{1}, f32(4, 6, 3, 3) },
	} {
		args := append([]any{}, ok...)
		change(args)
		t.Run(name, func(t *testing.T) {
			kerneltest.Fails(t, Convolution, "aten::convolution.out", args...)
		})
	}
}
