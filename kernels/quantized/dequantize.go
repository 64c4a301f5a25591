package quantized

import (
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// DequantizePerTensor is quantized_decomposed::dequantize_per_tensor:
// (input - zero_point) * scale, the difference in wrapping int32 and the product
// in float32 whatever the output's type. It takes uint8, int8, int16, int32,
// uint16 and bits16 and gives floating-point types.
var DequantizePerTensor = runtime.Kernels{
	{
		Schema: "quantized_decomposed::dequantize_per_tensor.out(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None, Tensor(a!) out) -> Tensor(a!)",
		Run:    dequantizePerTensorOut,
	},
	{
		Schema: "quantized_decomposed::dequantize_per_tensor.Tensor_out(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None, Tensor(a!) out) -> Tensor(a!)",
		Run:    dequantizePerTensorTensorOut,
	},
}

// DequantizePerChannel is quantized_decomposed::dequantize_per_channel: as
// DequantizePerTensor with a scale and a zero point for each index along axis.
// Without zero points they are 0.
var DequantizePerChannel = runtime.Kernels{
	{
		Schema: "quantized_decomposed::dequantize_per_channel.out(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None, Tensor(a!) out) -> Tensor(a!)",
		Run:    dequantizePerChannelOut,
	},
}

// DequantizePerToken is quantized_decomposed::dequantize_per_token: as
// DequantizePerTensor with a scale and a zero point for each line along the last
// dimension.
var DequantizePerToken = runtime.Kernels{
	{
		Schema: "quantized_decomposed::dequantize_per_token.out(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, ScalarType output_dtype, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    dequantizePerTokenOut,
	},
}

func dequantizePerTensorOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return dequantize(ctx, args, perTensor, 3)
}

func dequantizePerTensorTensorOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return dequantize(ctx, args, perTensorTensor, 3)
}

func dequantizePerChannelOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return dequantize(ctx, args, perChannel, 4)
}

func dequantizePerTokenOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return dequantize(ctx, args, perToken, 3)
}

// dequantizeTask dequantises spans of elements that lie side by side in the
// output.
type dequantizeTask struct {
	blocks  blocks
	params  qparams
	nest    kit.Nest
	in, out *tensor.Tensor
	dst     []float32 // the elements of out, nil if of another type
	span    func(t *dequantizeTask, dst []float32, src, srcStep, param, step int)
	bufs    []float32 // a span for each worker, where dst is nil
}

// dequantize runs a call whose arguments from rest on are quant_min, quant_max,
// dtype, the output's dtype or None, and out; params reads those before.
func dequantize(ctx *runtime.KernelRuntimeContext, args runtime.Args, params paramsFunc, rest int) error {
	t := runtime.State[dequantizeTask](ctx)
	t.in, t.out = args.Tensor(0), args.Tensor(rest+4)
	if lo, hi := args.Int(rest), args.Int(rest+1); lo > hi {
		return errs.InvalidArgument.Errorf("quant_min %d is above quant_max %d", lo, hi)
	}
	if dtype, _ := args.DType(rest + 2); t.in.DType() != dtype {
		return errs.InvalidArgument.Errorf("input is %v, dtype says %v", t.in.DType(), dtype)
	}
	if dtype, ok := args.DType(rest + 3); ok && t.out.DType() != dtype {
		return errs.InvalidArgument.Errorf("output is %v, want %v", t.out.DType(), dtype)
	}
	if !t.out.DType().IsFloat() {
		return errs.InvalidArgument.Errorf("cannot dequantize to %v", t.out.DType())
	}
	if err := kit.Resize(t.out, t.in.Shape()); err != nil {
		return err
	}
	if err := t.chooseSpan(); err != nil {
		return err
	}
	if err := params(ctx, args, &t.blocks, &t.params); err != nil {
		return err
	}
	if t.out.Numel() == 0 {
		return nil
	}
	if err := t.blocks.walk(&t.nest, t.out, t.in); err != nil {
		return err
	}
	t.dst = tensor.Raw[float32](t.out)
	if need := ctx.Threads() * spanLen; t.dst == nil && len(t.bufs) < need {
		t.bufs = make([]float32, need)
	}
	ctx.Parallel(t.nest.Numel(), grain, t)
	return nil
}

func (t *dequantizeTask) chooseSpan() error {
	switch t.in.DType() {
	case tensor.U8:
		t.span = dequantizeSpan[uint8]
	case tensor.I8:
		t.span = dequantizeSpan[int8]
	case tensor.I16:
		t.span = dequantizeSpan[int16]
	case tensor.U16, tensor.Bits16:
		t.span = dequantizeSpan[uint16]
	case tensor.I32:
		t.span = dequantizeSpan[int32]
	default:
		return kit.Unsupported("dequantize", t.in)
	}
	return nil
}

// Run dequantises the elements lo to hi of the output in memory order.
func (t *dequantizeTask) Run(worker, lo, hi int) {
	var c kit.Cursor
	t.nest.Seek(&c, lo)
	for lo < hi {
		var n int
		if t.dst != nil {
			n = t.nest.Run(&c, hi-lo)
			t.span(t, t.dst[c.Off[0]:][:n], c.Off[1], t.nest.Stride(1), c.Off[2], t.nest.Stride(2))
		} else {
			n = t.nest.Run(&c, min(hi-lo, spanLen))
			buf := t.bufs[worker*spanLen:][:n]
			t.span(t, buf, c.Off[1], t.nest.Stride(1), c.Off[2], t.nest.Stride(2))
			kit.Store(t.out, c.Off[0], buf)
		}
		t.nest.Advance(&c, n)
		lo += n
	}
}

// dequantizeSpan dequantises len(dst) elements, srcStep apart from src on, with
// params of which those of neighbours are step apart.
func dequantizeSpan[Q int8 | uint8 | int16 | uint16 | int32](t *dequantizeTask, dst []float32, src, srcStep, param, step int) {
	q := tensor.Cast[Q](t.in.Bytes())
	if step == 0 && srcStep == 1 {
		scale, zero := t.params.scale[param], t.params.zero[param]
		for i, v := range q[src:][:len(dst)] {
			dst[i] = float32(int32(v)-zero) * scale
		}
		return
	}
	for i := range dst {
		dst[i] = float32(int32(q[src])-t.params.zero[param]) * t.params.scale[param]
		src += srcStep
		param += step
	}
}
