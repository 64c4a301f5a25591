package tensor

import "fmt"

// DType is the type of a tensor's elements: ExecuTorch's ScalarType, with its
// numbers (schema/scalar_type.fbs).
type DType int8

// The element types. U8 to Bool and BF16, U16 to U64 have arithmetic; C32 and
// the quantised, packed and 8-bit float types are stored and copied only.
const (
	U8   DType = 0
	I8   DType = 1
	I16  DType = 2
	I32  DType = 3
	I64  DType = 4
	F16  DType = 5
	F32  DType = 6
	F64  DType = 7
	C32  DType = 8 // two F16
	C64  DType = 9 // two F32
	C128 DType = 10
	Bool DType = 11

	QInt8          DType = 12
	QUInt8         DType = 13
	QInt32         DType = 14
	BF16           DType = 15
	QUInt4x2       DType = 16
	QUInt2x4       DType = 17
	Bits1x8        DType = 18
	Bits2x4        DType = 19
	Bits4x2        DType = 20
	Bits8          DType = 21
	Bits16         DType = 22
	Float8E5M2     DType = 23
	Float8E4M3FN   DType = 24
	Float8E5M2FNUZ DType = 25
	Float8E4M3FNUZ DType = 26
	U16            DType = 27
	U32            DType = 28
	U64            DType = 29

	numDTypes = 30
)

type dtypeInfo struct {
	name string
	size int
}

var dtypes = [numDTypes]dtypeInfo{
	U8: {"uint8", 1}, I8: {"int8", 1}, I16: {"int16", 2}, I32: {"int32", 4}, I64: {"int64", 8},
	F16: {"float16", 2}, F32: {"float32", 4}, F64: {"float64", 8},
	C32: {"complex32", 4}, C64: {"complex64", 8}, C128: {"complex128", 16}, Bool: {"bool", 1},
	QInt8: {"qint8", 1}, QUInt8: {"quint8", 1}, QInt32: {"qint32", 4}, BF16: {"bfloat16", 2},
	QUInt4x2: {"quint4x2", 1}, QUInt2x4: {"quint2x4", 1},
	Bits1x8: {"bits1x8", 1}, Bits2x4: {"bits2x4", 1}, Bits4x2: {"bits4x2", 1}, Bits8: {"bits8", 1}, Bits16: {"bits16", 2},
	Float8E5M2: {"float8_e5m2", 1}, Float8E4M3FN: {"float8_e4m3fn", 1},
	Float8E5M2FNUZ: {"float8_e5m2fnuz", 1}, Float8E4M3FNUZ: {"float8_e4m3fnuz", 1},
	U16: {"uint16", 2}, U32: {"uint32", 4}, U64: {"uint64", 8},
}

// Valid reports whether d is one of the types above.
func (d DType) Valid() bool { return d >= 0 && d < numDTypes }

// Size returns the bytes of one element, 0 for an invalid type.
func (d DType) Size() int {
	if !d.Valid() {
		return 0
	}
	return dtypes[d].size
}

// String returns the type's name in PyTorch's and NumPy's vocabulary, as in
// "float32" and "bfloat16".
func (d DType) String() string {
	if !d.Valid() {
		return fmt.Sprintf("DType(%d)", int8(d))
	}
	return dtypes[d].name
}

// ParseDType returns the type that String calls name.
func ParseDType(name string) (DType, error) {
	for d := DType(0); d < numDTypes; d++ {
		if dtypes[d].name == name {
			return d, nil
		}
	}
	return -1, fmt.Errorf("unknown dtype %q", name)
}

// IsFloat reports whether d is a real floating-point type with arithmetic:
// F16, BF16, F32 or F64.
func (d DType) IsFloat() bool { return d == F32 || d == F64 || d == F16 || d == BF16 }

// IsReducedFloat reports whether d is F16 or BF16.
func (d DType) IsReducedFloat() bool { return d == F16 || d == BF16 }

// IsComplex reports whether d is C32, C64 or C128.
func (d DType) IsComplex() bool { return d >= C32 && d <= C128 }

// IsInt reports whether d is an integer type of any width and signedness; Bool
// is not.
func (d DType) IsInt() bool { return d >= U8 && d <= I64 || d >= U16 && d <= U64 }

// IsIntegral reports whether d is an integer type or, with includeBool, Bool.
func (d DType) IsIntegral(includeBool bool) bool {
	return d.IsInt() || includeBool && d == Bool
}

// IsUnsigned reports whether d is an unsigned integer type.
func (d DType) IsUnsigned() bool { return d == U8 || d >= U16 && d <= U64 }
