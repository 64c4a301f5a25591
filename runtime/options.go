package runtime

import (
	"github.com/etgo-ml/etgo/internal/parallel"
	"github.com/etgo-ml/etgo/memory"
)

// DefaultMaxInstructions bounds the instructions of one run, as a loop in a
// damaged program might not end. It is ExecuTorch's bound.
const DefaultMaxInstructions = 10_000_000

// Pool is a fixed set of worker goroutines for parallel loops. Methods may share
// one; loops of methods that run at the same time then take turns.
type Pool = parallel.Pool

// NewPool returns a pool of n threads, the calling one included; 0 stands for
// GOMAXPROCS.
func NewPool(n int) *Pool { return parallel.New(n) }

// MethodOption changes how LoadMethod loads a method.
type MethodOption func(*methodOptions)

type methodOptions struct {
	data            *DataSet
	methodAlloc     memory.Allocator
	tempAlloc       memory.Allocator
	budget          *memory.Budget
	shared          *memory.SharedArenas
	pool            *parallel.Pool
	tracer          Tracer
	backendOptions  map[string]any
	noPasses        bool
	maxInstructions int
}

// WithDataSet lets the method find external tensors and named data in d; the
// default is the program's own named data.
func WithDataSet(d *DataSet) MethodOption {
	return func(o *methodOptions) { o.data = d }
}

// WithMethodAllocator sets where planned memory and other memory that lives as
// long as the method comes from; the default is the heap.
func WithMethodAllocator(a memory.Allocator) MethodOption {
	return func(o *methodOptions) { o.methodAlloc = a }
}

// WithTempAllocator sets where kernels' scratch memory comes from; the default
// is the heap.
func WithTempAllocator(a memory.Allocator) MethodOption {
	return func(o *methodOptions) { o.tempAlloc = a }
}

// WithBudget sets the account that memory is charged to.
func WithBudget(b *memory.Budget) MethodOption {
	return func(o *methodOptions) { o.budget = b }
}

// WithSharedArenas lets methods share planned memory, as those of a program
// exported with shared mutable state must. Such methods must not run at the same
// time.
func WithSharedArenas(s *memory.SharedArenas) MethodOption {
	return func(o *methodOptions) { o.shared = s }
}

// WithPool sets the threads of parallel loops; the default is the calling one
// alone.
func WithPool(p *Pool) MethodOption {
	return func(o *methodOptions) { o.pool = p }
}

// WithTracer sets who is told of the method's work.
func WithTracer(t Tracer) MethodOption {
	return func(o *methodOptions) { o.tracer = t }
}

// WithBackendOptions hands options, of a type that the backend defines, to the
// backend with the given id.
func WithBackendOptions(id string, options any) MethodOption {
	return func(o *methodOptions) {
		if o.backendOptions == nil {
			o.backendOptions = map[string]any{}
		}
		o.backendOptions[id] = options
	}
}

// WithFusion turns the registry's passes over the steps on or off; they are on
// by default.
func WithFusion(on bool) MethodOption {
	return func(o *methodOptions) { o.noPasses = !on }
}

// WithMaxInstructions bounds the instructions of one run; the default is
// DefaultMaxInstructions.
func WithMaxInstructions(n int) MethodOption {
	return func(o *methodOptions) { o.maxInstructions = n }
}
