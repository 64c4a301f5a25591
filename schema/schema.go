// Package schema holds what ExecuTorch's file formats share; the formats
// themselves are in the packages below it. Here files are decoded and verified;
// nothing runs and no tensor is made.
package schema

import "fmt"

// ScalarType is an element type as the files number it (schema/scalar_type.fbs).
type ScalarType int8

// The scalar types. The numbers between that are missing here are reserved by
// the schema for types it does not implement; the complex types are among them,
// and kernels know them.
const (
	Byte           ScalarType = 0
	Char           ScalarType = 1
	Short          ScalarType = 2
	Int            ScalarType = 3
	Long           ScalarType = 4
	Half           ScalarType = 5
	Float          ScalarType = 6
	Double         ScalarType = 7
	ComplexHalf    ScalarType = 8
	ComplexFloat   ScalarType = 9
	ComplexDouble  ScalarType = 10
	Bool           ScalarType = 11
	QInt8          ScalarType = 12
	QUInt8         ScalarType = 13
	QInt32         ScalarType = 14
	BFloat16       ScalarType = 15
	QUInt4x2       ScalarType = 16
	QUInt2x4       ScalarType = 17
	Bits1x8        ScalarType = 18
	Bits2x4        ScalarType = 19
	Bits4x2        ScalarType = 20
	Bits8          ScalarType = 21
	Bits16         ScalarType = 22
	Float8E5M2     ScalarType = 23
	Float8E4M3FN   ScalarType = 24
	Float8E5M2FNUZ ScalarType = 25
	Float8E4M3FNUZ ScalarType = 26
	UInt16         ScalarType = 27
	UInt32         ScalarType = 28
	UInt64         ScalarType = 29
)

var scalarSizes = [30]int8{1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 4, 8}

var scalarNames = [30]string{
	"uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
	"complex32", "complex64", "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16",
	"quint4x2", "quint2x4", "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16",
	"float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "uint16", "uint32", "uint64",
}

// Size returns the size of one element in bytes, 0 for an unknown type.
func (t ScalarType) Size() int {
	if t < 0 || int(t) >= len(scalarSizes) {
		return 0
	}
	return int(scalarSizes[t])
}

// Valid reports whether t is a scalar type that etgo knows.
func (t ScalarType) Valid() bool { return t >= 0 && int(t) < len(scalarSizes) }

func (t ScalarType) String() string {
	if !t.Valid() {
		return fmt.Sprintf("ScalarType(%d)", int8(t))
	}
	return scalarNames[t]
}
