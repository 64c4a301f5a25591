// Package fft computes discrete Fourier transforms of any length n in
// O(n log n) steps: by mixed radices where n has small prime factors only, else as
// a convolution.
package fft

import (
	"math"

	"github.com/etgo-ml/etgo/kernels/internal/kit"
)

// Complex is a complex number.
type Complex[T kit.Float] struct{ Re, Im T }

func add[T kit.Float](a, b Complex[T]) Complex[T] { return Complex[T]{a.Re + b.Re, a.Im + b.Im} }
func sub[T kit.Float](a, b Complex[T]) Complex[T] { return Complex[T]{a.Re - b.Re, a.Im - b.Im} }
func conj[T kit.Float](a Complex[T]) Complex[T]   { return Complex[T]{a.Re, -a.Im} }
func mul[T kit.Float](a, b Complex[T]) Complex[T] {
	return Complex[T]{a.Re*b.Re - a.Im*b.Im, a.Re*b.Im + a.Im*b.Re}
}

// timesI returns i·a.
func timesI[T kit.Float](a Complex[T]) Complex[T] { return Complex[T]{-a.Im, a.Re} }

// unit returns exp(-2πi·k/n) for 0 <= k < n. The angle is brought into the first
// eighth of the circle, where sine and cosine are exact to the last place.
func unit[T kit.Float](k, n int) Complex[T] {
	var c, s float64
	switch k8 := 8 * k; {
	case k8 < n:
		s, c = sincos(4*k, n)
	case k8 < 3*n:
		c, s = sincos(n-4*k, n)
	case k8 < 5*n:
		s, c = sincos(2*n-4*k, n)
		c = -c
	case k8 < 7*n:
		c, s = sincos(4*k-3*n, n)
		s = -s
	default:
		s, c = sincos(4*k-4*n, n)
	}
	return Complex[T]{T(c), T(-s)}
}

// sincos returns sine and cosine of a quarter of the k-th of n parts of the circle.
func sincos(k, n int) (s, c float64) {
	return math.Sincos(math.Pi / 2 * float64(k) / float64(n))
}

// maxRadix is the largest prime factor that is transformed directly, which takes
// its square of steps.
const maxRadix = 13

// stage is one factor of a transform of mixed radices.
type stage[T kit.Float] struct {
	radix int
	// twiddles holds exp(-2πi·p·j/len) for 1 <= j < radix, for one p after the other.
	twiddles []Complex[T]
	// roots holds exp(-2πi·k/radix) where the radix has no code of its own.
	roots []Complex[T]
}

// Plan is what transforms of one length share. It is read-only, so goroutines may
// use it together.
type Plan[T kit.Float] struct {
	n      int
	stages []stage[T]
	chirp  *chirp // for a length with large prime factors
}

// Work is the scratch memory of one transform at a time.
type Work[T kit.Float] struct {
	other []Complex[T]
	wide  []Complex[float64]
	inner *Work[float64]
}

// NewPlan returns a plan for transforms of n >= 1 numbers.
func NewPlan[T kit.Float](n int) *Plan[T] {
	p := &Plan[T]{n: n}
	factors, rest := factor(n)
	if rest > 1 {
		p.chirp = newChirp(n)
		return p
	}
	for _, r := range factors {
		s := stage[T]{radix: r}
		m := n / r
		for k := range m {
			for j := 1; j < r; j++ {
				s.twiddles = append(s.twiddles, unit[T](k*j%n, n))
			}
		}
		if r > 5 {
			for k := range r {
				s.roots = append(s.roots, unit[T](k, r))
			}
		}
		p.stages = append(p.stages, s)
		n = m
	}
	return p
}

// factor divides n into radices, and what is left.
func factor(n int) (factors []int, rest int) {
	for _, r := range [...]int{4, 2, 3, 5, 7, 11, maxRadix} {
		for n%r == 0 {
			factors = append(factors, r)
			n /= r
		}
	}
	return factors, n
}

