package fft

import "github.com/etgo-ml/etgo/kernels/internal/kit"

// RealPlan is a Plan for real numbers, whose spectrum X has X[n-k] = conj(X[k]).
// An even number of them is transformed as half as many complex ones.
type RealPlan[T kit.Float] struct {
	n        int
	plan     *Plan[T]
	twiddles []Complex[T] // exp(-2πi·k/n) up to n/4, for an even n
}

// NewRealPlan returns a plan for n >= 1 numbers.
func NewRealPlan[T kit.Float](n int) *RealPlan[T] {
	if n%2 != 0 {
		return &RealPlan[T]{n: n, plan: NewPlan[T](n)}
	}
	p := &RealPlan[T]{n: n, plan: NewPlan[T](n / 2)}
	for k := range n/4 + 1 {
		p.twiddles = append(p.twiddles, unit[T](k, n))
	}
	return p
}

// NewWork returns scratch memory for p's transforms.
func (p *RealPlan[T]) NewWork() *Work[T] { return p.plan.NewWork() }

// Len returns the room that the transforms need: at least the n/2+1 numbers of
// the spectrum.
func (p *RealPlan[T]) Len() int {
	if p.n%2 != 0 {
		return p.n
	}
	return p.n/2 + 1
}

// Forward sets x[0] to x[n/2] to the first half of the spectrum of src. x has Len
// elements.
func (p *RealPlan[T]) Forward(x []Complex[T], src []T, w *Work[T]) {
	if p.n%2 != 0 {
		for i, v := range src {
			x[i] = Complex[T]{Re: v}
		}
		p.plan.Forward(x, w)
		return
	}
	h := p.n / 2
	for i := range h {
		x[i] = Complex[T]{src[2*i], src[2*i+1]}
	}
	p.plan.Forward(x[:h], w)
	// The transforms of the even and the odd numbers are in x as even + i·odd.
	x[h] = x[0]
	for k, f := range p.twiddles {
		a, b := x[k], conj(x[h-k])
		even, odd := add(a, b), mul(timesI(sub(b, a)), f)
		even, odd = Complex[T]{even.Re / 2, even.Im / 2}, Complex[T]{odd.Re / 2, odd.Im / 2}
		x[k] = add(even, odd)
		x[h-k] = conj(sub(even, odd))
	}
}

// Inverse sets dst to the real numbers whose spectrum begins with x[0] to x[n/2],
// times n. Imaginary parts that such a spectrum does not have are ignored. It
// destroys x, which has Len elements.
func (p *RealPlan[T]) Inverse(dst []T, x []Complex[T], w *Work[T]) {
	h := p.n / 2
	x[0].Im = 0
	if p.n%2 != 0 {
		for k := 1; k <= h; k++ {
			x[p.n-k] = conj(x[k])
		}
		p.plan.Inverse(x, w)
		for i := range dst {
			dst[i] = x[i].Re
		}
		return
	}
	x[h].Im = 0
	for k, f := range p.twiddles {
		a, b := x[k], conj(x[h-k])
		even, odd := add(a, b), timesI(mul(sub(a, b), conj(f)))
		x[k] = add(even, odd)
		x[h-k] = conj(sub(even, odd))
	}
	p.plan.Inverse(x[:h], w)
	for i := range h {
		dst[2*i], dst[2*i+1] = x[i].Re, x[i].Im
	}
}
