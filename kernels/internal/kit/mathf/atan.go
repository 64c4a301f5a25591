package mathf

import "math"

// Inverse trigonometric and hyperbolic functions.

const signBit = 1 << 63

// atan returns the bits of the inverse tangent of 0 <= x <= 1, to 4e-10.
func atan(x float64) float64 {
	t := x * x
	t2 := t * t
	t4 := t2 * t2
	p := (-0x1.55555163ac73bp-2 + t*0x1.9997fe03e14d5p-3) + t2*(-0x1.24750ec056187p-3+t*0x1.c507a0460681ep-4) +
		t4*((-0x1.693a4a1c2b389p-4+t*0x1.14e381cc82e5ep-4)+t2*(-0x1.703f0a23cbe50p-5+t*0x1.74fab7416e47cp-6)+
			t4*(-0x1.e695d1f80a866p-8+t*0x1.299b6b4326b53p-10))
	return x + x*t*p
}

// Atan sets dst to the inverse tangent of src.
func Atan(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		x := float64(v)
		a := math.Abs(x)
		y := math.Float64bits(atan(min(a, 1) / max(a, 1)))
		if other := math.Float64bits(math.Pi/2 - math.Float64frombits(y)); a > 1 {
			y = other
		}
		dst[i] = float32(math.Float64frombits(y | math.Float64bits(x)&signBit))
	}
}

// Atan2 sets dst to the angle of the point (x, y).
func Atan2(dst, y, x []float32) {
	dst, x = dst[:len(y)], x[:len(y)]
	for i, v := range y {
		a, b := math.Abs(float64(v)), math.Abs(float64(x[i]))
		lo, hi := min(a, b), max(a, b)
		if !(hi > 0 && lo < math.MaxFloat64) {
			// Both are zero or both infinite, or one is NaN.
			dst[i] = float32(math.Atan2(float64(v), float64(x[i])))
			continue
		}
		r := math.Float64bits(atan(lo / hi))
		if other := math.Float64bits(math.Pi/2 - math.Float64frombits(r)); a > b {
			r = other
		}
		if other := math.Float64bits(math.Pi - math.Float64frombits(r)); math.Signbit(float64(x[i])) {
			r = other
		}
		dst[i] = float32(math.Float64frombits(r | math.Float64bits(float64(v))&signBit))
	}
}

// asin returns the inverse sine of |x|, which is what it returns for x <= 1/2 and
// pi/2 less twice that for a greater x, to 3e-10.
func asin(a float64) (p float64, big bool) {
	big = a > 0.5
	t := math.Float64bits(a * a)
	if half := math.Float64bits(0.5 - 0.5*a); big {
		t = half
	}
	u := math.Float64frombits(t)
	s := math.Float64bits(a)
	if root := math.Float64bits(math.Sqrt(u)); big {
		s = root
	}
	r := math.Float64frombits(s)
	u2 := u * u
	q := (0x1.55554c4342bffp-3 + u*0x1.33388a3487d84p-4) + u2*((0x1.6cacca0e1c985p-5+u*0x1.04a25445eb98ap-5)+u2*(0x1.d8284ca59adbep-7+u*0x1.33aa8e6507cf2p-5))
	return r + r*u*q, big
}

// Asin sets dst to the inverse sine of src.
func Asin(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		x := float64(v)
		p, big := asin(math.Abs(x))
		r := math.Float64bits(p)
		if other := math.Float64bits(math.Pi/2 - 2*p); big {
			r = other
		}
		dst[i] = float32(math.Float64frombits(r ^ math.Float64bits(x)&signBit))
	}
}

// Acos sets dst to the inverse cosine of src.
func Acos(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		x := float64(v)
		p, big := asin(math.Abs(x))
		// Up to 1/2: pi/2 - p, with x's sign; above: 2p, or pi - 2p for a negative x.
		sign := math.Float64bits(x) & signBit
		r := math.Float64bits(math.Pi/2 - math.Float64frombits(math.Float64bits(p)^sign))
		base := uint64(0)
		if sign != 0 {
			base = math.Float64bits(math.Pi)
		}
		if other := math.Float64bits(math.Float64frombits(base) + 2*math.Float64frombits(math.Float64bits(p)^sign)); big {
			r = other
		}
		dst[i] = float32(math.Float64frombits(r))
	}
}

// Asinh sets dst to the inverse hyperbolic sine of src.
func Asinh(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		x := float64(v)
		a := math.Abs(x)
		y := log1p(a + a*(a/(1+math.Sqrt(a*a+1))))
		if a > math.MaxFloat32 {
			y = a
		}
		dst[i] = float32(math.Copysign(y, x))
	}
}

// Acosh sets dst to the inverse hyperbolic cosine of src.
func Acosh(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		t := float64(v) - 1
		if t < 0 {
			t = math.NaN()
		}
		dst[i] = float32(log1p(t + math.Sqrt(t*t+2*t)))
	}
}

// Atanh sets dst to the inverse hyperbolic tangent of src.
func Atanh(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		x := float64(v)
		a := math.Abs(x)
		dst[i] = float32(math.Copysign(0.5*log1p(2*a/(1-a)), x))
	}
}
