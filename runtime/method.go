package runtime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/internal/parallel"
	"github.com/etgo-ml/etgo/memory"
	"github.com/etgo-ml/etgo/schema/program"
	"github.com/etgo-ml/etgo/tensor"
)

// Method is a loaded method of a program. Its state, mutable buffers and the
// values that instructions compute, is kept from one run to the next. A Method is
// for one goroutine at a time; another that comes meanwhile gets ErrBusy.
type Method struct {
	name    string
	program *Program
	plan    *program.Plan

	values     []EValue
	initial    []EValue // the values after loading
	steps      []step
	inputs     []inputSlot
	outputs    []int            // value indices
	targets    []*tensor.Tensor // by output: where SetOutput wants it, or nil
	attributes []attribute

	planned     *memory.Planned
	methodAlloc memory.Allocator
	budget      *memory.Budget
	owned       [][]byte // from methodAlloc or the heap
	charged     int64    // against budget, for owned and the rest
	initData    []initData
	homes       []home
	growths     []*growth
	freed       bool // a FreeCall has taken a tensor's memory

	delegates       []Delegate
	pool            *parallel.Pool
	tracer          Tracer
	kctx            KernelRuntimeContext
	bctx            BackendExecutionContext
	maxInstructions int

	busy   atomic.Bool
	closed bool
}

type inputSlot struct {
	value  int
	copied bool // never share the caller's memory
	symInt bool // None in the file, and used as a symbolic size
	set    bool
	own    []byte // memory for an input that has none planned and must be copied
}

type attribute struct {
	name   string
	tensor *tensor.Tensor
}

// initData is the initial value of a mutable tensor.
type initData struct{ dst, src []byte }

// home is the memory that a tensor has from loading on.
type home struct {
	tensor *tensor.Tensor
	bytes  []byte
}

// growth gives a DynamicUnbound tensor memory and keeps the largest.
type growth struct {
	m     *Method
	bytes []byte
}

func (g *growth) grow(nbytes int) ([]byte, error) {
	if nbytes > len(g.bytes) {
		// Some room, so that a tensor growing step by step is not moved each time.
		b, err := g.m.allocate(max(nbytes, min(len(g.bytes)*3/2, math.MaxInt/2)), "tensor of unbounded shape")
		if err != nil {
			return nil, err
		}
		g.m.release(g.bytes)
		g.bytes = b
	}
	return g.bytes, nil
}

type stepKind uint8

const (
	stepKernel stepKind = iota
	stepDelegate
	stepMove
	stepJumpFalse
	stepFree
)

// step is one instruction, ready to run.
type step struct {
	kind     stepKind
	run      KernelFunc
	args     Args
	refresh  []*EValue // arguments that may be lists of values that change
	checks   []int     // arguments whose kinds may change
	reads    []int     // tensor arguments that are read
	writes   []int     // tensor arguments that are written
	state    any       // see State
	delegate Delegate
	from, to *EValue
	target   int
	sig      *Signature
	name     string
	chain    int
	instr    int
}

// allocate gives memory that lives as long as the method.
func (m *Method) allocate(n int, what string) ([]byte, error) {
	if err := m.budget.Charge(int64(n), what); err != nil {
		return nil, err
	}
	b, err := m.allocator().Allocate(n, memory.DefaultAlign)
	if err != nil {
		m.budget.Release(int64(n))
		return nil, err
	}
	clear(b)
	m.owned = append(m.owned, b)
	m.charged += int64(n)
	return b, nil
}

// charge counts memory that the method holds until it is closed.
func (m *Method) charge(n int64, what string) error {
	if err := m.budget.Charge(n, what); err != nil {
		return err
	}
	m.charged += n
	return nil
}

func (m *Method) allocator() memory.Allocator {
	if m.methodAlloc != nil {
		return m.methodAlloc
	}
	return memory.Heap{}
}

// release gives back a block of allocate before the method is closed.
func (m *Method) release(b []byte) {
	for i := range m.owned {
		if len(b) > 0 && len(m.owned[i]) == len(b) && &m.owned[i][0] == &b[0] {
			m.owned = slices.Delete(m.owned, i, i+1)
			m.charged -= int64(len(b))
			m.budget.Release(int64(len(b)))
			m.allocator().Free(b)
			return
		}
	}
}

// Name returns the method's name.
func (m *Method) Name() string { return m.name }

