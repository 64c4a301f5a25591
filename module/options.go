package module

import (
	"log/slog"

	"github.com/etgo-ml/etgo/memory"
	"github.com/etgo-ml/etgo/runtime"
)

// LoadMode tells how Open brings files into memory.
type LoadMode int

const (
	// LoadMmap maps files: opening is fast and weights are read when they are used.
	// A file must not be truncated or overwritten while it is open, which would end
	// the process with SIGBUS.
	LoadMmap LoadMode = iota
	// LoadRead reads files into the heap.
	LoadRead
)

// Option changes how a module is made. All constructors take the same options.
type Option func(*config)

type config struct {
	mode         LoadMode
	dataPaths    []string
	dataFiles    []*runtime.DataFile
	methodAlloc  memory.Allocator
	tempAlloc    memory.Allocator
	limits       memory.Limits
	threads      int
	sharedArenas bool
	arenaIDs     []uint32
	borrow       bool
	tracer       runtime.Tracer
	logger       *slog.Logger
	method       []runtime.MethodOption
}

// WithLoadMode sets how Open and WithData bring files into memory; the default
// is LoadMmap.
func WithLoadMode(mode LoadMode) Option {
	return func(c *config) { c.mode = mode }
}

// WithData adds data files (.ptd) with tensors that the program does not carry
// itself.
func WithData(paths ...string) Option {
	return func(c *config) { c.dataPaths = append(c.dataPaths, paths...) }
}

// WithDataFiles adds data files that the caller has decoded and keeps valid.
func WithDataFiles(files ...*runtime.DataFile) Option {
	return func(c *config) { c.dataFiles = append(c.dataFiles, files...) }
}

// WithMethodAllocator sets where methods take planned memory and other memory
// that lives as long as they do; the default is the heap.
func WithMethodAllocator(a memory.Allocator) Option {
	return func(c *config) { c.methodAlloc = a }
}

// WithTempAllocator sets where kernels take scratch memory; the default is a
// memory.Caching that the module's clones share. An allocator given to a module
// that is cloned must be safe for concurrent use.
func WithTempAllocator(a memory.Allocator) Option {
	return func(c *config) { c.tempAlloc = a }
}

// WithMemoryLimit bounds the memory that the module and its clones take
// together: planned arenas, packed constants and scratch from the heap. The
// default is no bound. Beyond it loading or running gives
// runtime.ErrLimitExceeded.
func WithMemoryLimit(l memory.Limits) Option {
	return func(c *config) { c.limits = l }
}

// WithThreads sets how many threads a run uses, the calling one included; the
// default, 0, is GOMAXPROCS. More threads than free cores make runs slower.
// Clones share the threads.
func WithThreads(n int) Option {
	return func(c *config) { c.threads = n }
}

// WithSharedArenas lets the methods of a module share the planned memory with
// the given ids, or 1 and 2 without any, as those of programs exported with
// shared mutable state must. Each clone has its own.
func WithSharedArenas(ids ...uint32) Option {
	return func(c *config) { c.sharedArenas, c.arenaIDs = true, ids }
}

// WithBorrowedOutputs lets Execute, Run and Forward return outputs as they lie
// in the method's memory: valid, and to be left unchanged, until the method's
// next run or Close. The default are copies.
func WithBorrowedOutputs() Option {
	return func(c *config) { c.borrow = true }
}

// WithTracer sets who is told of the work done. Clones share it, so it must be
// safe for concurrent use where they run side by side.
func WithTracer(t runtime.Tracer) Option {
	return func(c *config) { c.tracer = t }
}

// WithLogger logs at debug level what is loaded; the default is silence. Errors
// are returned, not logged.
func WithLogger(l *slog.Logger) Option {
	return func(c *config) { c.logger = l }
}

// WithFusion turns the registry's passes, which rewrite the instructions at load,
// on or off; they are on by default.
func WithFusion(on bool) Option {
	return func(c *config) { c.method = append(c.method, runtime.WithFusion(on)) }
}

// WithMaxInstructions bounds the instructions of one run; the default is
// runtime.DefaultMaxInstructions.
func WithMaxInstructions(n int) Option {
	return func(c *config) { c.method = append(c.method, runtime.WithMaxInstructions(n)) }
}

// WithBackendOptions hands options, of a type that the backend defines, to the
// backend with the given id.
func WithBackendOptions(id string, options any) Option {
	return func(c *config) { c.method = append(c.method, runtime.WithBackendOptions(id, options)) }
}
