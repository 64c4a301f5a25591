package memory

import (
	"os"
	"syscall"
)

// lazyZeros returns size bytes of Go's heap that are zero and not committed,
// or nil where that is not possible. size is lazyBlock at least.
//
// make does not do: it clears a block, and so commits all of it, as soon as a
// single page of the block was in use before. As Go looks for room from low
// addresses on, the first page of a large block usually was. So the block is
// taken as it is, and Linux is told to drop its pages: those of anonymous
// memory read as zero after that.
func lazyZeros(size int) []byte {
	block := dirtyBytes(size)
	page := os.Getpagesize()
	lo := min(padding(addr(block), page), size)
	hi := lo + (size-lo)&^(page-1)
	if err := syscall.Madvise(block[lo:hi], syscall.MADV_DONTNEED); err != nil {
		return nil // as when the process has locked its memory
	}
	clear(block[:lo])
	clear(block[hi:])
	return block
}
