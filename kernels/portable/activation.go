package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/internal/ukernel"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/kernels/internal/kit/mathf"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Relu is aten::relu: self where it is positive or NaN, else 0, for one real type.
var Relu = runtime.Kernels{{
	Schema: "aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return sameUnary(ctx, args, &reluTypes)
	},
}}

var reluTypes = typedKernels{
	u8: reluAs[uint8], i8: reluAs[int8], i16: reluAs[int16], i32: reluAs[int32], i64: reluAs[int64], f32: relu32, f64: reluAs[float64],
}

func reluAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return unary(ctx, number[C](args.Tensor(0), d), result[C](args.Tensor(1), d), grainArith, reluOp[C]{})
}

func relu32(ctx *runtime.KernelRuntimeContext, args runtime.Args, _ tensor.DType) error {
	in, out := args.Tensor(0), args.Tensor(1)
	if in.DType() == tensor.F32 && out.DType() == tensor.F32 && ukernel.ActiveElements() != nil {
		return unary(ctx, number[float32](in, tensor.F32), result[float32](out, tensor.F32), grainArith, clampOp[float32]{0, float32(math.Inf(1))})
	}
	switch in.DType() {
	case tensor.F16:
		return unaryBits(ctx, in, out, reluBits[uint16]{1 << 15, 0x7c00})
	case tensor.BF16:
		return unaryBits(ctx, in, out, reluBits[uint16]{1 << 15, 0x7f80})
	}
	return unaryBits(ctx, in, out, reluBits[uint32]{1 << 31, 0x7f800000})
}

// reluBits works on the bits of floats, which takes no branches: those from the
// sign alone, which is -0, to sign and infinity become 0, NaNs above stay.
type reluBits[C uint16 | uint32] struct{ sign, infinity C }

func (op reluBits[C]) v(dst, src []C) {
	dst = dst[:len(src)]
	for i, v := range src {
		if v^op.sign <= op.infinity {
			v = 0
		}
		dst[i] = v
	}
}

type reluOp[C kit.Number] struct{}

func (reluOp[C]) v(dst, src []C) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = max(v, 0)
	}
}

// LeakyRelu is aten::leaky_relu: self where it is not negative, else self *
// negative_slope, for one float type, to which the slope is rounded.
var LeakyRelu = runtime.Kernels{{
	Schema: "aten::leaky_relu.out(Tensor self, Scalar negative_slope=0.01, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		in, out := args.Tensor(0), args.Tensor(2)
		if err := checkFloat("self", in); err != nil {
			return err
		}
		if err := checkScalar(args.Scalar(1), in.DType()); err != nil {
			return err
		}
		if err := resizeSame(in, out); err != nil {
			return err
		}
		slope := args.Float(1)
		switch in.DType() {
		case tensor.F64:
			return unary(ctx, number[float64](in, tensor.F64), result[float64](out, tensor.F64), grainArith, leakyRelu64{slope})
		case tensor.F16:
			slope = float64(tensor.ToFloat16(float32(slope)).Float32())
		case tensor.BF16:
			slope = float64(tensor.ToBFloat16(float32(slope)).Float32())
		}
		return unary(ctx, number[float32](in, tensor.F32), result[float32](out, tensor.F32), grainArith, leakyRelu32{float32(slope)})
	},
}}

type leakyRelu32 struct{ slope float32 }

func (op leakyRelu32) v(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = selectNegative(v, v*op.slope, v)
	}
}

type leakyRelu64 struct{ slope float64 }

func (op leakyRelu64) v(dst, src []float64) {
	for i, v := range src {
		if v < 0 {
			v *= op.slope
		}
		dst[i] = v
	}
}

// selectNegative returns a if v's sign is set, else b, without a branch.
func selectNegative(v, a, b float32) float32 {
	x, y := math.Float32bits(a), math.Float32bits(b)
	if int32(math.Float32bits(v)) < 0 {
		y = x
	}
	return math.Float32frombits(y)
}

// Elu is aten::elu for one float type: scale * self where self is positive, else
// scale * alpha * (exp(self * input_scale) - 1).
var Elu = runtime.Kernels{{
	Schema: "aten::elu.out(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		in, out := args.Tensor(0), args.Tensor(4)
		if err := checkFloat("self", in); err != nil {
			return err
		}
		if err := resizeSame(in, out); err != nil {
			return err
		}
		if d := in.DType(); d == tensor.F64 {
			return unary(ctx, number[float64](in, d), result[float64](out, d), grainMath, elu64(eluFactorsOf[float64](args, d)))
		}
		d := tensor.F32
		return unary(ctx, number[float32](in, d), result[float32](out, d), grainMath, elu32(eluFactorsOf[float32](args, d)))
	},
}}

// eluFactors are what elu multiplies by: exp(x) - 1, a positive input, and x.
type eluFactors[C kit.Float] struct{ negative, positive, input C }

func eluFactorsOf[C kit.Float](args runtime.Args, d tensor.DType) eluFactors[C] {
	scale := scalarAs[C](args.Scalar(2), d)
	return eluFactors[C]{scalarAs[C](args.Scalar(1), d) * scale, scale, scalarAs[C](args.Scalar(3), d)}
}

type elu32 eluFactors[float32]

func (op elu32) v(dst, src []float32) {
	// dst may be src, so exp(x) - 1 goes to a block of its own.
	var block [128]float32
	for len(src) > 0 {
		n := min(len(src), len(block))
		e := block[:n]
		for i, v := range src[:n] {
			e[i] = v * op.input
		}
		mathf.Expm1(e, e)
		for i, v := range src[:n] {
			dst[i] = selectNegative(v, e[i]*op.negative, v*op.positive)
		}
		dst, src = dst[n:], src[n:]
	}
}

type elu64 eluFactors[float64]

func (op elu64) v(dst, src []float64) {
	for i, v := range src {
		if v <= 0 {
			dst[i] = math.Expm1(v*op.input) * op.negative
		} else {
			dst[i] = v * op.positive
		}
	}
}

// Gelu is aten::gelu for one float type: self times the normal distribution
// function of self, or with approximate "tanh" an approximation of it.
var Gelu = runtime.Kernels{{
	Schema: "aten::gelu.out(Tensor self, *, str approximate=\"none\", Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		in, out := args.Tensor(0), args.Tensor(2)
		if err := checkFloat("self", in); err != nil {
			return err
		}
		f32, f64 := unaryFunc[float32, float32](mathf.Gelu), eachFunc(gelu64)
		switch approximate := args.Str(1); approximate {
		case "none":
		case "tanh":
			f32, f64 = mathf.GeluTanh, geluTanh64
		default:
			return errs.InvalidArgument.Errorf("approximate is %q, want none or tanh", approximate)
		}
		if err := resizeSame(in, out); err != nil {
			return err
		}
		if in.DType() == tensor.F64 {
			return unary(ctx, number[float64](in, tensor.F64), result[float64](out, tensor.F64), grainMath, f64)
		}
		return unary(ctx, number[float32](in, tensor.F32), result[float32](out, tensor.F32), grainMath, f32)
	},
}}

func gelu64(v float64) float64 {
	return 0.5 * v * (1 + math.Erf(v*(1/math.Sqrt2)))
}

func geluTanh64(v float64) float64 {
	// The constant is a float32 in ExecuTorch, too.
	inner := math.Sqrt2 / math.SqrtPi * (v + float64(float32(0.044715))*v*v*v)
	return 0.5 * v * (1 + math.Tanh(inner))
}

// Glu is aten::glu: the first half of self along dim times the sigmoid of the
// second, for every float type, computed as F64 if self is that, else as F32.
var Glu = runtime.Kernels{{
	Schema: "aten::glu.out(Tensor self, int dim=-1, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		in, out := args.Tensor(0), args.Tensor(2)
		if err := checkFloat("self", in); err != nil {
			return err
		}
		if err := checkFloat("out", out); err != nil {
			return err
		}
		dim, err := kit.Dim(args.Int(1), in.Rank())
		if err != nil {
			return err
		}
		if in.Rank() == 0 || in.Shape()[dim]%2 != 0 {
			return errs.InvalidArgument.Errorf("self is %v, want an even size of dimension %d", in, dim)
		}
		shape := kit.ShapeOf(in.Shape())
		shape.Dims()[dim] /= 2
		if err := kit.Resize(out, shape.Dims()); err != nil {
			return err
		}
		if in.DType() == tensor.F64 {
			return gluAs(ctx, in, dim, out, glu64)
		}
		return gluAs(ctx, in, dim, out, glu32)
	},
}}

