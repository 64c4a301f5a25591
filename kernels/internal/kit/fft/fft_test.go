package fft

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

var lengths = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 22, 25, 26, 30, 31, 32, 34, 46, 60, 64, 97, 100, 121, 128, 143, 169, 210, 257, 1024, 1009}

func random(n int) []complex128 {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	x := make([]complex128, n)
	for i := range x {
		x[i] = complex(rng.NormFloat64(), rng.NormFloat64())
	}
	return x
}

// transform is the definition.
func transform(x []complex128, sign float64) []complex128 {
	n := len(x)
	y := make([]complex128, n)
	for k := range y {
		for j, v := range x {
			y[k] += v * cmplx.Rect(1, sign*2*math.Pi*float64(j*k%n)/float64(n))
		}
	}
	return y
}

// distance returns the largest difference by the largest number.
func distance(want []complex128, have func(i int) complex128) float64 {
	var d, m float64
	for i, v := range want {
		d = max(d, cmplx.Abs(v-have(i)))
		m = max(m, cmplx.Abs(v))
	}
	return d / m
}

func TestPlan(t *testing.T) {
	for _, n := range lengths {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			x := random(n)
			x32, x64 := make([]Complex[float32], n), make([]Complex[float64], n)
			for i, v := range x {
				x32[i] = Complex[float32]{float32(real(v)), float32(imag(v))}
				x64[i] = Complex[float64]{real(v), imag(v)}
			}
			p32, p64 := NewPlan[float32](n), NewPlan[float64](n)
			w32, w64 := p32.NewWork(), p64.NewWork()
			at32 := func(i int) complex128 { return complex(float64(x32[i].Re), float64(x32[i].Im)) }
			at64 := func(i int) complex128 { return complex(x64[i].Re, x64[i].Im) }

			y := transform(x, -1)
			p32.Forward(x32, w32)
			require.Less(t, distance(y, at32), 5e-7)
			p64.Forward(x64, w64)
			require.Less(t, distance(y, at64), 1e-13)

			z := transform(y, 1)
			p32.Inverse(x32, w32)
			require.Less(t, distance(z, at32), 1e-6)
			p64.Inverse(x64, w64)
			require.Less(t, distance(z, at64), 1e-13)
		})
	}
}

func TestRealPlan(t *testing.T) {
	for _, n := range lengths {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			x, src := random(n), make([]float64, n)
			for i := range x {
				src[i] = real(x[i])
				x[i] = complex(src[i], 0)
			}
			p := NewRealPlan[float64](n)
			w, have := p.NewWork(), make([]Complex[float64], p.Len())
			p.Forward(have, src, w)
			y := transform(x, -1)
			require.Less(t, distance(y[:n/2+1], func(i int) complex128 { return complex(have[i].Re, have[i].Im) }), 1e-13)

			// What no real input gives is ignored.
			have[0].Im = 1
			if n%2 == 0 {
				have[n/2].Im = 1
			}
			back := make([]float64, n)
			p.Inverse(back, have, w)
			for i, v := range back {
				require.InDelta(t, src[i]*float64(n), v, 1e-10)
			}
		})
	}
}

func BenchmarkForward(b *testing.B) {
	for _, n := range []int{400, 512, 1009, 4096} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := NewRealPlan[float32](n)
			w, x, src := p.NewWork(), make([]Complex[float32], p.Len()), make([]float32, n)
			for b.Loop() {
				p.Forward(x, src, w)
			}
		})
	}
}
