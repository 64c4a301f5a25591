package mathf

import "math"

// Pow sets dst to x to the power of y.
func Pow(dst, x, y []float32) {
	dst, y = dst[:len(x)], y[:len(x)]
	for i, v := range x {
		if unloggable(v) {
			dst[i] = float32(math.Pow(float64(v), float64(y[i])))
			continue
		}
		r, rest := reduceLog(float64(v))
		z := float64(y[i]) * ((rest + logNear(r)) * (32 / math.Ln2))
		if !(math.Abs(z) < powLimit) {
			dst[i] = float32(math.Pow(float64(v), float64(y[i])))
			continue
		}
		dst[i] = float32(exp2(z))
	}
}

// powLimit is the z at which 2^(z/32) has overflowed or vanished.
const powLimit = 32 * 200

// PowScalar sets dst to x to the power of y.
func PowScalar(dst, x []float32, y float32) {
	dst = dst[:len(x)]
	switch {
	case y == 2:
		for i, v := range x {
			dst[i] = v * v
		}
	case y >= -64 && y <= 64 && y == float32(int(y)):
		powInt(dst, x, int(y))
	default:
		powReal(dst, x, float64(y))
	}
}

// powInt sets dst to x to the power of a small n, by multiplication.
func powInt(dst, x []float32, n int) {
	for i, v := range x {
		b := float64(v)
		p := 1.0
		for k := max(n, -n); k > 0; k >>= 1 {
			if k&1 != 0 {
				p *= b
			}
			b *= b
		}
		if n < 0 {
			p = 1 / p
		}
		dst[i] = float32(p)
	}
}

// powReal sets dst to x to the power of y.
func powReal(dst, x []float32, y float64) {
	for i, v := range x {
		if unloggable(v) {
			dst[i] = float32(math.Pow(float64(v), y))
			continue
		}
		r, rest := reduceLog(float64(v))
		z := y * ((rest + logNear(r)) * (32 / math.Ln2))
		if !(math.Abs(z) < powLimit) {
			dst[i] = float32(math.Pow(float64(v), y))
			continue
		}
		dst[i] = float32(exp2(z))
	}
}
