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

// Arithmetic on two operands, of which one may be a scalar. The operands are
// converted to the type they promote to, halves further to F32, and the result
// to out's type. Integer arithmetic wraps.

// Add is aten::add: self + alpha * other, for every real type, bool and complex
// numbers. alpha must fit the type; with bools + is "or".
var Add = runtime.Kernels{
	{Schema: "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)", Run: addOut},
	{Schema: "aten::add.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)", Run: addOut},
}

func addOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	d, err := resizeBinary(args.Tensor(0), args[1], args.Tensor(3))
	if err != nil {
		return err
	}
	if d.IsComplex() {
		return addComplex(ctx, args, d, 1)
	}
	return addTypes.run(ctx, args, computeType(d))
}

var addTypes = typedKernels{
	u8: addAs[uint8], i8: addAs[int8], i16: addAs[int16], i32: addAs[int32], i64: addAs[int64], f32: addAs[float32], f64: addAs[float64],
	boolean: addBool,
}

func addAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	alpha, err := exactScalar[C](args.Scalar(2), d)
	if err != nil {
		return err
	}
	a, b, out := number[C](args.Tensor(0), d), numberOrConstant[C](args, 1, d), result[C](args.Tensor(3), d)
	if b.uniform {
		b.value[0] *= alpha
		alpha = 1
	}
	if alpha == 1 {
		return binary(ctx, a, b, out, grainArith, addOp[C]{})
	}
	return binary(ctx, a, b, out, grainArith, addScaledOp[C]{alpha})
}

func addBool(ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	alpha, err := exactScalar[uint8](args.Scalar(2), d)
	if err != nil {
		return err
	}
	a, b := truthOf(args.Tensor(0)), truthOrConstant(args, 1)
	if alpha == 0 {
		b = constant[uint8](0)
	}
	return binary(ctx, a, b, result[uint8](args.Tensor(3), d), grainArith, binaryFunc[uint8, uint8](logicalOr))
}

type addOp[C kit.Number] struct{}

func (addOp[C]) vv(dst, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i := kit.BinarySIMD(ukernel.Add, dst, a, b); i < len(a); i++ {
		dst[i] = a[i] + b[i]
	}
}

func (addOp[C]) vs(dst, a []C, b C) {
	dst = dst[:len(a)]
	for i := kit.ConstSIMD(ukernel.Add, dst, a, b); i < len(a); i++ {
		dst[i] = a[i] + b
	}
}

func (op addOp[C]) sv(dst []C, a C, b []C) { op.vs(dst, b, a) }

type addScaledOp[C kit.Number] struct{ k C }

func (op addScaledOp[C]) vv(dst, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		// The conversion keeps the product from being fused into the sum.
		dst[i] = v + C(op.k*b[i])
	}
}

// Sub is aten::sub: self - alpha * other, for every real type and complex
// numbers. alpha must fit the type.
var Sub = runtime.Kernels{
	{Schema: "aten::sub.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)", Run: subOut},
	{Schema: "aten::sub.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)", Run: subOut},
}

func subOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	d, err := resizeBinary(args.Tensor(0), args[1], args.Tensor(3))
	if err != nil {
		return err
	}
	if d.IsComplex() {
		return addComplex(ctx, args, d, -1)
	}
	return subTypes.run(ctx, args, computeType(d))
}

var subTypes = typedKernels{
	u8: subAs[uint8], i8: subAs[int8], i16: subAs[int16], i32: subAs[int32], i64: subAs[int64], f32: subAs[float32], f64: subAs[float64],
}

func subAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	alpha, err := exactScalar[C](args.Scalar(2), d)
	if err != nil {
		return err
	}
	a, b, out := number[C](args.Tensor(0), d), numberOrConstant[C](args, 1, d), result[C](args.Tensor(3), d)
	if b.uniform {
		b.value[0] *= alpha
		alpha = 1
	}
	return subScaled(ctx, a, b, out, alpha)
}

// subScaled computes a - alpha * b.
func subScaled[C kit.Number](ctx *runtime.KernelRuntimeContext, a, b input[C], out output[C], alpha C) error {
	if alpha == 1 {
		return binary(ctx, a, b, out, grainArith, subOp[C]{})
	}
	return binary(ctx, a, b, out, grainArith, subScaledOp[C]{alpha})
}

type subOp[C kit.Number] struct{}

