package ukernel

import (
	"sync"

	"github.com/etgo-ml/etgo/internal/cpu"
)

// Op is an operator on two numbers.
type Op int

// The operators.
const (
	Add Op = iota
	Sub
	Mul
	Div
	numOps
)

// Elements are the kernels of a tier that compute each float32 by itself. A nil
// *Elements has none. The methods compute the leading elements that fill whole
// vectors and return how many they are; the rest is the caller's.
type Elements struct {
	lanes int
	vv    [numOps]func(n int, dst, a, b *float32)
	vs    [numOps]func(n int, dst, a *float32, s float32)
	sv    [numOps]func(n int, dst, a *float32, s float32) // none for Add and Mul
	clamp func(n int, dst, a *float32, lo, hi float32)
}

// ActiveElements returns the kernels of the active tier.
var ActiveElements = sync.OnceValue(func() *Elements { return ForElements(cpu.Active()) })

// whole returns how many of n elements fill whole vectors.
func (e *Elements) whole(n int) int {
	if e == nil {
		return 0
	}
	return n / e.lanes * e.lanes
}

// Binary computes dst[i] = a[i] op b[i].
func (e *Elements) Binary(op Op, dst, a, b []float32) int {
	n := e.whole(len(dst))
	if n == 0 {
		return 0
	}
	_, _ = a[n-1], b[n-1]
	e.vv[op](n, &dst[0], &a[0], &b[0])
	return n
}

// Const computes dst[i] = a[i] op s.
func (e *Elements) Const(op Op, dst, a []float32, s float32) int {
	n := e.whole(len(dst))
	if n == 0 {
		return 0
	}
	_ = a[n-1]
	e.vs[op](n, &dst[0], &a[0], s)
	return n
}

// ConstLeft computes dst[i] = s op a[i].
func (e *Elements) ConstLeft(op Op, dst []float32, s float32, a []float32) int {
	if op == Add || op == Mul {
		return e.Const(op, dst, a, s)
	}
	n := e.whole(len(dst))
	if n == 0 {
		return 0
	}
	_ = a[n-1]
	e.sv[op](n, &dst[0], &a[0], s)
	return n
}

// Clamp computes dst[i] = min(max(a[i], lo), hi), and NaN where a[i] is. lo and hi
// must not be NaN.
func (e *Elements) Clamp(dst, a []float32, lo, hi float32) int {
	n := e.whole(len(dst))
	if n == 0 {
		return 0
	}
	_ = a[n-1]
	e.clamp(n, &dst[0], &a[0], lo, hi)
	return n
}
