package kit

import (
	"math"

	"github.com/etgo-ml/etgo/tensor"
)

// Number is what kernels compute with.
type Number interface {
	uint8 | int8 | int16 | int32 | int64 | uint16 | uint32 | uint64 | float32 | float64
}

// Float is a Number with fractions.
type Float interface{ float32 | float64 }

// Integer is a Number without fractions.
type Integer interface {
	uint8 | int8 | int16 | int32 | int64 | uint16 | uint32 | uint64
}

// Load converts len(dst) elements of src, which lie side by side in memory from
// element off on, to C. Bools become 0 and 1; of a complex number the real part
// is taken. Floating-point numbers become integers as in C++ on x86-64; see
// FloatToInt.
func Load[C Number](dst []C, src *tensor.Tensor, off int) { LoadStrided(dst, src, off, 1) }

// LoadStrided is Load for elements that are stride apart; stride 0 repeats one.
func LoadStrided[C Number](dst []C, src *tensor.Tensor, off, stride int) {
	switch src.DType() {
	case tensor.F32:
		loadFloat(dst, tensor.Raw[float32](src), off, stride)
	case tensor.F64:
		loadFloat(dst, tensor.Raw[float64](src), off, stride)
	case tensor.F16:
		loadHalf(dst, tensor.Raw[tensor.Float16](src), off, stride)
	case tensor.BF16:
		loadHalf(dst, tensor.Raw[tensor.BFloat16](src), off, stride)
	case tensor.U8, tensor.QUInt8, tensor.QUInt4x2, tensor.QUInt2x4, tensor.Bits8:
		loadInt(dst, tensor.Raw[uint8](src), off, stride)
	case tensor.I8, tensor.QInt8:
		loadInt(dst, tensor.Raw[int8](src), off, stride)
	case tensor.I16:
		loadInt(dst, tensor.Raw[int16](src), off, stride)
	case tensor.I32, tensor.QInt32:
		loadInt(dst, tensor.Raw[int32](src), off, stride)
	case tensor.I64:
		loadInt(dst, tensor.Raw[int64](src), off, stride)
	case tensor.U16:
		loadInt(dst, tensor.Raw[uint16](src), off, stride)
	case tensor.U32:
		loadInt(dst, tensor.Raw[uint32](src), off, stride)
	case tensor.U64:
		loadInt(dst, tensor.Raw[uint64](src), off, stride)
	case tensor.Bool:
		s := tensor.Raw[uint8](src)
		for i := range dst {
			if s[off] != 0 {
				dst[i] = 1
			} else {
				dst[i] = 0
			}
			off += stride
		}
	case tensor.C64:
		s := tensor.Raw[complex64](src)
		for i := range dst {
			dst[i] = fromFloat[C](float64(real(s[off])))
			off += stride
		}
	case tensor.C128:
		s := tensor.Raw[complex128](src)
		for i := range dst {
			dst[i] = fromFloat[C](real(s[off]))
			off += stride
		}
	case tensor.C32:
		s := tensor.Raw[tensor.Complex32](src)
		for i := range dst {
			dst[i] = fromFloat[C](float64(s[off].Real.Float32()))
			off += stride
		}
	}
}

func loadInt[C Number, S Integer](dst []C, src []S, off, stride int) {
	switch {
	case len(dst) == 0:
	case stride == 1:
		src = src[off:][:len(dst)]
		if same, ok := any(src).([]C); ok {
			copy(dst, same)
			return
		}
		for i, v := range src {
			dst[i] = C(v)
		}
	case stride == 0:
		fill(dst, C(src[off]))
	default:
		for i := range dst {
			dst[i] = C(src[off])
			off += stride
		}
	}
}

func loadFloat[C Number, S Float](dst []C, src []S, off, stride int) {
	switch {
	case len(dst) == 0:
	case stride == 0:
		fill(dst, fromFloat[C](src[off]))
	case isFloat[C]() && stride == 1:
		src = src[off:][:len(dst)]
		if same, ok := any(src).([]C); ok {
			copy(dst, same)
			return
		}
		for i, v := range src {
			dst[i] = C(v)
		}
	case isFloat[C]():
		for i := range dst {
			dst[i] = C(src[off])
			off += stride
		}
	default:
		floatsToInts(dst, src[off:], stride)
	}
}

// floatsToInts is FloatToInt for the elements of src that are stride apart.
func floatsToInts[C Number, S Float](dst []C, src []S, stride int) {
	var c C
	off := 0
	switch any(c).(type) {
	case uint64:
		for i := range dst {
			dst[i] = FloatToInt[C](float64(src[off]))
			off += stride
		}
	case int64, uint32:
		for i := range dst {
			dst[i] = C(int64FromFloat(float64(src[off])))
			off += stride
		}
	default:
		for i := range dst {
			dst[i] = C(int32FromFloat(float64(src[off])))
			off += stride
		}
	}
}

// half is a 16-bit floating-point type.
type half interface {
	tensor.Float16 | tensor.BFloat16
	Float32() float32
}

func loadHalf[C Number, S half](dst []C, src []S, off, stride int) {
	if len(dst) == 0 {
		return
	}
	if stride == 0 {
		fill(dst, fromFloat[C](src[off].Float32()))
		return
	}
	if d, ok := any(dst).([]float32); ok {
		if s, ok := any(src).([]tensor.BFloat16); ok && stride == 1 {
			for i, v := range s[off:][:len(d)] {
				d[i] = math.Float32frombits(uint32(v) << 16)
			}
			return
		}
		for i := range d {
			d[i] = src[off].Float32()
			off += stride
		}
		return
	}
	for i := range dst {
		dst[i] = fromFloat[C](src[off].Float32())
		off += stride
	}
}