// Meta describes the method.
func (m *Method) Meta() *MethodMeta {
	meta, _ := m.program.MethodMeta(m.name)
	return meta
}

// Close frees the method's memory, closes its delegates and releases its
// program. A run that is still going on makes it return ErrBusy.
func (m *Method) Close() error {
	if !m.busy.CompareAndSwap(false, true) {
		return errs.Busy.Errorf("method %s is running", m.name)
	}
	defer m.busy.Store(false)
	if m.closed {
		return nil
	}
	m.closed = true
	return errors.Join(m.free(), m.program.Close())
}

func (m *Method) free() error {
	var err error
	for _, d := range m.delegates {
		err = errors.Join(err, d.Close())
	}
	m.delegates = nil
	if m.planned != nil {
		m.planned.Close()
	}
	for _, b := range m.owned {
		m.allocator().Free(b)
	}
	m.budget.Release(m.charged)
	m.owned, m.charged = nil, 0
	m.values, m.initial, m.steps, m.homes, m.initData, m.growths, m.attributes = nil, nil, nil, nil, nil, nil, nil
	return err
}

// enter marks the method as in use.
func (m *Method) enter() error {
	if !m.busy.CompareAndSwap(false, true) {
		return errs.Busy.Errorf("method %s is in use by another goroutine; a Method runs once at a time, clones run side by side", m.name)
	}
	if m.closed {
		m.busy.Store(false)
		return errs.Closed.Errorf("method %s is closed", m.name)
	}
	return nil
}

func (m *Method) leave() { m.busy.Store(false) }

// SetInput sets input i for the next runs. A tensor must have the type that the
// method wants and a shape that fits its bounds; one in another dim order is
// converted. Where the method has no planned memory for the input and does not
// write it, the tensor's memory is used as it is, so it must stay valid and
// unchanged until the run ends. A number, bool or string must equal the one that
// the method was exported with; where the method has None, an int is taken as the
// value of a symbolic size.
func (m *Method) SetInput(i int, v EValue) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.leave()
	return m.setInput(i, v)
}

func (m *Method) setInput(i int, v EValue) error {
	if i < 0 || i >= len(m.inputs) {
		return errs.InvalidArgument.Errorf("method %s has %d inputs, there is no input %d", m.name, len(m.inputs), i)
	}
	in := &m.inputs[i]
	in.set = false
	e := &m.values[in.value]
	var err error
	switch {
	case in.symInt:
		if v.kind != KindInt {
			err = errs.InvalidArgument.Errorf("an int expected, for a symbolic size, %v given", v.kind)
		} else {
			*e = v
		}
	case e.kind == KindTensor && v.kind == KindTensor:
		err = m.bindInput(in, e.tensor, v.tensor)
	case e.kind != v.kind:
		err = errs.InvalidArgument.Errorf("%v expected, %v given", e.kind, v.kind)
	case e.kind == KindDouble:
		if !closeTo(v.Double(), e.Double()) {
			err = errs.InvalidArgument.Errorf("the method was exported for the constant %v, %v given", *e, v)
		}
	case e.kind == KindString:
		if v.str != e.str {
			err = errs.InvalidArgument.Errorf("the method was exported for the constant %v, %v given", *e, v)
		}
	case e.kind == KindNone:
	case e.IsScalar():
		if v.bits != e.bits {
			err = errs.InvalidArgument.Errorf("the method was exported for the constant %v, %v given", *e, v)
		}
	default:
		err = errs.InvalidArgument.Errorf("an input that is %v cannot be set", e.kind)
	}
	if err != nil {
		return fmt.Errorf("method %s: input %d of %d: %w", m.name, i, len(m.inputs), err)
	}
	in.set = true
	return nil
}

// closeTo compares a given number with the exported one as ExecuTorch does.
func closeTo(got, want float64) bool {
	switch {
	case math.IsNaN(got) || math.IsNaN(want):
		return math.IsNaN(got) && math.IsNaN(want)
	case math.IsInf(got, 0) || math.IsInf(want, 0):
		return got == want
	}
	return math.Abs(got-want) <= 1e-4+1e-5*math.Abs(want)
}

