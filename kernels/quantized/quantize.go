package quantized

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// QuantizePerTensor is quantized_decomposed::quantize_per_tensor:
// clamp(round(input / scale) + zero_point, quant_min, quant_max), rounded half to
// even, in dtype, the output's. It takes floating-point types and gives uint8,
// int8, int16, int32, uint16 and bits16.
var QuantizePerTensor = runtime.Kernels{
	{
		Schema: "quantized_decomposed::quantize_per_tensor.out(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    quantizePerTensorOut,
	},
	{
		Schema: "quantized_decomposed::quantize_per_tensor.Tensor_out(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    quantizePerTensorTensorOut,
	},
}

// QuantizePerChannel is quantized_decomposed::quantize_per_channel: as
// QuantizePerTensor with a scale and a zero point for each index along axis.
var QuantizePerChannel = runtime.Kernels{
	{
		Schema: "quantized_decomposed::quantize_per_channel.out(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    quantizePerChannelOut,
	},
}

// QuantizePerToken is quantized_decomposed::quantize_per_token: as
// QuantizePerTensor with a scale and a zero point for each line along the last
// dimension.
var QuantizePerToken = runtime.Kernels{
	{
		Schema: "quantized_decomposed::quantize_per_token.out(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    quantizePerTokenOut,
	},
}

func quantizePerTensorOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return quantize(ctx, args, perTensor, 3)
}

func quantizePerTensorTensorOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return quantize(ctx, args, perTensorTensor, 3)
}

func quantizePerChannelOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return quantize(ctx, args, perChannel, 4)
}

func quantizePerTokenOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return quantize(ctx, args, perToken, 3)
}

// quantize runs a call whose arguments from rest on are quant_min, quant_max,
// dtype and out; params reads those before.
func quantize(ctx *runtime.KernelRuntimeContext, args runtime.Args, params paramsFunc, rest int) error {
	in, out := args.Tensor(0), args.Tensor(rest+3)
	if dtype, _ := args.DType(rest + 2); out.DType() != dtype {
		return errs.InvalidArgument.Errorf("output is %v, dtype asks for %v", out.DType(), dtype)
	}
	if err := kit.Resize(out, in.Shape()); err != nil {
		return err
	}
	switch in.DType() {
	case tensor.F32, tensor.F16, tensor.BF16:
		return quantizeFrom(ctx, args, params, rest, &spans32)
	case tensor.F64:
		return quantizeFrom(ctx, args, params, rest, &spans64)
	}
	return kit.Unsupported("quantize", in)
}

// quantizeTask quantises spans of elements that lie side by side in the output.
type quantizeTask[F kit.Float] struct {
	blocks  blocks
	params  qparams
	nest    kit.Nest
	in, out *tensor.Tensor
	src     []F   // the elements of in, nil if of another type
	lo, hi  int64 // quant_min, quant_max
	span    quantizeFunc[F]
	bufs    []F // a span for each worker
}

type quantizeFunc[F kit.Float] func(t *quantizeTask[F], dst int, src []F, param, step int)

// quantizeFuncs are the functions by the output's type. They are in tables, as a
// generic function that takes another's value would have to allocate it.
type quantizeFuncs[F kit.Float] struct{ u8, i8, i16, u16, i32 quantizeFunc[F] }

var (
	spans32 = quantizeFuncs[float32]{
		u8: quantizeSpan[float32, uint8], i8: quantizeSpan[float32, int8],
		i16: quantizeSpan[float32, int16], u16: quantizeSpan[float32, uint16], i32: quantizeSpan[float32, int32],
	}
	spans64 = quantizeFuncs[float64]{
		u8: quantizeSpan[float64, uint8], i8: quantizeSpan[float64, int8],
		i16: quantizeSpan[float64, int16], u16: quantizeSpan[float64, uint16], i32: quantizeSpan[float64, int32],
	}
)

