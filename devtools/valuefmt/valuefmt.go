// Package valuefmt describes values and reads and formats the elements of
// tensors of every type, one at a time: for reports, comparisons and other work
// that people wait for and kernels do not.
package valuefmt

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Kind returns the name that etgo's JSON has for a kind: "none", "bool", "int",
// "float", "string", "tensor", "int_list", ...
func Kind(k runtime.Kind) string {
	return strings.ReplaceAll(strings.ToLower(k.String()), " ", "_")
}

// Value returns the element in b, the little-endian bytes of one element of
// type d. The types without arithmetic (quantised, packed, 8-bit floats) give
// their bits as a number. Integers beyond 2^53 are rounded.
func Value(d tensor.DType, b []byte) complex128 {
	switch d {
	case tensor.C32:
		return complex(float64(half(b)), float64(half(b[2:])))
	case tensor.C64:
		return complex(float64(float(b)), float64(float(b[4:])))
	case tensor.C128:
		return complex(double(b), double(b[8:]))
	case tensor.F16:
		return complex(float64(half(b)), 0)
	case tensor.BF16:
		return complex(float64(tensor.BFloat16(binary.LittleEndian.Uint16(b)).Float32()), 0)
	case tensor.F32:
		return complex(float64(float(b)), 0)
	case tensor.F64:
		return complex(double(b), 0)
	}
	if isSigned(d) {
		return complex(float64(signed(b)), 0)
	}
	return complex(float64(unsigned(b)), 0)
}

// Format formats the element in b as Value understands it: floats with the
// fewest digits that their type needs, integers exactly.
func Format(d tensor.DType, b []byte) string {
	switch {
	case d == tensor.Bool:
		return strconv.FormatBool(b[0] != 0)
	case d.IsComplex():
		return strconv.FormatComplex(Value(d, b), 'g', digits(d), max(64, 8*d.Size()))
	case d.IsFloat():
		if d.IsReducedFloat() {
			return strconv.FormatFloat(real(Value(d, b)), 'g', digits(d), 32)
		}
		return strconv.FormatFloat(real(Value(d, b)), 'g', -1, 8*d.Size())
	case isSigned(d):
		return strconv.FormatInt(signed(b), 10)
	}
	return strconv.FormatUint(unsigned(b), 10)
}

// digits is how many decimal digits tell a type's numbers apart where strconv
// does not know the type.
func digits(d tensor.DType) int {
	switch d {
	case tensor.F16, tensor.C32:
		return 5
	case tensor.BF16:
		return 4
	}
	return -1
}

func isSigned(d tensor.DType) bool {
	switch d {
	case tensor.I8, tensor.I16, tensor.I32, tensor.I64, tensor.QInt8, tensor.QInt32:
		return true
	}
	return false
}

func half(b []byte) float32   { return tensor.Float16(binary.LittleEndian.Uint16(b)).Float32() }
func float(b []byte) float32  { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
func double(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }

func signed(b []byte) int64 {
	shift := 64 - 8*len(b)
	return int64(unsigned(b)) << shift >> shift
}

// unsigned reads up to eight bytes as a little-endian number.
func unsigned(b []byte) uint64 {
	var u uint64
	for i, c := range b {
		u |= uint64(c) << (8 * i)
	}
	return u
}