// bindInput resizes dst to src's shape and copies or shares src's memory.
func (m *Method) bindInput(in *inputSlot, dst, src *tensor.Tensor) error {
	if err := src.Err(); err != nil {
		return errs.InvalidArgument.Wrap(err)
	}
	if src.DType() != dst.DType() {
		return errs.InvalidArgument.Errorf("%v expected, %v given", m.describe(in), src)
	}
	if !src.HasData() {
		return errs.InvalidArgument.Errorf("%v given without memory", src)
	}
	v := &m.plan.Values[in.value]
	planned := v.Kind == program.KindTensor && (v.Tensor.Allocation != nil || v.Tensor.DataBuffer != 0 || v.Tensor.Location == program.LocationExternal)
	if !planned {
		dst.ClearBytes() // what the last run was given sets no bound
	}
	if err := dst.Resize(src.Shape()); err != nil {
		if Code(err) == errs.CodeNotSupported {
			hint := ""
			if dst.Dynamism() == tensor.Static {
				hint = "; the shape is static: export with dynamic_shapes to let it vary"
			}
			return errs.NotSupported.Errorf("%v expected, %v given%s", m.describe(in), src, hint)
		}
		return err
	}
	if planned {
		return tensor.Copy(dst, src)
	}
	if !in.copied && dst.SameLayoutAs(src) && dst.SetBytes(src.Bytes()) == nil {
		dst.SetReadOnly(true)
		return nil
	}
	n := dst.NBytes()
	if n > len(in.own) {
		b, err := m.allocate(max(n, dst.MaxNumel()*dst.DType().Size()), "copy of an input")
		if err != nil {
			return err
		}
		m.release(in.own)
		in.own = b
	}
	dst.SetReadOnly(false)
	if err := dst.SetBytes(in.own); err != nil {
		return err
	}
	return tensor.Copy(dst, src)
}

// describe describes what an input's slot takes.
func (m *Method) describe(in *inputSlot) string {
	v := valueInfo(&m.plan.Values[in.value])
	if v.Kind == KindTensor && v.Dynamism == tensor.DynamicBound {
		return fmt.Sprintf("%v (of rank %d, with at most as many elements)", v, len(v.Sizes))
	}
	return v.String()
}

// NumInputs returns the number of inputs.
func (m *Method) NumInputs() int { return len(m.inputs) }

// NumOutputs returns the number of outputs.
func (m *Method) NumOutputs() int { return len(m.outputs) }

// SetInputs sets all inputs.
func (m *Method) SetInputs(inputs []EValue) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.leave()
	return m.setInputs(inputs)
}

func (m *Method) setInputs(inputs []EValue) error {
	if len(inputs) != len(m.inputs) {
		return errs.InvalidArgument.Errorf("method %s wants %d inputs%s, got %d", m.name, len(m.inputs), m.describeInputs(), len(inputs))
	}
	for i := range inputs {
		if err := m.setInput(i, inputs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *Method) describeInputs() string {
	if len(m.inputs) == 0 || len(m.inputs) > 8 {
		return ""
	}
	s := " ("
	for i := range m.inputs {
		if i > 0 {
			s += ", "
		}
		s += valueInfo(&m.plan.Values[m.inputs[i].value]).String()
	}
	return s + ")"
}

// Run executes the method on the inputs set before. ctx is looked at between
// instructions; a run that is cancelled leaves the state as the instructions so
// far have made it.
func (m *Method) Run(ctx context.Context) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.leave()
	return m.execute(ctx)
}

// Execute sets the inputs, runs the method and returns its outputs as copies.
// Together they must fit the memory limit, if there is one.
func (m *Method) Execute(ctx context.Context, inputs ...EValue) ([]EValue, error) {
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer m.leave()
	if err := m.setInputs(inputs); err != nil {
		return nil, err
	}
	if err := m.execute(ctx); err != nil {
		return nil, err
	}
	outputs := make([]EValue, len(m.outputs))
	return outputs, m.copyOutputs(outputs)
}

// ExecuteInto is Execute with outputs in the caller's memory: a tensor in
// outputs must have the output's type and is resized to its shape, where it is
// not the same already; None is replaced by a new tensor, to be used again in the
// next call. outputs must have NumOutputs elements.
// With shapes that repeat it allocates nothing.
func (m *Method) ExecuteInto(ctx context.Context, outputs []EValue, inputs ...EValue) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.leave()
	if len(outputs) != len(m.outputs) {
		return errs.InvalidArgument.Errorf("method %s has %d outputs, room for %d given", m.name, len(m.outputs), len(outputs))
	}
	if err := m.setInputs(inputs); err != nil {
		return err
	}
	if err := m.execute(ctx); err != nil {
		return err
	}
	return m.copyOutputs(outputs)
}

