package bundle

import (
	"bytes"
	"fmt"
	"math"
	"math/cmplx"
	"slices"

	"github.com/etgo-ml/etgo/devtools/valuefmt"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Tolerance tells how far an element may be from the expected one: an element a
// is close to b if |a-b| <= ATol + RTol*|b|. NaN is close to NaN and an infinity
// to itself. Integers and bools must be equal.
type Tolerance struct {
	RTol, ATol float64
	// Exact asks for the same bits, apart from those of a NaN, whatever the rest says.
	Exact bool
}

// DefaultTolerance is that of ExecuTorch's verify_result_with_bundled_expected_output.
var DefaultTolerance = Tolerance{RTol: 1e-5, ATol: 1e-8}

// close reports whether got is close enough to want.
func (t Tolerance) close(got, want complex128) bool {
	got, want = dropNaN(got, want)
	if got == want {
		return true
	}
	diff := cmplx.Abs(got - want)
	return !math.IsNaN(diff) && !math.IsInf(diff, 0) && diff <= t.ATol+t.RTol*cmplx.Abs(want)
}

// Diff tells how a value differs from the expected one.
type Diff struct {
	// Problem tells why the two cannot be compared element by element: another kind,
	// type or shape. It is empty otherwise.
	Problem string
	// Got and Want describe both values, as in "float32[1,3]".
	Got, Want string

	// Elements is the number of elements, 1 for a number; Differing is how many are
	// not the same bit for bit (NaNs count as equal), Mismatches how many are not
	// close enough.
	Elements, Differing, Mismatches int
	// MaxAbs and MaxRel are the largest |a-b| and |a-b|/max(|a|,|b|,1e-8); an element
	// that is NaN or infinite on one side only makes them infinite.
	MaxAbs, MaxRel float64
	// First is the logical index of the first element that is not close enough, with
	// both elements; nil if there is none, empty for a number or 0-dim tensor.
	First               []int
	FirstGot, FirstWant string
}

// OK reports whether the value is as expected.
func (d *Diff) OK() bool { return d.Problem == "" && d.Mismatches == 0 }

// String describes the difference in one line.
func (d *Diff) String() string {
	if d.Problem != "" {
		return d.Problem
	}
	s := fmt.Sprintf("%s max abs %.3g rel %.3g", d.Want, d.MaxAbs, d.MaxRel)
	if d.Differing > 0 {
		s += fmt.Sprintf(", %d of %d differ", d.Differing, d.Elements)
	}
	if d.Mismatches > 0 {
		s += fmt.Sprintf(", %d too far, first at %v: got %s, want %s", d.Mismatches, d.First, d.FirstGot, d.FirstWant)
	}
	return s
}

// Compare compares a value with the expected one. Tensors are compared
// logically: they may be in different dim orders.
func Compare(got, want runtime.EValue, tol Tolerance) Diff {
	d := Diff{Got: describe(&got), Want: describe(&want)}
	switch {
	case got.Kind() != want.Kind():
		d.Problem = fmt.Sprintf("got %s, want %s", d.Got, d.Want)
	case got.Kind() == runtime.KindTensor:
		d.compareTensors(got.Tensor(), want.Tensor(), tol)
	case got.Kind() == runtime.KindDouble:
		d.compareTensors(tensor.Scalar(got.Double()), tensor.Scalar(want.Double()), tol)
	case got.Kind() == runtime.KindInt, got.Kind() == runtime.KindBool:
		d.compareTensors(tensor.Scalar(got.Int()), tensor.Scalar(want.Int()), tol)
	case got.Kind() != runtime.KindNone && got.String() != want.String():
		d.Problem = fmt.Sprintf("got %v, want %v", got, want)
	}
	return d
}

func describe(v *runtime.EValue) string {
	if v.IsScalar() {
		return v.Kind().String()
	}
	return v.String()
}

func (d *Diff) compareTensors(got, want *tensor.Tensor, tol Tolerance) {
	if got.DType() != want.DType() || !slices.Equal(got.Shape(), want.Shape()) {
		d.Problem = fmt.Sprintf("got %s, want %s", tensor.Describe(got.DType(), got.Shape()), tensor.Describe(want.DType(), want.Shape()))
		return
	}
	d.Elements = want.Numel()
	got, want = got.Contiguous(), want.Contiguous()
	if err := got.Err(); err != nil {
		d.Problem = err.Error()
		return
	}
	if err := want.Err(); err != nil {
		d.Problem = err.Error()
		return
	}
	a, b := got.Bytes(), want.Bytes()
	if bytes.Equal(a, b) {
		return
	}
	dtype, size := want.DType(), want.DType().Size()
	float := dtype.IsFloat() || dtype.IsComplex()
	for i := range d.Elements {
		x, y := a[i*size:(i+1)*size], b[i*size:(i+1)*size]
		if bytes.Equal(x, y) || dtype == tensor.Bool && (x[0] != 0) == (y[0] != 0) {
			continue
		}
		u, v := valuefmt.Value(dtype, x), valuefmt.Value(dtype, y)
		if float && sameBits(real(u), real(v)) && sameBits(imag(u), imag(v)) {
			continue
		}
		d.Differing++
		d.account(u, v)
		if !float || tol.Exact || !tol.close(u, v) {
			if d.Mismatches++; d.Mismatches == 1 {
				d.First = unravel(i, want.Shape())
				d.FirstGot, d.FirstWant = valuefmt.Format(dtype, x), valuefmt.Format(dtype, y)
			}
		}
	}
}

// account adds the distance of two elements to the largest ones.
func (d *Diff) account(got, want complex128) {
	got, want = dropNaN(got, want)
	if got == want {
		return
	}
	abs := cmplx.Abs(got - want)
	rel := abs / max(cmplx.Abs(got), cmplx.Abs(want), 1e-8)
	if math.IsNaN(abs) || math.IsInf(abs, 0) {
		abs, rel = math.Inf(1), math.Inf(1)
	}
	d.MaxAbs, d.MaxRel = max(d.MaxAbs, abs), max(d.MaxRel, rel)
}

// sameBits reports whether two numbers are the same, and of the same sign where
// they are zero; NaNs are.
func sameBits(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// dropNaN takes away the parts that are NaN in both numbers.
func dropNaN(a, b complex128) (complex128, complex128) {
	if math.IsNaN(real(a)) && math.IsNaN(real(b)) {
		a, b = complex(0, imag(a)), complex(0, imag(b))
	}
	if math.IsNaN(imag(a)) && math.IsNaN(imag(b)) {
		a, b = complex(real(a), 0), complex(real(b), 0)
	}
	return a, b
}

// unravel turns the row-major number of an element into its index.
func unravel(n int, shape []int) []int {
	index := make([]int, len(shape))
	for k := len(shape) - 1; k >= 0; k-- {
		index[k] = n % shape[k]
		n /= shape[k]
	}
	return index
}
