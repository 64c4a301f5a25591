package memory

import (
	"math/bits"
	"sync"

	"github.com/etgo-ml/etgo/internal/errs"
)

// DefaultMaxCached is how many freed bytes a Caching keeps when WithMaxCached
// does not say: 256 MiB.
const DefaultMaxCached = 256 << 20

// Caching keeps freed blocks and gives them out again, so that work which asks
// for the same sizes over and over soon takes nothing from its parent and
// allocates nothing on Go's heap. It is safe for concurrent use; several
// methods may share one.
//
// Blocks are kept by size class: a size is rounded up to one of four steps
// between powers of two, so that a block is at most a quarter larger than
// asked for (a block below 320 bytes is rounded up to a multiple of 64). All
// are aligned to DefaultAlign at least.
//
// A block given out and never freed stays alive as long as the Caching does.
// Free knows the blocks given out by their start: it ignores a block that is
// not of this Caching and one freed twice, and counts it in Stats.BadFrees.
// The one thing it cannot tell is a second Free that comes after the same
// memory was given out again.
//
// A Caching over a [Limited] parent is charged for what it keeps as well as
// for what is in use, and gives up what it keeps when the budget is exhausted.
type Caching struct {
	parent Allocator
	max    int64

	mu      sync.Mutex
	live    map[uintptr][]byte // the parent's block, by the start of the block given out
	classes [numClasses]sizeClass
	clock   uint64 // counts Allocates and Frees, for sizeClass.used
	stats   Stats
}

// sizeClass holds the freed blocks of one size. Its slice keeps its capacity,
// so that steady use does not allocate.
type sizeClass struct {
	free [][]byte
	used uint64 // Caching.clock at the last use
}

// Stats counts what a Caching did and holds. Bytes are those of the size
// classes, thus at least those asked for. Blocks of size 0 are not counted.
type Stats struct {
	Allocations int64 // Allocates that succeeded
	Hits        int64 // of these, met from the cache
	Misses      int64 // of these, met by the parent
	Frees       int64 // blocks freed
	BadFrees    int64 // blocks that Free ignored: not given out, or freed twice
	Evictions   int64 // blocks passed on to the parent, by the bound or by Trim

	InUseBlocks    int64 // given out now
	InUseBytes     int64
	PeakInUseBytes int64
	CachedBlocks   int64 // kept now
	CachedBytes    int64
}

// CachingOption is an option of NewCaching.
type CachingOption func(*Caching)

// WithMaxCached bounds the bytes kept in freed blocks. Beyond the bound, blocks
// of the sizes that were not used for longest go back to the parent. A bound
// of 0 or less keeps nothing. The default is DefaultMaxCached.
func WithMaxCached(bytes int64) CachingOption {
	return func(c *Caching) { c.max = bytes }
}

// NewCaching returns a cache in front of parent, or of Heap when parent is
// nil. The parent is called from whichever goroutine calls the Caching, several
// at a time, and must stand that.
func NewCaching(parent Allocator, opts ...CachingOption) *Caching {
	c := &Caching{parent: orHeap(parent), max: DefaultMaxCached, live: make(map[uintptr][]byte)}
	for _, opt := range opts {
		opt(c)
	}
	return c
}

// Allocate returns a kept block, or a new one of the parent. When the parent
// fails, Allocate gives all kept blocks back to it and tries once more.
func (c *Caching) Allocate(size, align int) ([]byte, error) {
	return c.allocate(size, align, false)
}

// AllocateZeroed clears a kept block, and leaves a new one to the parent.
func (c *Caching) AllocateZeroed(size, align int) ([]byte, error) {
	return c.allocate(size, align, true)
}

func (c *Caching) allocate(size, align int, zero bool) ([]byte, error) {
	align, err := checkRequest(size, align)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return []byte{}, nil
	}
	class, room, ok := classOf(size, align)
	if !ok {
		return nil, errs.MemoryAllocationFailed.Errorf(
			"cache: %d bytes with alignment %d asked for, more than a block can have", size, align)
	}

	c.mu.Lock()
	if base := c.pop(class); base != nil {
		c.stats.Hits++
		block := c.giveOut(base, size, align)
		c.mu.Unlock()
		if zero {
			clear(block)
		}
		return block, nil
	}
	c.mu.Unlock()

	base, err := c.fromParent(room, zero)
	if err != nil && c.Trim() > 0 {
		base, err = c.fromParent(room, zero)
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Misses++
	return c.giveOut(base, size, align), nil
}

// fromParent asks the parent for a block. A parent may be anyone's, so what it
// returns is checked: a short block kept here would do its harm much later.
func (c *Caching) fromParent(size int, zero bool) (block []byte, err error) {
	if zero {
		block, err = AllocateZeroed(c.parent, size, DefaultAlign)
	} else {
		block, err = c.parent.Allocate(size, DefaultAlign)
	}
	if err != nil {
		return nil, err
	}
	if len(block) != size || padding(addr(block), DefaultAlign) != 0 {
		return nil, errs.Internal.Errorf("cache: %T gave a block of %d bytes, %d past a multiple of %d; wanted %d bytes",
			c.parent, len(block), addr(block)%DefaultAlign, DefaultAlign, size)
	}
	return block, nil
}

