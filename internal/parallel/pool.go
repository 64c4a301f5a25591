// Package parallel runs loops on several cores: a fork-join pool with a fixed
// number of workers.
//
// It is made for loops of a few microseconds that follow each other closely,
// as the steps of a model do. A loop allocates nothing. Workers that have
// nothing to do look out for the next loop for a short while before they go to
// sleep, and a loop never waits for one that is slow to wake up: what it would
// have done, the others do.
package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Task is the body of a loop. It is an interface and not a function, as a
// closure made for each loop would be an allocation: a task is a pointer to
// state that was made beforehand.
type Task interface {
	// Run does the half-open range [lo, hi) of the loop. Several ranges run at
	// the same time, each on another worker. worker numbers them from 0 to
	// Threads()-1, so that scratch memory can be one slab per worker.
	Run(worker, lo, hi int)
}

// Func makes a function a Task, for tests and for code that need not care about
// an allocation.
type Func func(worker, lo, hi int)

// Run calls f.
func (f Func) Run(worker, lo, hi int) { f(worker, lo, hi) }

// Panic is the value For panics with when a task panicked on a goroutine of
// the pool. A panic on the caller's own goroutine goes its way unchanged, once
// the other workers are done.
type Panic struct {
	Value  any    // what the task panicked with
	Worker int    // the worker it ran on
	Stack  []byte // the stack of that worker, as debug.Stack gives it
}

// Error tells the value and the stack it came from.
func (p *Panic) Error() string {
	return fmt.Sprintf("parallel: worker %d: %v\n\n%s", p.Worker, p.Value, p.Stack)
}

// Unwrap returns the value where it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Pool runs loops, one at a time. Its goroutines are started by the first loop
// that needs them and end with Close, or some time after the Pool has become
// garbage. A nil *Pool is a pool of one thread.
//
// A Pool is safe for concurrent use.
type Pool struct {
	// The goroutines refer to the core only, so that a Pool nobody refers to
	// any more is garbage although they live.
	*core
}

// core is what the goroutines know. The fields that different workers write
// lie in cache lines of their own; 128 bytes are two lines, which many
// processors fetch together.
type core struct {
	threads int

	// mu is held while a loop runs. It is only ever tried: who does not get it
	// runs the loop alone, be it nested in a running loop or a neighbour's.
	mu      sync.Mutex
	closed  bool
	started bool
	epoch   uint32
	workers []worker // worker number i+1
	exited  sync.WaitGroup

	// idle has a token when the last worker left a loop whose caller sleeps.
	idle chan struct{}

	// The loop, written by the caller before it opens the state.
	task    Task
	n       int
	unit    int
	chunks  int64
	perUnit int64 // units in a chunk; the first extra ones have one more
	extra   int64

	panicked atomic.Pointer[Panic]

	_     [128]byte
	state atomic.Uint64
	_     [128]byte
	next  atomic.Int64 // number of the next chunk
	_     [128]byte
}

// The state of the running loop is one word, so that joining a loop and
// closing it cannot cross: workers join while it is open and count themselves
// in; the caller, when no chunk is left, closes it and waits until the count
// is 0. A worker that comes later finds it closed and has touched nothing.
const (
	countMask  = 1<<16 - 1 // workers in the loop, the caller aside
	sleeping   = 1 << 16   // the caller waits on idle
	open       = 1 << 17   // workers may join
	stopped    = 1 << 18   // goroutines shall end
	epochShift = 32        // number of the loop: none is joined twice
)

// maxThreads is what countMask can count.
const maxThreads = 1 << 12

// chunksPerThread is into how many parts a thread's share of a loop is cut, so
// that a thread that comes late or is slowed down leaves parts to the others.
const chunksPerThread = 4

type worker struct {
	parked atomic.Bool
	wake   chan struct{} // capacity 1; a token for each parked set to false by others
	_      [112]byte
}

// New returns a pool of the given number of threads, the caller of For being
// one of them. threads <= 0 means GOMAXPROCS, and no pool has more: additional
// threads would only wait for each other.
func New(threads int) *Pool {
	most := min(runtime.GOMAXPROCS(0), maxThreads)
	if threads <= 0 || threads > most {
		threads = most
	}
	c := &core{threads: threads, idle: make(chan struct{}, 1)}
	p := &Pool{c}
	if threads > 1 {
		runtime.AddCleanup(p, (*core).stop, c)
	}
	return p
}

// Threads returns the number of workers that For numbers, the caller included.
func (p *Pool) Threads() int {
	if p == nil {
		return 1
	}
	return p.threads
}

// For runs t over [0, n) and returns when all of it is done. The range is cut
// into chunks of at least grain, which the workers take one after the other; a
// grain below 1 counts as 1. All chunks but the last begin and end at
// multiples of the largest power of two that divides grain, up to 64: with a
// grain of 64 floats, no two workers write to one cache line of an aligned
// tensor.
//
// A loop that is not worth two chunks runs as t.Run(0, 0, n) on the calling
// goroutine. So does every loop while the pool is busy: one started inside a
// task, and one of another goroutine. It therefore never blocks, and its
// worker number is 0 whatever worker it is nested in; a nested task and its
// scratch memory belong to the worker that started it and to no other.
//
// A panic in a task ends the loop early. For panics in turn when all workers
// have left the loop; see Panic for the value.
func (p *Pool) For(n, grain int, t Task) {
	if n <= 0 {
		return
	}
	grain = max(grain, 1)
	if p == nil || p.threads == 1 || n/grain < 2 || !p.mu.TryLock() {
		t.Run(0, 0, n)
		return
	}
	if p.closed {
		p.mu.Unlock()
		t.Run(0, 0, n)
		return
	}
	p.run(n, grain, t)
}

