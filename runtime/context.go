package runtime

import (
	"context"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/internal/parallel"
	"github.com/etgo-ml/etgo/memory"
	"github.com/etgo-ml/etgo/tensor"
)

// Task is the body of a parallel loop: it computes the iterations lo <= i < hi.
// worker is below KernelRuntimeContext.Threads, and no two calls that run at the
// same time have the same, so scratch can be one slab per worker. A Task is a
// pointer to state that lives longer than the call (see State): a closure made
// for the call would be allocated each time.
type Task interface {
	Run(worker, lo, hi int)
}

// KernelRuntimeContext is what a kernel gets from the runtime for one call:
// allocators, threads, a tracer, and the state of its call site. It is valid
// during the call only and not safe for concurrent use; tasks running in
// Parallel must not call it.
type KernelRuntimeContext struct {
	ctx    context.Context
	temp   memory.Allocator // may be nil
	method memory.Allocator // may be nil
	budget *memory.Budget   // may be nil
	pool   *parallel.Pool
	tracer Tracer
	owner  *Method // may be nil
	slot   *any
	own    any // the slot of a context that belongs to no step
	blocks []tempBlock
}

type tempBlock struct {
	data []byte
	heap bool
}

// ContextOption changes what NewKernelRuntimeContext makes.
type ContextOption func(*KernelRuntimeContext)

// ContextWithTempAllocator sets the allocator of scratch memory.
func ContextWithTempAllocator(a memory.Allocator) ContextOption {
	return func(c *KernelRuntimeContext) { c.temp = a }
}

// ContextWithMethodAllocator sets the allocator of memory that lives as long as
// the method.
func ContextWithMethodAllocator(a memory.Allocator) ContextOption {
	return func(c *KernelRuntimeContext) { c.method = a }
}

// ContextWithThreads sets the number of threads of parallel loops.
func ContextWithThreads(n int) ContextOption {
	return func(c *KernelRuntimeContext) { c.pool = parallel.New(n) }
}

// ContextWithTracer sets the tracer.
func ContextWithTracer(t Tracer) ContextOption {
	return func(c *KernelRuntimeContext) { c.tracer = t }
}

// NewKernelRuntimeContext returns a context for calling a kernel by itself, as
// tests do. Without options scratch comes from the heap and loops run on the
// calling goroutine. Call Release between calls of kernels.
func NewKernelRuntimeContext(ctx context.Context, opts ...ContextOption) *KernelRuntimeContext {
	c := &KernelRuntimeContext{ctx: ctx}
	c.slot = &c.own
	for _, opt := range opts {
		opt(c)
	}
	return c
}

// Context returns the context of the run, for a kernel that takes long enough to
// look whether it is cancelled.
func (c *KernelRuntimeContext) Context() context.Context { return c.ctx }

// Tracer returns the tracer, or nil.
func (c *KernelRuntimeContext) Tracer() Tracer { return c.tracer }

// TempAllocator returns the allocator behind AllocateTemp, or nil.
func (c *KernelRuntimeContext) TempAllocator() memory.Allocator { return c.temp }

// MethodAllocator returns the allocator of memory that lives as long as the
// method, or nil.
func (c *KernelRuntimeContext) MethodAllocator() memory.Allocator { return c.method }

// Threads returns how many threads a parallel loop has, at least 1.
func (c *KernelRuntimeContext) Threads() int { return c.pool.Threads() }

// Parallel runs t over 0 <= i < n in chunks of at least grain iterations and
// returns when all are done. With one thread, or too few iterations for two
// chunks, t runs once on the calling goroutine.
func (c *KernelRuntimeContext) Parallel(n, grain int, t Task) {
	c.pool.For(n, grain, t)
}

// AllocateTemp returns scratch memory of size bytes that starts at a multiple of
// align, a power of two; 0 stands for 64. The content is undefined. It is freed
// after the call. Where there is no temp allocator or it is exhausted the memory
// comes from the heap, within the caller's limits.
func (c *KernelRuntimeContext) AllocateTemp(size, align int) ([]byte, error) {
	if c.temp != nil {
		if b, err := c.temp.Allocate(size, align); err == nil {
			c.blocks = append(c.blocks, tempBlock{data: b})
			return b, nil
		}
	}
	if size < 0 {
		return nil, errs.InvalidArgument.Errorf("scratch of %d bytes", size)
	}
	if c.budget != nil {
		if err := c.budget.Charge(int64(size), "scratch memory"); err != nil {
			return nil, err
		}
	}
	b, err := memory.Heap{}.Allocate(size, align)
	if err != nil {
		if c.budget != nil {
			c.budget.Release(int64(size))
		}
		return nil, err
	}
	c.blocks = append(c.blocks, tempBlock{data: b, heap: true})
	return b, nil
}

// Charge counts n bytes, which the kernel keeps in its state for later calls,
// against the caller's memory limit until the method is closed.
func (c *KernelRuntimeContext) Charge(n int64, what string) error {
	if c.owner == nil {
		return nil
	}
	return c.owner.charge(n, what)
}

// Release frees the scratch memory handed out since the last Release. The
// runtime does so after each step.
func (c *KernelRuntimeContext) Release() {
	for i, b := range c.blocks {
		switch {
		case !b.heap:
			c.temp.Free(b.data)
		case c.budget != nil:
			c.budget.Release(int64(len(b.data)))
		}
		c.blocks[i] = tempBlock{}
	}
	c.blocks = c.blocks[:0]
}

// Temp returns scratch for n elements of type T from ctx's AllocateTemp. The
// content is undefined; it is freed after the call of the kernel.
func Temp[T tensor.Element](ctx *KernelRuntimeContext, n int) ([]T, error) {
	size, err := tensor.NBytes(tensor.DTypeOf[T](), []int{n})
	if err != nil {
		return nil, errs.MemoryAllocationFailed.Wrap(err)
	}
	b, err := ctx.AllocateTemp(size, 64)
	if err != nil {
		return nil, err
	}
	return tensor.Cast[T](b)[:n], nil
}

// State returns the state of the calling step: a T that is made, as its zero
// value, at the step's first call and kept for all later ones. A step has one
// state; asking for another type replaces it. A kernel keeps its loop body there,
// and buffers that should not be allocated anew in each call.
func State[T any](ctx *KernelRuntimeContext) *T {
	if s, ok := (*ctx.slot).(*T); ok {
		return s
	}
	s := new(T)
	*ctx.slot = s
	return s
}