func quantizeFrom[F kit.Float](ctx *runtime.KernelRuntimeContext, args runtime.Args, params paramsFunc, rest int, spans *quantizeFuncs[F]) error {
	t := runtime.State[quantizeTask[F]](ctx)
	t.in, t.out = args.Tensor(0), args.Tensor(rest+3)
	t.lo, t.hi = int64(args.Int(rest)), int64(args.Int(rest+1))
	if err := t.chooseSpan(spans); err != nil {
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
	for i, s := range t.params.scale {
		t.params.scale[i] = 1 / s
	}
	t.src = tensor.Raw[F](t.in)
	if need := ctx.Threads() * spanLen; len(t.bufs) < need {
		t.bufs = make([]F, need)
	}
	ctx.Parallel(t.nest.Numel(), grain, t)
	return nil
}

// chooseSpan sets t.span by the output's type and checks that the quantised
// range is within it.
func (t *quantizeTask[F]) chooseSpan(spans *quantizeFuncs[F]) error {
	var least, most int64
	switch t.out.DType() {
	case tensor.U8:
		t.span, least, most = spans.u8, 0, math.MaxUint8
	case tensor.I8:
		t.span, least, most = spans.i8, math.MinInt8, math.MaxInt8
	case tensor.I16:
		t.span, least, most = spans.i16, math.MinInt16, math.MaxInt16
	case tensor.U16, tensor.Bits16:
		t.span, least, most = spans.u16, 0, math.MaxUint16
	case tensor.I32:
		t.span, least, most = spans.i32, math.MinInt32, math.MaxInt32
	default:
		return errs.InvalidArgument.Errorf("cannot quantize to %v", t.out.DType())
	}
	if t.lo < least || t.hi > most {
		return errs.InvalidArgument.Errorf("quantized range %d to %d exceeds that of %v, %d to %d", t.lo, t.hi, t.out.DType(), least, most)
	}
	return nil
}

// Run quantises the elements lo to hi of the output in memory order.
func (t *quantizeTask[F]) Run(worker, lo, hi int) {
	buf := t.bufs[worker*spanLen:][:spanLen]
	var c kit.Cursor
	t.nest.Seek(&c, lo)
	for lo < hi {
		direct := t.src != nil && t.nest.Stride(1) == 1
		n := hi - lo
		if !direct {
			n = min(n, spanLen)
		}
		n = t.nest.Run(&c, n)
		x := buf
		if direct {
			x = t.src[c.Off[1]:][:n]
		} else {
			x = buf[:n]
			kit.LoadStrided(x, t.in, c.Off[1], t.nest.Stride(1))
		}
		t.span(t, c.Off[0], x, c.Off[2], t.nest.Stride(2))
		t.nest.Advance(&c, n)
		lo += n
	}
}

// quantizeSpan quantises src with params of which those of neighbours are step
// apart. t.params.scale holds the reciprocals of the scales.
func quantizeSpan[F kit.Float, Q kit.Integer](t *quantizeTask[F], dst int, src []F, param, step int) {
	q := tensor.Cast[Q](t.out.Bytes())[dst:][:len(src)]
	if step == 0 {
		inv, zero := t.params.scale[param], float32(t.params.zero[param])
		for i, v := range src {
			q[i] = Q(round(float32(F(inv)*v), zero, t.lo, t.hi))
		}
		return
	}
	for i, v := range src {
		inv, zero := t.params.scale[param], float32(t.params.zero[param])
		q[i] = Q(round(float32(F(inv)*v), zero, t.lo, t.hi))
		param += step
	}
}

// round returns x rounded half to even plus zero, in float32 as ExecuTorch
// computes it, between lo and hi. What does not fit into int64 becomes lo: NaN,
// infinities and all from 2^63 up (the result of x86-64's conversion is the
// smallest int64).
func round(x, zero float32, lo, hi int64) int64 {
	var q int64
	if x > -1<<22 && x < 1<<22 {
		// Adding it shifts the fraction out of the significand.
		const shift = 3 << 22
		q = int64(zero + ((x + shift) - shift))
	} else {
		q = kit.FloatToInt[int64](float64(zero + float32(math.RoundToEven(float64(x)))))
	}
	return min(max(q, lo), hi)
}