func (subOp[C]) vv(dst, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i := kit.BinarySIMD(ukernel.Sub, dst, a, b); i < len(a); i++ {
		dst[i] = a[i] - b[i]
	}
}

func (subOp[C]) vs(dst, a []C, b C) {
	dst = dst[:len(a)]
	for i := kit.ConstSIMD(ukernel.Sub, dst, a, b); i < len(a); i++ {
		dst[i] = a[i] - b
	}
}

func (subOp[C]) sv(dst []C, a C, b []C) {
	dst = dst[:len(b)]
	for i := kit.ConstLeftSIMD(ukernel.Sub, dst, a, b); i < len(b); i++ {
		dst[i] = a - b[i]
	}
}

type subScaledOp[C kit.Number] struct{ k C }

func (op subScaledOp[C]) vv(dst, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		dst[i] = v - C(op.k*b[i])
	}
}

// Rsub is aten::rsub: other - alpha * self, for every real type.
var Rsub = runtime.Kernels{{
	Schema: "aten::rsub.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		d, err := resizeBinary(args.Tensor(0), args[1], args.Tensor(3))
		if err != nil {
			return err
		}
		if a := scalarType(args.Scalar(2)); a == tensor.Bool || !canCast(a, d) {
			return errs.InvalidArgument.Errorf("alpha %v for dtype %v", args.Scalar(2), d)
		}
		return rsubTypes.run(ctx, args, computeType(d))
	},
}}

var rsubTypes = typedKernels{
	u8: rsubAs[uint8], i8: rsubAs[int8], i16: rsubAs[int16], i32: rsubAs[int32], i64: rsubAs[int64], f32: rsubAs[float32], f64: rsubAs[float64],
}

func rsubAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	a, b, out := numberOrConstant[C](args, 1, d), number[C](args.Tensor(0), d), result[C](args.Tensor(3), d)
	return subScaled(ctx, a, b, out, scalarAs[C](args.Scalar(2), d))
}

// Mul is aten::mul: self * other, for every real type, bool and complex numbers.
var Mul = runtime.Kernels{
	{Schema: "aten::mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Run: mulOut},
	{Schema: "aten::mul.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Run: mulOut},
}

func mulOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	d, err := resizeBinary(args.Tensor(0), args[1], args.Tensor(2))
	if err != nil {
		return err
	}
	if d.IsComplex() {
		return mulComplex(ctx, args, d)
	}
	return mulTypes.run(ctx, args, computeType(d))
}

var mulTypes = typedKernels{
	u8: mulAs[uint8], i8: mulAs[int8], i16: mulAs[int16], i32: mulAs[int32], i64: mulAs[int64], f32: mulAs[float32], f64: mulAs[float64],
	boolean: andBool,
}

func mulAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return arithmetic(ctx, args, args.Tensor(2), d, grainArith, mulOp[C]{})
}

type mulOp[C kit.Number] struct{}

func (mulOp[C]) vv(dst, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i := kit.BinarySIMD(ukernel.Mul, dst, a, b); i < len(a); i++ {
		dst[i] = a[i] * b[i]
	}
}

func (mulOp[C]) vs(dst, a []C, b C) {
	dst = dst[:len(a)]
	for i := kit.ConstSIMD(ukernel.Mul, dst, a, b); i < len(a); i++ {
		dst[i] = a[i] * b
	}
}

func (op mulOp[C]) sv(dst []C, a C, b []C) { op.vs(dst, b, a) }

// resizeBinary resizes out to the shape of an operator's operands, a tensor and
// a tensor or scalar, and returns the type they promote to, which out can hold.
func resizeBinary(a *tensor.Tensor, other *runtime.EValue, out *tensor.Tensor) (tensor.DType, error) {
	b := other.Tensor()
	d := noType
	if b == nil {
		d = promoteScalar(a.DType(), other)
	} else {
		d = promote(a.DType(), b.DType())
	}
	if err := checkCast(d, out); err != nil {
		return d, err
	}
	return d, resizeOperands(a, b, out)
}

// resizeOperands resizes out to what a and b, which may be nil, broadcast to.
func resizeOperands(a, b, out *tensor.Tensor) error {
	if b == nil {
		return kit.Resize(out, a.Shape())
	}
	return kit.ResizeBroadcast(out, a, b)
}

