package prim

import (
	"cmp"
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
)

// Add is a + b: of two ints, which wraps, or of two numbers of which one is a
// float.
var Add = runtime.Kernels{
	{Schema: "executorch_prim::add.Scalar(Scalar a, Scalar b) -> Scalar", Run: addRun},
}

// Sub is a - b, of what Add takes.
var Sub = runtime.Kernels{
	{Schema: "executorch_prim::sub.Scalar(Scalar a, Scalar b) -> Scalar", Run: subRun},
}

// Mul is a * b, of what Add takes.
var Mul = runtime.Kernels{
	{Schema: "executorch_prim::mul.Scalar(Scalar a, Scalar b) -> Scalar", Run: mulRun},
}

// FloorDiv is Python's a // b of numbers, and for the int overload the quotient
// of ints rounded towards zero. Ints are not divided by zero; floats give an
// infinity then.
var FloorDiv = runtime.Kernels{
	{Schema: "executorch_prim::floordiv.Scalar(Scalar a, Scalar b) -> Scalar", Run: floorDivRun},
	{Schema: "executorch_prim::floordiv.int(SymInt a, SymInt b) -> SymInt", Run: truncDivRun},
}

// Mod is the remainder of ints with the sign of the dividend, as C's %.
var Mod = runtime.Kernels{
	{Schema: "executorch_prim::mod.Scalar(Scalar a, Scalar b) -> Scalar", Run: modRun},
	{Schema: "executorch_prim::mod.int(SymInt a, SymInt b) -> SymInt", Run: modRun},
}

// TrueDiv is a / b of numbers as floats.
var TrueDiv = runtime.Kernels{
	{Schema: "executorch_prim::truediv.Scalar(Scalar a, Scalar b) -> Scalar", Run: trueDivRun},
}

// Neg is -a of a number; of an int it wraps.
var Neg = runtime.Kernels{
	{Schema: "executorch_prim::neg.Scalar(Scalar a) -> Scalar", Run: negRun},
}

// Eq is whether a and b, two numbers or two bools, are equal.
var Eq = runtime.Kernels{
	{Schema: "executorch_prim::eq.Scalar(Scalar a, Scalar b) -> bool", Run: eqRun},
}

// Gt is a > b, of what Eq takes.
var Gt = runtime.Kernels{
	{Schema: "executorch_prim::gt.Scalar(Scalar a, Scalar b) -> bool", Run: gtRun},
}

// Lt is a < b, of what Eq takes.
var Lt = runtime.Kernels{
	{Schema: "executorch_prim::lt.Scalar(Scalar a, Scalar b) -> bool", Run: ltRun},
}

// Ge is a >= b, of what Eq takes.
var Ge = runtime.Kernels{
	{Schema: "executorch_prim::ge.Scalar(Scalar a, Scalar b) -> bool", Run: geRun},
}

// Le is a <= b, of what Eq takes.
var Le = runtime.Kernels{
	{Schema: "executorch_prim::le.Scalar(Scalar a, Scalar b) -> bool", Run: leRun},
}

// SymFloat converts a number or bool to a float.
var SymFloat = runtime.Kernels{
	{Schema: "executorch_prim::sym_float.Scalar(Scalar a) -> Scalar", Run: symFloatRun},
}

// SymInt converts a number or bool to an int, floats towards zero.
var SymInt = runtime.Kernels{
	{Schema: "executorch_prim::sym_int.Scalar(Scalar a) -> Scalar", Run: symIntRun},
}

// SymIte is t where the bool b is true, else f.
var SymIte = runtime.Kernels{
	{Schema: "executorch_prim::sym_ite.Scalar(Scalar b, Scalar t, Scalar f) -> Scalar", Run: symIteRun},
}

// SymMax is the greater of two ints.
var SymMax = runtime.Kernels{
	{Schema: "executorch_prim::sym_max.Scalar(Scalar a, Scalar b) -> Scalar", Run: symMaxRun},
}

// SymMin is the lesser of two ints.
var SymMin = runtime.Kernels{
	{Schema: "executorch_prim::sym_min.Scalar(Scalar a, Scalar b) -> Scalar", Run: symMinRun},
}

// SymNot is the negation of a bool.
var SymNot = runtime.Kernels{
	{Schema: "executorch_prim::sym_not.Scalar(Scalar a) -> bool", Run: symNotRun},
}

// Ceil is the least int that is not below the float a.
var Ceil = runtime.Kernels{
	{Schema: "executorch_prim::ceil.Scalar(Scalar a) -> Scalar", Run: ceilRun},
}

// Round is the int nearest to the float a, the even one of two.
var Round = runtime.Kernels{
	{Schema: "executorch_prim::round.Scalar(Scalar a) -> Scalar", Run: roundRun},
}

// Trunc is the float a without its fraction, as an int.
var Trunc = runtime.Kernels{
	{Schema: "executorch_prim::trunc.Scalar(Scalar a) -> Scalar", Run: truncRun},
}

func addRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	return arithmetic(args, add[int64], add[float64])
}

func subRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	return arithmetic(args, sub[int64], sub[float64])
}

func mulRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	return arithmetic(args, mul[int64], mul[float64])
}

type number interface{ int64 | float64 }

func add[T number](a, b T) T { return a + b }
func sub[T number](a, b T) T { return a - b }
func mul[T number](a, b T) T { return a * b }

