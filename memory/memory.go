// Package memory gives etgo's runtime its memory: allocators that a program
// may choose or write itself, the planned arenas of a method, and the budget
// that all of it is charged to.
//
// Three allocators are here. [Heap] is Go's own heap and the default. [Arena]
// hands out a fixed buffer from front to back, for programs that want to know
// their memory beforehand. [Caching] keeps what was freed and gives it out
// again, so that a model run over and over allocates nothing.
//
// [Limited] puts any of them under a [Budget].
package memory

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
)

// DefaultAlign is the alignment, in bytes, of a block asked for with align 0.
// It is a cache line and the widest vector register, so that no vector load
// from the start of a block straddles two lines.
const DefaultAlign = 64

// Allocator hands out blocks of bytes.
//
// An implementation says whether it is safe for concurrent use; of those in
// this package Heap and Caching are, Arena is not.
type Allocator interface {
	// Allocate returns a block with len == size whose first byte lies at a
	// multiple of align, a power of two; align 0 means DefaultAlign. The bytes
	// hold anything: whoever needs zeros uses [AllocateZeroed]. A block of size
	// 0 is empty and not nil, and has no address to speak of.
	//
	// A negative size or an align that is no power of two is an error of class
	// InvalidArgument, a request that cannot be met one of class
	// MemoryAllocationFailed or, beyond a budget, LimitExceeded.
	Allocate(size, align int) ([]byte, error)

	// Free gives a block back. It takes a block as Allocate returned it, with
	// the same start and length, and once only; the caller must not touch the
	// bytes afterwards. Free of an empty or nil block does nothing.
	Free(block []byte)
}

// ZeroAllocator is an Allocator that can hand out zeros for less than clearing
// a block costs, as calloc does: fresh pages of the operating system are zero
// and take no memory until they are written.
type ZeroAllocator interface {
	Allocator

	// AllocateZeroed is Allocate with every byte zero.
	AllocateZeroed(size, align int) ([]byte, error)
}

// AllocateZeroed returns a block of zeros from a: by a's own AllocateZeroed
// where it is a ZeroAllocator, else by clearing what Allocate returned.
func AllocateZeroed(a Allocator, size, align int) ([]byte, error) {
	if z, ok := a.(ZeroAllocator); ok {
		return z.AllocateZeroed(size, align)
	}
	block, err := a.Allocate(size, align)
	if err != nil {
		return nil, err
	}
	clear(block)
	return block, nil
}

// orHeap returns a, or the heap for nil.
func orHeap(a Allocator) Allocator {
	if a == nil {
		return Heap{}
	}
	return a
}

// checkRequest checks what Allocate was asked for and returns the alignment
// with the default filled in.
func checkRequest(size, align int) (int, error) {
	if size < 0 {
		return 0, errs.InvalidArgument.Errorf("block of %d bytes asked for", size)
	}
	if align == 0 {
		return DefaultAlign, nil
	}
	if align < 0 || align&(align-1) != 0 {
		return 0, errs.InvalidArgument.Errorf("alignment %d is not a power of two", align)
	}
	return align, nil
}

// padding returns how many bytes lie between address a and the next multiple
// of align, a power of two.
func padding(a uintptr, align int) int {
	return int(-a & uintptr(align-1))
}

// addSizes returns a+b, both at least 0, and whether the sum fits.
func addSizes(a, b int64) (int64, bool) {
	if a > math.MaxInt64-b {
		return 0, false
	}
	return a + b, true
}
