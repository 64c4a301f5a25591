package mathf

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// specials are the arguments that functions treat apart, and their neighbours.
var specials = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1, 0.5, -0.5, 2, -2, math.MaxFloat32, -math.MaxFloat32,
	math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 0x1p-126, -0x1p-126,
	float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
	88.7, 88.8, -87.4, -103.9, -104, 3.95, -3.95, 0x1p28, -0x1p28, math.Pi, math.Pi / 2, 1 - 0x1p-24, 1 + 0x1p-23,
}

// arguments returns specials and floats from all over the range, more of them the
// smaller step is.
func arguments(step int) []float32 {
	x := append([]float32(nil), specials...)
	for b := 0; b < 1<<32; b += 40009 * step {
		x = append(x, math.Float32frombits(uint32(b)))
	}
	for v := float32(-12); v < 12; v += 0.0007 * float32(step) {
		x = append(x, v)
	}
	return x
}

// ulps returns how far got is from want in units of the last place of a float32
// near want. Values that are equal, NaN both or infinite both are 0 apart.
func ulps(got float32, want float64) float64 {
	w := float32(want)
	if got == w || got != got && want != want {
		return 0
	}
	if got != got || want != want || math.IsInf(float64(got), 0) || math.IsInf(float64(w), 0) {
		return math.Inf(1)
	}
	ulp := float64(math.Nextafter32(float32(math.Abs(want)), math.MaxFloat32)) - math.Abs(float64(w))
	return math.Abs(float64(got)-want) / ulp
}

func TestUnary(t *testing.T) {
	gelu := func(x float64) float64 { return 0.5 * x * math.Erfc(-x/math.Sqrt2) }
	tests := []struct {
		name string
		f    func(dst, src []float32)
		want func(float64) float64
		ulps float64
	}{
		{"Exp", Exp, math.Exp, 0.51},
		{"Expm1", Expm1, math.Expm1, 0.51},
		{"Sigmoid", Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 0.51},
		{"Tanh", Tanh, math.Tanh, 0.51},
		{"Sinh", Sinh, math.Sinh, 0.51},
		{"Cosh", Cosh, math.Cosh, 0.51},
		{"Log", Log, math.Log, 0.51},
		{"Log2", Log2, math.Log2, 0.51},
		{"Log10", Log10, math.Log10, 0.51},
		{"Log1p", Log1p, math.Log1p, 0.51},
		{"Sin", Sin, math.Sin, 0.6},
		{"Cos", Cos, math.Cos, 0.6},
		{"Tan", Tan, math.Tan, 0.6},
		{"Asin", Asin, math.Asin, 0.51},
		{"Acos", Acos, math.Acos, 0.51},
		{"Atan", Atan, math.Atan, 0.51},
		{"Asinh", Asinh, math.Asinh, 0.51},
		{"Acosh", Acosh, math.Acosh, 0.51},
		{"Atanh", Atanh, math.Atanh, 0.51},
		{"Erf", Erf, math.Erf, 0.55},
		{"Gelu", Gelu, gelu, 0.6},
	}
	src := arguments(1)
	dst := make([]float32, len(src))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.f(dst, src)
			worst, at := 0.0, 0
			for i, v := range src {
				if d := ulps(dst[i], tt.want(float64(v))); d > worst {
					worst, at = d, i
				}
			}
			assert.LessOrEqual(t, worst, tt.ulps, "at %v: got %v, want %v", src[at], dst[at], tt.want(float64(src[at])))
		})
	}
}

func TestBinary(t *testing.T) {
	remainder := func(a, b float64) float64 {
		r := math.Mod(a, b)
		if r != 0 && (r < 0) != (b < 0) {
			r += b
		}
		return r
	}
	tests := []struct {
		name string
		f    func(dst, a, b []float32)
		want func(a, b float64) float64
		ulps float64
	}{
		{"Pow", Pow, math.Pow, 0.52},
		{"Atan2", Atan2, math.Atan2, 0.52},
		{"Fmod", Fmod[float32], math.Mod, 0},
		{"Remainder", Remainder, remainder, 0.5},
	}
	// Pairs of specials, of floats of any size, and of floats of like size.
	var a, b []float32
	add := func(x, y float32) { a, b = append(a, x), append(b, y) }
	for _, x := range specials {
		for _, y := range specials {
			add(x, y)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 50000 {
		add(math.Float32frombits(rnd.Uint32()), math.Float32frombits(rnd.Uint32()))
		add(float32(rnd.ExpFloat64()), float32(rnd.NormFloat64()))
		add(float32(rnd.NormFloat64()), float32(math.Trunc(4*rnd.NormFloat64())))
		n := float32(rnd.IntN(1 << 24))
		add(n*float32(rnd.IntN(100)), n)
	}
	dst := make([]float32, len(a))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.f(dst, a, b)
			worst, at := 0.0, 0
			for i := range a {
				if d := ulps(dst[i], tt.want(float64(a[i]), float64(b[i]))); d > worst {
					worst, at = d, i
				}
			}
			assert.LessOrEqual(t, worst, tt.ulps, "at %v, %v: got %v, want %v", a[at], b[at], dst[at], tt.want(float64(a[at]), float64(b[at])))
		})
	}
}

