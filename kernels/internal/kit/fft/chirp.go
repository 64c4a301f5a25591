package fft

import "github.com/etgo-ml/etgo/kernels/internal/kit"

// chirp makes a transform of any length a convolution with exp(πi·k²/n), by
// Bluestein's identity j·k = (j² + k² - (j-k)²)/2; the convolution goes through
// transforms of a power of two. It is computed in float64, as its rounding errors
// are larger than a direct transform's.
type chirp struct {
	factors  []Complex[float64] // exp(-πi·k²/n)
	spectrum []Complex[float64] // of the conjugate factors, by the length
	plan     *Plan[float64]
}

func newChirp(n int) *chirp {
	m := 1
	for m < 2*n-1 {
		m *= 2
	}
	c := &chirp{
		factors:  make([]Complex[float64], n),
		spectrum: make([]Complex[float64], m),
		plan:     NewPlan[float64](m),
	}
	square := 0 // k² mod 2n
	for k := range n {
		c.factors[k] = unit[float64](square, 2*n)
		square = (square + 2*k + 1) % (2 * n)
	}
	scale := 1 / float64(m)
	for k, f := range c.factors {
		f = Complex[float64]{f.Re * scale, -f.Im * scale}
		c.spectrum[k] = f
		if k > 0 {
			c.spectrum[m-k] = f
		}
	}
	c.plan.Forward(c.spectrum, c.plan.NewWork())
	return c
}

func transformChirp[T kit.Float](c *chirp, x []Complex[T], w *Work[T]) {
	a := w.wide
	for k, f := range c.factors {
		a[k] = mul(Complex[float64]{float64(x[k].Re), float64(x[k].Im)}, f)
	}
	clear(a[len(c.factors):])
	c.plan.Forward(a, w.inner)
	for k, s := range c.spectrum {
		a[k] = mul(a[k], s)
	}
	c.plan.Inverse(a, w.inner)
	for k, f := range c.factors {
		v := mul(a[k], f)
		x[k] = Complex[T]{T(v.Re), T(v.Im)}
	}
}
