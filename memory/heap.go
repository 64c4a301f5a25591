package memory

import (
	"math/bits"

	"github.com/etgo-ml/etgo/internal/errs"
)

// Heap allocates on Go's heap; the garbage collector takes back what nobody
// refers to, and Free does nothing. The zero value is ready and safe for
// concurrent use.
//
// A large block of AllocateZeroed takes no memory until it is written, page by
// page, so that an arena planned for the largest input costs what the actual
// input touches. This holds always on Linux (see heap_linux.go), and elsewhere
// when Go takes the block from the operating system and not from what the
// collector freed.
//
// When the operating system has no memory left, Go ends the process and no
// error can be returned; set [Limits] where that may happen.
type Heap struct{}

// Go places objects from largeObject bytes on at the start of a page of
// heapPage bytes, so that they need no room for alignment. This is only a
// saving: what comes back is checked.
const (
	largeObject = 32 << 10
	heapPage    = 8 << 10
)

// maxHeapBlock is the largest block Heap tries to get. Beyond it make panics
// or, worse, the process ends: 1 TiB, or nearly all that 32 bits address.
const maxHeapBlock = min(1<<40, 1<<(bits.UintSize-1)-64<<10)

// lazyBlock is the size from which AllocateZeroed cares about pages. Below, a
// clear costs less than the page faults that it would save.
const lazyBlock = 4 << 20

// Allocate returns a new block.
func (Heap) Allocate(size, align int) ([]byte, error) {
	align, err := checkRequest(size, align)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return []byte{}, nil
	}
	if size > maxHeapBlock || align > maxHeapBlock-size {
		return nil, errs.MemoryAllocationFailed.Errorf(
			"heap: %d bytes with alignment %d asked for, at most %d possible", size, align, maxHeapBlock)
	}
	if align == 1 || size >= largeObject && align <= heapPage {
		block := make([]byte, size)
		if padding(addr(block), align) == 0 {
			return block, nil
		}
	}
	block := make([]byte, size+align-1)
	pad := padding(addr(block), align)
	return block[pad : pad+size : pad+size], nil
}

// AllocateZeroed returns a new block of zeros.
func (h Heap) AllocateZeroed(size, align int) ([]byte, error) {
	if size >= lazyBlock && size <= maxHeapBlock && align >= 0 && align <= heapPage {
		align, err := checkRequest(size, align)
		if err != nil {
			return nil, err
		}
		if block := lazyZeros(size); block != nil && padding(addr(block), align) == 0 {
			return block, nil
		}
	}
	return h.Allocate(size, align) // what make returns is zero
}

// Free does nothing.
func (Heap) Free([]byte) {}
