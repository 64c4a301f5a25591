package tensor

import "math"

// Float16 is an IEEE 754 binary16 number, held as its bits.
type Float16 uint16

// BFloat16 is a bfloat16 number, the upper half of a float32, held as its bits.
type BFloat16 uint16

// Complex32 is a complex number of two Float16.
type Complex32 struct{ Real, Imag Float16 }

// ToFloat16 rounds f to the nearest Float16, ties to even; what is too large
// becomes infinity and NaN becomes the quiet NaN with f's sign.
func ToFloat16(f float32) Float16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000: // NaN
		return Float16(sign | 0x7e00)
	case b >= 0x477ff000: // 65520 and up round to infinity
		return Float16(sign | 0x7c00)
	case b < 0x38800000: // below 2^-14: subnormal or zero
		// Adding 0.5 aligns the half's last place with the float's, so that the
		// hardware does the rounding.
		return Float16(sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000))
	}
	b += 0xfff + (b>>13)&1 // round to nearest even at bit 13
	return Float16(sign | uint16((b-0x38000000)>>13))
}

// Float32 returns h as a float32, exactly.
func (h Float16) Float32() float32 {
	sign := uint32(h&0x8000) << 16
	em := uint32(h & 0x7fff)
	switch {
	case em >= 0x7c00: // infinity, NaN
		return math.Float32frombits(sign | em<<13 | 0x7f800000)
	case em < 0x0400: // subnormal or zero
		return math.Float32frombits(sign | math.Float32bits(float32(em)*(1.0/(1<<24))))
	}
	return math.Float32frombits(sign | (em<<13 + 0x38000000))
}

// ToBFloat16 rounds f to the nearest BFloat16, ties to even; every NaN becomes
// 0x7fc0, as in PyTorch.
func ToBFloat16(f float32) BFloat16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return 0x7fc0
	}
	return BFloat16((b + 0x7fff + (b>>16)&1) >> 16)
}

// Float32 returns b as a float32, exactly.
func (b BFloat16) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }
