// Package module loads ExecuTorch programs and runs them: the facade over
// package runtime. It links no operator; the registry given to a constructor
// decides what a program may use. Package etgo, the root of the project, gives
// the same with every operator and backend.
//
//	reg := runtime.NewRegistry()
//	if err := portable.Register(reg); err != nil { ... }
//	m, err := module.Open("model.pte", reg)
//	if err != nil { ... }
//	defer m.Close()
//	out, err := m.Forward(ctx, tensor.Of(pixels, 1, 3, 224, 224))
//
// A Module is for one goroutine at a time: a call made while another is going
// on returns runtime.ErrBusy. Clone gives each goroutine a module of its own that
// shares the program, its constants and what is packed of them.
package module

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/internal/mmapfile"
	"github.com/etgo-ml/etgo/memory"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Module is a program with the methods loaded of it.
type Module struct {
	// mu is held during each call; Close waits for it, all others give up.
	mu      sync.Mutex
	closed  bool
	common  *common
	methods map[string]*runtime.Method
	arenas  *memory.SharedArenas
}

// common is what clones share.
type common struct {
	cfg     config
	reg     *runtime.Registry
	program *runtime.Program
	data    *runtime.DataSet
	budget  *memory.Budget
	pool    *runtime.Pool

	mu    sync.Mutex
	users int
	files []io.Closer // data files
}

func (c *common) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users--; c.users > 0 {
		return nil
	}
	c.pool.Close()
	err := c.program.Close()
	for _, f := range c.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Open opens a .pte file.
func Open(path string, reg *runtime.Registry, opts ...Option) (*Module, error) {
	cfg := newConfig(opts)
	file, closer, err := load(path, cfg.mode)
	if err != nil {
		return nil, err
	}
	m, err := fromBytes(file, closer.Close, reg, cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// New makes a module of the bytes of a .pte file, which it uses without copying:
// they must stay unchanged until the module and its clones are closed.
func New(file []byte, reg *runtime.Registry, opts ...Option) (*Module, error) {
	return fromBytes(file, nil, reg, newConfig(opts))
}

// NewReaderAt makes a module of a .pte file of size bytes that r reads.
func NewReaderAt(r io.ReaderAt, size int64, reg *runtime.Registry, opts ...Option) (*Module, error) {
	if size < 0 || int64(int(size)) != size {
		return nil, errs.InvalidArgument.Errorf("a file of %d bytes", size)
	}
	// Read in pieces, so that a size that is not true costs no more than the truth.
	file, err := io.ReadAll(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, errs.AccessFailed.Errorf("reading the program: %w", err)
	}
	if int64(len(file)) < size {
		return nil, errs.AccessFailed.Errorf("reading the program: %d bytes expected, got %d", size, len(file))
	}
	return fromBytes(file, nil, reg, newConfig(opts))
}

// OpenFS opens a .pte file of a file system, such as one embedded in the
// application. Data files of WithData are still opened from the disk.
func OpenFS(fsys fs.FS, name string, reg *runtime.Registry, opts ...Option) (*Module, error) {
	file, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, errs.AccessFailed.Wrap(err)
	}
	m, err := fromBytes(file, nil, reg, newConfig(opts))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// FromProgram makes a module of a program, which other modules may share. The
// caller's use of the program stays its own to close.
func FromProgram(p *runtime.Program, reg *runtime.Registry, opts ...Option) (*Module, error) {
	if err := p.Retain(); err != nil {
		return nil, err
	}
	return fromProgram(p, reg, newConfig(opts))
}

func newConfig(opts []Option) config {
	var c config
	for _, o := range opts {
		o(&c)
	}
	return c
}

// load brings a file into memory.
func load(path string, mode LoadMode) ([]byte, io.Closer, error) {
	if mode == LoadRead {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, errs.AccessFailed.Wrap(err)
		}
		return b, io.NopCloser(nil), nil
	}
	f, err := mmapfile.Open(path)
	if err != nil {
		return nil, nil, err
	}
	return f.Bytes(), f, nil
}

func fromBytes(file []byte, free func() error, reg *runtime.Registry, cfg config) (*Module, error) {
	p, err := runtime.NewProgram(file, free)
	if err != nil {
		if free != nil {
			err = errors.Join(err, free())
		}
		return nil, err
	}
	return fromProgram(p, reg, cfg)
}

// fromProgram takes over one use of p.
func fromProgram(p *runtime.Program, reg *runtime.Registry, cfg config) (m *Module, err error) {
	c := &common{cfg: cfg, reg: reg, program: p, users: 1}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.release())
		}
	}()
	if reg == nil {
		return nil, errs.InvalidArgument.Errorf("no registry given")
	}
	files := cfg.dataFiles
	for _, path := range cfg.dataPaths {
		b, closer, err := load(path, cfg.mode)
		if err != nil {
			return nil, err
		}
		c.files = append(c.files, closer)
		f, err := runtime.NewDataFile(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		files = append(files[:len(files):len(files)], f)
	}
	if c.data, err = p.NewDataSet(files...); err != nil {
		return nil, err
	}
	if cfg.limits != (memory.Limits{}) {
		c.budget = memory.NewBudget(cfg.limits)
	}
	if c.cfg.tempAlloc == nil {
		c.cfg.tempAlloc = memory.NewCaching(memory.Limited(memory.Heap{}, c.budget))
	}
	c.pool = runtime.NewPool(cfg.threads)
	return newModule(c)
}

func newModule(c *common) (*Module, error) {
	m := &Module{common: c, methods: map[string]*runtime.Method{}}
	if c.cfg.sharedArenas {
		var err error
		if m.arenas, err = c.program.NewSharedArenas(c.cfg.methodAlloc, c.budget, c.cfg.arenaIDs...); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// enter begins a call.
func (m *Module) enter() error {
	if !m.mu.TryLock() {
		return errs.Busy.Errorf("the module is in use by another goroutine; use Clone to run side by side")
	}
	if m.closed {
		m.mu.Unlock()
		return errs.Closed.Errorf("the module is closed")
	}
	return nil
}

// Clone returns a module that shares this one's program, data files, constants,
// packed weights, threads and allocators and has methods and state of its own,
// in their initial state.
func (m *Module) Clone() (*Module, error) {
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	c := m.common
	c.mu.Lock()
	c.users++
	c.mu.Unlock()
	clone, err := newModule(c)
	if err != nil {
		return nil, errors.Join(err, c.release())
	}
	return clone, nil
}

// Close unloads the methods and releases the program. It waits for a run that is
// going on. Closing twice is no error.
func (m *Module) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	var err error
	for _, method := range m.methods {
		err = errors.Join(err, method.Close())
	}
	m.methods = nil
	if m.arenas != nil {
		m.arenas.Close()
	}
	return errors.Join(err, m.common.release())
}

// Program returns the program, which is valid as long as the module.
func (m *Module) Program() *runtime.Program { return m.common.program }

// MethodNames returns the names of the program's methods in the order of the file.
func (m *Module) MethodNames() []string { return m.common.program.MethodNames() }

// Meta describes a method without loading it.
func (m *Module) Meta(method string) (*runtime.MethodMeta, error) {
	return m.common.program.MethodMeta(method)
}

// MemoryEstimate tells what loading a method takes, before anything is allocated.
func (m *Module) MemoryEstimate(method string) (memory.Estimate, error) {
	return m.common.program.MemoryEstimate(method)
}

// Load loads a method, if it is not yet: otherwise its first run does.
func (m *Module) Load(method string) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	_, err := m.method(method)
	return err
}

// Unload frees a method with its state. It is no error if it was not loaded.
func (m *Module) Unload(method string) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	loaded := m.methods[method]
	if loaded == nil {
		return nil
	}
	delete(m.methods, method)
	return loaded.Close()
}

// IsLoaded reports whether a method is loaded; false while another goroutine
// uses the module.
func (m *Module) IsLoaded(method string) bool {
	if m.enter() != nil {
		return false
	}
	defer m.mu.Unlock()
	return m.methods[method] != nil
}

// method returns a method, loading it at first.
func (m *Module) method(name string) (*runtime.Method, error) {
	if method := m.methods[name]; method != nil {
		return method, nil
	}
	c := m.common
	opts := []runtime.MethodOption{
		runtime.WithDataSet(c.data), runtime.WithMethodAllocator(c.cfg.methodAlloc), runtime.WithTempAllocator(c.cfg.tempAlloc),
		runtime.WithBudget(c.budget), runtime.WithPool(c.pool), runtime.WithTracer(c.cfg.tracer),
	}
	if m.arenas != nil {
		opts = append(opts, runtime.WithSharedArenas(m.arenas))
	}
	start := time.Now()
	method, err := c.program.LoadMethod(name, c.reg, append(opts, c.cfg.method...)...)
	if err != nil {
		return nil, err
	}
	if c.cfg.logger != nil {
		c.cfg.logger.Debug("loaded method", "method", name, "time", time.Since(start), "memory", c.budget.Used())
	}
	m.methods[name] = method
	return method, nil
}

// use runs f on a method, loading it at first.
func (m *Module) use(name string, f func(*runtime.Method) error) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	method, err := m.method(name)
	if err != nil {
		return err
	}
	return f(method)
}

// Execute runs a method on inputs and returns its outputs. The inputs must be as
// many as the method has and fit it in kind, type and shape; one in another dim
// order is converted.
func (m *Module) Execute(ctx context.Context, method string, inputs ...runtime.EValue) (outputs []runtime.EValue, err error) {
	err = m.use(method, func(method *runtime.Method) error {
		if !m.common.cfg.borrow {
			outputs, err = method.Execute(ctx, inputs...)
			return err
		}
		if err := method.SetInputs(inputs); err != nil {
			return err
		}
		outputs, err = m.run(ctx, method)
		return err
	})
	return outputs, err
}

// Run runs a method on the inputs set by SetInput and returns its outputs.
func (m *Module) Run(ctx context.Context, method string) (outputs []runtime.EValue, err error) {
	err = m.use(method, func(method *runtime.Method) error {
		outputs, err = m.run(ctx, method)
		return err
	})
	return outputs, err
}

func (m *Module) run(ctx context.Context, method *runtime.Method) ([]runtime.EValue, error) {
	if err := method.Run(ctx); err != nil {
		return nil, err
	}
	outputs := make([]runtime.EValue, method.NumOutputs())
	for i := range outputs {
		var err error
		if m.common.cfg.borrow {
			outputs[i], err = method.Output(i)
		} else {
			err = method.CopyOutput(i, &outputs[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return outputs, nil
}

// ExecuteInto is Execute with outputs in the caller's memory: a tensor in
// outputs must have the output's type and is resized to its shape; None is
// replaced by a tensor to be used again in the next call. There must be as many
// as the method has outputs. With shapes that repeat it allocates nothing.
func (m *Module) ExecuteInto(ctx context.Context, method string, outputs []runtime.EValue, inputs ...runtime.EValue) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	loaded, err := m.method(method)
	if err != nil {
		return err
	}
	return loaded.ExecuteInto(ctx, outputs, inputs...)
}

// Forward runs the method "forward" on tensors and returns the tensors that it
// gives. For values of other kinds use Execute.
func (m *Module) Forward(ctx context.Context, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	values := make([]runtime.EValue, len(inputs))
	for i, t := range inputs {
		values[i] = runtime.TensorValue(t)
	}
	outputs, err := m.Execute(ctx, "forward", values...)
	if err != nil {
		return nil, err
	}
	tensors := make([]*tensor.Tensor, len(outputs))
	for i := range outputs {
		if tensors[i] = outputs[i].Tensor(); tensors[i] == nil {
			return nil, errs.InvalidType.Errorf("output %d of method forward is %v, not a tensor; use Execute", i, outputs[i].Kind())
		}
	}
	return tensors, nil
}

// SetInput sets an input of a method for its next runs; see Run. A tensor's
// memory may be used as it is: leave it unchanged until the run ends.
func (m *Module) SetInput(method string, i int, v runtime.EValue) error {
	return m.use(method, func(method *runtime.Method) error { return method.SetInput(i, v) })
}

// SetOutput lets the runs of a method put output i into t; nil ends that. See
// runtime.Method.SetOutput.
func (m *Module) SetOutput(method string, i int, t *tensor.Tensor) error {
	return m.use(method, func(method *runtime.Method) error { return method.SetOutput(i, t) })
}

// Attributes returns the names of a method's named mutable buffers.
func (m *Module) Attributes(method string) (names []string, err error) {
	err = m.use(method, func(method *runtime.Method) error {
		names = method.Attributes()
		return nil
	})
	return names, err
}

// Attribute returns a copy of a named mutable buffer of a method.
func (m *Module) Attribute(method, name string) (t *tensor.Tensor, err error) {
	err = m.use(method, func(method *runtime.Method) error {
		t, err = method.Attribute(name)
		return err
	})
	return t, err
}

// SetAttribute sets a named mutable buffer of a method to a tensor of its type
// and shape.
func (m *Module) SetAttribute(method, name string, v *tensor.Tensor) error {
	return m.use(method, func(method *runtime.Method) error { return method.SetAttribute(name, v) })
}

// Reset brings all loaded methods back to their initial state.
func (m *Module) Reset() error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	var err error
	for _, method := range m.methods {
		err = errors.Join(err, method.Reset())
	}
	return err
}
