package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// noType stands for operands that have no common type.
const noType tensor.DType = -1

// isReal reports whether d is a real number type that operators compute with:
// the integers up to 64 bits without the unsigned ones above 8, and the floats.
func isReal(d tensor.DType) bool {
	return d >= tensor.U8 && d <= tensor.F64 || d == tensor.BF16
}

// isRealOrBool reports whether d is Bool or one that isReal accepts.
func isRealOrBool(d tensor.DType) bool { return isReal(d) || d == tensor.Bool }

// isIntOrBool reports whether d is Bool or an integer that isReal accepts.
func isIntOrBool(d tensor.DType) bool { return isRealOrBool(d) && !d.IsFloat() }

// promote returns the type that a and b are converted to when they meet, as in
// ATen: the wider one within a category, and bool before integers before floats
// before complex numbers across categories. It is noType where there is none:
// quantised, packed, 8-bit float and wide unsigned types go with themselves only.
func promote(a, b tensor.DType) tensor.DType {
	switch {
	case a == b:
		return a
	case a.IsComplex() || b.IsComplex():
		return complexOf(promote(partOf(a), partOf(b)))
	case !isRealOrBool(a) || !isRealOrBool(b):
		return noType
	case a == tensor.Bool:
		return b
	case b == tensor.Bool:
		return a
	case a.IsFloat() != b.IsFloat():
		if a.IsFloat() {
			return a
		}
		return b
	case a.IsFloat():
		if a.IsReducedFloat() && b.IsReducedFloat() {
			return tensor.F32
		}
		return wider(a, b)
	case a == tensor.U8 || b == tensor.U8:
		// The other one is signed.
		return wider(tensor.I16, wider(a, b))
	}
	return wider(a, b)
}

func wider(a, b tensor.DType) tensor.DType {
	if b.Size() > a.Size() {
		return b
	}
	return a
}

// partOf returns the type of a complex number's parts, other types as they are.
func partOf(d tensor.DType) tensor.DType {
	switch d {
	case tensor.C32:
		return tensor.F16
	case tensor.C64:
		return tensor.F32
	case tensor.C128:
		return tensor.F64
	}
	return d
}

// complexOf returns the complex type with parts that hold d.
func complexOf(d tensor.DType) tensor.DType {
	switch d {
	case tensor.F16:
		return tensor.C32
	case tensor.F32, tensor.BF16:
		return tensor.C64
	case tensor.F64:
		return tensor.C128
	}
	return noType
}

// promoteScalar returns the type of a tensor of type d with a scalar: the
// scalar counts by its category only.
func promoteScalar(d tensor.DType, s *runtime.EValue) tensor.DType {
	switch {
	case d.IsComplex():
		return d
	case !isRealOrBool(d):
		return noType
	case s.Kind() == runtime.KindDouble && !d.IsFloat():
		return tensor.F32
	case s.Kind() == runtime.KindInt && d == tensor.Bool:
		return tensor.I64
	}
	return d
}

// promoteFloat is promote for operators with a fractional result: integers and
// bools among themselves become F32 and beside a float count for nothing.
func promoteFloat(a, b tensor.DType) tensor.DType {
	d := promote(a, b)
	if isIntOrBool(d) {
		return tensor.F32
	}
	return d
}

// scalarType returns the type that a scalar has by itself.
func scalarType(s *runtime.EValue) tensor.DType {
	switch s.Kind() {
	case runtime.KindDouble:
		return tensor.F64
	case runtime.KindBool:
		return tensor.Bool
	}
	return tensor.I64
}

// computeType returns the type in which values of type d are computed: halves
// are computed as F32.
func computeType(d tensor.DType) tensor.DType {
	if d.IsReducedFloat() {
		return tensor.F32
	}
	return d
}

// canCast reports whether a result of type from may go to an output of type to:
// not from complex to real, not from floats to integers, not to bool.
func canCast(from, to tensor.DType) bool {
	switch {
	case from.IsComplex() && !to.IsComplex():
		return false
	case from.IsFloat() && to.IsInt():
		return false
	}
	return to != tensor.Bool || from == tensor.Bool
}