// giveOut notes that base is in use and returns the part of it to hand out. It
// is called with mu held.
func (c *Caching) giveOut(base []byte, size, align int) []byte {
	pad := padding(addr(base), align)
	block := base[pad : pad+size : pad+size]
	c.live[addr(block)] = base
	c.clock++
	c.stats.Allocations++
	c.stats.InUseBlocks++
	c.stats.InUseBytes += int64(len(base))
	c.stats.PeakInUseBytes = max(c.stats.PeakInUseBytes, c.stats.InUseBytes)
	return block
}

// Free keeps the block for the next Allocate of its size, or passes it on to
// the parent when it is larger than all that may be kept.
func (c *Caching) Free(block []byte) {
	if cap(block) == 0 {
		return
	}
	c.mu.Lock()
	base, ok := c.live[addr(block)]
	if !ok {
		c.stats.BadFrees++
		c.mu.Unlock()
		return
	}
	delete(c.live, addr(block))
	size := int64(len(base))
	c.clock++
	c.stats.Frees++
	c.stats.InUseBlocks--
	c.stats.InUseBytes -= size
	if size > c.max {
		c.stats.Evictions++
		c.mu.Unlock()
		c.parent.Free(base)
		return
	}
	class, _, _ := classOf(len(base), DefaultAlign)
	k := &c.classes[class]
	k.free = append(k.free, base)
	k.used = c.clock
	c.stats.CachedBlocks++
	c.stats.CachedBytes += size
	// The parent is someone else's code, so it is called without the lock; the
	// bound may be exceeded for as long as that takes.
	for c.stats.CachedBytes > c.max {
		victim := c.evict()
		c.mu.Unlock()
		c.parent.Free(victim)
		c.mu.Lock()
	}
	c.mu.Unlock()
}

// Trim passes all kept blocks on to the parent and returns their bytes. Blocks
// in use are not touched.
func (c *Caching) Trim() int64 {
	var freed int64
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.stats.CachedBlocks > 0 {
		victim := c.evict()
		c.mu.Unlock()
		c.parent.Free(victim)
		freed += int64(len(victim))
		c.mu.Lock()
	}
	return freed
}

// Stats returns the counts up to now.
func (c *Caching) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// pop takes the block of a class that was freed last, the likeliest to be in
// the processor's cache, or returns nil. It is called with mu held.
func (c *Caching) pop(class int) []byte {
	k := &c.classes[class]
	k.used = c.clock
	n := len(k.free)
	if n == 0 {
		return nil
	}
	base := k.free[n-1]
	k.free[n-1] = nil
	k.free = k.free[:n-1]
	c.stats.CachedBlocks--
	c.stats.CachedBytes -= int64(len(base))
	return base
}

// evict takes a block of the class unused for longest: after a change of
// shapes the old sizes make room for the new ones. It is called with mu held
// and a block cached.
func (c *Caching) evict() []byte {
	oldest := -1
	for i := range c.classes {
		if len(c.classes[i].free) > 0 && (oldest < 0 || c.classes[i].used < c.classes[oldest].used) {
			oldest = i
		}
	}
	used := c.classes[oldest].used
	base := c.pop(oldest)
	c.classes[oldest].used = used // to be evicted is no use
	c.stats.Evictions++
	return base
}

// minClassBits and the like lay out the classes: number 0 has 64 bytes, then
// come four for each power of two: 80, 96, 112, 128; 160, 192, 224, 256; ...
// The first few that are no multiple of 64 stay empty.
const (
	minClassBits = 6
	numClasses   = 1 + 4*(bits.UintSize-1-minClassBits)
)

// classOf returns the class for a block of size bytes, at least 1, that can be
// aligned to align within it, and the bytes a block of that class has.
func classOf(size, align int) (class, room int, ok bool) {
	const minRoom = 1 << minClassBits
	// A block of the parent is aligned to DefaultAlign, so a wider alignment
	// costs the difference at most. Neither sum overflows a uint.
	need := uint(size)
	if align > DefaultAlign {
		need += uint(align - DefaultAlign)
	}
	if need > 1<<(bits.UintSize-1)-minRoom {
		return 0, 0, false
	}
	need = (need + minRoom - 1) &^ (minRoom - 1)
	if need == minRoom {
		return 0, minRoom, true
	}
	b := bits.Len(need - 1) // 1<<(b-1) < need <= 1<<b
	step := uint(1) << (b - 3)
	quarter := (need + step - 1) >> (b - 3) // 5, 6, 7 or 8
	rounded := quarter << (b - 3)
	if rounded > 1<<(bits.UintSize-1)-1 {
		return 0, 0, false
	}
	return 1 + 4*(b-1-minClassBits) + int(quarter) - 5, int(rounded), true
}
