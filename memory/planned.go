package memory

import (
	"fmt"
	"math"
	"strings"

	"github.com/etgo-ml/etgo/internal/errs"
)

// Planned is the memory of a method that was laid out when the program was
// exported: an arena for each memory id, in which tensors have fixed offsets.
// Ids count from 1, as in ExecuTorch's files.
//
// Each arena starts at a multiple of DefaultAlign and holds zeros at first, as
// mutable buffers without an initial value rely on. On the default heap the
// zeros are pages that the operating system has not committed yet, so the part
// of a plan that no execution touches takes no memory.
//
// Region may be called concurrently; Close may not run beside anything else.
type Planned struct {
	arenas  [][]byte // by memory id; the first is nil
	alloc   Allocator
	budget  *Budget
	charged int64         // for the arenas of its own
	shared  *SharedArenas // nil when nothing is shared
	closed  bool
}

// NewPlanned allocates the arenas of a method. sizes has the bytes of each
// memory id; sizes[0] is ignored, as id 0 is reserved, and sizes may be empty.
//
// The sum is charged to budget before anything is allocated. The arenas come
// from alloc, or from Heap when it is nil, and go back to it on Close.
func NewPlanned(sizes []int64, alloc Allocator, budget *Budget) (*Planned, error) {
	return newPlanned(sizes, alloc, budget, nil)
}

