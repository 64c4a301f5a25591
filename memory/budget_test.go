package memory

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
)

func TestBudget(t *testing.T) {
	b := NewBudget(Limits{MaxBytes: 1000})
	assert.EqualValues(t, 1000, b.Limit())
	require.NoError(t, b.Charge(600, "constants"))
	err := b.Charge(401, "planned memory")
	require.ErrorIs(t, err, errs.LimitExceeded)
	require.ErrorIs(t, err, errs.MemoryAllocationFailed)
	assert.Equal(t, errs.CodeMemoryAllocationFailed, errs.CodeOf(err))
	assert.EqualError(t, err, "planned memory: 401 bytes asked for with 600 in use, limit is 1000")
	require.ErrorIs(t, b.Charge(math.MaxInt64, "x"), errs.LimitExceeded)
	require.ErrorIs(t, b.Charge(-1, "x"), errs.InvalidArgument)
	require.NoError(t, b.Charge(400, "planned memory"))
	require.NoError(t, b.Charge(0, "nothing"))
	assert.EqualValues(t, 1000, b.Used())
	b.Release(900)
	b.Release(-5)
	assert.EqualValues(t, 100, b.Used())
	assert.EqualValues(t, 1000, b.Peak())
	b.Release(math.MaxInt64)
	assert.Zero(t, b.Used())
}

func TestBudgetUnlimited(t *testing.T) {
	b := NewBudget(Limits{})
	assert.Equal(t, int64(math.MaxInt64), b.Limit())
	require.NoError(t, b.Charge(math.MaxInt64, "all"))
	require.ErrorIs(t, b.Charge(1, "more"), errs.LimitExceeded, "the account itself is bounded")

	require.ErrorIs(t, NewBudget(Limits{MaxBytes: -1}).Charge(1, "x"), errs.LimitExceeded)

	var none *Budget
	require.NoError(t, none.Charge(math.MaxInt64, "x"))
	require.ErrorIs(t, none.Charge(-1, "x"), errs.InvalidArgument)
	none.Release(5)
	assert.Zero(t, none.Used())
	assert.Zero(t, none.Peak())
	assert.Equal(t, int64(math.MaxInt64), none.Limit())
}

func TestBudgetConcurrent(t *testing.T) {
	b := NewBudget(Limits{MaxBytes: 50})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				if b.Charge(10, "x") == nil {
					if used := b.Used(); used > 50 {
						t.Errorf("%d bytes in use", used)
					}
					b.Release(10)
				}
			}
		})
	}
	wg.Wait()
	assert.Zero(t, b.Used())
	assert.LessOrEqual(t, b.Peak(), int64(50))
	assert.GreaterOrEqual(t, b.Peak(), int64(10))
}

func TestLimited(t *testing.T) {
	assert.Equal(t, Heap{}, Limited(nil, nil))

	b := NewBudget(Limits{MaxBytes: 100})
	arena := NewArenaSize(80)
	a := Limited(arena, b)
	block, err := a.Allocate(60, 1)
	require.NoError(t, err)
	_, err = a.Allocate(41, 1)
	require.ErrorIs(t, err, errs.LimitExceeded)
	_, err = a.Allocate(30, 1)
	require.ErrorIs(t, err, errs.MemoryAllocationFailed)
	require.NotErrorIs(t, err, errs.LimitExceeded, "it is the arena that has no room")
	assert.EqualValues(t, 60, b.Used(), "a failure takes nothing")
	a.Free(block)
	assert.Zero(t, b.Used())
	assert.Zero(t, arena.Used())

	step := func() {
		block, _ := a.Allocate(60, 1)
		a.Free(block)
	}
	assert.Zero(t, testing.AllocsPerRun(100, step))
}

func TestCachingUnderLimit(t *testing.T) {
	b := NewBudget(Limits{MaxBytes: 1 << 20})
	c := NewCaching(Limited(nil, b))
	for _, size := range []int{600 << 10, 500 << 10, 700 << 10, 1 << 20} {
		block, err := c.Allocate(size, 0)
		require.NoError(t, err)
		c.Free(block)
	}
	assert.EqualValues(t, 1<<20, b.Used(), "what is kept is charged")
	c.Trim()
	assert.Zero(t, b.Used())
}
