package runtime

import (
	"github.com/etgo-ml/etgo/memory"
)

// CompileSpec is a key and value that the exporter gave a delegate.
type CompileSpec struct {
	Key   string
	Value []byte
}

// Backend makes delegates executable. It must be safe for concurrent use: many
// methods may be loaded at once.
type Backend interface {
	// Init compiles a delegate's payload. The payload and the named data stay valid
	// until the Delegate is closed. Errors it returns keep their class; one without
	// is taken as ErrDelegateInvalidCompatibility.
	Init(ctx *BackendInitContext, payload []byte, specs []CompileSpec) (Delegate, error)
}

// Delegate is a compiled subgraph.
type Delegate interface {
	// Execute runs the subgraph on the arguments of the delegate call, inputs and
	// outputs in the exporter's order.
	Execute(ctx *BackendExecutionContext, args Args) error
	// Close frees what the delegate holds.
	Close() error
}

// BackendInitContext is what a backend gets while a method is loaded.
type BackendInitContext struct {
	// Method is the name of the method that is loaded.
	Method string
	// Threads is the number of threads that Execute will have.
	Threads int
	// Options are the backend's options as the application gave them, or nil.
	Options any
	// Shared keeps what may be shared with other delegates of the same data, such as
	// packed weights.
	Shared *SharedCache
	// Budget is the account of memory that the application limits; it may be nil.
	Budget *memory.Budget
	// MethodAllocator gives memory that lives as long as the method; it may be nil.
	MethodAllocator memory.Allocator

	data *DataSet
}

// NamedData returns the bytes that the program, or a data file loaded with it,
// stores under key. The error is ErrNotFound where neither does.
func (c *BackendInitContext) NamedData(key string) ([]byte, error) {
	b, _, err := c.data.lookup(key)
	return b, err
}

// BackendExecutionContext is what a delegate gets for one call. Its kernel
// context gives scratch memory, threads and a state slot.
type BackendExecutionContext struct {
	*KernelRuntimeContext
	// Method is the name of the running method.
	Method string
}