func fill[C any](dst []C, v C) {
	for i := range dst {
		dst[i] = v
	}
}

func isFloat[C Number]() bool {
	half := 0.5
	return C(half) != 0
}

// fromFloat converts one number, to integers as FloatToInt does.
func fromFloat[C Number, S Float](v S) C {
	if isFloat[C]() {
		return C(v)
	}
	return FloatToInt[C](float64(v))
}

// FloatToInt converts f to an integer type as C++ compiled for x86-64 does:
// towards zero, and what does not fit becomes the smallest number of the 32-bit
// (for types up to int32) or 64-bit register, of which the low bits are taken.
// It is the same on all platforms. For floating-point types it converts.
func FloatToInt[C Number](f float64) C {
	var c C
	switch any(c).(type) {
	case int8, uint8, int16, uint16, int32:
		return C(int32FromFloat(f))
	case int64, uint32:
		return C(int64FromFloat(f))
	case uint64:
		if f >= 9223372036854775808 {
			if f < 18446744073709551616 {
				return C(uint64(f-9223372036854775808) + 1<<63)
			}
			return 0
		}
		return C(int64FromFloat(f))
	}
	return C(f)
}

func int32FromFloat(f float64) int32 {
	if f > -2147483649 && f < 2147483648 {
		return int32(f)
	}
	return math.MinInt32
}

func int64FromFloat(f float64) int64 {
	if f >= -9223372036854775808 && f < 9223372036854775808 {
		return int64(f)
	}
	return math.MinInt64
}

// Store converts src to dst's type and stores it side by side in memory from
// element off on. Numbers other than zero become true in a bool tensor; to
// integers see FloatToInt; to a complex type with imaginary part 0.
func Store[C Number](dst *tensor.Tensor, off int, src []C) { StoreStrided(dst, off, 1, src) }

// StoreStrided is Store for elements that are stride apart.
func StoreStrided[C Number](dst *tensor.Tensor, off, stride int, src []C) {
	switch dst.DType() {
	case tensor.F32:
		storeFloat(tensor.Raw[float32](dst), off, stride, src)
	case tensor.F64:
		storeFloat(tensor.Raw[float64](dst), off, stride, src)
	case tensor.F16:
		d := tensor.Raw[tensor.Float16](dst)
		for _, v := range src {
			d[off] = tensor.ToFloat16(float32(v))
			off += stride
		}
	case tensor.BF16:
		d := tensor.Raw[tensor.BFloat16](dst)
		for _, v := range src {
			d[off] = tensor.ToBFloat16(float32(v))
			off += stride
		}
	case tensor.U8, tensor.QUInt8:
		storeInt(tensor.Raw[uint8](dst), off, stride, src)
	case tensor.I8, tensor.QInt8:
		storeInt(tensor.Raw[int8](dst), off, stride, src)
	case tensor.I16:
		storeInt(tensor.Raw[int16](dst), off, stride, src)
	case tensor.I32, tensor.QInt32:
		storeInt(tensor.Raw[int32](dst), off, stride, src)
	case tensor.I64:
		storeInt(tensor.Raw[int64](dst), off, stride, src)
	case tensor.U16:
		storeInt(tensor.Raw[uint16](dst), off, stride, src)
	case tensor.U32:
		storeInt(tensor.Raw[uint32](dst), off, stride, src)
	case tensor.U64:
		storeInt(tensor.Raw[uint64](dst), off, stride, src)
	case tensor.Bool:
		d := tensor.Raw[uint8](dst)
		for _, v := range src {
			if v != 0 {
				d[off] = 1
			} else {
				d[off] = 0
			}
			off += stride
		}
	case tensor.C64:
		d := tensor.Raw[complex64](dst)
		for _, v := range src {
			d[off] = complex(float32(v), 0)
			off += stride
		}
	case tensor.C128:
		d := tensor.Raw[complex128](dst)
		for _, v := range src {
			d[off] = complex(float64(v), 0)
			off += stride
		}
	case tensor.C32:
		d := tensor.Raw[tensor.Complex32](dst)
		for _, v := range src {
			d[off] = tensor.Complex32{Real: tensor.ToFloat16(float32(v))}
			off += stride
		}
	}
}

func storeFloat[D Float, C Number](dst []D, off, stride int, src []C) {
	if len(src) == 0 {
		return
	}
	if stride == 1 {
		dst = dst[off:][:len(src)]
		if same, ok := any(dst).([]C); ok {
			copy(same, src)
			return
		}
		for i, v := range src {
			dst[i] = D(v)
		}
		return
	}
	for _, v := range src {
		dst[off] = D(v)
		off += stride
	}
}

func storeInt[D Integer, C Number](dst []D, off, stride int, src []C) {
	if len(src) == 0 {
		return
	}
	switch from := any(src).(type) {
	case []float32:
		storeFloatsAsInts(dst, off, stride, from)
		return
	case []float64:
		storeFloatsAsInts(dst, off, stride, from)
		return
	}
	if stride == 1 {
		dst = dst[off:][:len(src)]
		if same, ok := any(dst).([]C); ok {
			copy(same, src)
			return
		}
		for i, v := range src {
			dst[i] = D(v)
		}
		return
	}
	for _, v := range src {
		dst[off] = D(v)
		off += stride
	}
}

func storeFloatsAsInts[D Integer, S Float](dst []D, off, stride int, src []S) {
	if stride == 1 {
		floatsToInts(dst[off:][:len(src)], src, 1)
		return
	}
	for _, v := range src {
		dst[off] = FloatToInt[D](float64(v))
		off += stride
	}
}
