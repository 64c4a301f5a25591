package kit

import (
	"github.com/etgo-ml/etgo/internal/cpu"
	"github.com/etgo-ml/etgo/internal/ukernel"
)

// Rows computes with the rows of a matrix, ld apart.
type Rows struct{ simd *ukernel.F32 } // nil for loops in Go

// NewRows returns a Rows for this processor.
func NewRows() Rows { return Rows{ukernel.ForF32(cpu.Active())} }

// Dots computes y[i] = sum over p of x[p] * b[i*ld+p].
func (r Rows) Dots(y, x, b []float32, ld int) {
	if n := len(y); r.simd != nil && n >= 4 {
		// The kernel takes four rows at a time: the last ones again.
		r.simd.Dots(y[:n&^3], x, b, ld)
		if n&3 != 0 {
			r.simd.Dots(y[n-4:], x, b[(n-4)*ld:], ld)
		}
		return
	}
	for i := range y {
		y[i] = Dot(x, b[i*ld:][:len(x)])
	}
}

// Add adds multiples of rows to y: y[j] gets the sum over p of x[p] * b[p*ld+j].
func (r Rows) Add(y, x, b []float32, ld int) {
	if r.simd != nil {
		r.simd.AddRows(y, x, b, ld)
		return
	}
	for p, v := range x {
		for j, w := range b[p*ld:][:len(y)] {
			y[j] += v * w
		}
	}
}

// Dot returns the sum of x[i] * y[i], in an order of its own.
func Dot(x, y []float32) float32 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float32
	for len(x) >= 4 && len(y) >= 4 {
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		s0 += v * y[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// BinarySIMD computes dst[i] = a[i] op b[i] for the leading elements for which the
// processor has a kernel, and returns how many they are; so do the others below.
func BinarySIMD[C any](op ukernel.Op, dst, a, b []C) int {
	if d, ok := any(dst).([]float32); ok {
		return ukernel.ActiveElements().Binary(op, d, any(a).([]float32), any(b).([]float32))
	}
	return 0
}

// ConstSIMD computes dst[i] = a[i] op s.
func ConstSIMD[C any](op ukernel.Op, dst, a []C, s C) int {
	if d, ok := any(dst).([]float32); ok {
		return ukernel.ActiveElements().Const(op, d, any(a).([]float32), any(s).(float32))
	}
	return 0
}

// ConstLeftSIMD computes dst[i] = s op a[i].
func ConstLeftSIMD[C any](op ukernel.Op, dst []C, s C, a []C) int {
	if d, ok := any(dst).([]float32); ok {
		return ukernel.ActiveElements().ConstLeft(op, d, any(s).(float32), any(a).([]float32))
	}
	return 0
}

// ClampSIMD computes dst[i] = min(max(a[i], lo), hi) for bounds that are numbers.
func ClampSIMD[C Number](dst, a []C, lo, hi C) int {
	if d, ok := any(dst).([]float32); ok && lo == lo && hi == hi {
		return ukernel.ActiveElements().Clamp(d, any(a).([]float32), any(lo).(float32), any(hi).(float32))
	}
	return 0
}