func TestPowScalar(t *testing.T) {
	src := arguments(50)
	dst := make([]float32, len(src))
	for _, y := range append([]float32{3, -3, 17, -64, 1.7, -0.5, 1e30, -1e30}, specials...) {
		PowScalar(dst, src, y)
		for i, x := range src {
			if want := math.Pow(float64(x), float64(y)); ulps(dst[i], want) > 0.52 {
				t.Errorf("%v to the power of %v: got %v, want %v", x, y, dst[i], want)
			}
		}
	}
}

func TestFloorDiv(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, tt := range []struct{ a, b, want float32 }{
		{7, 2, 3}, {-7, 2, -4}, {7, -2, -4}, {-7, -2, 3}, {6, 2, 3}, {-6, 2, -3},
		{1, 0, inf}, {-1, 0, -inf}, {0, 0, inf}, {nan, 0, inf}, {1, nan, nan}, {inf, 1, nan},
		{3e38, 1e-38, inf}, {-1, inf, -1}, {1, inf, 0}, {0x1.fffffep127, 3, 0x1.fffffep127 / 3},
	} {
		got := []float32{0}
		FloorDiv(got, []float32{tt.a}, []float32{tt.b})
		assert.Zero(t, ulps(got[0], float64(tt.want)), "%v / %v: got %v, want %v", tt.a, tt.b, got[0], tt.want)
	}
}

func TestFmodFloat64(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	inf := math.Inf(1)
	a := []float64{5, inf, 5, -6, 0, 1e300, 5e-324, -1, math.NaN()}
	b := []float64{inf, 5, 0, 3, 2, 1e-300, 3, -inf, 1}
	for range 100000 {
		x := math.Ldexp(rnd.NormFloat64(), rnd.IntN(60))
		y := math.Ldexp(rnd.NormFloat64(), rnd.IntN(20))
		// The second quotient is an integer but for the last place.
		a, b = append(a, x, math.Nextafter(y*float64(rnd.IntN(1<<20)), 0)), append(b, y, y)
	}
	got := make([]float64, len(a))
	Fmod(got, a, b)
	for i, r := range got {
		if want := math.Mod(a[i], b[i]); r != want && !(math.IsNaN(r) && math.IsNaN(want)) || math.Signbit(r) != math.Signbit(want) && r == r {
			t.Errorf("%v modulo %v: got %v, want %v", a[i], b[i], r, want)
		}
	}
}

func TestInPlace(t *testing.T) {
	x := []float32{-2, -0.5, 0.25, 1}
	want := make([]float32, len(x))
	for _, f := range []func(dst, src []float32){Exp, Sigmoid, Tanh, Gelu, GeluTanh, Sin, Log} {
		f(want, x)
		got := append([]float32(nil), x...)
		f(got, got)
		for i := range got {
			assert.Zero(t, ulps(got[i], float64(want[i])))
		}
	}
}

func TestGeluTanh(t *testing.T) {
	src := arguments(10)
	dst := make([]float32, len(src))
	GeluTanh(dst, src)
	for i, v := range src {
		x := float64(v)
		want := 0.5 * x * (1 + math.Tanh(math.Sqrt2/math.SqrtPi*(x+0.044715*x*x*x)))
		// The reference loses precision where the sum cancels.
		if got := float64(dst[i]); math.Abs(got-want) > 1e-7*math.Abs(want)+1e-14*math.Abs(x)+1e-45 || math.IsNaN(got) != math.IsNaN(want) {
			t.Errorf("at %v: got %v, want %v", v, got, want)
		}
	}
}
