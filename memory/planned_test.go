package memory

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
)

var instrumented bool // set by instrumented_test.go

func TestPlannedRegion(t *testing.T) {
	p, err := NewPlanned([]int64{999, 256, 0, 100}, dirty{}, nil)
	require.NoError(t, err)
	assert.Equal(t, 3, p.Arenas())
	assert.EqualValues(t, 356, p.Size())

	for _, c := range []struct {
		name   string
		id     uint32
		offset uint64
		n      int64
		want   error
	}{
		{"whole", 1, 0, 256, nil},
		{"middle", 1, 64, 10, nil},
		{"end", 1, 255, 1, nil},
		{"nothing", 1, 128, 0, nil},
		{"nothing at the end", 1, 256, 0, nil},
		{"nothing of nothing", 2, 0, 0, nil},
		{"last id", 3, 99, 1, nil},
		{"id 0", 0, 0, 0, errs.InvalidArgument},
		{"id beyond", 4, 0, 0, errs.InvalidArgument},
		{"id far beyond", math.MaxUint32, 0, 0, errs.InvalidArgument},
		{"one too many", 1, 0, 257, errs.MemoryAllocationFailed},
		{"offset beyond", 1, 257, 0, errs.MemoryAllocationFailed},
		{"some of nothing", 2, 0, 1, errs.MemoryAllocationFailed},
		{"negative", 1, 64, -1, errs.MemoryAllocationFailed},
		{"most negative", 1, 64, math.MinInt64, errs.MemoryAllocationFailed},
		{"sum overflows", 1, math.MaxUint64, 2, errs.MemoryAllocationFailed},
		{"sum overflows int64", 1, 64, math.MaxInt64, errs.MemoryAllocationFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := p.Region(c.id, c.offset, c.n)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
				assert.Nil(t, b)
				return
			}
			require.NoError(t, err)
			assert.Len(t, b, int(c.n))
			assert.Equal(t, len(b), cap(b))
			assert.NotNil(t, b)
			for _, v := range b {
				require.Zero(t, v)
			}
			if c.n > 0 {
				assert.Equal(t, uintptr(c.offset%64), addr(b)%64)
			}
		})
	}

	a, err := p.Region(1, 10, 20)
	require.NoError(t, err)
	b, err := p.Region(1, 15, 1)
	require.NoError(t, err)
	a[5] = 7
	assert.EqualValues(t, 7, b[0], "regions overlap where the plan says so")
}

func TestPlannedSizes(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes []int64
		want  error
	}{
		{"none", nil, nil},
		{"only the reserved one", []int64{0}, nil},
		{"nonsense in the reserved one", []int64{-7, 3}, nil},
		{"negative", []int64{0, -1}, errs.InvalidProgram},
		{"overflow", []int64{0, math.MaxInt, math.MaxInt64 / 2, math.MaxInt64 / 2, 3}, errs.MemoryAllocationFailed},
		{"huge", []int64{0, math.MaxInt}, errs.MemoryAllocationFailed},
		{"above int64 half", []int64{0, math.MaxInt64}, errs.MemoryAllocationFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := NewPlanned(c.sizes, nil, nil)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
				assert.Nil(t, p)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, max(0, len(c.sizes)-1), p.Arenas())
			_, err = p.Region(uint32(len(c.sizes))+1, 0, 0)
			require.ErrorIs(t, err, errs.InvalidArgument)
			p.Close()
		})
	}
	n, err := PlannedSize([]int64{-1, 5, 6})
	require.NoError(t, err)
	assert.EqualValues(t, 11, n)
	_, err = PlannedSize([]int64{0, -5})
	require.ErrorIs(t, err, errs.InvalidProgram)
	_, err = PlannedSize([]int64{0, math.MaxInt64, 1})
	require.ErrorIs(t, err, errs.MemoryAllocationFailed)
}

