package parallel

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newPool returns a pool of that many threads whatever the machine has.
func newPool(t testing.TB, threads int) *Pool {
	old := runtime.GOMAXPROCS(max(threads, runtime.GOMAXPROCS(0)))
	if runtime.GOMAXPROCS(0) < threads {
		t.Skip("this platform has one thread") // WebAssembly
	}
	p := New(threads)
	require.Equal(t, threads, p.Threads())
	t.Cleanup(func() {
		p.Close()
		runtime.GOMAXPROCS(old)
	})
	return p
}

// counts notes how often each index was run, and by whom.
type counts struct {
	threads int
	hits    []atomic.Int32
	busy    []atomic.Bool // by worker
	bad     atomic.Pointer[string]
}

func newCounts(n, threads int) *counts {
	return &counts{threads: threads, hits: make([]atomic.Int32, n), busy: make([]atomic.Bool, threads)}
}

func (c *counts) fail(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	c.bad.CompareAndSwap(nil, &s)
}

func (c *counts) Run(worker, lo, hi int) {
	if worker < 0 || worker >= c.threads {
		c.fail("worker %d", worker)
		return
	}
	if c.busy[worker].Swap(true) {
		c.fail("two ranges at once on worker %d", worker)
	}
	if lo >= hi || lo < 0 || hi > len(c.hits) {
		c.fail("range [%d, %d) of %d", lo, hi, len(c.hits))
	} else {
		for i := lo; i < hi; i++ {
			c.hits[i].Add(1)
		}
	}
	c.busy[worker].Store(false)
}

func (c *counts) check(t *testing.T, times int32) {
	t.Helper()
	if s := c.bad.Load(); s != nil {
		t.Fatal(*s)
	}
	for i := range c.hits {
		if got := c.hits[i].Load(); got != times {
			t.Fatalf("index %d of %d ran %d times, want %d", i, len(c.hits), got, times)
		}
	}
}

func TestFor(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			p := newPool(t, threads)
			for _, n := range []int{0, 1, 2, 3, 7, 16, 63, 64, 65, 1000, 12345} {
				for _, grain := range []int{-1, 0, 1, 2, 3, 64, 100, 128, 1000, 1 << 20} {
					c := newCounts(n, threads)
					p.For(n, grain, c)
					c.check(t, 1)
				}
			}
			p.For(-5, 1, Func(func(int, int, int) { t.Error("was run") }))
		})
	}
}

func TestForNil(t *testing.T) {
	var p *Pool
	assert.Equal(t, 1, p.Threads())
	c := newCounts(100, 1)
	p.For(100, 1, c)
	c.check(t, 1)
	p.Close()
}

func TestNewThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	most := runtime.GOMAXPROCS(0)
	for threads, want := range map[int]int{-1: 4, 0: 4, 1: 1, 3: 3, 4: 4, 5: 4, math.MaxInt: 4} {
		assert.Equal(t, min(want, most), New(threads).Threads(), threads)
	}
}

func TestCut(t *testing.T) {
	for _, threads := range []int{2, 3, 4, 16} {
		c := &core{threads: threads}
		for _, n := range []int{2, 3, 10, 64, 127, 128, 129, 1000, 4096, 100003, math.MaxInt, math.MaxInt - 1} {
			for _, grain := range []int{1, 2, 3, 7, 24, 64, 96, 1024, 4096, math.MaxInt / 2} {
				if n/grain < 2 {
					continue
				}
				c.cut(n, grain)
				msg := fmt.Sprintf("%d threads, n %d, grain %d", threads, n, grain)
				require.GreaterOrEqual(t, c.chunks, int64(2), msg)
				require.LessOrEqual(t, c.chunks, int64(chunksPerThread*threads), msg)
				if c.chunks > int64(threads) {
					require.Zero(t, c.chunks%int64(threads), msg)
				}
				unit := min(grain&-grain, 64)
				at, least, most := 0, math.MaxInt, 0
				for i := range c.chunks {
					lo, hi := c.chunk(i)
					require.Equal(t, at, lo, msg)
					require.Greater(t, hi, lo, msg)
					require.Zero(t, lo%unit, msg)
					least, most = min(least, hi-lo), max(most, hi-lo)
					at = hi
				}
				require.Equal(t, n, at, msg)
				require.GreaterOrEqual(t, least, grain, msg)
				require.Less(t, most-least, 2*unit, msg)
			}
		}
	}
}

