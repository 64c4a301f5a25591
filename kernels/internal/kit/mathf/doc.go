// Package mathf computes elementary functions over slices of float32, and the
// exact remainder and what follows from it over slices of float64 too.
//
// All are computed in float64 and rounded once: with a polynomial that is good
// to a few 1e-9 the result is within 0.6 units in the last place of the exact
// one, and neither overflow nor subnormal numbers need care. Infinities, NaN,
// signed zeros and arguments outside a function's domain give what C's math
// library gives. The loops have as few branches on data as they can.
//
// dst and src are equally long and may be the same.
//
// The loops do not look at a float32 any more once it is a float64: the compiler
// converts in place then. A conversion into another register depends on what that
// held before, on x86, which chains each element to the one before.
package mathf
