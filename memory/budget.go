package memory

import (
	"math"
	"sync/atomic"

	"github.com/etgo-ml/etgo/internal/errs"
)

// Limits bounds the memory that a module may take. The zero value bounds
// nothing.
type Limits struct {
	// MaxBytes bounds the bytes in use at any one time: planned arenas,
	// constants folded or packed at load, and scratch. Bytes mapped from a file
	// do not count, as the operating system can drop them. 0 means no bound; a
	// negative bound, as comes of subtracting too much, allows nothing.
	MaxBytes int64
}

// Budget keeps account of bytes in use under Limits. It is safe for concurrent
// use, and a nil *Budget allows everything and counts nothing.
type Budget struct {
	limit int64 // math.MaxInt64 for none
	used  atomic.Int64
	peak  atomic.Int64
}

// NewBudget returns an account with nothing in use.
func NewBudget(l Limits) *Budget {
	if l.MaxBytes == 0 {
		return &Budget{limit: math.MaxInt64}
	}
	return &Budget{limit: max(0, l.MaxBytes)}
}

// Charge adds n bytes to those in use. Beyond the limit it adds nothing and
// returns an error of class LimitExceeded that names what, the bytes asked
// for, those in use and the limit.
func (b *Budget) Charge(n int64, what string) error {
	if n < 0 {
		return errs.InvalidArgument.Errorf("%s: %d bytes asked for", what, n)
	}
	if b == nil {
		return nil
	}
	for {
		used := b.used.Load()
		if n > b.limit-used {
			return errs.LimitExceeded.Errorf("%s: %d bytes asked for with %d in use, limit is %d", what, n, used, b.limit)
		}
		if b.used.CompareAndSwap(used, used+n) {
			b.notePeak(used + n)
			return nil
		}
	}
}

func (b *Budget) notePeak(used int64) {
	for {
		peak := b.peak.Load()
		if used <= peak || b.peak.CompareAndSwap(peak, used) {
			return
		}
	}
}

// Release takes n charged bytes off those in use. Releasing more than was
// charged is a mistake of the caller; the account then stops at 0.
func (b *Budget) Release(n int64) {
	if b == nil || n <= 0 {
		return
	}
	for {
		used := b.used.Load()
		if b.used.CompareAndSwap(used, max(0, used-n)) {
			return
		}
	}
}

// Used returns the bytes in use.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

// Peak returns the most bytes that were in use at one time.
func (b *Budget) Peak() int64 {
	if b == nil {
		return 0
	}
	return b.peak.Load()
}

// Limit returns the most bytes that may be in use, math.MaxInt64 where nothing
// bounds them.
func (b *Budget) Limit() int64 {
	if b == nil {
		return math.MaxInt64
	}
	return b.limit
}

// Limited returns a, or Heap for nil, with every block charged to b while it
// is in use: the bytes asked for, without what alignment costs. With a nil b
// it returns a itself. It is as safe for concurrent use as a is.
//
// Free releases len(block) bytes, so it wants the block exactly as Allocate
// returned it.
func Limited(a Allocator, b *Budget) Allocator {
	a = orHeap(a)
	if b == nil {
		return a
	}
	return &limited{a, b}
}

type limited struct {
	parent Allocator
	budget *Budget
}

func (l *limited) Allocate(size, align int) ([]byte, error) {
	return l.allocate(size, align, false)
}

func (l *limited) AllocateZeroed(size, align int) ([]byte, error) {
	return l.allocate(size, align, true)
}

func (l *limited) allocate(size, align int, zero bool) (block []byte, err error) {
	if align, err = checkRequest(size, align); err != nil {
		return nil, err
	}
	if err := l.budget.Charge(int64(size), "block"); err != nil {
		return nil, err
	}
	if zero {
		block, err = AllocateZeroed(l.parent, size, align)
	} else {
		block, err = l.parent.Allocate(size, align)
	}
	if err != nil {
		l.budget.Release(int64(size))
		return nil, err
	}
	return block, nil
}

func (l *limited) Free(block []byte) {
	l.parent.Free(block)
	l.budget.Release(int64(len(block)))
}
