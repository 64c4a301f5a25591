package mathf

import "math"

// mod returns the remainder of a / b with a's sign; if it is not ok math.Mod must
// do. The quotient's integer part has to be a float64, or else the remainder, which
// is one, would not be exact, and the quotient must not have been rounded up to
// the next integer, which shows in the remainder's sign.
func mod(a, b float64) (r float64, ok bool) {
	q := math.Trunc(a / b)
	r = math.FMA(-q, b, a)
	return math.Copysign(r, a), r*a >= 0 && math.Abs(q) < 1<<52
}

// Fmod sets dst to the remainder of a / b with a's sign, exactly.
func Fmod[T float32 | float64](dst, a, b []T) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		x, y := float64(v), float64(b[i])
		r, ok := mod(x, y)
		if !ok {
			r = math.Mod(x, y)
		}
		dst[i] = T(r)
	}
}

// Remainder sets dst to the remainder of a / b with b's sign.
func Remainder(dst, a, b []float32) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		x, y := float64(v), float64(b[i])
		r, ok := mod(x, y)
		if !ok {
			r = math.Mod(x, y)
		}
		dst[i] = float32(r + ifOpposite(r, y, y))
	}
}

// FloorDiv sets dst to a / b rounded down, made of the exact remainder. Divided by
// zero even NaN gives an infinity.
func FloorDiv[T float32 | float64](dst, a, b []T) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		x, y := float64(v), float64(b[i])
		if y == 0 {
			dst[i] = T(math.Copysign(math.Inf(1), x))
			continue
		}
		r, ok := mod(x, y)
		if !ok {
			r = math.Mod(x, y)
		}
		dst[i] = T(x-r)/T(y) + T(ifOpposite(r, y, -1))
	}
}

// ifOpposite returns v if the signs of r and y differ and r is not zero, else 0,
// without a branch.
func ifOpposite(r, y, v float64) float64 {
	magnitude := math.Float64bits(r) << 1
	opposite := int64(math.Float64bits(r)^math.Float64bits(y)) & int64(magnitude|-magnitude)
	return math.Float64frombits(math.Float64bits(v) & uint64(opposite>>63))
}
