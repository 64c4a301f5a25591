package memory

import (
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
)

func TestHeapTooLarge(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("the bound is above what an int holds")
	}
	size := int64(1<<40) + 1
	_, err := Heap{}.Allocate(int(size), 1)
	require.ErrorIs(t, err, errs.MemoryAllocationFailed)
}

func TestHeapIsConcurrent(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for size := range 200 {
				block, err := Heap{}.Allocate(size, 0)
				assert.NoError(t, err)
				clear(block)
				Heap{}.Free(block)
			}
		})
	}
	wg.Wait()
}

// TestHeapZeros looks for remains in memory that was used before.
func TestHeapZeros(t *testing.T) {
	for _, size := range []int{lazyBlock - 1, lazyBlock, lazyBlock + 1, 3*lazyBlock + 12345} {
		for range 4 {
			block, err := Heap{}.AllocateZeroed(size, 0)
			require.NoError(t, err)
			require.Len(t, block, size)
			require.Zero(t, addr(block)%DefaultAlign)
			for i, v := range block {
				if v != 0 {
					t.Fatalf("byte %d of %d is %#x", i, size, v)
				}
			}
			for i := range block {
				block[i] = 0xA5
			}
			runtime.GC()
		}
	}
	for _, align := range []int{-1, 3} {
		_, err := Heap{}.AllocateZeroed(lazyBlock, align)
		require.ErrorIs(t, err, errs.InvalidArgument)
	}
	block, err := Heap{}.AllocateZeroed(lazyBlock, 1<<20)
	require.NoError(t, err)
	require.Zero(t, addr(block)%(1<<20))
}