func TestPlannedBudgetAndClose(t *testing.T) {
	parent := &spy{}
	budget := NewBudget(Limits{MaxBytes: 1000})
	_, err := NewPlanned([]int64{0, 600, 401}, parent, budget)
	require.ErrorIs(t, err, errs.LimitExceeded)
	assert.EqualError(t, err, "planned memory: 1001 bytes asked for with 0 in use, limit is 1000")
	assert.Zero(t, parent.allocs, "the limit comes before any allocation")

	p, err := NewPlanned([]int64{0, 600, 400}, parent, budget)
	require.NoError(t, err)
	assert.EqualValues(t, 1000, budget.Used())
	p.Close()
	p.Close()
	assert.Zero(t, budget.Used())
	assert.Zero(t, parent.bytes)
	_, err = p.Region(1, 0, 1)
	require.ErrorIs(t, err, errs.Closed)

	full := &spy{maxBytes: 700}
	_, err = NewPlanned([]int64{0, 600, 400}, full, budget)
	require.ErrorIs(t, err, errs.MemoryAllocationFailed)
	assert.ErrorContains(t, err, "arena 2")
	assert.Zero(t, full.bytes, "the first arena goes back")
	assert.Zero(t, budget.Used())

	_, err = NewPlanned([]int64{0, 600}, &spy{short: 1}, budget)
	require.ErrorIs(t, err, errs.Internal)
}

// TestPlannedIsLazy plans far more than it touches and looks at what the
// process holds, in a heap where memory was used before.
func TestPlannedIsLazy(t *testing.T) {
	if runtime.GOOS != "linux" || math.MaxInt == math.MaxInt32 {
		t.Skip("reads /proc, plans 3 GiB")
	}
	if instrumented {
		t.Skip("detectors have shadow memory for every block")
	}
	for _, sizes := range [][]int64{{0, 64 << 20}, {0, 1 << 30, 2 << 30}} {
		used := make([]byte, 80<<20)
		for i := range used {
			used[i] = 0xA5
		}
		runtime.KeepAlive(used)
		used = nil
		debug.FreeOSMemory()

		before := residentBytes(t)
		p, err := NewPlanned(sizes, nil, nil)
		require.NoError(t, err)
		b, err := p.Region(uint32(p.Arenas()), 1<<20, 4096)
		require.NoError(t, err)
		b[0] = 1
		grown := residentBytes(t) - before
		assert.Less(t, grown, int64(32<<20))
		t.Logf("%s planned, %s more resident", formatBytes(p.Size()), formatBytes(max(0, grown)))
		p.Close()
	}
	debug.FreeOSMemory()
}

