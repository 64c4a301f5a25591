package runtime

import (
	"sync"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/memory"
)

// PrepareContext is what a kernel's Prepare gets.
type PrepareContext struct {
	// Shared keeps what clones and other methods of the same data may share, such as
	// packed weights.
	Shared *SharedCache
	// Threads is the number of threads that calls will have.
	Threads int

	constant func(arg int) bool
	budget   *memory.Budget
}

// Constant reports whether argument i never changes: no input, no mutable
// buffer, written by no instruction. Its value can be relied on.
func (p *PrepareContext) Constant(i int) bool { return p.constant(i) }

// Charge counts n bytes against the application's memory limit. What the method
// itself holds is given back when it is closed.
func (p *PrepareContext) Charge(n int64, what string) error {
	if p.budget == nil {
		return nil
	}
	return p.budget.Charge(n, what)
}

// SharedCache holds values that are made once per program and its data files
// and are read-only then. It is safe for concurrent use.
type SharedCache struct {
	mu      sync.Mutex
	entries map[any]*sharedEntry
}

type sharedEntry struct {
	once  sync.Once
	value any
	err   error
}

// Get returns the value of key, which make makes at the first call. An error of
// make is given to all who ask while it runs and not kept.
func (c *SharedCache) Get(key any, make func() (any, error)) (any, error) {
	if c == nil {
		return make()
	}
	c.mu.Lock()
	e := c.entries[key]
	if e == nil {
		if c.entries == nil {
			c.entries = map[any]*sharedEntry{}
		}
		e = &sharedEntry{err: errs.Internal.Errorf("making a shared value panicked")}
		c.entries[key] = e
	}
	c.mu.Unlock()
	e.once.Do(func() { e.value, e.err = make() })
	if e.err != nil {
		c.mu.Lock()
		if c.entries[key] == e {
			delete(c.entries, key)
		}
		c.mu.Unlock()
	}
	return e.value, e.err
}