func newPlanned(sizes []int64, alloc Allocator, budget *Budget, shared *SharedArenas) (p *Planned, err error) {
	if err := checkSizes(sizes); err != nil {
		return nil, err
	}
	own, err := sumSizes(sizes, func(id int) bool { return !shared.has(id) })
	if err != nil {
		return nil, err
	}
	if err := budget.Charge(own, "planned memory"); err != nil {
		return nil, err
	}
	p = &Planned{
		arenas:  make([][]byte, max(1, len(sizes))),
		alloc:   orHeap(alloc),
		budget:  budget,
		charged: own,
	}
	if shared != nil {
		if err := shared.open(); err != nil {
			p.Close()
			return nil, err
		}
		p.shared = shared
	}
	for id := 1; id < len(sizes); id++ {
		if shared.has(id) {
			p.arenas[id], err = shared.arena(id, sizes[id])
		} else {
			p.arenas[id], err = newArena(id, sizes[id], p.alloc)
		}
		if err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, nil
}

func newArena(id int, size int64, alloc Allocator) ([]byte, error) {
	arena, err := AllocateZeroed(alloc, int(size), DefaultAlign)
	if err != nil {
		return nil, fmt.Errorf("planned memory, arena %d: %w", id, err)
	}
	if int64(len(arena)) != size {
		return nil, errs.Internal.Errorf("planned memory, arena %d: %T gave a block of %d bytes, wanted %d", id, alloc, len(arena), size)
	}
	return arena, nil
}

// Region returns the n bytes at offset of the arena with the given id. Its
// capacity is n too, so that no append reaches the neighbouring tensor. The
// bytes belong to the Planned and are gone after Close.
//
// An id without an arena is an error of class InvalidArgument, bytes outside
// the arena one of class MemoryAllocationFailed: these are the classes that
// ExecuTorch's HierarchicalAllocator gives.
func (p *Planned) Region(id uint32, offset uint64, n int64) ([]byte, error) {
	if p.closed {
		return nil, errs.Closed.Errorf("planned memory is closed")
	}
	if id == 0 || uint64(id) >= uint64(len(p.arenas)) {
		return nil, errs.InvalidArgument.Errorf("memory id %d, the plan has ids 1 to %d", id, len(p.arenas)-1)
	}
	arena := p.arenas[id]
	size := uint64(len(arena))
	if n < 0 || offset > size || uint64(n) > size-offset {
		return nil, errs.MemoryAllocationFailed.Errorf("%d bytes at offset %d of memory id %d, which has %d bytes", n, offset, id, size)
	}
	lo, hi := int(offset), int(offset)+int(n)
	return arena[lo:hi:hi], nil
}

// Arenas returns how many memory ids there are; they are 1 to Arenas().
func (p *Planned) Arenas() int { return len(p.arenas) - 1 }

// Size returns the bytes of the arenas that this Planned does not share.
func (p *Planned) Size() int64 { return p.charged }

// Close gives the arenas back to the allocator and the budget, and lets go of
// shared ones. It may be called more than once.
func (p *Planned) Close() {
	if p.closed {
		return
	}
	p.closed = true
	for id, arena := range p.arenas {
		if len(arena) > 0 && !p.shared.has(id) {
			p.alloc.Free(arena)
		}
	}
	p.arenas = p.arenas[:1]
	p.budget.Release(p.charged)
	p.charged = 0
	if p.shared != nil {
		p.shared.release()
	}
}

// PlannedSize returns the bytes that NewPlanned would take for sizes, and the
// error it would give for sizes that are negative or too large to address.
func PlannedSize(sizes []int64) (int64, error) {
	if err := checkSizes(sizes); err != nil {
		return 0, err
	}
	return sumSizes(sizes, func(int) bool { return true })
}

func checkSizes(sizes []int64) error {
	for id, size := range sizes {
		switch {
		case id == 0:
		case size < 0:
			return errs.InvalidProgram.Errorf("memory id %d is planned with %d bytes", id, size)
		case size > math.MaxInt:
			return errs.MemoryAllocationFailed.Errorf("memory id %d is planned with %d bytes, more than this platform addresses", id, size)
		}
	}
	return nil
}

// sumSizes adds up checked sizes of the ids that are wanted.
func sumSizes(sizes []int64, want func(id int) bool) (sum int64, err error) {
	for id := 1; id < len(sizes); id++ {
		if !want(id) {
			continue
		}
		var ok bool
		if sum, ok = addSizes(sum, sizes[id]); !ok {
			return 0, errs.MemoryAllocationFailed.Errorf("the planned sizes of %d memory ids overflow", len(sizes)-1)
		}
	}
	return sum, nil
}

// Estimate is the memory that a method will take, told before any of it is
// allocated. All are bytes.
type Estimate struct {
	Planned   int64 // arenas of its own, for the largest inputs the program allows
	Shared    int64 // arenas shared with other methods, counted in each of them
	Constants int64 // constants copied, folded or packed at load; mapped ones are not counted
	Scratch   int64 // temporary memory of the step that wants most, as far as it is known at load
}

// Total returns the sum, at most math.MaxInt64.
func (e Estimate) Total() int64 {
	var sum int64
	for _, n := range []int64{e.Planned, e.Shared, e.Constants, e.Scratch} {
		var ok bool
		if sum, ok = addSizes(sum, max(0, n)); !ok {
			return math.MaxInt64
		}
	}
	return sum
}

// String tells the total and its parts, as in "2.24 GiB (planned 2.20 GiB,
// constants 41.0 MiB)".
func (e Estimate) String() string {
	var parts []string
	for _, part := range []struct {
		name  string
		bytes int64
	}{
		{"planned", e.Planned}, {"shared", e.Shared}, {"constants", e.Constants}, {"scratch", e.Scratch},
	} {
		if part.bytes > 0 {
			parts = append(parts, part.name+" "+formatBytes(part.bytes))
		}
	}
	if len(parts) == 0 {
		return formatBytes(0)
	}
	return formatBytes(e.Total()) + " (" + strings.Join(parts, ", ") + ")"
}

// formatBytes writes n >= 0 with three significant digits and a binary unit.
func formatBytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v := float64(n) / 1024
	units := "KMGTPE"
	for v >= 1023.5 { // would print as 1024
		v /= 1024
		units = units[1:]
	}
	digits := 2
	switch {
	case v >= 99.95:
		digits = 0
	case v >= 9.995:
		digits = 1
	}
	return fmt.Sprintf("%.*f %ciB", digits, v, units[0])
}
