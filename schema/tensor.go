package schema

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// MaxDims is the greatest number of dimensions of a tensor, ExecuTorch's
// kTensorDimensionLimit.
const MaxDims = 16

// NBytes returns the size in bytes of a tensor. Unknown types, negative sizes,
// more than MaxDims dimensions, and a number of elements or bytes that 64 bits
// cannot hold are errors. A size of 2^63 bytes or more is given as
// math.MaxInt64, which is as good: no memory has so much.
//
// A dimension of size 0 makes the tensor empty, but the others must be in bounds
// as if it were 1: strides are computed that way.
func NBytes(t ScalarType, sizes []int32) (int64, error) {
	if !t.Valid() {
		return 0, fmt.Errorf("scalar type %d is unknown", int8(t))
	}
	if len(sizes) > MaxDims {
		return 0, fmt.Errorf("tensor has %d dimensions, at most %d are possible", len(sizes), MaxDims)
	}
	elements, empty := uint64(1), false
	for i, size := range sizes {
		if size < 0 {
			return 0, fmt.Errorf("dimension %d has the negative size %d", i, size)
		}
		if size == 0 {
			empty = true
			continue
		}
		hi, lo := bits.Mul64(elements, uint64(size))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, fmt.Errorf("%v%v: %w", t, sizes, ErrTooLarge)
		}
		elements = lo
	}
	if empty {
		return 0, nil
	}
	hi, n := bits.Mul64(elements, uint64(t.Size()))
	if hi != 0 {
		return 0, fmt.Errorf("%v%v: %w", t, sizes, ErrTooLarge)
	}
	return int64(min(n, math.MaxInt64)), nil
}

// ErrTooLarge is the error of a tensor whose size overflows.
var ErrTooLarge = errors.New("its size overflows 64 bits")

// CheckDimOrder returns an error unless order is a permutation of 0 to n-1. n is
// at most MaxDims.
func CheckDimOrder(order []uint8, n int) error {
	if len(order) != n {
		return fmt.Errorf("dim order has %d entries for %d dimensions", len(order), n)
	}
	seen := 0
	for _, d := range order {
		if int(d) >= n || seen&(1<<d) != 0 {
			return fmt.Errorf("dim order %v is not a permutation of 0 to %d", order, n-1)
		}
		seen |= 1 << d
	}
	return nil
}
