package mathf

import "math"

// Logarithms are k*log(2) - log(c) + log(1+r) for x = 2^k * z and r = z*c - 1: c
// is about 1/z and comes with its logarithm from a table, so that r is below
// 1/62, and the last term is a polynomial. Around z = 1 c is 1, which keeps the
// relative error small where the logarithm is.

// logOffset is the bits of the least z, about 0.66.
const logOffset = 0x3fe52a0000000000

// logTable holds c and -log(c) for 32 ranges of z.
var logTable = [32]struct{ c, negLog float64 }{
	{0x1.7e8d670433edbp+0, -0x1.9b541e1687a3fp-2}, {0x1.75d2ea300175dp+0, -0x1.83b1a513d7748p-2},
	{0x1.6d7c1e568d84bp+0, -0x1.6c97ad3cfcfd9p-2}, {0x1.65827cd06e534p+0, -0x1.560030809c759p-2},
	{0x1.5de00daac088bp+0, -0x1.3fe58caceffdbp-2}, {0x1.568f58bc01ac3p+0, -0x1.2a427afe7b182p-2},
	{0x1.4f8b588e368f1p+0, -0x1.1512088e6666ap-2}, {0x1.48cf6edc7010bp+0, -0x1.004f8f854d8bfp-2},
	{0x1.42575a6c210d7p+0, -0x1.d7ed61f6248d4p-3}, {0x1.3c1f2e134b673p+0, -0x1.b0069edef3bcdp-3},
	{0x1.362348c3a7426p+0, -0x1.88e313941e00cp-3}, {0x1.30604e78d43b2p+0, -0x1.627b6da41e381p-3},
	{0x1.2ad321ec9809fp+0, -0x1.3cc8c22241179p-3}, {0x1.2578def85567bp+0, -0x1.17c4862a78dfep-3},
	{0x1.204ed58e64efap+0, -0x1.e6d1101e9ebecp-4}, {0x1.1b528538ed64ap+0, -0x1.9f5dd2404ec10p-4},
	{0x1.1681990e58cd1p+0, -0x1.59242ff043d34p-4}, {0x1.11d9e40da39a2p+0, -0x1.1419968faa1fep-4},
	{0x1.0d595dd692613p+0, -0x1.a067f4367339ep-5}, {0x1.08fe1fb3668adp+0, -0x1.1ad398c6cd57cp-5},
	{0x1.04c661eafd846p+0, -0x1.2ec7d3e3abfcfp-6}, {1, 0},
	{0x1.f315911e95625p-1, 0x1.a29b453fcb6f7p-6}, {0x1.e454a9ccae878p-1, 0x1.c71ebfa643514p-5},
	{0x1.d66ca5d7cd775p-1, 0x1.5ae3378a84370p-4}, {0x1.c94b5c1b3dbd4p-1, 0x1.ced640ddb4311p-4},
	{0x1.bce09c66f6fc3p-1, 0x1.1fcc0d465f337p-3}, {0x1.b11decc14b9afp-1, 0x1.56aa47ac7b26cp-3},
	{0x1.a5f650f8e449cp-1, 0x1.8c19fe2982058p-3}, {0x1.9b5e1ab6fc7c2p-1, 0x1.c02dd5130e143p-3},
	{0x1.914ac09cc1334p-1, 0x1.f2f70da810df3p-3}, {0x1.87b2bb3e1041dp-1, 0x1.1242d4389ca96p-2},
}

// reduceLog returns r and k*log(2) - log(c) of a positive, finite, normal x.
func reduceLog(x float64) (r, rest float64) {
	b := math.Float64bits(x)
	t := b - logOffset
	e := &logTable[t>>47%32]
	r = math.Float64frombits(b-t&(0xfff<<52))*e.c - 1
	return r, float64(int64(t)>>52)*math.Ln2 + e.negLog
}

// logNear returns log(1 + r) for |r| <= 1/62.
func logNear(r float64) float64 {
	r2 := r * r
	return r + r2*((-0x1.ffffffc3b382dp-2+r*0x1.555554e8b32eap-2)+r2*(-0x1.000e30fe39b5ap-2+r*0x1.99b9d5078fb58p-3))
}

// Log sets dst to the natural logarithm of src.
func Log(dst, src []float32) { scaledLog(dst, src, 1) }

// Log2 sets dst to the logarithm of src to base 2.
func Log2(dst, src []float32) { scaledLog(dst, src, 1/math.Ln2) }

// Log10 sets dst to the logarithm of src to base 10.
func Log10(dst, src []float32) { scaledLog(dst, src, 1/math.Ln10) }

// scaledLog sets dst to log(src) * scale.
func scaledLog(dst, src []float32, scale float64) {
	dst = dst[:len(src)]
	for i, v := range src {
		if unloggable(v) {
			dst[i] = float32(math.Log(float64(v)))
			continue
		}
		r, rest := reduceLog(float64(v))
		dst[i] = float32((rest + logNear(r)) * scale)
	}
}

// unloggable reports whether v is not both positive and finite.
func unloggable(v float32) bool { return math.Float32bits(v)-1 >= 0x7f800000-1 }

// Log1p sets dst to the natural logarithm of 1 + src.
func Log1p(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = float32(log1p(float64(v)))
	}
}

// log1p returns log(1 + x).
func log1p(x float64) float64 {
	u := 1 + x
	if x == 0 || !(u >= 0x1p-1022 && u <= math.MaxFloat64) {
		return math.Log1p(x)
	}
	// What rounding 1 + x lost is added; where it matters u is about 1.
	r, rest := reduceLog(u)
	return rest + (logNear(r) + (x - (u - 1)))
}
