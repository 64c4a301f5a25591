package memory

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
)

// spy counts what reaches a parent and can be made to fail.
type spy struct {
	mu          sync.Mutex
	allocs      int
	bytes       int64
	held        map[uintptr]int
	maxBytes    int64
	short, skew int
}

func (s *spy) Allocate(size, align int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.maxBytes > 0 && s.bytes+int64(size) > s.maxBytes {
		return nil, errs.MemoryAllocationFailed.Errorf("spy is full")
	}
	s.allocs++
	block, err := Heap{}.Allocate(size+s.skew, align)
	if err != nil {
		return nil, err
	}
	block = block[s.skew : len(block)-s.short]
	for i := range block {
		block[i] = 0xA5
	}
	if s.held == nil {
		s.held = map[uintptr]int{}
	}
	s.held[addr(block)] = len(block)
	s.bytes += int64(len(block))
	return block, nil
}

func (s *spy) Free(block []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.held[addr(block)]
	if !ok || n != len(block) {
		panic("spy: freed a block it never gave out")
	}
	delete(s.held, addr(block))
	s.bytes -= int64(n)
}

func TestCachingReuses(t *testing.T) {
	parent := &spy{}
	c := NewCaching(parent)
	b1, err := c.Allocate(1000, 0)
	require.NoError(t, err)
	b2, err := c.Allocate(1000, 0)
	require.NoError(t, err)
	assert.Equal(t, Stats{
		Allocations: 2, Misses: 2, InUseBlocks: 2, InUseBytes: 2048, PeakInUseBytes: 2048,
	}, c.Stats())

	c.Free(b1)
	again, err := c.Allocate(900, 128)
	require.NoError(t, err)
	assert.Len(t, again, 900)
	assert.Equal(t, 900, cap(again))
	c.Free(again)
	c.Free(b2)
	assert.Equal(t, Stats{
		Allocations: 3, Hits: 1, Misses: 2, Frees: 3,
		PeakInUseBytes: 2048, CachedBlocks: 2, CachedBytes: 2048,
	}, c.Stats())

	assert.Equal(t, int64(2048), c.Trim())
	assert.Zero(t, c.Trim())
	assert.Zero(t, parent.bytes)
	assert.Equal(t, Stats{
		Allocations: 3, Hits: 1, Misses: 2, Frees: 3, Evictions: 2, PeakInUseBytes: 2048,
	}, c.Stats())
}

func TestCachingBadFrees(t *testing.T) {
	c := NewCaching(&spy{})
	block, err := c.Allocate(100, 0)
	require.NoError(t, err)
	other, err := c.Allocate(100, 0)
	require.NoError(t, err)

	c.Free(make([]byte, 100))
	c.Free(block[1:])
	assert.EqualValues(t, 2, c.Stats().BadFrees)
	assert.EqualValues(t, 2, c.Stats().InUseBlocks)

	c.Free(block[:0]) // known by its start
	c.Free(block)
	assert.EqualValues(t, 3, c.Stats().BadFrees)
	assert.EqualValues(t, 1, c.Stats().CachedBlocks)

	b1, err := c.Allocate(100, 0)
	require.NoError(t, err)
	b2, err := c.Allocate(100, 0)
	require.NoError(t, err)
	assert.NotSame(t, &b1[0], &b2[0], "a double free must not give one block out twice")
	assert.NotSame(t, &other[0], &b2[0])
}

func TestCachingBound(t *testing.T) {
	parent := &spy{}
	c := NewCaching(parent, WithMaxCached(4096))
	take := func(size, n int) (blocks [][]byte) {
		for range n {
			b, err := c.Allocate(size, 0)
			require.NoError(t, err)
			blocks = append(blocks, b)
		}
		return blocks
	}
	free := func(blocks [][]byte) {
		for _, b := range blocks {
			c.Free(b)
			assert.LessOrEqual(t, c.Stats().CachedBytes, int64(4096))
		}
	}
	free(take(1024, 6))
	assert.EqualValues(t, 4, c.Stats().CachedBlocks)
	assert.EqualValues(t, 4096, parent.bytes)

	// A larger one than all that may be kept goes back and pushes nothing out.
	free(take(5000, 1))
	assert.EqualValues(t, 4, c.Stats().CachedBlocks)

	// New sizes replace old ones.
	free(take(512, 8))
	before := c.Stats()
	assert.EqualValues(t, 8, before.CachedBlocks)
	free(take(512, 8))
	assert.Equal(t, before.Misses, c.Stats().Misses)
	assert.EqualValues(t, 4096, parent.bytes)

	none := NewCaching(parent, WithMaxCached(0))
	b, err := none.Allocate(10, 0)
	require.NoError(t, err)
	none.Free(b)
	assert.Zero(t, none.Stats().CachedBlocks)
	assert.EqualValues(t, 4096, parent.bytes)
}

func TestCachingTrimsForItsParent(t *testing.T) {
	parent := &spy{maxBytes: 10000}
	c := NewCaching(parent)
	b, err := c.Allocate(8192, 0)
	require.NoError(t, err)
	c.Free(b)
	b, err = c.Allocate(4096, 0)
	require.NoError(t, err, "the kept 8192 bytes are in the way")
	assert.EqualValues(t, 4096, parent.bytes)
	_, err = c.Allocate(8192, 0)
	require.ErrorIs(t, err, errs.MemoryAllocationFailed)
	c.Free(b)
	_, err = c.Allocate(8192, 0)
	require.NoError(t, err)
}