// TestForUsesWorkers sees that a loop with enough work runs on all threads.
func TestForUsesWorkers(t *testing.T) {
	const threads = 4
	p := newPool(t, threads)
	var met sync.WaitGroup
	met.Add(threads)
	p.For(threads, 1, Func(func(worker, lo, hi int) {
		met.Done()
		met.Wait() // each needs the other three
	}))
}

// TestForStress runs many loops with pauses of all lengths between them, so
// that workers are met awake, falling asleep and asleep.
func TestForStress(t *testing.T) {
	for _, threads := range []int{2, 3, 8} {
		p := newPool(t, threads)
		c := newCounts(256, threads)
		rounds := int32(20000)
		if testing.Short() {
			rounds = 2000
		}
		for i := range rounds {
			p.For(len(c.hits), 1+int(i%100), c)
			if i%64 == 0 {
				until := time.Now().Add(time.Duration(i%400) * time.Microsecond)
				for time.Now().Before(until) {
					pause(1)
				}
			}
			if i%1000 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		c.check(t, rounds)
	}
}

// TestForUneven has chunks of which a few take long, so that the caller has to
// sleep until the last worker is done.
func TestForUneven(t *testing.T) {
	p := newPool(t, 3)
	for i := range 30 {
		var ran atomic.Int32
		p.For(12, 1, Func(func(worker, lo, hi int) {
			ran.Add(int32(hi - lo))
			if worker > 0 && (lo+i)%3 == 0 {
				time.Sleep(time.Millisecond)
			}
		}))
		require.EqualValues(t, 12, ran.Load())
	}
}

func TestForWithFewProcs(t *testing.T) {
	p := newPool(t, 4)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c := newCounts(100, 4)
	start := time.Now()
	for range 1000 {
		p.For(100, 1, c)
	}
	c.check(t, 1000)
	assert.Less(t, time.Since(start), 10*time.Second)
}

func TestForNested(t *testing.T) {
	p := newPool(t, 4)
	outer := newCounts(40, 4)
	inner := make([]*counts, 40)
	for i := range inner {
		inner[i] = newCounts(50, 1) // worker 0 only
	}
	p.For(40, 1, Func(func(worker, lo, hi int) {
		outer.Run(worker, lo, hi)
		for i := lo; i < hi; i++ {
			p.For(50, 1, inner[i])
		}
	}))
	outer.check(t, 1)
	for _, c := range inner {
		c.check(t, 1)
	}
}

func TestForConcurrentCallers(t *testing.T) {
	p := newPool(t, 3)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			c := newCounts(300, 3)
			for range 500 {
				p.For(300, 7, c)
			}
			c.check(t, 500)
		})
	}
	wg.Wait()
}

