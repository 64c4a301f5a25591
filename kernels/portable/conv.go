package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/compute/conv"
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Convolution is aten::convolution over one, two or three spatial dimensions:
// input [n, c, ...] with weight [k, c/groups, ...], or [c, k/groups, ...] if
// transposed, gives [n, k, ...]. It takes real numbers, the same type for all but
// the bias; halves are computed in float32, integers wrap.
var Convolution = runtime.Kernels{
	{Schema: "aten::convolution.out(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, *, Tensor(a!) out) -> Tensor(a!)", Run: convolutionOut},
}

func convKernels() []runtime.Kernels {
	return []runtime.Kernels{Convolution, ConvolutionBackward}
}

func convolutionOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, weight, bias, out := args.Tensor(0), args.Tensor(1), args.Tensor(2), args.Tensor(9)
	c, err := newConvolution(in, weight, args[3:9])
	if err != nil {
		return err
	}
	if out.DType() != in.DType() {
		return errs.InvalidArgument.Errorf("convolution: out is %v, want %v", out.DType(), in.DType())
	}
	if bias != nil && (bias.Rank() != 1 || bias.Numel() != c.outChannels || !isReal(bias.DType())) {
		return errs.InvalidArgument.Errorf("convolution: bias is %v, want %d numbers", bias, c.outChannels)
	}
	shape, err := c.outShape()
	if err != nil {
		return err
	}
	if err := kit.Resize(out, shape.Dims()); err != nil || out.Numel() == 0 {
		return err
	}
	switch d := in.DType(); {
	case d == tensor.F32 || d.IsReducedFloat():
		return runtime.State[convState[float32]](ctx).forward(ctx, &c, bias, out)
	case d == tensor.F64:
		return runtime.State[convState[float64]](ctx).forward(ctx, &c, bias, out)
	case d.IsInt():
		return runtime.State[convState[int64]](ctx).forward(ctx, &c, bias, out)
	}
	return kit.Unsupported("convolution", in)
}

// convolution is a call of an operator, checked.
type convolution struct {
	in, weight  *tensor.Tensor
	dims        int // spatial ones
	groups      int
	outChannels int
	transposed  bool

	stride, padding, dilation, outputPadding [conv.Dims]int
}

// newConvolution checks input, weight and the arguments from stride to groups,
// which the operators have in common.
func newConvolution(in, weight *tensor.Tensor, args runtime.Args) (c convolution, err error) {
	c = convolution{in: in, weight: weight, dims: in.Rank() - 2, transposed: args.Bool(3), groups: args.Int(5)}
	if c.dims < 1 || c.dims > conv.Dims || weight.Rank() != in.Rank() || weight.DType() != in.DType() {
		return c, errs.InvalidArgument.Errorf("convolution: input %v and weight %v, want the same dtype and rank, 3 to 5", in, weight)
	}
	if c.stride, err = spatial("stride", args.Ints(0), c.dims, 1); err != nil {
		return c, err
	}
	if c.padding, err = spatial("padding", args.Ints(1), c.dims, 0); err != nil {
		return c, err
	}
	if c.dilation, err = spatial("dilation", args.Ints(2), c.dims, 1); err != nil {
		return c, err
	}
	if c.groups < 1 || weight.Size(0) < c.groups || weight.Size(0)%c.groups != 0 {
		return c, errs.InvalidArgument.Errorf("convolution: %d groups do not divide the %d of weight %v", c.groups, weight.Size(0), weight)
	}
	c.outChannels = weight.Size(0)
	inChannels := c.groups * weight.Size(1)
	if c.transposed {
		c.outChannels, inChannels = inChannels, c.outChannels
		if c.outputPadding, err = spatial("output_padding", args.Ints(4), c.dims, 0); err != nil {
			return c, err
		}
	}
	if in.Size(1) != inChannels {
		return c, errs.InvalidArgument.Errorf("convolution: input %v has %d channels, weight %v in %d groups wants %d", in, in.Size(1), weight, c.groups, inChannels)
	}
	for d := 2; d < in.Rank(); d++ {
		if in.Size(d) > math.MaxInt32 || weight.Size(d) > math.MaxInt32 {
			return c, errs.InvalidArgument.Errorf("convolution: input %v or weight %v is too large", in, weight)
		}
	}
	return c, nil
}

