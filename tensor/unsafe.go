package tensor

import (
	"unsafe"
)

// Element is what a tensor may hold.
type Element interface {
	uint8 | int8 | int16 | int32 | int64 | uint16 | uint32 | uint64 |
		float32 | float64 | Float16 | BFloat16 | complex64 | complex128 | Complex32 | bool
}

// DTypeOf returns the DType of T.
func DTypeOf[T Element]() DType {
	var v T
	switch any(v).(type) {
	case uint8:
		return U8
	case int8:
		return I8
	case int16:
		return I16
	case int32:
		return I32
	case int64:
		return I64
	case uint16:
		return U16
	case uint32:
		return U32
	case uint64:
		return U64
	case float32:
		return F32
	case float64:
		return F64
	case Float16:
		return F16
	case BFloat16:
		return BF16
	case Complex32:
		return C32
	case complex64:
		return C64
	case complex128:
		return C128
	default:
		return Bool
	}
}

// Raw returns t's elements in memory order, sharing its memory: what a kernel
// works on. It is nil where T is not t's type or no memory is bound. The 1-byte
// quantised and packed types may be read as uint8 or int8, QInt32 as int32.
//
// A bool tensor's bytes come from outside and may be other than 0 and 1; read
// them with Raw[uint8] and compare with zero.
func Raw[T Element](t *Tensor) []T {
	if t.data == nil || !storedAs[T](t.dtype) {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(t.data))), t.numel)
}

func storedAs[T Element](d DType) bool {
	want := DTypeOf[T]()
	if d == want {
		return true
	}
	switch want {
	case U8, I8:
		return d != Bool && d != U8 && d != I8 && d.Size() == 1 || d == Bool && want == U8
	case I32:
		return d == QInt32
	}
	return false
}

// bytesOf returns the bytes of data's elements.
func bytesOf[T Element](data []T) []byte {
	var v T
	if len(data) == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*int(unsafe.Sizeof(v)))
}

// Cast returns b as elements of type T, sharing its memory; nil where b is not
// aligned for T. Bytes left over at the end are not part of the result.
func Cast[T Element](b []byte) []T {
	var v T
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%unsafe.Alignof(v) != 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(v)))
}

// aligned reports whether b starts where an element of the type may.
func aligned(b []byte, d DType) bool {
	align := uintptr(d.Size())
	if d.IsComplex() {
		align /= 2
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%align == 0
}

// alignedBytes returns n zero bytes aligned for every element type.
func alignedBytes(n int) []byte {
	if n == 0 {
		return []byte{}
	}
	// A uint64 slice is aligned to 8 bytes, which no element type exceeds.
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}