// NewWork returns scratch memory for p's transforms.
func (p *Plan[T]) NewWork() *Work[T] {
	if p.chirp != nil {
		m := len(p.chirp.spectrum)
		return &Work[T]{wide: make([]Complex[float64], m), inner: p.chirp.plan.NewWork()}
	}
	return &Work[T]{other: make([]Complex[T], p.n)}
}

// Forward replaces the n numbers of x by
//
//	X[k] = sum over j of x[j]·exp(-2πi·j·k/n)
func (p *Plan[T]) Forward(x []Complex[T], w *Work[T]) {
	if p.chirp != nil {
		transformChirp(p.chirp, x, w)
		return
	}
	// Stockham's order: each stage goes from one memory to the other and leaves the
	// numbers sorted, so that no bit reversal is needed.
	a, b := x[:p.n], w.other
	length, stride := p.n, 1
	for i := range p.stages {
		s := &p.stages[i]
		m := length / s.radix
		switch s.radix {
		case 2:
			radix2(b, a, s.twiddles, m, stride)
		case 3:
			radix3(b, a, s.twiddles, m, stride)
		case 4:
			radix4(b, a, s.twiddles, m, stride)
		case 5:
			radix5(b, a, s.twiddles, m, stride)
		default:
			s.any(b, a, m, stride)
		}
		a, b = b, a
		length, stride = m, stride*s.radix
	}
	if len(p.stages)%2 == 1 {
		copy(x, a)
	}
}

// Inverse is Forward with exp(+2πi·j·k/n). It does not divide by n.
func (p *Plan[T]) Inverse(x []Complex[T], w *Work[T]) {
	swap(x)
	p.Forward(x, w)
	swap(x)
}

// swap exchanges real and imaginary parts, which turns a forward transform into an
// inverse one.
func swap[T kit.Float](x []Complex[T]) {
	for i, v := range x {
		x[i] = Complex[T]{v.Im, v.Re}
	}
}

// The radices compute, for 0 <= p < m and 0 <= q < s,
//
//	y[q + s·(r·p+j)] = twiddle(p, j) · sum over k of x[q + s·(p+k·m)]·exp(-2πi·j·k/r)

func radix2[T kit.Float](y, x, twiddles []Complex[T], m, s int) {
	for p := range m {
		w := twiddles[p]
		x0, x1 := x[s*p:][:s], x[s*(p+m):][:s]
		y0, y1 := y[s*2*p:][:s], y[s*(2*p+1):][:s]
		for q, a := range x0 {
			b := x1[q]
			y0[q] = add(a, b)
			y1[q] = mul(sub(a, b), w)
		}
	}
}

func radix3[T kit.Float](y, x, twiddles []Complex[T], m, s int) {
	const sin = 0.86602540378443864676
	for p := range m {
		w1, w2 := twiddles[2*p], twiddles[2*p+1]
		x0, x1, x2 := x[s*p:][:s], x[s*(p+m):][:s], x[s*(p+2*m):][:s]
		y0, y1, y2 := y[s*3*p:][:s], y[s*(3*p+1):][:s], y[s*(3*p+2):][:s]
		for q, a := range x0 {
			t, d := add(x1[q], x2[q]), sub(x1[q], x2[q])
			u := Complex[T]{a.Re - t.Re/2, a.Im - t.Im/2}
			v := Complex[T]{d.Im * sin, -d.Re * sin}
			y0[q] = add(a, t)
			y1[q] = mul(add(u, v), w1)
			y2[q] = mul(sub(u, v), w2)
		}
	}
}

