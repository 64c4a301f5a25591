package memory

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
)

func TestArena(t *testing.T) {
	buf := make([]byte, 1024+64)
	buf = buf[padding(addr(buf), 64):][:1024]
	a := NewArena(buf)
	require.Equal(t, 1024, a.Cap())

	b1, err := a.Allocate(100, 64)
	require.NoError(t, err)
	assert.Same(t, &buf[0], &b1[0])
	assert.Equal(t, 100, cap(b1), "an append must not reach the next block")
	b2, err := a.Allocate(10, 1)
	require.NoError(t, err)
	assert.Same(t, &buf[100], &b2[0])
	b3, err := a.Allocate(10, 64)
	require.NoError(t, err)
	assert.Same(t, &buf[128], &b3[0])
	assert.Equal(t, 138, a.Used())

	_, err = a.Allocate(1024-138, 64)
	require.ErrorIs(t, err, errs.MemoryAllocationFailed)
	assert.EqualError(t, err, "arena: 886 bytes with alignment 64 asked for, 886 of 1024 left")
	_, err = a.Allocate(887, 1)
	require.ErrorIs(t, err, errs.MemoryAllocationFailed)
	assert.Equal(t, 138, a.Used(), "a failure takes nothing")

	a.Free(b2)
	assert.Equal(t, 138, a.Used(), "b3 lies above")
	a.Free(b2)
	a.Free(buf[1:2])
	a.Free(make([]byte, 5))
	assert.Equal(t, 138, a.Used())
	a.Free(b3)
	assert.Equal(t, 100, a.Used(), "b3 and, below it, b2")
	a.Free(b3)
	assert.Equal(t, 100, a.Used())

	all, err := a.Allocate(924, 1)
	require.NoError(t, err)
	assert.Equal(t, 1024, a.Used())
	assert.Len(t, all, 924)
	a.Reset()
	assert.Zero(t, a.Used())
	a.Free(all)
	all, err = a.Allocate(1024, 64)
	require.NoError(t, err)
	assert.Len(t, all, 1024)
}

func TestArenaUnalignedBuffer(t *testing.T) {
	buf := make([]byte, 256)
	buf = buf[padding(addr(buf), 64)+1:][:128]
	a := NewArena(buf)
	block, err := a.Allocate(65, 64)
	require.NoError(t, err)
	assert.Zero(t, addr(block)%64)
	assert.Equal(t, 128, a.Used())
	a.Free(block)
	_, err = a.Allocate(66, 64)
	require.ErrorIs(t, err, errs.MemoryAllocationFailed)
	_, err = a.Allocate(1, 1<<62&math.MaxInt|1<<30)
	require.Error(t, err)
}

func TestArenaNoAllocs(t *testing.T) {
	a := NewArenaSize(1 << 16)
	step := func() {
		b1, _ := a.Allocate(1000, 0)
		b2, _ := a.Allocate(1000, 0)
		a.Free(b1)
		a.Free(b2)
	}
	step()
	assert.Zero(t, testing.AllocsPerRun(100, step))
	assert.Zero(t, a.Used())
}

func TestNewArenaSize(t *testing.T) {
	assert.Equal(t, 100, NewArenaSize(100).Cap())
	a := NewArenaSize(0)
	_, err := a.Allocate(1, 1)
	require.ErrorIs(t, err, errs.MemoryAllocationFailed)
	_, err = NewArena(nil).Allocate(1, 0)
	require.ErrorIs(t, err, errs.MemoryAllocationFailed)
	assert.Panics(t, func() { NewArenaSize(-1) })
}