func residentBytes(t *testing.T) int64 {
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

func TestShared(t *testing.T) {
	parent := &spy{}
	budget := NewBudget(Limits{})
	prefill := []int64{0, 100, 2000, 64}
	decode := []int64{0, 300, 1000, 32, 16}
	sizes := SharedSizes([][]int64{prefill, decode, {0}}, 1, 2)
	require.Equal(t, []int64{0, 300, 2000}, sizes)
	s, err := NewShared(sizes, parent, budget)
	require.NoError(t, err)
	assert.EqualValues(t, 2300, s.Size())
	assert.Zero(t, budget.Used(), "nothing is taken before the first use")

	p, err := s.NewPlanned(prefill, parent, budget)
	require.NoError(t, err)
	d, err := s.NewPlanned(decode, parent, budget)
	require.NoError(t, err)
	assert.EqualValues(t, 2300+64+32+16, budget.Used())
	assert.EqualValues(t, 64, p.Size())
	assert.EqualValues(t, 48, d.Size())

	pr, err := p.Region(2, 500, 4)
	require.NoError(t, err)
	dr, err := d.Region(2, 500, 4)
	require.NoError(t, err)
	assert.Equal(t, []byte{0, 0, 0, 0}, dr, "shared arenas are cleared")
	pr[1] = 9
	assert.Equal(t, []byte{0, 9, 0, 0}, dr)
	p3, err := p.Region(3, 0, 4)
	require.NoError(t, err)
	d3, err := d.Region(3, 0, 4)
	require.NoError(t, err)
	p3[0] = 1
	assert.Zero(t, d3[0], "id 3 is not shared")

	_, err = d.Region(2, 1000, 1)
	require.ErrorIs(t, err, errs.MemoryAllocationFailed, "each method keeps to its own plan")
	_, err = s.NewPlanned([]int64{0, 301}, parent, budget)
	require.ErrorIs(t, err, errs.InvalidArgument)

	p.Close()
	again, err := s.NewPlanned(decode, parent, budget)
	require.NoError(t, err)
	ar, err := again.Region(2, 500, 4)
	require.NoError(t, err)
	assert.Equal(t, []byte{0, 9, 0, 0}, ar, "the state outlives a method")

	s.Close()
	s.Close()
	_, err = s.NewPlanned(decode, parent, budget)
	require.ErrorIs(t, err, errs.Closed)
	again.Close()
	again.Close()
	assert.EqualValues(t, 2348, budget.Used(), "decode still has them")
	d.Close()
	assert.Zero(t, budget.Used())
	assert.Zero(t, parent.bytes)
}

func TestSharedUnused(t *testing.T) {
	var none *SharedArenas
	p, err := none.NewPlanned([]int64{0, 10}, nil, nil)
	require.NoError(t, err)
	assert.EqualValues(t, 10, p.Size())
	p.Close()
	none.Close()
	assert.Zero(t, none.Size())

	empty, err := NewShared(nil, nil, nil)
	require.NoError(t, err)
	p, err = empty.NewPlanned([]int64{0, 10}, nil, nil)
	require.NoError(t, err)
	assert.EqualValues(t, 10, p.Size())
	p.Close()
	empty.Close()

	assert.Empty(t, SharedSizes(nil, 1, 2))
	assert.Empty(t, SharedSizes([][]int64{{0, 5}}, 0, math.MaxUint32))
}

func TestSharedErrors(t *testing.T) {
	_, err := NewShared([]int64{0, -1}, nil, nil)
	require.ErrorIs(t, err, errs.InvalidProgram)

	budget := NewBudget(Limits{MaxBytes: 100})
	s, err := NewShared([]int64{0, 90}, nil, budget)
	require.NoError(t, err)
	_, err = s.NewPlanned([]int64{0, 50, 20}, nil, budget)
	require.ErrorIs(t, err, errs.LimitExceeded)
	assert.Zero(t, budget.Used())
	_, err = s.NewPlanned([]int64{0, 50, 101}, nil, budget)
	require.ErrorIs(t, err, errs.LimitExceeded)
	p, err := s.NewPlanned([]int64{0, 50, 10}, nil, budget)
	require.NoError(t, err)
	p.Close()
	s.Close()
	assert.Zero(t, budget.Used())

	full := &spy{maxBytes: 10}
	s, err = NewShared([]int64{0, 90}, full, budget)
	require.NoError(t, err)
	_, err = s.NewPlanned([]int64{0, 50}, nil, budget)
	require.ErrorIs(t, err, errs.MemoryAllocationFailed)
	assert.Zero(t, budget.Used())
}

func TestEstimate(t *testing.T) {
	for _, c := range []struct {
		e     Estimate
		total int64
		text  string
	}{
		{Estimate{}, 0, "0 B"},
		{Estimate{Planned: 1000}, 1000, "1000 B (planned 1000 B)"},
		{Estimate{Planned: 2400000000, Constants: 43 << 20}, 2445088768, "2.28 GiB (planned 2.24 GiB, constants 43.0 MiB)"},
		{Estimate{Planned: 1, Shared: 2, Constants: 3, Scratch: 4}, 10, "10 B (planned 1 B, shared 2 B, constants 3 B, scratch 4 B)"},
		{Estimate{Planned: math.MaxInt64, Shared: 1}, math.MaxInt64, "8.00 EiB (planned 8.00 EiB, shared 1 B)"},
	} {
		assert.Equal(t, c.total, c.e.Total())
		assert.Equal(t, c.text, c.e.String())
	}
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.00 KiB", 10235: "10.0 KiB", 102400: "100 KiB",
		1<<20 - 1: "1.00 MiB", 1023 << 10: "1023 KiB", 1 << 30: "1.00 GiB", math.MaxInt64: "8.00 EiB",
	} {
		assert.Equal(t, want, formatBytes(n), n)
	}
}
