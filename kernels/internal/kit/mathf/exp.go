package mathf

import "math"

// Exponentials are 2^(k/32) * 2^(r/32), k an integer and |r| <= 1/2: the first
// factor comes from a table, the second from a polynomial.

const (
	// intBias, 1.5 * 2^52, added to a float64 rounds it to an integer, which stands
	// then in the low bits.
	intBias = 3 << 51
	// expLimit is where the exponential of a float32 has long overflowed, and of its
	// negative vanished.
	expLimit = 120
)

// exp2Table holds the bits of 2^(i/32) less i << 47, so that adding k << 47 for
// k = i modulo 32 gives those of 2^(k/32).
var exp2Table = [32]uint64{
	0x3ff0000000000000, 0x3fefd9b0d3158574, 0x3fefb5586cf9890f, 0x3fef9301d0125b51,
	0x3fef72b83c7d517b, 0x3fef54873168b9aa, 0x3fef387a6e756238, 0x3fef1e9df51fdee1,
	0x3fef06fe0a31b715, 0x3feef1a7373aa9cb, 0x3feedea64c123422, 0x3feece086061892d,
	0x3feebfdad5362a27, 0x3feeb42b569d4f82, 0x3feeab07dd485429, 0x3feea47eb03a5585,
	0x3feea09e667f3bcd, 0x3fee9f75e8ec5f74, 0x3feea11473eb0187, 0x3feea589994cce13,
	0x3feeace5422aa0db, 0x3feeb737b0cdc5e5, 0x3feec49182a3f090, 0x3feed503b23e255d,
	0x3feee89f995ad3ad, 0x3feeff76f2fb5e47, 0x3fef199bdd85529c, 0x3fef3720dcef9069,
	0x3fef5818dcfba487, 0x3fef7c97337b9b5f, 0x3fefa4afa2a490da, 0x3fefd0765b6e4540,
}

// exp2 returns 2^(z/32) for |z| < 32 * 1000, to a relative error of 1e-10.
func exp2(z float64) float64 {
	k := z + intBias
	i := math.Float64bits(k)
	r := z - (k - intBias)
	s := math.Float64frombits(exp2Table[i%32] + i<<47)
	return s + s*(r*(0x1.62e42fef5b173p-6+r*(0x1.ebfce51931769p-13+r*0x1.c6b184c167150p-20)))
}

// exp2m1 returns 2^(z/32) - 1, for z as exp2, to a relative error of 2e-11.
func exp2m1(z float64) float64 {
	k := z + intBias
	i := math.Float64bits(k)
	r := z - (k - intBias)
	s := math.Float64frombits(exp2Table[i%32] + i<<47)
	p := r * ((0x1.62e42fef8dc44p-6 + r*0x1.ebfbdff85ed78p-13) + r*r*(0x1.c6b13c3d4015cp-20+r*0x1.3b2ab6fbaa730p-27))
	return s*p + (s - 1)
}

// clamp limits x to the range in which exp2 works; NaN stays.
func clamp(x float64) float64 {
	if x > expLimit {
		x = expLimit
	}
	if x < -expLimit {
		x = -expLimit
	}
	return x
}

// Exp sets dst to e to the power of src.
func Exp(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = float32(exp2(clamp(float64(v)) * (32 / math.Ln2)))
	}
}

// Expm1 sets dst to e to the power of src, less 1.
func Expm1(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		x := float64(v)
		e := exp2m1(clamp(x) * (32 / math.Ln2))
		if x == 0 {
			e = x // which may be -0
		}
		dst[i] = float32(e)
	}
}

// Sigmoid sets dst to 1 / (1 + exp(-src)).
func Sigmoid(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = float32(1 / (1 + exp2(clamp(float64(v))*(-32/math.Ln2))))
	}
}

// Tanh sets dst to the hyperbolic tangent of src.
func Tanh(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		x := float64(v)
		e := exp2m1(clamp(x) * (64 / math.Ln2))
		t := e / (e + 2)
		if x == 0 {
			t = x
		}
		dst[i] = float32(t)
	}
}

// Sinh sets dst to the hyperbolic sine of src.
func Sinh(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		x := float64(v)
		e := exp2m1(clamp(math.Abs(x)) * (32 / math.Ln2))
		dst[i] = float32(math.Copysign(0.5*(e+e/(e+1)), x))
	}
}

// Cosh sets dst to the hyperbolic cosine of src.
func Cosh(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		e := exp2(clamp(float64(v)) * (32 / math.Ln2))
		dst[i] = float32(0.5 * (e + 1/e))
	}
}

// GeluTanh sets dst to 0.5 * src * (1 + tanh(sqrt(2/pi) * (src + 0.044715 *
// src^3))), which approximates Gelu. Minus infinity gives NaN.
func GeluTanh(dst, src []float32) {
	const (
		cubic = 0.044715
		// 0.5 * (1 + tanh(y)) is 1 / (1 + exp(-y)^2). Where the square overflows the
		// quotient is 0.
		scale = -(math.Sqrt2 / math.SqrtPi) * (32 / math.Ln2)
		limit = 32 * 1000
	)
	dst = dst[:len(src)]
	for i, v := range src {
		x := float64(v)
		z := (x + cubic*(x*x*x)) * scale
		if z > limit {
			z = limit
		}
		if z < -limit {
			z = -limit
		}
		e := exp2(z)
		dst[i] = float32(x / (1 + e*e))
	}
}
