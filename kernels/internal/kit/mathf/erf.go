package mathf

import "math"

// erfLimit is where the error function rounds to 1 as a float32.
const erfLimit = 3.95

// erfRatio returns erf(x) / x for t = x*x, |x| <= erfLimit, to a relative error of
// 2e-9.
func erfRatio(t float64) float64 {
	t2 := t * t
	t4 := t2 * t2
	p := (1.12837916924709457 + t*0.185167951765996159) + t2*(0.0542749878533622985+t*0.00384337243047804552) +
		t4*((0.000377951792250361373+t*4.64085968315189731e-6)-t2*1.2969174526108852e-8)
	q := (1 + t*0.497434234085506003) + t2*(0.113910868209349819+t*0.0154437753252892217) +
		t4*(0.00130408296643764155+t*0.0000626965313664627087)
	return p / q
}

// Erf sets dst to the error function of src.
func Erf(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		x := float64(v)
		switch {
		case x > erfLimit:
			dst[i] = 1
		case x < -erfLimit:
			dst[i] = -1
		default:
			dst[i] = float32(x * erfRatio(x*x))
		}
	}
}

// Gelu sets dst to src * phi(src), phi being the distribution function of the
// standard normal distribution. Minus infinity gives NaN.
func Gelu(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		if v > math.MaxFloat32 {
			dst[i] = v
			continue
		}
		x := float64(v)
		a := math.Abs(x)
		// phi(-a) is half the complementary error function of a/sqrt(2).
		z := a * a * (-16 / math.Ln2)
		if z < -32*1000 {
			z = -32 * 1000
		}
		dst[i] = float32(max(x, 0) - 0.5*a*exp2(z)*erfcx(a*(1/math.Sqrt2)))
	}
}

// erfcx returns erfc(x) * exp(x*x) for 0 <= x <= 10.5, to a relative error of 6e-9;
// above it is still of that order.
func erfcx(x float64) float64 {
	x2 := x * x
	x4 := x2 * x2
	p := (1.000000006269327 + x*1.24175352647608049) + x2*(0.735116643975015295+x*0.230897382753118363) + x4*0.0331505033343505812
	q := (1 + x*2.37013331979122519) + x2*(2.40951568067835475+x*1.33192715700140857) + x4*(0.409279781048564098+x*0.0587570931301151753)
	return p / q
}