// spatial returns a parameter for each spatial dimension. It is given as one
// number for all or as one for each.
func spatial(name string, v []int64, dims int, least int64) (p [conv.Dims]int, err error) {
	if len(v) != 1 && len(v) != dims {
		return p, errs.InvalidArgument.Errorf("%s is %v, want 1 or %d numbers", name, v, dims)
	}
	for i := range p {
		p[i] = int(least) // of a dimension of size 1
		if k := i - (conv.Dims - dims); k >= 0 {
			x := v[min(k, len(v)-1)]
			if x < least || x > math.MaxInt32 {
				return p, errs.InvalidArgument.Errorf("%s is %v, want numbers from %d to %d", name, v, least, math.MaxInt32)
			}
			p[i] = int(x)
		}
	}
	return p, nil
}

// spatialOf returns the sizes or strides of the spatial dimensions, which are the
// last ones of v, and one for those that are missing.
func spatialOf(v []int, dims int) (s [conv.Dims]int) {
	for i := range s {
		s[i] = 1
		if k := i - (conv.Dims - dims); k >= 0 {
			s[i] = v[len(v)-dims+k]
		}
	}
	return s
}

// outShape returns the shape of the result.
func (c *convolution) outShape() (s kit.Shape, err error) {
	s.Append(c.in.Size(0))
	s.Append(c.outChannels)
	if c.in.Size(1) == 0 {
		s.Dims()[1] = 0
	}
	in, taps := spatialOf(c.in.Shape(), c.dims), spatialOf(c.weight.Shape(), c.dims)
	for d := conv.Dims - c.dims; d < conv.Dims; d++ {
		window := c.dilation[d]*(taps[d]-1) + 1
		size := in[d] + 2*c.padding[d] - window
		if c.transposed {
			if c.outputPadding[d] >= c.stride[d] && c.outputPadding[d] >= c.dilation[d] {
				return s, errs.InvalidArgument.Errorf("convolution: output_padding %d must be below the stride %d or the dilation %d", c.outputPadding[d], c.stride[d], c.dilation[d])
			}
			size = (in[d]-1)*c.stride[d] - 2*c.padding[d] + window + c.outputPadding[d]
		} else if size >= 0 {
			size = size/c.stride[d] + 1
		}
		if size <= 0 {
			return s, errs.InvalidArgument.Errorf("convolution: input %v is too small for weight %v with padding %d and dilation %d", c.in, c.weight, c.padding[d], c.dilation[d])
		}
		s.Append(size)
	}
	return s, nil
}

// convState is the state of a step that computes convolutions in C.
type convState[C kit.Real] struct {
	conv       conv.Convolution[C]
	depthwise  conv.Depthwise[C]
	conversion kit.Conversion[C]
	bias       biasGradient[C]
}