func gluAs[C kit.Float](ctx *runtime.KernelRuntimeContext, in *tensor.Tensor, dim int, out *tensor.Tensor, op binaryFunc[C, C]) error {
	if out.Numel() == 0 {
		return nil
	}
	d := tensor.DTypeOf[C]()
	l := runtime.State[binaryLoop[C, C, binaryFunc[C, C]]](ctx)
	l.a, l.b, l.out, l.op = number[C](in, d), number[C](in, d), result[C](out, d), op
	l.b.base = out.Shape()[dim] * in.Strides()[dim]
	l.nest.Begin(3)
	for _, k := range out.DimOrder() {
		s := in.Strides()[k]
		l.nest.Dim(out.Shape()[k], [kit.MaxOperands]int{out.Strides()[k], s, s})
	}
	return l.run(ctx, 2, grainMath)
}

func glu32(dst, a, b []float32) {
	// dst may be a, so the sigmoid goes to a block of its own.
	var block [128]float32
	for len(a) > 0 {
		n := min(len(a), len(block))
		s := block[:n]
		mathf.Sigmoid(s, b[:n])
		for i, v := range a[:n] {
			dst[i] = v * s[i]
		}
		dst, a, b = dst[n:], a[n:], b[n:]
	}
}

func glu64(dst, a, b []float64) {
	for i, v := range a {
		dst[i] = v * sigmoid64(b[i])
	}
}

// Sigmoid is aten::sigmoid: 1 / (1 + exp(-x)), from every real type and bool to
// any float, computed as F64 where self is F64, else as F32.
var Sigmoid = runtime.Kernels{{
	Schema: "aten::sigmoid.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Sigmoid, sigmoid64)
	},
}}

func sigmoid64(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

// Logit is aten::logit: log(x / (1 - x)), x limited to eps and 1 - eps if eps is
// given, from every real type and bool to any float, computed as F64 where out is
// F64, else as F32.
var Logit = runtime.Kernels{{
	Schema: "aten::logit.out(Tensor self, float? eps=None, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		in, out := args.Tensor(0), args.Tensor(2)
		if err := checkInputs(in); err != nil {
			return err
		}
		if err := checkFloat("out", out); err != nil {
			return err
		}
		if err := kit.Resize(out, in.Shape()); err != nil {
			return err
		}
		lo, hi := math.Inf(-1), math.Inf(1)
		if eps, ok := args.OptFloat(1); ok {
			lo, hi = eps, 1-eps
		}
		if d := out.DType(); d == tensor.F64 {
			return unary(ctx, number[float64](in, d), result[float64](out, d), grainMath, logit64{lo, hi})
		}
		d := tensor.F32
		return unary(ctx, number[float32](in, d), result[float32](out, d), grainMath, logit32{float32(lo), float32(hi)})
	},
}}

type logit32 struct{ lo, hi float32 }

func (op logit32) v(dst, src []float32) {
	odds(dst, src, op.lo, op.hi)
	mathf.Log(dst, dst)
}

type logit64 struct{ lo, hi float64 }

func (op logit64) v(dst, src []float64) {
	odds(dst, src, op.lo, op.hi)
	for i, v := range dst {
		dst[i] = math.Log(v)
	}
}

// odds sets dst to x / (1 - x), x being src limited to at least lo or, if it is
// not below that, to at most hi.
func odds[C kit.Float](dst, src []C, lo, hi C) {
	for i, v := range src {
		if v < lo {
			v = lo
		} else if v > hi {
			v = hi
		}
		dst[i] = v / (1 - v)
	}
}