// Output returns output i as it lies in the method's memory: valid, and to be
// left unchanged, until the next run or Close. An output that is a constant of
// the program is copied.
func (m *Method) Output(i int) (EValue, error) {
	if err := m.enter(); err != nil {
		return EValue{}, err
	}
	defer m.leave()
	if i < 0 || i >= len(m.outputs) {
		return EValue{}, errs.InvalidArgument.Errorf("method %s has %d outputs, there is no output %d", m.name, len(m.outputs), i)
	}
	e, err := m.output(i)
	if err != nil {
		return EValue{}, err
	}
	if e.tensor != nil && !e.tensor.ReadOnly() {
		return *e, nil
	}
	var v EValue
	return v, m.copyOutput(&v, e)
}

// CopyOutput copies output i of the last run into v: into the tensor that v
// holds, or into a new one.
func (m *Method) CopyOutput(i int, v *EValue) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.leave()
	if i < 0 || i >= len(m.outputs) {
		return errs.InvalidArgument.Errorf("method %s has %d outputs, there is no output %d", m.name, len(m.outputs), i)
	}
	e, err := m.output(i)
	if err != nil {
		return err
	}
	return m.copyOutput(v, e)
}

// SetOutput lets every later run put output i, a tensor, into t, which must have
// its type and room for its shape; nil ends that. Where no memory is planned for
// the output and the layouts agree the method computes it in t's memory; else it
// is copied there at the end of a run. t must stay valid and be left alone while
// runs go on.
func (m *Method) SetOutput(i int, t *tensor.Tensor) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.leave()
	if i < 0 || i >= len(m.outputs) {
		return errs.InvalidArgument.Errorf("method %s has %d outputs, there is no output %d", m.name, len(m.outputs), i)
	}
	e := &m.values[m.outputs[i]]
	if t != nil {
		switch {
		case t.Err() != nil:
			return errs.InvalidArgument.Wrap(t.Err())
		case e.kind != KindTensor:
			return errs.InvalidArgument.Errorf("method %s: output %d is %v, not a tensor", m.name, i, e.kind)
		case t.DType() != e.tensor.DType() || t.Rank() != e.tensor.Rank() || t.ReadOnly() || !t.HasData():
			return errs.InvalidArgument.Errorf("method %s: output %d is %v, which does not go into %v", m.name, i, e.tensor, t)
		}
	}
	m.targets[i] = t
	return m.bindTarget(i, e, t)
}

// bindTarget lets output i be computed in t's memory if that is possible.
func (m *Method) bindTarget(i int, e *EValue, t *tensor.Tensor) error {
	v := &m.plan.Values[m.outputs[i]]
	if v.Kind != program.KindTensor || v.Tensor.Allocation != nil {
		return nil
	}
	for k := range m.homes {
		h := &m.homes[k]
		if h.tensor != e.tensor {
			continue
		}
		b := h.bytes
		if t != nil && len(t.Bytes()) >= e.tensor.MaxNumel()*e.tensor.DType().Size() && slices.Equal(t.DimOrder(), e.tensor.DimOrder()) {
			b = t.Bytes()
		}
		return e.tensor.SetBytes(b)
	}
	return nil
}

// deliver copies outputs to where SetOutput wants them.
func (m *Method) deliver() error {
	for i, t := range m.targets {
		if t == nil {
			continue
		}
		e, err := m.output(i)
		if err != nil {
			return err
		}
		if e.tensor == nil {
			return errs.InvalidState.Errorf("method %s: output %d is %v now, not a tensor", m.name, i, e.kind)
		}
		if err := copyInto(t, e.tensor); err != nil {
			return fmt.Errorf("method %s: output %d: %w", m.name, i, err)
		}
	}
	return nil
}

// output returns the value of output i, with a list's elements up to date.
func (m *Method) output(i int) (*EValue, error) {
	e := &m.values[m.outputs[i]]
	if err := e.refresh(false); err != nil {
		return nil, errs.InvalidProgram.Errorf("method %s: output %d: %w", m.name, i, err)
	}
	if e.tensor != nil && !e.tensor.HasData() {
		return nil, errs.InvalidState.Errorf("method %s: output %d, %v, has no memory", m.name, i, e.tensor)
	}
	return e, nil
}

