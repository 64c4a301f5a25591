package portable

import (
	"slices"

	"github.com/etgo-ml/etgo/internal/compute/conv"
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// ConvolutionBackward is aten::convolution_backward: the gradients of the input,
// the weight and the bias of a Convolution that is not transposed. output_mask
// tells which of them to compute. It takes floating-point types, the same for all;
// halves are computed in float32.
var ConvolutionBackward = runtime.Kernels{
	{Schema: "aten::convolution_backward.out(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))", Run: convolutionBackwardOut},
}

func convolutionBackwardOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	grad, in, weight := args.Tensor(0), args.Tensor(1), args.Tensor(2)
	c, err := newConvolution(in, weight, args[4:10])
	if err != nil {
		return err
	}
	if c.transposed {
		return errs.InvalidArgument.Errorf("convolution_backward: transposed convolutions have no backward yet")
	}
	shape, err := c.outShape()
	if err != nil {
		return err
	}
	if err := checkShape("grad_output", grad, in.DType(), shape.Dims()); err != nil {
		return err
	}
	mask := args.Bools(10)
	if len(mask) != 3 {
		return errs.InvalidArgument.Errorf("convolution_backward: output_mask has %d elements, want 3", len(mask))
	}
	bias := kit.ShapeOf([]int{c.outChannels})
	var out [3]*tensor.Tensor // of the input, the weight, the bias
	for i, dims := range [...][]int{in.Shape(), weight.Shape(), bias.Dims()} {
		if !mask[i] {
			continue
		}
		out[i] = args.Tensor(11 + i)
		if err := checkType("a gradient", out[i], in.DType()); err != nil {
			return err
		}
		if err := kit.Resize(out[i], dims); err != nil {
			return err
		}
	}
	switch d := in.DType(); {
	case d == tensor.F32 || d.IsReducedFloat():
		return runtime.State[convState[float32]](ctx).backward(ctx, &c, grad, out)
	case d == tensor.F64:
		return runtime.State[convState[float64]](ctx).backward(ctx, &c, grad, out)
	}
	return kit.Unsupported("convolution_backward", in)
}

// checkShape returns an error unless t has a dtype and a shape.
func checkShape(name string, t *tensor.Tensor, d tensor.DType, shape []int) error {
	if t.DType() != d || !slices.Equal(t.Shape(), shape) {
		// A copy, as formatting shape itself would move every caller's to the heap.
		return errs.InvalidArgument.Errorf("%s is %v, want %s", name, t, tensor.Describe(d, slices.Clone(shape)))
	}
	return nil
}

// backward computes the gradients of the input, the weight and the bias, those
// that are not nil.
func (s *convState[C]) backward(ctx *runtime.KernelRuntimeContext, c *convolution, grad *tensor.Tensor, out [3]*tensor.Tensor) error {
	g, err := kit.LoadAll(ctx, &s.conversion, grad)
	if err != nil {
		return err
	}
	for i, t := range out {
		if t == nil || t.Numel() == 0 {
			continue
		}
		dst, err := kit.Target[C](ctx, t)
		if err != nil {
			return err
		}
		switch i {
		case 0:
			err = s.inputGradient(ctx, c, grad, g, t, dst)
		case 1:
			err = s.weightGradient(ctx, c, grad, g, t, dst)
		case 2:
			s.biasGradient(ctx, grad, g, dst)
		}
		if err != nil {
			return err
		}
		kit.StoreAll(ctx, &s.conversion, t, dst)
	}
	return nil
}

// inputGradient is the transposed convolution of grad, with elements g, with the
// weight.
func (s *convState[C]) inputGradient(ctx *runtime.KernelRuntimeContext, c *convolution, grad *tensor.Tensor, g []C, out *tensor.Tensor, dst []C) error {
	weight, err := kit.LoadAll(ctx, &s.conversion, c.weight)
	if err != nil {
		return err
	}
	s.conv = conv.Convolution[C]{
		Images: c.in.Size(0), Groups: c.groups,
		InChannels: c.outChannels / c.groups, OutChannels: c.in.Size(1) / c.groups,
		Input:  convView(g, grad, c.dims, c.groups),
		Filter: filterView(weight, c.weight, c.dims, c.groups),
		Output: convView(dst, out, c.dims, c.groups),
	}
	f := &s.conv.Filter
	f.Outer, f.Channel = f.Channel, f.Outer
	return s.runTransposed(ctx, c, spatialOf(grad.Shape(), c.dims), spatialOf(out.Shape(), c.dims))
}

// weightGradient is a convolution, too: the channels of the input are its images,
// of which the images are the channels, and grad has the filters. Output places
// and taps change roles, and with them stride and dilation.
func (s *convState[C]) weightGradient(ctx *runtime.KernelRuntimeContext, c *convolution, grad *tensor.Tensor, g []C, out *tensor.Tensor, dst []C) error {
	in, err := kit.LoadAll(ctx, &s.conversion, c.in)
	if err != nil {
		return err
	}
	s.conv = conv.Convolution[C]{
		Images: c.in.Size(1) / c.groups, Groups: c.groups,
		InChannels: c.in.Size(0), OutChannels: c.outChannels / c.groups,
		Input:  convView(in, c.in, c.dims, c.groups),
		Filter: convView(g, grad, c.dims, c.groups),
		Output: filterView(dst, out, c.dims, c.groups),
	}
	for _, v := range [...]*conv.Tensor[C]{&s.conv.Input, &s.conv.Filter, &s.conv.Output} {
		v.Outer, v.Channel = v.Channel, v.Outer
	}
	sizes, taps, places := spatialOf(c.in.Shape(), c.dims), spatialOf(out.Shape(), c.dims), spatialOf(grad.Shape(), c.dims)
	for d := range s.conv.Axes {
		s.conv.Axes[d] = conv.NewAxis(sizes[d], taps[d], places[d], c.dilation[d], c.padding[d], c.stride[d])
	}
	var scratch kit.Scratch[C]
	return s.run(ctx, &scratch)
}

func (s *convState[C]) biasGradient(ctx *runtime.KernelRuntimeContext, grad *tensor.Tensor, g, dst []C) {
	b := &s.bias
	*b = biasGradient[C]{grad: g, dst: dst, channel: grad.Strides()[1]}
	b.nest.Begin(1)
	for d, size := range grad.Shape() {
		if d != 1 {
			b.nest.Dim(size, [kit.MaxOperands]int{grad.Strides()[d]})
		}
	}
	ctx.Parallel(len(dst), 1+reduceGrain/max(b.nest.Numel(), 1), b)
}

// biasGradient adds up grad, channel by channel.
type biasGradient[C kit.Real] struct {
	grad, dst []C
	nest      kit.Nest // a channel of grad
	channel   int      // distance of channels in grad
}

// Run computes channels lo to hi.
func (b *biasGradient[C]) Run(_, lo, hi int) {
	for ch := lo; ch < hi; ch++ {
		var sum C
		var c kit.Cursor
		for left := b.nest.Numel(); left > 0; {
			n := b.nest.Run(&c, left)
			o := ch*b.channel + c.Off[0]
			for range n {
				sum += b.grad[o]
				o += b.nest.Stride(0)
			}
			b.nest.Advance(&c, n)
			left -= n
		}
		b.dst[ch] = sum
	}
}
