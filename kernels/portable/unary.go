package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/ukernel"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/kernels/internal/kit/mathf"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Operators on one tensor. Those that give fractions take every real type and
// bool and give any float, computed as F64 where the input is F64, else as F32.

// Acos is aten::acos, the inverse cosine.
var Acos = runtime.Kernels{{
	Schema: "aten::acos.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Acos, math.Acos)
	},
}}

// Acosh is aten::acosh, the inverse hyperbolic cosine.
var Acosh = runtime.Kernels{{
	Schema: "aten::acosh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Acosh, math.Acosh)
	},
}}

// Asin is aten::asin, the inverse sine.
var Asin = runtime.Kernels{{
	Schema: "aten::asin.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Asin, math.Asin)
	},
}}

// Asinh is aten::asinh, the inverse hyperbolic sine.
var Asinh = runtime.Kernels{{
	Schema: "aten::asinh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Asinh, math.Asinh)
	},
}}

// Atan is aten::atan, the inverse tangent.
var Atan = runtime.Kernels{{
	Schema: "aten::atan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Atan, math.Atan)
	},
}}

// Atanh is aten::atanh, the inverse hyperbolic tangent.
var Atanh = runtime.Kernels{{
	Schema: "aten::atanh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Atanh, math.Atanh)
	},
}}

// Cos is aten::cos, the cosine.
var Cos = runtime.Kernels{{
	Schema: "aten::cos.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Cos, math.Cos)
	},
}}

// Cosh is aten::cosh, the hyperbolic cosine.
var Cosh = runtime.Kernels{{
	Schema: "aten::cosh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Cosh, math.Cosh)
	},
}}

// Erf is aten::erf, the error function.
var Erf = runtime.Kernels{{
	Schema: "aten::erf.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Erf, math.Erf)
	},
}}

// Exp is aten::exp, e to the power of the input.
var Exp = runtime.Kernels{{
	Schema: "aten::exp.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Exp, math.Exp)
	},
}}

// Expm1 is aten::expm1, exp(x) - 1.
var Expm1 = runtime.Kernels{{
	Schema: "aten::expm1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Expm1, math.Expm1)
	},
}}

// Log is aten::log, the natural logarithm.
var Log = runtime.Kernels{{
	Schema: "aten::log.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Log, math.Log)
	},
}}

// Log10 is aten::log10, the logarithm to base 10.
var Log10 = runtime.Kernels{{
	Schema: "aten::log10.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Log10, math.Log10)
	},
}}

// Log1p is aten::log1p, log(1 + x).
var Log1p = runtime.Kernels{{
	Schema: "aten::log1p.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Log1p, math.Log1p)
	},
}}

// Log2 is aten::log2, the logarithm to base 2.
var Log2 = runtime.Kernels{{
	Schema: "aten::log2.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Log2, math.Log2)
	},
}}

// Reciprocal is aten::reciprocal, 1 / x.
var Reciprocal = runtime.Kernels{{
	Schema: "aten::reciprocal.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, reciprocalSpan, reciprocal64)
	},
}}

// Rsqrt is aten::rsqrt, 1 / sqrt(x).
var Rsqrt = runtime.Kernels{{
	Schema: "aten::rsqrt.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, rsqrtSpan, rsqrt64)
	},
}}

// Sin is aten::sin, the sine.
var Sin = runtime.Kernels{{
	Schema: "aten::sin.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Sin, math.Sin)
	},
}}

// Sinh is aten::sinh, the hyperbolic sine.
var Sinh = runtime.Kernels{{
	Schema: "aten::sinh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Sinh, math.Sinh)
	},
}}

// Sqrt is aten::sqrt, the square root.
var Sqrt = runtime.Kernels{{
	Schema: "aten::sqrt.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, sqrtSpan, math.Sqrt)
	},
}}

// Tan is aten::tan, the tangent.
var Tan = runtime.Kernels{{
	Schema: "aten::tan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Tan, math.Tan)
	},
}}