func radix4[T kit.Float](y, x, twiddles []Complex[T], m, s int) {
	if s == 1 {
		// One butterfly for each twiddle: slices as below would cost as much as it.
		x0, x1, x2, x3 := x[:m], x[m:][:m], x[2*m:][:m], x[3*m:][:m]
		for p := range x0 {
			w, out := twiddles[3*p:3*p+3:3*p+3], y[4*p:4*p+4:4*p+4]
			s02, d02 := add(x0[p], x2[p]), sub(x0[p], x2[p])
			s13, d13 := add(x1[p], x3[p]), timesI(sub(x1[p], x3[p]))
			out[0] = add(s02, s13)
			out[1] = mul(sub(d02, d13), w[0])
			out[2] = mul(sub(s02, s13), w[1])
			out[3] = mul(add(d02, d13), w[2])
		}
		return
	}
	for p := range m {
		w1, w2, w3 := twiddles[3*p], twiddles[3*p+1], twiddles[3*p+2]
		x0, x1, x2, x3 := x[s*p:][:s], x[s*(p+m):][:s], x[s*(p+2*m):][:s], x[s*(p+3*m):][:s]
		y0, y1, y2, y3 := y[s*4*p:][:s], y[s*(4*p+1):][:s], y[s*(4*p+2):][:s], y[s*(4*p+3):][:s]
		for q, a := range x0 {
			b, c, d := x1[q], x2[q], x3[q]
			s02, d02 := add(a, c), sub(a, c)
			s13, d13 := add(b, d), timesI(sub(b, d))
			y0[q] = add(s02, s13)
			y1[q] = mul(sub(d02, d13), w1)
			y2[q] = mul(sub(s02, s13), w2)
			y3[q] = mul(add(d02, d13), w3)
		}
	}
}

func radix5[T kit.Float](y, x, twiddles []Complex[T], m, s int) {
	const (
		cos1 = 0.30901699437494742410
		sin1 = 0.95105651629515357212
		cos2 = -0.80901699437494742410
		sin2 = 0.58778525229247312917
	)
	for p := range m {
		w := twiddles[4*p:][:4]
		x0, x1, x2, x3, x4 := x[s*p:][:s], x[s*(p+m):][:s], x[s*(p+2*m):][:s], x[s*(p+3*m):][:s], x[s*(p+4*m):][:s]
		y0, y1, y2, y3, y4 := y[s*5*p:][:s], y[s*(5*p+1):][:s], y[s*(5*p+2):][:s], y[s*(5*p+3):][:s], y[s*(5*p+4):][:s]
		for q, a := range x0 {
			s1, d1 := add(x1[q], x4[q]), sub(x1[q], x4[q])
			s2, d2 := add(x2[q], x3[q]), sub(x2[q], x3[q])
			u1 := Complex[T]{a.Re + cos1*s1.Re + cos2*s2.Re, a.Im + cos1*s1.Im + cos2*s2.Im}
			u2 := Complex[T]{a.Re + cos2*s1.Re + cos1*s2.Re, a.Im + cos2*s1.Im + cos1*s2.Im}
			v1 := Complex[T]{sin1*d1.Im + sin2*d2.Im, -sin1*d1.Re - sin2*d2.Re}
			v2 := Complex[T]{sin2*d1.Im - sin1*d2.Im, -sin2*d1.Re + sin1*d2.Re}
			y0[q] = add(a, add(s1, s2))
			y1[q] = mul(add(u1, v1), w[0])
			y2[q] = mul(add(u2, v2), w[1])
			y3[q] = mul(sub(u2, v2), w[2])
			y4[q] = mul(sub(u1, v1), w[3])
		}
	}
}

// any is for the other radices.
func (st *stage[T]) any(y, x []Complex[T], m, s int) {
	r := st.radix
	var in [maxRadix]Complex[T]
	for p := range m {
		w := st.twiddles[(r-1)*p:][:r-1]
		for q := range s {
			for k := range r {
				in[k] = x[q+s*(p+k*m)]
			}
			for j := range r {
				sum, root := in[0], 0
				for k := 1; k < r; k++ {
					if root += j; root >= r {
						root -= r
					}
					sum = add(sum, mul(in[k], st.roots[root]))
				}
				if j > 0 {
					sum = mul(sum, w[j-1])
				}
				y[q+s*(r*p+j)] = sum
			}
		}
	}
}