// Div is aten::div. Without a rounding mode it is self / other in the promoted
// type, in F32 for integers, or complex. The mode "trunc" rounds towards zero,
// "floor" down; then integers are divided as such and zero is an error. As in
// ExecuTorch "trunc" takes the integer quotient through F64, and floats divided by
// zero give an infinity of self's sign for "floor".
var Div = runtime.Kernels{
	{Schema: "aten::div.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return divOut(ctx, args, args.Tensor(2))
	}},
	{Schema: "aten::div.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return divOut(ctx, args, args.Tensor(2))
	}},
	{Schema: "aten::div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)", Run: divMode},
	{Schema: "aten::div.Scalar_mode_out(Tensor self, Scalar other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)", Run: divMode},
}

func divOut(ctx *runtime.KernelRuntimeContext, args runtime.Args, out *tensor.Tensor) error {
	a, b := args.Tensor(0), args.Tensor(1)
	d := promoteFloat(a.DType(), a.DType())
	if b != nil {
		d = promoteFloat(a.DType(), b.DType())
	}
	if err := checkCast(d, out); err != nil {
		return err
	}
	if err := resizeOperands(a, b, out); err != nil {
		return err
	}
	switch computeType(d) {
	case tensor.F32:
		return divAs[float32](ctx, args, out, tensor.F32)
	case tensor.F64:
		return divAs[float64](ctx, args, out, tensor.F64)
	}
	return divComplex(ctx, args, out, d)
}

func divAs[C kit.Float](ctx *runtime.KernelRuntimeContext, args runtime.Args, out *tensor.Tensor, d tensor.DType) error {
	return arithmetic(ctx, args, out, d, grainArith, divOp[C]{})
}

type divOp[C kit.Float] struct{}

func (divOp[C]) vv(dst, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i := kit.BinarySIMD(ukernel.Div, dst, a, b); i < len(a); i++ {
		dst[i] = a[i] / b[i]
	}
}

func (divOp[C]) vs(dst, a []C, b C) {
	dst = dst[:len(a)]
	for i := kit.ConstSIMD(ukernel.Div, dst, a, b); i < len(a); i++ {
		dst[i] = a[i] / b
	}
}

func (divOp[C]) sv(dst []C, a C, b []C) {
	dst = dst[:len(b)]
	for i := kit.ConstLeftSIMD(ukernel.Div, dst, a, b); i < len(b); i++ {
		dst[i] = a / b[i]
	}
}

func divMode(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	out := args.Tensor(3)
	if args.IsNone(2) {
		return divOut(ctx, args, out)
	}
	switch mode := args.Str(2); mode {
	case "trunc":
		return division(ctx, args, out, &divTruncTypes)
	case "floor":
		return division(ctx, args, out, &divFloorTypes)
	default:
		return errs.InvalidArgument.Errorf("rounding mode %q, want trunc or floor", mode)
	}
}

// division runs an operator whose result has the promoted type, which may not be
// bool, and which fails on the integer 0 as divisor.
func division(ctx *runtime.KernelRuntimeContext, args runtime.Args, out *tensor.Tensor, types *typedKernels) error {
	d, err := resizeBinary(args.Tensor(0), args[1], out)
	if err != nil {
		return err
	}
	if d.IsInt() && out.Numel() > 0 && divisorHasZero(args) {
		return errs.InvalidArgument.Errorf("integer division by zero")
	}
	return types.run(ctx, args, computeType(d))
}

// divisorHasZero reports whether argument 1, whose type is integer or bool, is
// or contains zero.
func divisorHasZero(args runtime.Args) bool {
	t := args.Tensor(1)
	if t == nil {
		return !args.Bool(1)
	}
	var block [256]uint8
	for off := 0; off < t.Numel(); off += len(block) {
		b := block[:min(len(block), t.Numel()-off)]
		kit.LoadTruth(b, t, off, 1)
		for _, v := range b {
			if v == 0 {
				return true
			}
		}
	}
	return false
}

var (
	divTruncTypes = typedKernels{
		u8: divTruncInt[uint8], i8: divTruncInt[int8], i16: divTruncInt[int16], i32: divTruncInt[int32], i64: divTruncInt[int64],
		f32: divTruncFloat[float32], f64: divTruncFloat[float64],
	}
	divFloorTypes = typedKernels{
		u8: divFloorInt[uint8], i8: divFloorInt[int8], i16: divFloorInt[int16], i32: divFloorInt[int32], i64: divFloorInt[int64],
		f32: divFloor32, f64: divFloor64,
	}
)

func divTruncInt[C kit.Integer](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return arithmetic(ctx, args, args.Tensor(len(args)-1), d, grainMath, truncIntOp[C]{})
}