// checkCast returns an error unless d is a type and canCast to out's, which must
// be a number type or bool.
func checkCast(d tensor.DType, out *tensor.Tensor) error {
	if d == noType {
		return errs.InvalidArgument.Errorf("the operands' dtypes have no common type")
	}
	if !isRealOrBool(out.DType()) && !out.DType().IsComplex() {
		return unsupported(out.DType())
	}
	if !canCast(d, out.DType()) {
		return errs.InvalidArgument.Errorf("the result is %v, out is %v", d, out.DType())
	}
	return nil
}

// checkType returns an error unless t has type d.
func checkType(name string, t *tensor.Tensor, d tensor.DType) error {
	if t.DType() != d {
		return errs.InvalidArgument.Errorf("%s is %v, want %v", name, t.DType(), d)
	}
	return nil
}

// checkFloat returns an error unless t has a floating-point type.
func checkFloat(name string, t *tensor.Tensor) error {
	if !t.DType().IsFloat() {
		return errs.InvalidArgument.Errorf("%s is %v, want a floating-point type", name, t.DType())
	}
	return nil
}

// unsupported is the error of an operator without code for a type.
func unsupported(d tensor.DType) error {
	return errs.InvalidArgument.Errorf("dtype %v is not supported", d)
}

// scalarAs converts a scalar to C, which stands for d: only for Bool that makes
// a difference, where every number but zero is 1.
func scalarAs[C kit.Number](s *runtime.EValue, d tensor.DType) C {
	switch {
	case d == tensor.Bool:
		return C(truth(s.Bool()))
	case s.Kind() == runtime.KindDouble:
		return kit.FloatToInt[C](s.Double())
	}
	return C(s.Int())
}

// exactScalar is scalarAs for a scalar that must fit: an integer in range for an
// integer type, an integer or bool for Bool, any number in range for a float.
func exactScalar[C kit.Number](s *runtime.EValue, d tensor.DType) (C, error) {
	ok := true
	switch {
	case d == tensor.Bool:
		ok = s.Kind() != runtime.KindDouble
	case s.Kind() == runtime.KindBool, d.IsInt() && s.Kind() != runtime.KindInt:
		ok = false
	case d.IsInt():
		lo, hi := intRange(d)
		ok = s.Int() >= lo && s.Int() <= hi
	default:
		ok = inFloatRange(s.Double(), d)
	}
	if !ok {
		return 0, errs.InvalidArgument.Errorf("%v does not fit %v", s, d)
	}
	return scalarAs[C](s, d), nil
}

// checkScalar returns an error where a scalar overflows type d. As in ATen a
// negative integer goes to an unsigned type if its magnitude fits, fractions are
// dropped, and everything goes to Bool.
func checkScalar(s *runtime.EValue, d tensor.DType) error {
	ok := true
	switch {
	case d == tensor.Bool || s.Kind() == runtime.KindBool:
	case d.IsFloat():
		ok = inFloatRange(s.Double(), d)
	case s.Kind() == runtime.KindDouble:
		lo, hi := intRange(d)
		// The bounds of I64 are compared as floats, which rounds the upper one up.
		ok = s.Double() >= float64(lo) && s.Double() <= float64(hi)
	default:
		lo, hi := intRange(d)
		if d == tensor.U8 {
			lo = -hi
		}
		ok = s.Int() >= lo && s.Int() <= hi
	}
	if !ok {
		return errs.InvalidArgument.Errorf("%v does not fit %v", s, d)
	}
	return nil
}

// intRange returns the least and the greatest number of an integer type.
func intRange(d tensor.DType) (lo, hi int64) {
	switch d {
	case tensor.U8:
		return 0, math.MaxUint8
	case tensor.I8:
		return math.MinInt8, math.MaxInt8
	case tensor.I16:
		return math.MinInt16, math.MaxInt16
	case tensor.I32:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

// inFloatRange reports whether f is not finite or within the finite range of d.
func inFloatRange(f float64, d tensor.DType) bool {
	limit := math.MaxFloat64
	switch d {
	case tensor.F16:
		limit = 65504
	case tensor.BF16:
		limit = float64(tensor.BFloat16(0x7f7f).Float32())
	case tensor.F32:
		limit = math.MaxFloat32
	}
	return !(math.Abs(f) > limit) || math.IsInf(f, 0)
}

// truth returns 1 for true and 0 for false, as a bool tensor stores them.
func truth(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
