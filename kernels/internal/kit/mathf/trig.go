package mathf

import "math"

// Sines and cosines are those of x less a multiple n of pi/2, from polynomials
// between -pi/4 and pi/4.

// trigLimit is where the reduction, exact for n below 2^28, gives way to package
// math.
const trigLimit = 0x1p28

// reduce returns x - n*pi/2 and n modulo 2^51, for |x| < trigLimit.
func reduce(x float64) (r float64, n uint64) {
	const (
		// The first part has 25 bits, so that its product with n is exact.
		piOver2Hi = 0x1.921fb50000000p+0
		piOver2Lo = 0x1.110b4611a6263p-26
	)
	k := x*(2/math.Pi) + intBias
	n = math.Float64bits(k)
	k -= intBias
	return x - k*piOver2Hi - k*piOver2Lo, n
}

// sinCos returns the bits of sine and cosine of |r| <= pi/4, to 4e-9.
func sinCos(r float64) (sin, cos uint64) {
	r2 := r * r
	s := r + r*r2*(-0x1.55554596f731dp-3+r2*(0x1.11075f56f84c9p-7-r2*0x1.994e5b830e74cp-13))
	c := 1 - 0.5*r2 + r2*r2*(0x1.55554ab26afc7p-5+r2*(-0x1.6c0c8ab3244bep-10+r2*0x1.9a020b802269cp-16))
	return math.Float64bits(s), math.Float64bits(c)
}

// Sin sets dst to the sine of src.
func Sin(dst, src []float32) { sinPlus(dst, src, 0) }

// Cos sets dst to the cosine of src.
func Cos(dst, src []float32) { sinPlus(dst, src, 1) }

// sinPlus sets dst to the sine of src + quadrants * pi/2.
func sinPlus(dst, src []float32, quadrants uint64) {
	dst = dst[:len(src)]
	for i, v := range src {
		x := float64(v)
		if !(math.Abs(x) < trigLimit) {
			dst[i] = sinFar(x, quadrants)
			continue
		}
		r, n := reduce(x)
		n += quadrants
		s, c := sinCos(r)
		if n&1 != 0 {
			s = c
		}
		dst[i] = float32(math.Float64frombits(s ^ n<<62&(1<<63)))
	}
}

func sinFar(x float64, quadrants uint64) float32 {
	if quadrants == 1 {
		return float32(math.Cos(x))
	}
	return float32(math.Sin(x))
}

// Tan sets dst to the tangent of src.
func Tan(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		x := float64(v)
		if !(math.Abs(x) < trigLimit) {
			dst[i] = float32(math.Tan(x))
			continue
		}
		r, n := reduce(x)
		s, c := sinCos(r)
		if n&1 != 0 {
			s, c = c, s^1<<63
		}
		dst[i] = float32(math.Float64frombits(s) / math.Float64frombits(c))
	}
}