func divTruncFloat[C kit.Float](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return arithmetic(ctx, args, args.Tensor(len(args)-1), d, grainMath, truncFloatOp[C]{})
}

func divFloorInt[C kit.Integer](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return arithmetic(ctx, args, args.Tensor(len(args)-1), d, grainMath, floorIntOp[C]{})
}

func divFloor32(ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return arithmetic(ctx, args, args.Tensor(len(args)-1), d, grainMath, binaryFunc[float32, float32](mathf.FloorDiv[float32]))
}

func divFloor64(ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return arithmetic(ctx, args, args.Tensor(len(args)-1), d, grainMath, binaryFunc[float64, float64](mathf.FloorDiv[float64]))
}

// arithmetic runs an operator on arguments 0 and 1 in type d, which C stands for.
func arithmetic[C kit.Number, Op binaryOp[C, C]](ctx *runtime.KernelRuntimeContext, args runtime.Args, out *tensor.Tensor, d tensor.DType, grain int, op Op) error {
	return binary(ctx, numberOrConstant[C](args, 0, d), numberOrConstant[C](args, 1, d), result[C](out, d), grain, op)
}

// The integer operators look at the divisor although zeros were refused: an output
// that overlaps the divisor may have made new ones.

type truncIntOp[C kit.Integer] struct{}

func (truncIntOp[C]) vv(dst, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		q := C(0)
		if w := b[i]; w != 0 {
			q = kit.FloatToInt[C](float64(v / w))
		}
		dst[i] = q
	}
}

type truncFloatOp[C kit.Float] struct{}

func (truncFloatOp[C]) vv(dst, a, b []C) {
	for i, v := range a {
		dst[i] = C(math.Trunc(float64(v / b[i])))
	}
}

type floorIntOp[C kit.Integer] struct{}

func (floorIntOp[C]) vv(dst, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		q := C(0)
		if w := b[i]; w != 0 {
			q = v / w
			if v < 0 != (w < 0) && q*w != v {
				q--
			}
		}
		dst[i] = q
	}
}

// FloorDivide is aten::floor_divide: self / other rounded down, for every real
// type; see Div.
var FloorDivide = runtime.Kernels{{
	Schema: "aten::floor_divide.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return division(ctx, args, args.Tensor(2), &divFloorTypes)
	},
}}

// Fmod is aten::fmod: the remainder of self / other with self's sign, for every
// real type, computed as F32 where the operands promote to it or to a half, else as
// F64. An integer divided by the integer 0 is an error if that is a Scalar; in a
// tensor it gives what ExecuTorch makes of NaN.
var Fmod = runtime.Kernels{
	{Schema: "aten::fmod.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Run: fmodOut},
	{Schema: "aten::fmod.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Run: fmodOut},
}

func fmodOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	d, err := resizeBinary(args.Tensor(0), args[1], args.Tensor(2))
	if err != nil {
		return err
	}
	if d.IsInt() && args.Tensor(1) == nil && !args.Bool(1) {
		return errs.InvalidArgument.Errorf("integer division by zero")
	}
	return floatBinary(ctx, args, d, binaryFunc[float32, float32](mathf.Fmod[float32]), binaryFunc[float64, float64](mathf.Fmod[float64]))
}

// floatBinary runs an operator on (self, other, out) that computes every real type
// as F32 where the operands promote to that or to a half, else as F64.
func floatBinary[Op32 binaryOp[float32, float32], Op64 binaryOp[float64, float64]](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType, f32 Op32, f64 Op64) error {
	switch {
	case !isReal(d):
		return unsupported(d)
	case computeType(d) == tensor.F32:
		return arithmetic(ctx, args, args.Tensor(2), tensor.F32, grainMath, f32)
	}
	return arithmetic(ctx, args, args.Tensor(2), tensor.F64, grainMath, f64)
}

// Remainder is aten::remainder, for every real type: the remainder of self /
// other, for floats with other's sign and for F64 rounded to F32, for integers
// with self's sign, as in ExecuTorch. The integer 0 as divisor is an error.
var Remainder = runtime.Kernels{
	{Schema: "aten::remainder.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return division(ctx, args, args.Tensor(2), &remainderTypes)
	}},
	{Schema: "aten::remainder.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return division(ctx, args, args.Tensor(2), &remainderTypes)
	}},
}