func (m *Method) copyOutputs(outputs []EValue) error {
	// Outputs are the caller's, but making them is bounded: a small file can list a
	// large tensor many times.
	n := m.outputBytes(outputs)
	if err := m.budget.Charge(n, "outputs"); err != nil {
		return fmt.Errorf("method %s: %w", m.name, err)
	}
	defer m.budget.Release(n)
	for i := range outputs {
		e, err := m.output(i)
		if err == nil {
			err = m.copyOutput(&outputs[i], e)
		}
		if err != nil {
			return fmt.Errorf("method %s: output %d: %w", m.name, i, err)
		}
	}
	return nil
}

func (m *Method) copyOutput(dst, src *EValue) error {
	switch src.kind {
	case KindTensor:
		if dst.kind != KindTensor {
			t, err := newLike(src.tensor)
			if err != nil {
				return err
			}
			*dst = TensorValue(t)
		}
		return copyInto(dst.tensor, src.tensor)
	case KindTensorList, KindOptionalTensorList:
		ls := &list{tensors: make([]*tensor.Tensor, len(src.list.tensors))}
		for i, t := range src.list.tensors {
			if t == nil {
				continue
			}
			c, err := newLike(t)
			if err != nil {
				return err
			}
			if err := copyInto(c, t); err != nil {
				return err
			}
			ls.tensors[i] = c
		}
		*dst = EValue{kind: src.kind, list: ls}
	case KindIntList:
		*dst = IntList(slices.Clone(src.list.ints)...)
	case KindDoubleList:
		*dst = DoubleList(slices.Clone(src.list.doubles)...)
	case KindBoolList:
		*dst = BoolList(slices.Clone(src.list.bools)...)
	default:
		*dst = *src
	}
	return nil
}

// newLike returns a tensor that can hold any output that t will be.
func newLike(t *tensor.Tensor) (*tensor.Tensor, error) {
	dynamism := t.Dynamism()
	if dynamism == tensor.DynamicBound {
		// The bound is what the file says, and may be out of all proportion.
		dynamism = tensor.DynamicUnbound
	}
	c, err := tensor.NewUnbound(t.DType(), t.Shape(), tensor.WithDimOrder(t.DimOrder()), tensor.WithDynamism(dynamism))
	if err != nil {
		return nil, err
	}
	alloc := func(n int) ([]byte, error) { return memory.Heap{}.Allocate(n, memory.DefaultAlign) }
	if dynamism == tensor.DynamicUnbound {
		c.SetGrow(alloc)
	}
	b, err := alloc(t.NBytes())
	if err != nil {
		return nil, err
	}
	return c, c.SetBytes(b)
}

// outputBytes returns the bytes that copying the outputs will allocate.
func (m *Method) outputBytes(outputs []EValue) int64 {
	var n int64
	for i, o := range m.outputs {
		e := &m.values[o]
		if e.tensor != nil && outputs[i].kind != KindTensor {
			n += int64(e.tensor.NBytes())
		}
		if e.list != nil {
			for _, t := range e.list.tensors {
				if t != nil {
					n += int64(t.NBytes())
				}
			}
		}
	}
	return n
}

func copyInto(dst, src *tensor.Tensor) error {
	if err := dst.Err(); err != nil {
		return errs.InvalidArgument.Wrap(err)
	}
	if dst.DType() != src.DType() {
		return errs.InvalidArgument.Errorf("the method gives %v, the tensor for it is %v", src, dst)
	}
	if err := dst.Resize(src.Shape()); err != nil {
		return errs.InvalidArgument.Errorf("the method gives %v, the tensor for it is %v: %w", src, dst, err)
	}
	return tensor.Copy(dst, src)
}

// panicError is an error made of a panic: a bug in etgo or in a kernel.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("panic: %v (a bug of etgo or of an operator; please report it)\n%s", e.value, e.stack)
}

func newPanicError(v any) error {
	return errs.Internal.Wrap(&panicError{value: v, stack: debug.Stack()})
}

// IsPanic reports whether err comes of a panic that was caught at the boundary
// of the API, which is always a bug: fuzzing looks for it.
func IsPanic(err error) bool {
	var p *panicError
	return errors.As(err, &p)
}

