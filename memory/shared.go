package memory

import (
	"sync"

	"github.com/etgo-ml/etgo/internal/errs"
)

// SharedArenas are arenas that several methods of one program have in common,
// as programs exported with shared mutable state need: what prefill leaves in
// the key/value cache, decode finds there.
//
// The sizes are given beforehand, each the largest that any of the methods
// plans: a method holds slices into its arenas, so none can grow later. An
// arena is allocated when the first method asks for it. It is cleared then and
// never again, and freed when the SharedArenas and every Planned made from it
// have been closed.
//
// NewPlanned and Close are safe for concurrent use. The bytes are not: methods
// that share arenas run one at a time.
type SharedArenas struct {
	sizes  []int64 // by memory id; 0 is not shared
	alloc  Allocator
	budget *Budget

	mu     sync.Mutex
	arenas [][]byte // by memory id; nil until first used
	users  int      // Planned not closed yet
	closed bool
}

// SharedSizes returns for each of ids the largest size that any of the plans
// has for it, in the form NewShared takes. Each plan is that of one method, as
// for NewPlanned; a method may have fewer ids than others.
func SharedSizes(plans [][]int64, ids ...uint32) []int64 {
	var sizes []int64
	for _, plan := range plans {
		for _, id := range ids {
			if id == 0 || uint64(id) >= uint64(len(plan)) {
				continue
			}
			for uint64(len(sizes)) <= uint64(id) {
				sizes = append(sizes, 0)
			}
			sizes[id] = max(sizes[id], plan[id])
		}
	}
	return sizes
}

// NewShared prepares arenas of the given sizes by memory id. An id with size 0
// is not shared; sizes[0] is ignored. Nothing is allocated or charged yet.
// Arenas come from alloc, or from Heap when it is nil.
func NewShared(sizes []int64, alloc Allocator, budget *Budget) (*SharedArenas, error) {
	if _, err := PlannedSize(sizes); err != nil {
		return nil, err
	}
	s := &SharedArenas{
		sizes:  append([]int64(nil), sizes...),
		arenas: make([][]byte, len(sizes)),
		alloc:  orHeap(alloc),
		budget: budget,
	}
	if len(s.sizes) > 0 {
		s.sizes[0] = 0
	}
	return s, nil
}

// NewPlanned is the function NewPlanned, but for the shared ids the result uses
// the arenas of s; alloc and budget serve the other ids. Planning more for a
// shared id than s has is an error of class InvalidArgument. On a nil s
// nothing is shared.
func (s *SharedArenas) NewPlanned(sizes []int64, alloc Allocator, budget *Budget) (*Planned, error) {
	return newPlanned(sizes, alloc, budget, s)
}

// Size returns the bytes of all shared arenas, allocated or not.
func (s *SharedArenas) Size() int64 {
	var sum int64
	if s != nil {
		for _, size := range s.sizes {
			sum += size // was checked by NewShared
		}
	}
	return sum
}

// Close ends the sharing: no further Planned can be made. The arenas are freed
// with the last Planned that uses them. Close may be called more than once.
func (s *SharedArenas) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.freeIfUnused()
}

// has tells whether a memory id is shared.
func (s *SharedArenas) has(id int) bool {
	return s != nil && id < len(s.sizes) && s.sizes[id] > 0
}

func (s *SharedArenas) open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errs.Closed.Errorf("shared planned memory is closed")
	}
	s.users++
	return nil
}

// release takes back an open.
func (s *SharedArenas) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	s.freeIfUnused()
}

// arena returns the first size bytes of a shared arena.
func (s *SharedArenas) arena(id int, size int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size > s.sizes[id] {
		return nil, errs.InvalidArgument.Errorf("memory id %d is planned with %d bytes and shared with %d", id, size, s.sizes[id])
	}
	if s.arenas[id] == nil {
		if err := s.budget.Charge(s.sizes[id], "shared planned memory"); err != nil {
			return nil, err
		}
		arena, err := newArena(id, s.sizes[id], s.alloc)
		if err != nil {
			s.budget.Release(s.sizes[id])
			return nil, err
		}
		s.arenas[id] = arena
	}
	return s.arenas[id][:size:size], nil
}

// freeIfUnused is called with mu held.
func (s *SharedArenas) freeIfUnused() {
	if !s.closed || s.users > 0 {
		return
	}
	for id, arena := range s.arenas {
		if arena != nil {
			s.alloc.Free(arena)
			s.budget.Release(s.sizes[id])
			s.arenas[id] = nil
		}
	}
}