// Tanh is aten::tanh, the hyperbolic tangent.
var Tanh = runtime.Kernels{{
	Schema: "aten::tanh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return floatUnary(ctx, args, mathf.Tanh, math.Tanh)
	},
}}

// floatUnary runs an operator on (self, out) that gives floats.
func floatUnary(ctx *runtime.KernelRuntimeContext, args runtime.Args, f32 unaryFunc[float32, float32], f64 eachFunc) error {
	in, out := args.Tensor(0), args.Tensor(1)
	if err := checkInputs(in); err != nil {
		return err
	}
	if err := checkFloat("out", out); err != nil {
		return err
	}
	if err := kit.Resize(out, in.Shape()); err != nil {
		return err
	}
	if in.DType() == tensor.F64 {
		return unary(ctx, number[float64](in, tensor.F64), result[float64](out, tensor.F64), grainMath, f64)
	}
	return unary(ctx, number[float32](in, tensor.F32), result[float32](out, tensor.F32), grainMath, f32)
}

func reciprocalSpan(dst, src []float32) {
	for i, v := range src {
		dst[i] = 1 / v
	}
}

func reciprocal64(v float64) float64 { return 1 / v }

func rsqrtSpan(dst, src []float32) {
	for i, v := range src {
		dst[i] = 1 / float32(math.Sqrt(float64(v)))
	}
}

func rsqrt64(v float64) float64 { return 1 / math.Sqrt(v) }

func sqrtSpan(dst, src []float32) {
	for i, v := range src {
		dst[i] = float32(math.Sqrt(float64(v)))
	}
}

// Ceil is aten::ceil, rounding up. Input and output have one real type; integers
// pass through F32, which changes those that F32 does not hold, as in ExecuTorch.
var Ceil = runtime.Kernels{{
	Schema: "aten::ceil.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return roundUnary(ctx, args, ceilSpan, math.Ceil)
	},
}}

// Floor is aten::floor, rounding down; see Ceil.
var Floor = runtime.Kernels{{
	Schema: "aten::floor.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return roundUnary(ctx, args, floorSpan, math.Floor)
	},
}}

// Trunc is aten::trunc, rounding towards zero; see Ceil.
var Trunc = runtime.Kernels{{
	Schema: "aten::trunc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return roundUnary(ctx, args, truncSpan, math.Trunc)
	},
}}

// Round is aten::round, rounding to the nearest integer, ties to the even one.
// Input and output have one real type; integers stay what they are.
var Round = runtime.Kernels{{
	Schema: "aten::round.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		in, out := args.Tensor(0), args.Tensor(1)
		if isReal(in.DType()) && !in.DType().IsFloat() {
			return copySame(in, out)
		}
		return roundUnary(ctx, args, roundSpan, math.RoundToEven)
	},
}}

// roundUnary runs an operator on (self, out) of one real type that rounds.
func roundUnary(ctx *runtime.KernelRuntimeContext, args runtime.Args, f32 unaryFunc[float32, float32], f64 eachFunc) error {
	in, out := args.Tensor(0), args.Tensor(1)
	if err := resizeSame(in, out); err != nil {
		return err
	}
	switch computeType(in.DType()) {
	case tensor.F32:
		return unary(ctx, number[float32](in, tensor.F32), result[float32](out, tensor.F32), grainArith, f32)
	case tensor.F64:
		return unary(ctx, number[float64](in, tensor.F64), result[float64](out, tensor.F64), grainArith, f64)
	}
	return wholeTypes.run(ctx, args, in.DType())
}

// wholeTypes round integers: they pass through F32, of which those up to 16 bits
// take no harm.
var wholeTypes = typedKernels{u8: copyTyped, i8: copyTyped, i16: copyTyped, i32: throughF32[int32], i64: throughF32[int64]}

func throughF32[C kit.Integer](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return unary(ctx, number[C](args.Tensor(0), d), result[C](args.Tensor(1), d), grainArith, throughF32Op[C]{})
}

type throughF32Op[C kit.Integer] struct{}

func (throughF32Op[C]) v(dst, src []C) {
	for i, v := range src {
		dst[i] = kit.FloatToInt[C](float64(float32(v)))
	}
}