// execute runs the steps.
func (m *Method) execute(ctx context.Context) (err error) {
	if ctx == nil {
		return errs.InvalidArgument.Errorf("method %s: no context given", m.name)
	}
	for i := range m.inputs {
		if !m.inputs[i].set {
			return errs.InvalidArgument.Errorf("method %s: input %d of %d has not been set", m.name, i, len(m.inputs))
		}
	}
	if m.freed {
		for _, h := range m.homes {
			if err := h.tensor.SetBytes(h.bytes); err != nil {
				return err
			}
		}
		m.freed = false
	}
	m.kctx.ctx = ctx
	pc := 0
	defer func() {
		if r := recover(); r != nil {
			err = newPanicError(r)
		}
		m.kctx.ctx = context.Background()
		m.kctx.Release()
		if err != nil {
			err = m.locate(pc, err)
		}
	}()
	if m.tracer != nil {
		e := Event{Kind: EventExecute, Method: m.name, Chain: -1, Instruction: -1, Start: time.Now()}
		m.tracer.Begin(&e)
		defer func() {
			e.Duration, e.Err = time.Since(e.Start), err
			m.tracer.End(&e)
		}()
	}
	done := ctx.Done()
	count := 0
	for next := 0; next < len(m.steps); {
		pc = next
		next++
		if done != nil {
			select {
			case <-done:
				return ctx.Err()
			default:
			}
		}
		if count++; count > m.maxInstructions {
			return errs.InvalidProgram.Errorf("more than %d instructions run: an endless loop, or WithMaxInstructions is too low", m.maxInstructions)
		}
		st := &m.steps[pc]
		switch st.kind {
		case stepKernel, stepDelegate:
			if m.tracer != nil {
				err = m.traced(st)
			} else {
				err = m.call(st)
			}
			if len(m.kctx.blocks) > 0 {
				m.kctx.Release()
			}
			if err != nil {
				return err
			}
		case stepMove:
			*st.to = *st.from
		case stepJumpFalse:
			jump, err := isFalse(st.from)
			if err != nil {
				return err
			}
			if jump {
				next = st.target
			}
		case stepFree:
			t := st.from.tensor
			if t == nil {
				return errs.InvalidProgram.Errorf("frees %v, not a tensor", st.from.kind)
			}
			t.ClearBytes()
			m.freed = true
		}
	}
	pc = -1
	return m.deliver()
}

// call runs a kernel or delegate after checking what may have changed since
// loading.
func (m *Method) call(st *step) error {
	for _, e := range st.refresh {
		if err := e.refresh(st.kind == stepDelegate); err != nil {
			return errs.InvalidType.Errorf("%v argument: %w", e.kind, err)
		}
	}
	for _, k := range st.checks {
		if err := st.sig.Params[k].check(st.args[k]); err != nil {
			return errs.InvalidType.Wrap(err)
		}
	}
	for _, k := range st.reads {
		if e := st.args[k]; e.tensor != nil {
			if !e.tensor.HasData() {
				return noMemory(st, k, e.tensor)
			}
		} else if e.list != nil {
			for _, t := range e.list.tensors {
				if t != nil && !t.HasData() {
					return noMemory(st, k, t)
				}
			}
		}
	}
	for _, k := range st.writes {
		if e := st.args[k]; e.tensor != nil {
			if err := st.checkWritten(k, e.tensor); err != nil {
				return err
			}
		} else if e.list != nil {
			for _, t := range e.list.tensors {
				if t == nil {
					continue
				}
				if err := st.checkWritten(k, t); err != nil {
					return err
				}
			}
		}
	}
	m.kctx.slot = &st.state
	if st.kind == stepDelegate {
		return st.delegate.Execute(&m.bctx, st.args)
	}
	return st.run(&m.kctx, st.args)
}

// checkWritten returns an error unless the kernel may write t, its argument k or
// an element of it.
func (st *step) checkWritten(k int, t *tensor.Tensor) error {
	if t.ReadOnly() {
		return errs.InvalidProgram.Errorf("argument %s, %v, would be written and is a constant or an input", st.sig.Params[k].Name, t)
	}
	if t.Dynamism() != tensor.Static && (st.count(st.reads, t) > 0 || st.count(st.writes, t) > 1) {
		// Resizing it would change the other argument under the kernel's hands.
		return errs.InvalidProgram.Errorf("argument %s, %v, is of dynamic shape and another argument of the same call too", st.sig.Params[k].Name, t)
	}
	if !t.HasData() && t.Dynamism() == tensor.DynamicUnbound {
		// A kernel that does not resize it must find memory, too.
		if err := t.Resize(t.Shape()); err != nil {
			return err
		}
	}
	if !t.HasData() {
		return noMemory(st, k, t)
	}
	return nil
}