func TestCachingChecksItsParent(t *testing.T) {
	_, err := NewCaching(&spy{short: 1}).Allocate(100, 0)
	require.ErrorIs(t, err, errs.Internal)
	_, err = NewCaching(&spy{skew: 8}).Allocate(100, 0)
	require.ErrorIs(t, err, errs.Internal)
}

func TestCachingNoAllocs(t *testing.T) {
	c := NewCaching(nil)
	sizes := rand.New(rand.NewPCG(3, 4)).Perm(5000)[:100]
	var blocks [100][]byte
	step := func() {
		for i, size := range sizes {
			var err error
			if blocks[i], err = c.Allocate(size, 64<<(i%3)); err != nil {
				panic(err)
			}
		}
		for i := range blocks {
			c.Free(blocks[(i*37)%len(blocks)])
		}
	}
	for range 10 {
		step()
	}
	assert.Zero(t, testing.AllocsPerRun(200, step))
	assert.Zero(t, c.Stats().BadFrees)
}

func TestCachingConcurrent(t *testing.T) {
	parent := &spy{}
	c := NewCaching(parent, WithMaxCached(64<<10))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 5))
			var blocks [][]byte
			for range 2000 {
				if len(blocks) < 8 && rnd.IntN(2) == 0 {
					b, err := c.Allocate(1+rnd.IntN(20000), 0)
					if !assert.NoError(t, err) {
						return
					}
					b[0], b[len(b)-1] = byte(g), byte(g)
					blocks = append(blocks, b)
				} else if n := len(blocks); n > 0 {
					b := blocks[n-1]
					if b[0] != byte(g) || b[len(b)-1] != byte(g) {
						t.Error("a block was given out twice")
						return
					}
					c.Free(b)
					blocks = blocks[:n-1]
				}
				if rnd.IntN(500) == 0 {
					c.Trim()
				}
			}
			for _, b := range blocks {
				c.Free(b)
			}
		})
	}
	wg.Wait()
	s := c.Stats()
	assert.Zero(t, s.InUseBytes)
	assert.Zero(t, s.InUseBlocks)
	assert.Zero(t, s.BadFrees)
	assert.Equal(t, s.Allocations, s.Hits+s.Misses)
	assert.Equal(t, s.Allocations, s.Frees)
	assert.LessOrEqual(t, s.CachedBytes, int64(64<<10))
	assert.Equal(t, s.CachedBytes, parent.bytes)
	c.Trim()
	assert.Zero(t, parent.bytes)
}

func TestClassOf(t *testing.T) {
	for _, c := range []struct{ size, align, room int }{
		{1, 1, 64}, {64, 64, 64}, {65, 64, 128}, {129, 64, 192}, {193, 64, 256}, {256, 64, 256},
		{257, 64, 320}, {512, 64, 512}, {513, 64, 640}, {1024, 64, 1024}, {1025, 64, 1280},
		{1, 128, 128}, {64, 128, 128}, {65, 128, 192}, {1, 4096, 4096}, {65, 4096, 5120},
		{1 << 20, 64, 1 << 20}, {1<<20 + 1, 64, 5 << 18}, {1<<30 - 1, 64, 1 << 30},
	} {
		_, room, ok := classOf(c.size, c.align)
		require.True(t, ok)
		assert.Equal(t, c.room, room, "size %d, align %d", c.size, c.align)
	}

	rooms := map[int]int{}
	check := func(size int) {
		class, room, ok := classOf(size, 64)
		require.True(t, ok, size)
		require.GreaterOrEqual(t, room, size)
		require.LessOrEqual(t, uint(room), uint(size)+uint(max(63, size/4)), "size %d", size)
		require.Less(t, class, numClasses)
		if have, ok := rooms[class]; ok {
			require.Equal(t, have, room, "class %d", class)
		}
		rooms[class] = room
		// A block that is freed goes to the class it was taken for.
		back, same, ok := classOf(room, DefaultAlign)
		require.True(t, ok)
		require.Equal(t, class, back)
		require.Equal(t, room, same)
	}
	for size := 1; size < 10000; size++ {
		check(size)
	}
	for shift := 14; shift < bits.UintSize-1; shift++ {
		for _, d := range []int{-64, -1, 0} {
			check(1<<shift + d)
		}
		if shift < bits.UintSize-2 {
			check(1<<shift + 1)
		}
	}

	for _, c := range [][2]int{{math.MaxInt, 1}, {math.MaxInt - 63, 64}, {math.MaxInt, 1 << 30}, {math.MaxInt, 1 << (bits.UintSize - 2)}} {
		_, _, ok := classOf(c[0], c[1])
		assert.False(t, ok, "size %d, align %d", c[0], c[1])
	}
}

func BenchmarkCaching(b *testing.B) {
	c := NewCaching(nil)
	b.ReportAllocs()
	for b.Loop() {
		block, err := c.Allocate(10000, 0)
		if err != nil {
			b.Fatal(err)
		}
		c.Free(block)
	}
}