// resizeSame checks that in and out have one type and resizes out to in's shape.
func resizeSame(in, out *tensor.Tensor) error {
	if err := checkType("out", out, in.DType()); err != nil {
		return err
	}
	return kit.Resize(out, in.Shape())
}

// copySame sets out, which must have in's type, to in.
func copySame(in, out *tensor.Tensor) error {
	if err := resizeSame(in, out); err != nil {
		return err
	}
	return tensor.Copy(out, in)
}

func ceilSpan(dst, src []float32) {
	for i, v := range src {
		dst[i] = float32(math.Ceil(float64(v)))
	}
}

func floorSpan(dst, src []float32) {
	for i, v := range src {
		dst[i] = float32(math.Floor(float64(v)))
	}
}

func truncSpan(dst, src []float32) {
	for i, v := range src {
		dst[i] = float32(math.Trunc(float64(v)))
	}
}

func roundSpan(dst, src []float32) {
	for i, v := range src {
		dst[i] = float32(math.RoundToEven(float64(v)))
	}
}

// Abs is aten::abs, the absolute value, for one real type; of a complex number
// its magnitude, as a float.
var Abs = runtime.Kernels{{
	Schema: "aten::abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		if args.Tensor(0).DType().IsComplex() {
			return absComplex(ctx, args)
		}
		return sameUnary(ctx, args, &absTypes)
	},
}}

var absTypes = typedKernels{
	u8: copyTyped, i8: absAs[int8], i16: absAs[int16], i32: absAs[int32], i64: absAs[int64], f32: abs32, f64: abs64,
}

func absAs[C signed](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return unary(ctx, number[C](args.Tensor(0), d), result[C](args.Tensor(1), d), grainArith, absOp[C]{})
}

type signed interface{ int8 | int16 | int32 | int64 }

type absOp[C signed] struct{}

func (absOp[C]) v(dst, src []C) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = max(v, -v)
	}
}

func abs32(ctx *runtime.KernelRuntimeContext, args runtime.Args, _ tensor.DType) error {
	in, out := args.Tensor(0), args.Tensor(1)
	if in.DType() == tensor.F32 {
		return unaryBits(ctx, in, out, maskBits[uint32]{and: 1<<31 - 1})
	}
	return unaryBits(ctx, in, out, maskBits[uint16]{and: 1<<15 - 1})
}

func abs64(ctx *runtime.KernelRuntimeContext, args runtime.Args, _ tensor.DType) error {
	return unaryBits(ctx, args.Tensor(0), args.Tensor(1), maskBits[uint64]{and: 1<<63 - 1})
}

// maskBits clears and flips signs in the bits of floats.
type maskBits[C uint16 | uint32 | uint64] struct{ and, xor C }

func (op maskBits[C]) v(dst, src []C) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = v&op.and ^ op.xor
	}
}

// unaryBits computes out from in, of one type, as bit patterns of the same size.
func unaryBits[C tensor.Element, Op unaryOp[C, C]](ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor, op Op) error {
	return unary(ctx, elementBits[C](in), output[C]{t: out, raw: tensor.Cast[C](out.Bytes())}, grainArith, op)
}

func copyTyped(_ *runtime.KernelRuntimeContext, args runtime.Args, _ tensor.DType) error {
	return tensor.Copy(args.Tensor(1), args.Tensor(0))
}

// Neg is aten::neg, -x, for one real type; integers wrap.
var Neg = runtime.Kernels{{
	Schema: "aten::neg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return sameUnary(ctx, args, &negTypes)
	},
}}

var negTypes = typedKernels{
	u8: negAs[uint8], i8: negAs[int8], i16: negAs[int16], i32: negAs[int32], i64: negAs[int64], f32: neg32, f64: negAs[float64],
}

func negAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return unary(ctx, number[C](args.Tensor(0), d), result[C](args.Tensor(1), d), grainArith, negOp[C]{})
}

type negOp[C kit.Number] struct{}

func (negOp[C]) v(dst, src []C) {
	for i, v := range src {
		dst[i] = -v
	}
}