var remainderTypes = typedKernels{
	u8: remainderInt[uint8], i8: remainderInt[int8], i16: remainderInt[int16], i32: remainderInt[int32], i64: remainderInt[int64],
	f32: remainder32, f64: remainder64,
}

func remainderInt[C kit.Integer](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return arithmetic(ctx, args, args.Tensor(2), d, grainMath, remainderIntOp[C]{})
}

func remainder32(ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return arithmetic(ctx, args, args.Tensor(2), d, grainMath, binaryFunc[float32, float32](mathf.Remainder))
}

func remainder64(ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return arithmetic(ctx, args, args.Tensor(2), d, grainMath, binaryFunc[float64, float64](remainderSpan64))
}

type remainderIntOp[C kit.Integer] struct{}

func (remainderIntOp[C]) vv(dst, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		r := C(0)
		if w := b[i]; w != 0 {
			r = v % w
		}
		dst[i] = r
	}
}

// remainderSpan64 rounds the remainder to float32 before and after it adjusts the
// sign.
func remainderSpan64(dst, a, b []float64) {
	for i, v := range a {
		w := b[i]
		rem := float32(math.Mod(v, w))
		if v < 0 != (w < 0) && rem != 0 {
			rem = float32(float64(rem) + w)
		}
		dst[i] = float64(rem)
	}
}

// Maximum is aten::maximum: the greater of self and other, NaN if one is NaN, for
// every real type and bool.
var Maximum = runtime.Kernels{{
	Schema: "aten::maximum.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return tensorBinary(ctx, args, &maximumTypes)
	},
}}

var maximumTypes = typedKernels{
	u8: maximumAs[uint8], i8: maximumAs[int8], i16: maximumAs[int16], i32: maximumAs[int32], i64: maximumAs[int64],
	f32: maximumAs[float32], f64: maximumAs[float64], boolean: maximumAs[uint8],
}

func maximumAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return arithmetic(ctx, args, args.Tensor(2), d, grainArith, maximumOp[C]{})
}

type maximumOp[C kit.Number] struct{}

func (maximumOp[C]) vv(dst, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		dst[i] = max(v, b[i])
	}
}

func (maximumOp[C]) vs(dst, a []C, b C) {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = max(v, b)
	}
}

func (op maximumOp[C]) sv(dst []C, a C, b []C) { op.vs(dst, b, a) }

// Minimum is aten::minimum: the smaller of self and other; see Maximum.
var Minimum = runtime.Kernels{{
	Schema: "aten::minimum.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return tensorBinary(ctx, args, &minimumTypes)
	},
}}

var minimumTypes = typedKernels{
	u8: minimumAs[uint8], i8: minimumAs[int8], i16: minimumAs[int16], i32: minimumAs[int32], i64: minimumAs[int64],
	f32: minimumAs[float32], f64: minimumAs[float64], boolean: minimumAs[uint8],
}

func minimumAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return arithmetic(ctx, args, args.Tensor(2), d, grainArith, minimumOp[C]{})
}

type minimumOp[C kit.Number] struct{}

func (minimumOp[C]) vv(dst, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		dst[i] = min(v, b[i])
	}
}

func (minimumOp[C]) vs(dst, a []C, b C) {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = min(v, b)
	}
}

func (op minimumOp[C]) sv(dst []C, a C, b []C) { op.vs(dst, b, a) }

// tensorBinary runs an operator on (self, other, out) whose result has the
// promoted type.
func tensorBinary(ctx *runtime.KernelRuntimeContext, args runtime.Args, types *typedKernels) error {
	d, err := resizeBinary(args.Tensor(0), args[1], args.Tensor(2))
	if err != nil {
		return err
	}
	return types.run(ctx, args, computeType(d))
}

// Atan2 is aten::atan2: the angle of the point (other, self), for every real type
// and bool, computed in the promoted float type.
var Atan2 = runtime.Kernels{{
	Schema: "aten::atan2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		a, b, out := args.Tensor(0), args.Tensor(1), args.Tensor(2)
		d := promoteFloat(a.DType(), b.DType())
		if err := checkCast(d, out); err != nil {
			return err
		}
		if err := kit.ResizeBroadcast(out, a, b); err != nil {
			return err
		}
		return floatBinary(ctx, args, d, binaryFunc[float32, float32](mathf.Atan2), binaryFunc[float64, float64](atan264))
	},
}}

func atan264(dst, a, b []float64) {
	for i, v := range a {
		dst[i] = math.Atan2(v, b[i])
	}
}