// Close waits for a running loop, ends the pool's goroutines and waits for
// them. After it, For runs loops on the calling goroutine. It may be called
// more than once, but not from a task.
func (p *Pool) Close() {
	if p == nil {
		return
	}
	p.stop()
	p.exited.Wait()
}

func (c *core) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.state.Store(stopped)
	c.wake(len(c.workers))
}

// run runs a loop. It is called with mu held and gives it up.
func (c *core) run(n, grain int, t Task) {
	if !c.started {
		c.start()
	}
	c.cut(n, grain)
	c.task = t
	c.next.Store(0)
	c.epoch++
	c.state.Store(uint64(c.epoch)<<epochShift | open)
	c.wake(int(c.chunks) - 1)

	whole := false
	defer func() {
		p := c.finish()
		c.mu.Unlock()
		if whole && p != nil {
			panic(p)
		}
	}()
	c.runChunks(0)
	whole = true
}

func (c *core) start() {
	c.started = true
	c.workers = make([]worker, c.threads-1)
	for i := range c.workers {
		w := &c.workers[i]
		w.wake = make(chan struct{}, 1)
		c.exited.Add(1)
		go c.work(i+1, w)
	}
}

// cut lays out the chunks of a loop: as many as there is use for, but none
// below grain, and of equal size to within a unit.
func (c *core) cut(n, grain int) {
	unit := min(grain&-grain, 64)
	chunks := min(n/grain, c.threads*chunksPerThread)
	if chunks > c.threads {
		chunks -= chunks % c.threads // as many for each thread
	}
	units := n / unit
	c.n, c.unit, c.chunks = n, unit, int64(chunks)
	c.perUnit, c.extra = int64(units/chunks), int64(units%chunks)
}

// chunk returns the range of a chunk. The last one has the remainder of n, less
// than a unit.
func (c *core) chunk(i int64) (lo, hi int) {
	first := i*c.perUnit + min(i, c.extra)
	size := c.perUnit
	if i < c.extra {
		size++
	}
	lo, hi = int(first)*c.unit, int(first+size)*c.unit
	if i == c.chunks-1 {
		hi = c.n
	}
	return lo, hi
}

// runChunks runs chunks until none is left.
func (c *core) runChunks(worker int) {
	t := c.task
	for {
		i := c.next.Add(1) - 1
		if i >= c.chunks {
			return
		}
		lo, hi := c.chunk(i)
		t.Run(worker, lo, hi)
	}
}

// finish ends a loop on the caller's side: nobody joins any more, and who is
// in has left when it returns.
func (c *core) finish() *Panic {
	if c.next.Load() < c.chunks {
		c.next.Store(c.chunks) // the caller's task panicked: drop the rest
	}
	c.state.And(^uint64(open))
	c.awaitWorkers()
	c.task = nil // may refer to the Pool and keep it alive
	p := c.panicked.Load()
	if p != nil {
		c.panicked.Store(nil)
	}
	return p
}

// wake wakes up to n sleeping workers. It is called with mu held.
func (c *core) wake(n int) {
	for i := range c.workers[:min(n, len(c.workers))] {
		w := &c.workers[i]
		if w.parked.Load() && w.parked.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
}

// work is a goroutine of the pool.
func (c *core) work(number int, w *worker) {
	defer c.exited.Done()
	var seen uint32 // the last loop joined
	for {
		st := c.state.Load()
		switch {
		case st&stopped != 0:
			return
		case !news(st, seen):
			c.awaitLoop(w, seen)
		case c.state.CompareAndSwap(st, st+1):
			seen = uint32(st >> epochShift)
			c.join(number)
		}
	}
}

// news tells whether there is something to do for a worker whose last loop was
// number seen.
func news(st uint64, seen uint32) bool {
	return st&open != 0 && uint32(st>>epochShift) != seen || st&stopped != 0
}

// join takes part in the loop that the worker has counted itself into.
func (c *core) join(number int) {
	whole := false
	defer func() {
		if !whole {
			c.caught(number, recover())
		}
		// Nothing of the loop may be touched after this.
		if st := c.state.Add(^uint64(0)); st&(sleeping|countMask) == sleeping {
			c.idle <- struct{}{}
		}
	}()
	c.runChunks(number)
	whole = true
}

// caught keeps the first panic of a loop for its caller and drops what is left
// of the loop. The value is nil when the task ended its goroutine, as a test's
// FailNow does; the pool then has a worker less and works on.
func (c *core) caught(number int, value any) {
	if value == nil {
		value = "the task called runtime.Goexit"
	}
	c.panicked.CompareAndSwap(nil, &Panic{Value: value, Worker: number, Stack: debug.Stack()})
	c.next.Store(c.chunks)
}
