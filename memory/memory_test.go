package memory

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
)

// allocators makes one of each kind.
var allocators = []struct {
	name string
	make func() Allocator
}{
	{"heap", func() Allocator { return Heap{} }},
	{"arena", func() Allocator { return NewArenaSize(16 << 20) }},
	{"caching", func() Allocator { return NewCaching(nil) }},
	{"caching arena", func() Allocator { return NewCaching(NewArenaSize(16 << 20)) }},
	{"limited", func() Allocator { return Limited(nil, NewBudget(Limits{MaxBytes: 16 << 20})) }},
	{"dirty", func() Allocator { return dirty{} }},
}

// dirty is an allocator of blocks full of garbage, which is all that the
// contract promises.
type dirty struct{ Heap }

func (d dirty) Allocate(size, align int) ([]byte, error) {
	b, err := d.Heap.Allocate(size, align)
	for i := range b {
		b[i] = 0xA5
	}
	return b, err
}

// AllocateZeroed with another signature hides the one of Heap.
func (dirty) AllocateZeroed() {}

func TestAllocatorBlocks(t *testing.T) {
	for _, a := range allocators {
		t.Run(a.name, func(t *testing.T) {
			alloc := a.make()
			for _, size := range []int{1, 3, 63, 64, 65, 1000, 4096, 32<<10 - 1, 32 << 10, 1 << 20} {
				for _, align := range []int{0, 1, 2, 8, 64, 128, 4096, 16384} {
					block, err := alloc.Allocate(size, align)
					require.NoError(t, err, "size %d, align %d", size, align)
					require.Len(t, block, size)
					if align == 0 {
						align = DefaultAlign
					}
					require.Zero(t, addr(block)%uintptr(align), "size %d, align %d", size, align)
					block[0], block[size-1] = 1, 1
					alloc.Free(block)
				}
			}
		})
	}
}

func TestAllocatorBadRequests(t *testing.T) {
	for _, a := range allocators {
		t.Run(a.name, func(t *testing.T) {
			alloc := a.make()
			for _, c := range []struct {
				size, align int
				want        error
			}{
				{-1, 0, errs.InvalidArgument},
				{math.MinInt, 64, errs.InvalidArgument},
				{1, -64, errs.InvalidArgument},
				{1, math.MinInt, errs.InvalidArgument},
				{1, 3, errs.InvalidArgument},
				{1, 96, errs.InvalidArgument},
				{0, 3, errs.InvalidArgument},
				{math.MaxInt, 1, errs.MemoryAllocationFailed},
				{math.MaxInt, 64, errs.MemoryAllocationFailed},
				{math.MaxInt - 63, 64, errs.MemoryAllocationFailed},
				{math.MaxInt, math.MaxInt/2 + 1, errs.MemoryAllocationFailed},
			} {
				block, err := alloc.Allocate(c.size, c.align)
				assert.ErrorIs(t, err, c.want, "size %d, align %d", c.size, c.align)
				assert.Nil(t, block)
				_, err = AllocateZeroed(alloc, c.size, c.align)
				assert.ErrorIs(t, err, c.want, "zeroed, size %d, align %d", c.size, c.align)
			}
		})
	}
}

func TestAllocatorEmpty(t *testing.T) {
	for _, a := range allocators {
		t.Run(a.name, func(t *testing.T) {
			alloc := a.make()
			block, err := alloc.Allocate(0, 0)
			require.NoError(t, err)
			assert.NotNil(t, block)
			assert.Empty(t, block)
			alloc.Free(block)
			alloc.Free(block)
			alloc.Free(nil)
		})
	}
}

func TestAllocateZeroed(t *testing.T) {
	for _, a := range allocators {
		t.Run(a.name, func(t *testing.T) {
			alloc := a.make()
			for range 3 {
				block, err := AllocateZeroed(alloc, 5000, 0)
				require.NoError(t, err)
				for i, v := range block {
					require.Zero(t, v, "byte %d", i)
				}
				for i := range block {
					block[i] = 0xFF
				}
				alloc.Free(block)
			}
		})
	}
}

// TestAllocatorRandom takes and frees blocks in any order, writes its own
// pattern to each and looks whether anyone else wrote there.
func TestAllocatorRandom(t *testing.T) {
	for _, a := range allocators {
		t.Run(a.name, func(t *testing.T) {
			alloc := a.make()
			rnd := rand.New(rand.NewPCG(1, 2))
			type held struct {
				block []byte
				mark  byte
			}
			var blocks []held
			check := func(h held) {
				for i, v := range h.block {
					if v != h.mark {
						t.Fatalf("byte %d of a block of %d is %#x, want %#x", i, len(h.block), v, h.mark)
					}
				}
			}
			for step := range 5000 {
				if len(blocks) > 0 && (rnd.IntN(2) == 0 || len(blocks) > 20) {
					i := rnd.IntN(len(blocks))
					check(blocks[i])
					alloc.Free(blocks[i].block)
					blocks[i] = blocks[len(blocks)-1]
					blocks = blocks[:len(blocks)-1]
					continue
				}
				block, err := alloc.Allocate(rnd.IntN(3000), 1<<rnd.IntN(9))
				require.NoError(t, err)
				h := held{block, byte(step)}
				for i := range block {
					block[i] = h.mark
				}
				blocks = append(blocks, h)
			}
			for _, h := range blocks {
				check(h)
				alloc.Free(h.block)
			}
			if arena, ok := alloc.(*Arena); ok {
				assert.Zero(t, arena.Used())
			}
		})
	}
}