// forward computes c into out, which has its shape.
func (s *convState[C]) forward(ctx *runtime.KernelRuntimeContext, c *convolution, bias, out *tensor.Tensor) error {
	in, err := kit.LoadAll(ctx, &s.conversion, c.in)
	if err != nil {
		return err
	}
	weight, err := kit.LoadAll(ctx, &s.conversion, c.weight)
	if err != nil {
		return err
	}
	dst, err := kit.Target[C](ctx, out)
	if err != nil {
		return err
	}
	var b []C
	if bias != nil {
		if b, err = kit.LoadAll(ctx, &s.conversion, bias); err != nil {
			return err
		}
	}
	s.conv = conv.Convolution[C]{
		Images: c.in.Size(0), Groups: c.groups,
		InChannels: c.in.Size(1) / c.groups, OutChannels: c.outChannels / c.groups,
		Input:  convView(in, c.in, c.dims, c.groups),
		Filter: filterView(weight, c.weight, c.dims, c.groups),
		Output: convView(dst, out, c.dims, c.groups),
		Bias:   b,
	}
	sizes, places := spatialOf(c.in.Shape(), c.dims), spatialOf(out.Shape(), c.dims)
	if c.transposed {
		f := &s.conv.Filter
		f.Outer, f.Channel = f.Channel, f.Outer
		err = s.runTransposed(ctx, c, sizes, places)
	} else {
		err = s.runOrdinary(ctx, c, sizes, places)
	}
	if err != nil {
		return err
	}
	kit.StoreAll(ctx, &s.conversion, out, dst)
	return nil
}

// convView returns an input or output t, with its elements as data.
func convView[C kit.Real](data []C, t *tensor.Tensor, dims, groups int) conv.Tensor[C] {
	strides := t.Strides()
	return conv.Tensor[C]{
		Data: data, Outer: strides[0], Channel: strides[1], Group: t.Size(1) / groups * strides[1],
		Spatial: spatialOf(strides, dims),
	}
}

// filterView returns a weight t, with its elements as data.
func filterView[C kit.Real](data []C, t *tensor.Tensor, dims, groups int) conv.Tensor[C] {
	v := convView(data, t, dims, 1)
	v.Group = t.Size(0) / groups * v.Outer
	return v
}

// runOrdinary computes s.conv's output from its input by a convolution with c's
// parameters. in and out are the sizes.
func (s *convState[C]) runOrdinary(ctx *runtime.KernelRuntimeContext, c *convolution, in, out [conv.Dims]int) error {
	taps := spatialOf(c.weight.Shape(), c.dims)
	for d := range s.conv.Axes {
		s.conv.Axes[d] = conv.NewAxis(in[d], out[d], taps[d], c.stride[d], c.padding[d], c.dilation[d])
	}
	var scratch kit.Scratch[C]
	return s.run(ctx, &scratch)
}

// run computes s.conv.
func (s *convState[C]) run(ctx *runtime.KernelRuntimeContext, scratch *kit.Scratch[C]) error {
	if !s.conv.IsDepthwise() {
		return kit.Multiply(ctx, s.conv.Product(), scratch)
	}
	mem, err := scratch.Take(ctx, s.depthwise.Plan(&s.conv))
	if err != nil {
		return err
	}
	s.depthwise.SetScratch(mem)
	n, grain := s.depthwise.Loop()
	ctx.Parallel(n, grain, &s.depthwise)
	return nil
}

// runTransposed computes s.conv's output from its input by the transpose of a
// convolution with c's parameters, phase by phase. in and out are the sizes.
func (s *convState[C]) runTransposed(ctx *runtime.KernelRuntimeContext, c *convolution, in, out [conv.Dims]int) error {
	var scratch kit.Scratch[C]
	taps := spatialOf(c.weight.Shape(), c.dims)
	filter, output := s.conv.Filter, s.conv.Output
	var p [conv.Dims]int
	for p[0] = range min(c.stride[0], out[0]) {
		for p[1] = range min(c.stride[1], out[1]) {
			for p[2] = range min(c.stride[2], out[2]) {
				f, o := filter, output
				for d, stride := range c.stride {
					phase := conv.NewPhase(p[d], in[d], out[d], taps[d], stride, c.padding[d], c.dilation[d])
					s.conv.Axes[d] = phase.Axis
					f.Offset += phase.FirstTap * filter.Spatial[d]
					f.Spatial[d] *= phase.TapStride
					o.Offset += phase.First * output.Spatial[d]
					o.Spatial[d] *= stride
				}
				s.conv.Filter, s.conv.Output = f, o
				if err := s.run(ctx, &scratch); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