// negSIMD multiplies by -1, for which there is a kernel.
type negSIMD struct{}

func (negSIMD) v(dst, src []float32) {
	for i := ukernel.ActiveElements().Const(ukernel.Mul, dst[:len(src)], src, -1); i < len(src); i++ {
		dst[i] = -src[i]
	}
}

func neg32(ctx *runtime.KernelRuntimeContext, args runtime.Args, _ tensor.DType) error {
	in, out := args.Tensor(0), args.Tensor(1)
	if in.DType() == tensor.F32 && out.DType() == tensor.F32 && ukernel.ActiveElements() != nil {
		return unary(ctx, number[float32](in, tensor.F32), result[float32](out, tensor.F32), grainArith, negSIMD{})
	}
	if in.DType() == tensor.F32 {
		return unaryBits(ctx, in, out, maskBits[uint32]{1<<32 - 1, 1 << 31})
	}
	return unaryBits(ctx, in, out, maskBits[uint16]{1<<16 - 1, 1 << 15})
}

// Sign is aten::sign: -1, 0 or 1 for one real type, the input for bool. NaN
// stays NaN.
var Sign = runtime.Kernels{{
	Schema: "aten::sign.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		in, out := args.Tensor(0), args.Tensor(1)
		if in.DType() == tensor.Bool {
			return copySame(in, out)
		}
		return sameUnary(ctx, args, &signTypes)
	},
}}

var signTypes = typedKernels{
	u8: signAs[uint8], i8: signAs[int8], i16: signAs[int16], i32: signAs[int32], i64: signAs[int64], f32: signAs[float32], f64: signAs[float64],
}

func signAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return unary(ctx, number[C](args.Tensor(0), d), result[C](args.Tensor(1), d), grainArith, signOp[C]{})
}

type signOp[C kit.Number] struct{}

func (signOp[C]) v(dst, src []C) {
	for i, v := range src {
		s := C(truth(v > 0)) - C(truth(v < 0))
		if v != v {
			s = v
		}
		dst[i] = s
	}
}

// sameUnary runs an operator on (self, out) of one real type.
func sameUnary(ctx *runtime.KernelRuntimeContext, args runtime.Args, types *typedKernels) error {
	in, out := args.Tensor(0), args.Tensor(1)
	if err := resizeSame(in, out); err != nil {
		return err
	}
	return types.run(ctx, args, computeType(in.DType()))
}

// IsInf is aten::isinf: whether the input is infinite, for every real type and
// bool, as bool.
var IsInf = runtime.Kernels{{
	Schema: "aten::isinf.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return predicateUnary(ctx, args, isInf32, isInf64)
	},
}}

// IsNaN is aten::isnan: whether the input is not a number; see IsInf.
var IsNaN = runtime.Kernels{{
	Schema: "aten::isnan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return predicateUnary(ctx, args, isNaN[float32], isNaN[float64])
	},
}}

func predicateUnary(ctx *runtime.KernelRuntimeContext, args runtime.Args, f32 unaryFunc[float32, uint8], f64 unaryFunc[float64, uint8]) error {
	in, out := args.Tensor(0), args.Tensor(1)
	if err := checkInputs(in); err != nil {
		return err
	}
	if err := checkType("out", out, tensor.Bool); err != nil {
		return err
	}
	if err := kit.Resize(out, in.Shape()); err != nil {
		return err
	}
	if in.DType() == tensor.F64 {
		return unary(ctx, number[float64](in, tensor.F64), result[uint8](out, tensor.Bool), grainArith, f64)
	}
	return unary(ctx, number[float32](in, tensor.F32), result[uint8](out, tensor.Bool), grainArith, f32)
}

func isInf32(dst []uint8, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = truth(math.Float32bits(v)<<1 == 0xff<<24)
	}
}

func isInf64(dst []uint8, src []float64) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = truth(math.Float64bits(v)<<1 == 0x7ff<<53)
	}
}

func isNaN[C kit.Float](dst []uint8, src []C) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = truth(v != v)
	}
}