func TestForPanics(t *testing.T) {
	p := newPool(t, 3)
	onWorker := func(want bool, value any) func(worker, lo, hi int) {
		var once atomic.Bool
		return func(worker, lo, hi int) {
			if (worker > 0) == want && once.CompareAndSwap(false, true) {
				panic(value)
			}
			for !once.Load() { // whoever is to panic gets his turn
				runtime.Gosched()
			}
		}
	}

	for range 50 {
		func() {
			defer func() {
				r, ok := recover().(*Panic)
				require.True(t, ok)
				assert.ErrorIs(t, r, io.ErrUnexpectedEOF)
				assert.Equal(t, io.ErrUnexpectedEOF, r.Value)
				assert.Contains(t, []int{1, 2}, r.Worker)
				assert.Contains(t, string(r.Stack), "TestForPanics")
				assert.ErrorContains(t, r, "unexpected EOF")
			}()
			p.For(100, 1, Func(onWorker(true, io.ErrUnexpectedEOF)))
			t.Error("no panic")
		}()
		assert.PanicsWithValue(t, "mine", func() { p.For(100, 1, Func(onWorker(false, "mine"))) },
			"a panic of the caller stays as it is")

		c := newCounts(100, 3)
		p.For(100, 1, c)
		c.check(t, 1)
	}

	t.Run("all at once", func(t *testing.T) {
		for range 50 {
			var in atomic.Int32
			assert.Panics(t, func() {
				p.For(100, 1, Func(func(worker, lo, hi int) {
					in.Add(1)
					defer in.Add(-1)
					panic("everyone")
				}))
			})
			assert.Zero(t, in.Load(), "no task is left running")
		}
	})
	t.Run("not an error", func(t *testing.T) {
		assert.NoError(t, errors.Unwrap(&Panic{Value: "text"}))
	})
}

// TestForGoexit ends workers from inside, as FailNow in a task does.
func TestForGoexit(t *testing.T) {
	p := newPool(t, 3)
	for range 2 {
		var once atomic.Bool
		assert.Panics(t, func() {
			p.For(100, 1, Func(func(worker, lo, hi int) {
				if worker > 0 && once.CompareAndSwap(false, true) {
					runtime.Goexit()
				}
				for !once.Load() {
					runtime.Gosched()
				}
			}))
		})
		c := newCounts(100, 3)
		p.For(100, 1, c)
		c.check(t, 1)
	}
}

func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	p := newPool(t, 4)
	p.For(3, 5, newCounts(3, 4))
	assert.False(t, p.started, "a loop too short starts no goroutine")

	c := newCounts(100, 4)
	p.For(100, 1, c)
	assert.True(t, p.started)
	assert.Len(t, p.workers, 3)
	p.Close()
	p.Close()
	awaitGoroutines(t, before)

	p.For(100, 1, c)
	c.check(t, 2)
	assert.Equal(t, 4, p.Threads())

	unused := New(2)
	unused.Close()
	unused.For(100, 1, c)
	c.check(t, 3)
}

func TestCloseBesideLoops(t *testing.T) {
	for range 50 {
		p := newPool(t, 3)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				c := newCounts(100, 3)
				for range 50 {
					p.For(100, 3, c)
				}
				c.check(t, 50)
			})
		}
		wg.Go(p.Close)
		wg.Go(p.Close)
		wg.Wait()
	}
}

// keeper is a task that refers to its pool, as a model does.
type keeper struct{ pool *Pool }

func (k *keeper) Run(worker, lo, hi int) {}

func TestDroppedPool(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	before := runtime.NumGoroutine()
	for range 10 {
		p := New(4)
		k := &keeper{p}
		p.For(100, 1, k)
	}
	awaitGoroutines(t, before)
}

// awaitGoroutines waits until there are no more than n goroutines: one is
// counted until shortly after its last statement, and a dropped pool needs a
// garbage collection.
func awaitGoroutines(t *testing.T, n int) {
	t.Helper()
	for range 1000 {
		if runtime.NumGoroutine() <= n {
			return
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d goroutines, want %d", runtime.NumGoroutine(), n)
}

func TestForNoAllocs(t *testing.T) {
	p := newPool(t, 2)
	c := newCounts(64, 2)
	p.For(64, 1, c)
	assert.Zero(t, testing.AllocsPerRun(1000, func() { p.For(64, 1, c) }))
	// With sleeping workers too.
	assert.Zero(t, testing.AllocsPerRun(20, func() {
		time.Sleep(2 * spinTime)
		p.For(64, 1, c)
	}))
}