// count returns how often t is among the given arguments, or in their lists.
func (st *step) count(args []int, t *tensor.Tensor) int {
	n := 0
	for _, k := range args {
		if st.args[k].tensor == t {
			n++
		} else if st.args[k].list != nil {
			for _, item := range st.args[k].list.tensors {
				if item == t {
					n++
				}
			}
		}
	}
	return n
}

func noMemory(st *step, k int, t *tensor.Tensor) error {
	return errs.InvalidState.Errorf("argument %s, %v, has no memory", st.sig.Params[k].Name, t)
}

func (m *Method) traced(st *step) (err error) {
	e := Event{Kind: EventKernel, Method: m.name, Name: st.name, Chain: st.chain, Instruction: st.instr, Args: st.args, Start: time.Now()}
	if st.kind == stepDelegate {
		e.Kind = EventDelegate
	}
	m.tracer.Begin(&e)
	// A deferred End keeps the pairs in order if the kernel panics.
	defer func() {
		e.Duration, e.Err = time.Since(e.Start), err
		m.tracer.End(&e)
	}()
	return m.call(st)
}

// isFalse decides a jump: on a bool, or on a bool tensor of which one element is
// false.
func isFalse(e *EValue) (bool, error) {
	switch {
	case e.kind == KindBool:
		return e.bits == 0, nil
	case e.kind == KindTensor && e.tensor.DType() == tensor.Bool && e.tensor.HasData():
		return slices.Contains(e.tensor.Bytes(), 0), nil
	}
	return false, errs.InvalidProgram.Errorf("jumps on %v, not on a bool", e)
}

// locate adds to an error where it happened.
func (m *Method) locate(pc int, err error) error {
	if pc < 0 || pc >= len(m.steps) {
		return fmt.Errorf("method %s: %w", m.name, err)
	}
	st := &m.steps[pc]
	where := fmt.Sprintf("method %s: instruction %d", m.name, st.instr)
	if st.chain > 0 {
		where += fmt.Sprintf(" of chain %d", st.chain)
	}
	return fmt.Errorf("%s, %s: %w", where, st.name, err)
}

// Attributes returns the names of the method's named mutable buffers, in the
// order of the program.
func (m *Method) Attributes() []string {
	names := make([]string, len(m.attributes))
	for i, a := range m.attributes {
		names[i] = a.name
	}
	return names
}

func (m *Method) attribute(name string) (*tensor.Tensor, error) {
	for _, a := range m.attributes {
		if a.name == name {
			return a.tensor, nil
		}
	}
	return nil, errs.NotFound.Errorf("method %s has no mutable buffer %q", m.name, name)
}

// Attribute returns a copy of a named mutable buffer; ErrNotFound if there is none.
func (m *Method) Attribute(name string) (*tensor.Tensor, error) {
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer m.leave()
	t, err := m.attribute(name)
	if err != nil {
		return nil, err
	}
	c := t.Clone()
	return c, c.Err()
}

// SetAttribute sets a named mutable buffer; the value must have its type and shape.
func (m *Method) SetAttribute(name string, v *tensor.Tensor) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.leave()
	t, err := m.attribute(name)
	if err != nil {
		return err
	}
	if v == nil {
		return errs.InvalidArgument.Errorf("buffer %q: no tensor given", name)
	}
	if err := tensor.Copy(t, v); err != nil {
		return fmt.Errorf("buffer %q: %w", name, err)
	}
	return nil
}

// Reset brings the method back to the state after loading: planned memory is
// zero, mutable buffers have their initial values, and so have numbers that
// instructions compute. Inputs must be set again. Memory that is shared with
// other methods is reset for all of them.
func (m *Method) Reset() error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.leave()
	for id := 1; id < len(m.plan.BufferSizes); id++ {
		b, err := m.planned.Region(uint32(id), 0, m.plan.BufferSizes[id])
		if err != nil {
			return err
		}
		clear(b)
	}
	for _, d := range m.initData {
		copy(d.dst, d.src)
	}
	copy(m.values, m.initial)
	for _, h := range m.homes {
		if err := h.tensor.SetBytes(h.bytes); err != nil {
			return err
		}
	}
	m.freed = false
	for i := range m.inputs {
		m.inputs[i].set = false
	}
	return nil
}