// arithmetic computes with ints where both numbers are, else with floats.
func arithmetic(args runtime.Args, ints func(a, b int64) int64, floats func(a, b float64) float64) error {
	switch a, b := args[0], args[1]; {
	case isInt(a) && isInt(b):
		args.Set(2, runtime.Int(ints(a.Int(), b.Int())))
	case isNumber(a) && isNumber(b):
		args.Set(2, runtime.Double(floats(a.Double(), b.Double())))
	default:
		return wrongKinds(a, b)
	}
	return nil
}

func floorDivRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	if isInt(args[0]) && isInt(args[1]) && args[1].Int() == 0 {
		return divisionByZero(args)
	}
	return arithmetic(args, floorDivInt, floorDivFloat)
}

func divisionByZero(args runtime.Args) error {
	return errs.InvalidArgument.Errorf("division of %v by zero", args[0])
}

func floorDivInt(a, b int64) int64 {
	q := a / b
	if (a < 0) != (b < 0) && a%b != 0 {
		q--
	}
	return q
}

// floorDivFloat is Python's a // b: (a - a mod b) / b, which does not suffer from
// the rounding of a / b.
func floorDivFloat(a, b float64) float64 {
	if b == 0 {
		return math.Copysign(math.Inf(1), a)
	}
	mod := math.Mod(a, b)
	div := (a - mod) / b
	if mod != 0 && math.Signbit(b) != math.Signbit(mod) {
		div--
	}
	return div
}

func truncDivRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	b := args[1].Int()
	if b == 0 {
		return divisionByZero(args)
	}
	args.Set(2, runtime.Int(args[0].Int()/b))
	return nil
}

func modRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	a, b := args[0], args[1]
	if !isInt(a) || !isInt(b) {
		return wrongKinds(a, b)
	}
	if b.Int() == 0 {
		return divisionByZero(args)
	}
	args.Set(2, runtime.Int(a.Int()%b.Int()))
	return nil
}

func trueDivRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	a, b := args[0], args[1]
	if !isNumber(a) || !isNumber(b) {
		return wrongKinds(a, b)
	}
	args.Set(2, runtime.Double(a.Double()/b.Double()))
	return nil
}

func negRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	switch a := args[0]; {
	case isInt(a):
		args.Set(1, runtime.Int(-a.Int()))
	case isNumber(a):
		args.Set(1, runtime.Double(-a.Double()))
	default:
		return wrongKinds(a)
	}
	return nil
}

func eqRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	return compare(args, eq[int64], eq[float64])
}

func gtRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	return compare(args, gt[int64], gt[float64])
}

func ltRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	return compare(args, lt[int64], lt[float64])
}

func geRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	return compare(args, ge[int64], ge[float64])
}

func leRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	return compare(args, le[int64], le[float64])
}

func eq[T cmp.Ordered](a, b T) bool { return a == b }
func gt[T cmp.Ordered](a, b T) bool { return a > b }
func lt[T cmp.Ordered](a, b T) bool { return a < b }
func ge[T cmp.Ordered](a, b T) bool { return a >= b }
func le[T cmp.Ordered](a, b T) bool { return a <= b }

// compare compares two ints or two bools as ints, other numbers as floats.
func compare(args runtime.Args, ints func(a, b int64) bool, floats func(a, b float64) bool) error {
	switch a, b := args[0], args[1]; {
	case isInt(a) && isInt(b), isBool(a) && isBool(b):
		args.Set(2, runtime.Bool(ints(a.Int(), b.Int())))
	case isNumber(a) && isNumber(b):
		args.Set(2, runtime.Bool(floats(a.Double(), b.Double())))
	default:
		return wrongKinds(a, b)
	}
	return nil
}

func symFloatRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	args.Set(1, runtime.Double(args[0].Double()))
	return nil
}

func symIntRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	args.Set(1, runtime.Int(args[0].Int()))
	return nil
}

func symIteRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	if !isBool(args[0]) {
		return errs.InvalidType.Errorf("the condition is %v, not bool", args[0].Kind())
	}
	chosen := args[2]
	if args[0].Bool() {
		chosen = args[1]
	}
	args.Set(3, *chosen)
	return nil
}

func symMaxRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	return choose(args, maxInt)
}

func symMinRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	return choose(args, minInt)
}

func maxInt(a, b int64) int64 { return max(a, b) }
func minInt(a, b int64) int64 { return min(a, b) }

func choose(args runtime.Args, f func(a, b int64) int64) error {
	a, b := args[0], args[1]
	if !isInt(a) || !isInt(b) {
		return wrongKinds(a, b)
	}
	args.Set(2, runtime.Int(f(a.Int(), b.Int())))
	return nil
}

func symNotRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	if !isBool(args[0]) {
		return wrongKinds(args[0])
	}
	args.Set(1, runtime.Bool(!args[0].Bool()))
	return nil
}

func ceilRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	return toInt(args, math.Ceil)
}

func roundRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	return toInt(args, math.RoundToEven)
}

func truncRun(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	return toInt(args, math.Trunc)
}

// toInt converts a float to an int after f; what does not fit becomes -2^63.
func toInt(args runtime.Args, f func(float64) float64) error {
	if a := args[0]; a.Kind() != runtime.KindDouble {
		return wrongKinds(a)
	}
	args.Set(1, runtime.Int(kit.FloatToInt[int64](f(args[0].Double()))))
	return nil
}
