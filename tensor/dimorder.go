package tensor

import (
	"fmt"
	"math"
)

// MaxRank is the most dimensions a tensor may have (ExecuTorch's
// kTensorDimensionLimit).
const MaxRank = 16

// DimOrder lists a tensor's dimensions from outermost to innermost in memory.
// {0, 1, 2, 3} is contiguous (NCHW), {0, 2, 3, 1} is channels last (NHWC).
type DimOrder []uint8

var contiguousOrder = DimOrder{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// Contiguous returns the order 0, 1, ... rank-1. The result is shared: do not
// change it.
func Contiguous(rank int) DimOrder { return contiguousOrder[:rank:rank] }

// ChannelsLast returns the channels-last order of rank 4 or, for three spatial
// dimensions, 5; for another rank the contiguous order.
func ChannelsLast(rank int) DimOrder {
	switch rank {
	case 4:
		return DimOrder{0, 2, 3, 1}
	case 5:
		return DimOrder{0, 2, 3, 4, 1}
	}
	return Contiguous(rank)
}

// Check returns an error unless o is a permutation of 0 ... rank-1.
func (o DimOrder) Check(rank int) error {
	if len(o) != rank {
		return fmt.Errorf("dim order %v has %d entries for a tensor of rank %d", o, len(o), rank)
	}
	var seen [MaxRank]bool
	for _, d := range o {
		if int(d) >= rank || seen[d] {
			return fmt.Errorf("dim order %v is not a permutation of 0 to %d", o, rank-1)
		}
		seen[d] = true
	}
	return nil
}

// IsContiguous reports whether o is 0, 1, 2, ...
func (o DimOrder) IsContiguous() bool {
	for i, d := range o {
		if int(d) != i {
			return false
		}
	}
	return true
}

// String formats o as in "[0 2 3 1]".
func (o DimOrder) String() string { return fmt.Sprint([]uint8(o)) }

// SameLayout reports whether a tensor of the shape has its elements at the same
// places in both orders. Dimensions of size 1 take no part: one channel is
// stored alike first and last.
func SameLayout(shape []int, a, b DimOrder) bool {
	i, j := 0, 0
	for {
		for i < len(a) && shape[a[i]] == 1 {
			i++
		}
		for j < len(b) && shape[b[j]] == 1 {
			j++
		}
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		if a[i] != b[j] {
			return false
		}
		i++
		j++
	}
}

// setStrides computes the strides, in elements, of a dense tensor. A size of
// zero counts as one, as in PyTorch.
func setStrides(strides, shape []int, order DimOrder) {
	s := 1
	for i := len(order) - 1; i >= 0; i-- {
		d := order[i]
		strides[d] = s
		s *= max(shape[d], 1)
	}
}

// Numel returns the number of elements of a shape: 1 for a scalar. It is an
// error if a size is negative or the product (taking zero sizes as one) does not
// fit.
func Numel(shape []int) (int, error) {
	n, dense := 1, 1
	for i, s := range shape {
		if s < 0 {
			return 0, fmt.Errorf("size %d of dimension %d is negative", s, i)
		}
		if s > 1 && dense > math.MaxInt/s {
			return 0, fmt.Errorf("shape %v has too many elements", listed(shape))
		}
		dense *= max(s, 1)
		n *= s
	}
	return n, nil
}

// NBytes returns the bytes that a dense tensor takes.
func NBytes(d DType, shape []int) (int, error) {
	if !d.Valid() {
		return 0, fmt.Errorf("invalid dtype %d", int8(d))
	}
	n, err := Numel(shape)
	if err != nil {
		return 0, err
	}
	if n > math.MaxInt/d.Size() {
		return 0, fmt.Errorf("a %v tensor of shape %v has too many bytes", d, listed(shape))
	}
	return n * d.Size(), nil
}

// listed returns a copy of shape for an error's text. Formatting shape itself
// would move every caller's shape to the heap, error or not.
func listed(shape []int) []int { return append([]int(nil), shape...) }
