package parallel

import (
	"runtime"
	"time"
)

const (
	// spinTime is how long a goroutine looks out for its event before it goes
	// to sleep. To wake up takes some 5 to 50 microseconds, so anything much
	// shorter would sleep between two steps of a model; anything much longer
	// burns a core that another process may want.
	spinTime = 100 * time.Microsecond

	// looks is how often it looks before it lets other goroutines run: without
	// that, on a machine with fewer free cores than workers, it would keep off
	// the very goroutine that it waits for.
	looks = 32

	// pauses is how many pause instructions lie between two looks. They leave
	// the core's execution units to the other hyperthread.
	pauses = 2
)

// spin looks at the state until it is as wanted, which it tells, or until
// spinTime is over.
func (c *core) spin(wanted func(state uint64) bool) bool {
	var start time.Time
	for {
		for range looks {
			if wanted(c.state.Load()) {
				return true
			}
			pause(pauses)
		}
		if start.IsZero() { // most waits are over before the clock is needed
			start = time.Now()
		} else if time.Since(start) > spinTime {
			return false
		}
		runtime.Gosched()
	}
}

// awaitLoop returns when there is news for a worker; see there.
func (c *core) awaitLoop(w *worker, seen uint32) {
	if c.spin(func(st uint64) bool { return news(st, seen) }) {
		return
	}
	// Either the caller sees parked when it has changed the state, or the
	// change is seen here. If both, the caller has taken parked back and there
	// is a token to be taken too.
	w.parked.Store(true)
	if news(c.state.Load(), seen) && w.parked.CompareAndSwap(true, false) {
		return
	}
	<-w.wake
}

// awaitWorkers returns when no worker is in the closed loop any more.
func (c *core) awaitWorkers() {
	empty := func(st uint64) bool { return st&countMask == 0 }
	if c.spin(empty) {
		return
	}
	for {
		st := c.state.Load()
		if empty(st) {
			return
		}
		// The count only falls, so the worker that takes it to 0 sees sleeping.
		if c.state.CompareAndSwap(st, st|sleeping) {
			<-c.idle
			return
		}
	}
}
