package memory

import (
	"fmt"
	"slices"

	"github.com/etgo-ml/etgo/internal/errs"
)

// Arena hands out the bytes of one fixed buffer from front to back. It never
// asks for more memory: what does not fit is an error, which tells how much
// was asked for and how much is left.
//
// The most recent block comes back at once when it is freed, any other one as
// soon as all later ones have been freed too; Reset takes back everything.
//
// An Arena is not safe for concurrent use.
type Arena struct {
	buf    []byte
	used   int
	blocks []arenaBlock // not yet taken back, in order of their addresses
}

type arenaBlock struct {
	start  int // offset of the block's first byte
	before int // Arena.used before the block and its padding
	freed  bool
}

// NewArena returns an arena over buf, all of it up to len(buf). The arena owns
// buf from here on. Alignment is that of addresses, so a buf that starts
// unaligned loses up to an alignment's bytes to padding.
func NewArena(buf []byte) *Arena {
	return &Arena{buf: buf[:len(buf):len(buf)]}
}

// NewArenaSize returns an arena over n bytes of Go's heap that start at a
// multiple of DefaultAlign. Like make, it panics when n is negative or absurd.
func NewArenaSize(n int) *Arena {
	buf, err := Heap{}.Allocate(n, DefaultAlign)
	if err != nil {
		panic(fmt.Sprintf("memory: NewArenaSize(%d): %v", n, err))
	}
	return NewArena(buf)
}

// Allocate returns the next size bytes of the buffer, as whoever had them last
// left them.
func (a *Arena) Allocate(size, align int) ([]byte, error) {
	align, err := checkRequest(size, align)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return []byte{}, nil
	}
	left := len(a.buf) - a.used
	pad := padding(addr(a.buf)+uintptr(a.used), align)
	// Two comparisons, as pad+size may overflow.
	if pad > left || size > left-pad {
		return nil, errs.MemoryAllocationFailed.Errorf(
			"arena: %d bytes with alignment %d asked for, %d of %d left", size, align, left, len(a.buf))
	}
	start := a.used + pad
	a.blocks = append(a.blocks, arenaBlock{start: start, before: a.used})
	a.used = start + size
	return a.buf[start:a.used:a.used], nil
}

// Free gives a block back; see Arena for when its bytes can be had again. A
// block that is not of this arena, or was freed before, is ignored.
func (a *Arena) Free(block []byte) {
	if cap(block) == 0 || len(a.blocks) == 0 {
		return
	}
	off := addr(block) - addr(a.buf) // wraps to a large number below the buffer
	if off >= uintptr(len(a.buf)) {
		return
	}
	i, found := slices.BinarySearchFunc(a.blocks, int(off), func(b arenaBlock, start int) int {
		return b.start - start
	})
	if !found {
		return
	}
	a.blocks[i].freed = true
	for n := len(a.blocks); n > 0 && a.blocks[n-1].freed; n-- {
		a.used = a.blocks[n-1].before
		a.blocks = a.blocks[:n-1]
	}
}

// Reset takes back every block; none of them may be used afterwards.
func (a *Arena) Reset() {
	a.used = 0
	a.blocks = a.blocks[:0]
}

// Used returns how many bytes of the buffer are taken, padding included.
func (a *Arena) Used() int { return a.used }

// Cap returns the size of the buffer in bytes.
func (a *Arena) Cap() int { return len(a.buf) }
