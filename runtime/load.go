package runtime

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/memory"
	"github.com/etgo-ml/etgo/schema/program"
	"github.com/etgo-ml/etgo/tensor"
)

// LoadMethod makes a method ready to run: its values are built, its memory
// planned, its operators looked up in reg, constants prepared and delegates
// compiled. Operators and backends that reg lacks are reported all at once, as
// ErrOperatorMissing and ErrBackendUnavailable.
func (p *Program) LoadMethod(name string, reg *Registry, opts ...MethodOption) (m *Method, err error) {
	plan, err := p.plan(name)
	if err != nil {
		return nil, err
	}
	o := methodOptions{data: p.data, maxInstructions: DefaultMaxInstructions}
	for _, opt := range opts {
		opt(&o)
	}
	if err := p.Retain(); err != nil {
		return nil, err
	}
	l := &loader{program: p, plan: plan, reg: reg, opts: &o}
	defer func() {
		if r := recover(); r != nil {
			err = newPanicError(r)
		}
		if err != nil {
			if l.m != nil {
				l.m.free()
			}
			p.Close()
			m, err = nil, fmt.Errorf("method %s: %w", name, err)
		}
	}()
	return l.load()
}

// loader builds a Method.
type loader struct {
	program *Program
	plan    *program.Plan
	reg     *Registry
	opts    *methodOptions
	m       *Method

	dynamic  []bool // by value: an instruction may replace what it holds
	written  []bool // by value: an instruction writes the tensor's memory
	isInput  []bool
	isOutput []bool // an output or an element of one
	moved    []bool // by value: source of a move
	symInt   []bool // by value: an input that is None in the file and a symbolic size
	targets  []bool // by step: a jump leads here

	realigned map[program.Allocation][]byte
}

func (l *loader) load() (*Method, error) {
	m := &Method{
		name: l.plan.Name, program: l.program, plan: l.plan,
		pool: l.opts.pool, tracer: l.opts.tracer, budget: l.opts.budget, maxInstructions: l.opts.maxInstructions,
		methodAlloc: l.opts.methodAlloc,
	}
	l.m = m
	m.kctx = KernelRuntimeContext{
		ctx: context.Background(), temp: l.opts.tempAlloc, method: l.opts.methodAlloc, budget: l.opts.budget,
		pool: l.opts.pool, tracer: l.opts.tracer,
	}
	m.kctx.owner = m
	m.bctx = BackendExecutionContext{KernelRuntimeContext: &m.kctx, Method: m.name}
	if l.opts.tracer != nil {
		e := Event{Kind: EventLoadMethod, Method: m.name, Chain: -1, Instruction: -1, Start: time.Now()}
		l.opts.tracer.Begin(&e)
		defer func() {
			e.Duration = time.Since(e.Start)
			l.opts.tracer.End(&e)
		}()
	}
	if err := l.checkPresent(); err != nil {
		return nil, err
	}
	steps, err := l.planSteps()
	if err != nil {
		return nil, err
	}
	// What the lists of values and steps take is small for all but forged programs.
	if err := m.charge(valueBytes*int64(len(l.plan.Values))+stepBytes*int64(len(steps)), "values and steps"); err != nil {
		return nil, err
	}
	l.analyse(steps)
	if m.planned, err = l.planMemory(); err != nil {
		return nil, err
	}
	if err := l.buildValues(); err != nil {
		return nil, err
	}
	if err := l.checkCalls(steps); err != nil {
		return nil, err
	}
	if err := l.initDelegates(); err != nil {
		return nil, err
	}
	s := &Steps{l: l, steps: steps}
	if !l.opts.noPasses {
		for _, pass := range l.reg.passes {
			if err := pass.Run(s); err != nil {
				return nil, fmt.Errorf("pass %s: %w", pass.Name(), err)
			}
		}
	}
	if err := l.lower(s); err != nil {
		return nil, err
	}
	l.bindInterface()
	m.initial = slices.Clone(m.values)
	return m, nil
}

// checkPresent reports all operators and backends that the registry lacks.
func (l *loader) checkPresent() error {
	type use struct{ calls, first int }
	missing := map[string]*use{}
	n := 0
	for c := range l.plan.Chains {
		for _, in := range l.plan.Chains[c].Instructions {
			if in.Kind == program.KernelCall {
				name := l.plan.Operators[in.Index].FullName()
				if l.reg.Kernel(name) == nil {
					u := missing[name]
					if u == nil {
						u = &use{first: n}
						missing[name] = u
					}
					u.calls++
				}
			}
			n++
		}
	}
	var ops []string
	for _, name := range sortedKeys(missing) {
		u := missing[name]
		s := fmt.Sprintf("%s (%d calls, first at instruction %d", name, u.calls, u.first)
		if u.calls == 1 {
			s = fmt.Sprintf("%s (instruction %d", name, u.first)
		}
		if near := nearest(name, l.reg.kernels); near != "" {
			s += "; registered: " + near
		}
		ops = append(ops, s+")")
	}
	absent := map[string]bool{}
	for i := range l.plan.Delegates {
		if id := l.plan.Delegates[i].ID; l.reg.Backend(id) == nil {
			absent[id] = true
		}
	}
	backends := sortedKeys(absent)
	var text []string
	if len(backends) > 0 {
		have := "none"
		if ids := l.reg.Backends(); len(ids) > 0 {
			have = strings.Join(ids, ", ")
		}
		text = append(text, fmt.Sprintf("no backend for delegate %s (registered: %s); export the model for one of these or without a backend",
			strings.Join(someOf(backends), ", "), have))
	}
	if len(ops) > 0 {
		text = append(text, "missing operator "+strings.Join(someOf(ops), ", "))
	}
	switch {
	case len(backends) > 0:
		return errs.BackendUnavailable.Errorf("%s", strings.Join(text, "; "))
	case len(ops) > 0:
		return errs.OperatorMissing.Errorf("%s", strings.Join(text, "; "))
	}
	return nil
}

// someOf returns names with all but the first hundred replaced by their number.
func someOf(names []string) []string {
	const most = 100
	if len(names) <= most {
		return names
	}
	return append(names[:most:most], fmt.Sprintf("and %d more", len(names)-most))
}

// nearest returns the registered names that a missing one may have been meant
// to be: its other overloads, or the same operator in another namespace.
func nearest(name string, kernels map[string]*Kernel) string {
	base := func(s string) string {
		_, s, _ = strings.Cut(s, "::")
		s, _, _ = strings.Cut(s, ".")
		return strings.TrimSuffix(strings.Trim(s, "_"), "_copy")
	}
	want := base(name)
	var near []string
	for k := range kernels {
		if base(k) == want {
			near = append(near, k)
		}
	}
	sort.Strings(near)
	if len(near) > 3 {
		near = near[:3]
	}
	return strings.Join(near, ", ")
}

// About what a value and a step take in memory while a method is loaded.
const valueBytes, stepBytes = 200, 500

// planStep is a step before it is lowered: with value indices.
type planStep struct {
	kind    stepKind
	kernel  *Kernel
	run     KernelFunc // set by a pass; else kernel's
	args    []int32
	index   int32 // delegate, move source, condition, freed value
	to      int32 // move destination; jump target as a step index
	chain   int
	instr   int
	removed bool
}

// planSteps flattens the chains into one list of steps.
func (l *loader) planSteps() ([]planStep, error) {
	total := 0
	for c := range l.plan.Chains {
		total += len(l.plan.Chains[c].Instructions)
	}
	steps := make([]planStep, 0, total)
	l.targets = make([]bool, total+1)
	for c := range l.plan.Chains {
		base := len(steps)
		for i := range l.plan.Chains[c].Instructions {
			in := &l.plan.Chains[c].Instructions[i]
			st := planStep{args: in.Args, index: in.Index, to: in.To, chain: c, instr: i}
			switch in.Kind {
			case program.KernelCall:
				st.kind = stepKernel
				st.kernel = l.reg.Kernel(l.plan.Operators[in.Index].FullName())
			case program.DelegateCall:
				st.kind = stepDelegate
			case program.MoveCall:
				st.kind = stepMove
			case program.JumpFalseCall:
				st.kind = stepJumpFalse
				st.to += int32(base)
				l.targets[st.to] = true
			case program.FreeCall:
				st.kind = stepFree
			default:
				return nil, errs.InvalidProgram.Errorf("instruction %d of chain %d is of unknown kind %d", i, c, in.Kind)
			}
			if st.kind == stepKernel {
				if err := st.kernel.sig.checkCount(len(st.args)); err != nil {
					return nil, errs.InvalidProgram.Errorf("instruction %d: %s %w", i, st.kernel.Name(), err)
				}
			}
			steps = append(steps, st)
		}
	}
	return steps, nil
}

// analyse finds which values instructions replace or write.
func (l *loader) analyse(steps []planStep) {
	n := len(l.plan.Values)
	l.dynamic, l.written, l.isInput = make([]bool, n), make([]bool, n), make([]bool, n)
	l.moved, l.isOutput = make([]bool, n), make([]bool, n)
	for _, i := range l.plan.Outputs {
		l.isOutput[i] = true
		for _, item := range l.plan.Values[i].Items {
			if item >= 0 {
				l.isOutput[item] = true
			}
		}
	}
	for _, i := range l.plan.Inputs {
		l.isInput[i] = true
	}
	l.findSymInts(steps)
	for i := range steps {
		st := &steps[i]
		switch st.kind {
		case stepKernel:
			for k, v := range st.args {
				if k >= len(st.kernel.sig.Params) {
					continue
				}
				if p := &st.kernel.sig.Params[k]; p.Type == ArgAny {
					l.dynamic[v] = true
				} else if p.Written {
					l.markWritten(v)
				}
			}
		case stepDelegate:
			for _, v := range st.args {
				if !l.isInput[v] {
					l.markWritten(v)
				}
			}
		case stepMove:
			l.dynamic[st.to] = true
			l.moved[st.index] = true
		}
	}
	// A list is dynamic if one of its elements is.
	for i := range l.plan.Values {
		v := &l.plan.Values[i]
		for _, item := range v.Items {
			if item >= 0 && l.dynamic[item] {
				l.dynamic[i] = true
			}
		}
	}
}

// findSymInts finds the inputs that are None in the file and stand for symbolic
// sizes: they are used where an int is wanted.
func (l *loader) findSymInts(steps []planStep) {
	l.symInt = make([]bool, len(l.plan.Values))
	use := func(v int32) {
		if l.isInput[v] && l.plan.Values[v].Kind == program.KindNull {
			l.symInt[v], l.dynamic[v] = true, true
		}
	}
	for i := range l.plan.Values {
		if v := &l.plan.Values[i]; v.Kind == program.KindIntList {
			for _, item := range v.Items {
				use(item)
			}
		}
	}
	for i := range steps {
		st := &steps[i]
		switch st.kind {
		case stepMove:
			use(st.index)
		case stepKernel:
			for k, v := range st.args {
				if k >= len(st.kernel.sig.Params) {
					break
				}
				if p := &st.kernel.sig.Params[k]; !p.Optional && (p.Type == ArgInt || p.Type == ArgScalar) {
					use(v)
				}
			}
		}
	}
}

func (l *loader) markWritten(v int32) {
	l.written[v] = true
	if l.plan.Values[v].Kind == program.KindTensorList {
		for _, item := range l.plan.Values[v].Items {
			l.written[item] = true
		}
	}
}

func (l *loader) planMemory() (*memory.Planned, error) {
	if l.opts.shared != nil {
		return l.opts.shared.NewPlanned(l.plan.BufferSizes, l.opts.methodAlloc, l.opts.budget)
	}
	return memory.NewPlanned(l.plan.BufferSizes, l.opts.methodAlloc, l.opts.budget)
}

// buildValues makes the values of the plan.
func (l *loader) buildValues() error {
	if err := l.checkExternal(); err != nil {
		return err
	}
	m := l.m
	m.values = make([]EValue, len(l.plan.Values))
	for i := range l.plan.Values {
		v := &l.plan.Values[i]
		var err error
		switch v.Kind {
		case program.KindNull:
		case program.KindInt:
			m.values[i] = Int(v.Int)
		case program.KindBool:
			m.values[i] = Bool(v.Bool)
		case program.KindDouble:
			m.values[i] = Double(v.Double)
		case program.KindString:
			m.values[i] = String(v.String)
		case program.KindDoubleList:
			m.values[i] = DoubleList(v.Doubles...)
		case program.KindBoolList:
			m.values[i] = BoolList(v.Bools...)
		case program.KindTensor:
			var t *tensor.Tensor
			if t, err = l.buildTensor(i, v.Tensor); err == nil {
				m.values[i] = TensorValue(t)
			}
		case program.KindIntList, program.KindTensorList, program.KindOptionalTensorList:
			m.values[i] = l.newList(v)
		default:
			err = errs.InvalidProgram.Errorf("unknown kind %d", v.Kind)
		}
		if err != nil {
			return fmt.Errorf("value %d: %w", i, err)
		}
	}
	// Lists refer to other values, so they are filled when those are there.
	for i := range m.values {
		e := &m.values[i]
		if e.list == nil || e.list.refs == nil {
			continue
		}
		if err := e.refresh(l.dynamic[i]); err != nil {
			return errs.InvalidProgram.Errorf("value %d, %v: %w", i, e.kind, err)
		}
	}
	return nil
}

func (l *loader) newList(v *program.Value) EValue {
	ls := &list{refs: make([]*EValue, len(v.Items))}
	for j, item := range v.Items {
		if item >= 0 {
			ls.refs[j] = &l.m.values[item]
		}
	}
	switch v.Kind {
	case program.KindIntList:
		ls.ints = make([]int64, len(v.Items))
		return EValue{kind: KindIntList, list: ls}
	case program.KindTensorList:
		ls.tensors = make([]*tensor.Tensor, len(v.Items))
		return EValue{kind: KindTensorList, list: ls}
	}
	ls.tensors = make([]*tensor.Tensor, len(v.Items))
	return EValue{kind: KindOptionalTensorList, list: ls}
}

// refresh copies the current content of a list's elements into it. With lenient,
// elements of another kind are let pass: instructions may still fill them.
func (e *EValue) refresh(lenient bool) error {
	ls := e.list
	if ls == nil || ls.refs == nil {
		return nil
	}
	for j, r := range ls.refs {
		switch e.kind {
		case KindIntList:
			if r == nil || r.kind != KindInt {
				if lenient {
					continue
				}
				return fmt.Errorf("element %d is %s, not int", j, refKind(r))
			}
			ls.ints[j] = int64(r.bits)
		case KindTensorList, KindOptionalTensorList:
			if r == nil || r.kind == KindNone {
				if e.kind == KindTensorList && !lenient {
					return fmt.Errorf("element %d is None, not a tensor", j)
				}
				ls.tensors[j] = nil
				continue
			}
			if r.kind != KindTensor {
				if lenient {
					continue
				}
				return fmt.Errorf("element %d is %s, not a tensor", j, r.kind)
			}
			ls.tensors[j] = r.tensor
		}
	}
	return nil
}

func refKind(r *EValue) Kind {
	if r == nil {
		return KindNone
	}
	return r.kind
}

// checkExternal reports all external tensors whose data is not there.
func (l *loader) checkExternal() error {
	absent := map[string]bool{}
	for i := range l.plan.Values {
		v := &l.plan.Values[i]
		if v.Kind != program.KindTensor || v.Tensor.Location != program.LocationExternal {
			continue
		}
		if _, ok := l.opts.data.entries[v.Tensor.Name]; !ok {
			absent[v.Tensor.Name] = true
		}
	}
	if len(absent) == 0 {
		return nil
	}
	missing := someOf(sortedKeys(absent))
	if len(l.opts.data.entries) == 0 {
		return errs.InvalidState.Errorf("the program keeps %d tensors in a data file (.ptd) and none was given: %q", len(absent), missing)
	}
	return errs.InvalidExternalData.Errorf("neither the program nor its data files (.ptd) have the tensors %q", missing)
}

func (l *loader) buildTensor(i int, v *program.Tensor) (*tensor.Tensor, error) {
	if v.Device.Type != program.DeviceCPU {
		return nil, errs.NotSupported.Errorf("the tensor lives on device type %d; etgo computes on the CPU", v.Device.Type)
	}
	t, err := tensor.NewUnbound(tensor.DType(v.Type), tensor.IntShape(v.Sizes),
		tensor.WithDimOrder(tensor.DimOrder(v.DimOrder)), tensor.WithDynamism(tensor.Dynamism(v.Dynamism)))
	if err != nil {
		return nil, errs.InvalidProgram.Wrap(err)
	}
	data := v.Data
	if v.Location == program.LocationExternal {
		if data, err = l.externalData(v, t); err != nil {
			return nil, err
		}
	}
	switch {
	case v.Allocation != nil:
		b, err := l.m.planned.Region(v.Allocation.MemoryID, v.Allocation.Offset, v.NBytes)
		if err != nil {
			return nil, errs.InvalidProgram.Wrap(err)
		}
		if t.SetBytes(b) != nil {
			if b, err = l.realign(v.Allocation, b); err != nil {
				return nil, err
			}
			if err := t.SetBytes(b); err != nil {
				return nil, errs.InvalidProgram.Wrap(err)
			}
		}
		if data != nil {
			copy(b, data)
			l.m.initData = append(l.m.initData, initData{dst: b, src: data})
		}
		l.m.homes = append(l.m.homes, home{t, b})
	case data != nil:
		if err := l.bindConstant(t, data); err != nil {
			return nil, err
		}
	case t.Dynamism() == tensor.DynamicUnbound && !l.isInput[i]:
		g := &growth{m: l.m}
		t.SetGrow(g.grow)
		l.m.growths = append(l.m.growths, g)
	case l.written[i] && !l.isInput[i]:
		// A program may be exported without memory planned for its outputs.
		if t.NBytes() > 0 && !l.isOutput[i] && !l.dynamic[i] {
			return nil, errs.InvalidProgram.Errorf("%v is written and has no memory: none is planned for it and it is no output", t)
		}
		b, err := l.m.allocate(t.NBytes(), "unplanned tensor")
		if err != nil {
			return nil, err
		}
		if err := t.SetBytes(b); err != nil {
			return nil, err
		}
		l.m.homes = append(l.m.homes, home{t, b})
	}
	return t, nil
}

// realign gives planned memory that the file does not align for its elements,
// which exporters do not do and ExecuTorch does not mind, a place of its own.
// Tensors planned at the same place share that too.
func (l *loader) realign(a *program.Allocation, planned []byte) ([]byte, error) {
	if b := l.realigned[*a]; len(b) >= len(planned) {
		return b[:len(planned):len(planned)], nil
	}
	b, err := l.m.allocate(len(planned), "planned memory that the file does not align")
	if err != nil {
		return nil, err
	}
	if l.realigned == nil {
		l.realigned = map[program.Allocation][]byte{}
	}
	l.realigned[*a] = b
	return b, nil
}

// bindConstant gives t read-only data, a copy where it is not aligned.
func (l *loader) bindConstant(t *tensor.Tensor, data []byte) error {
	if len(data) < t.NBytes() {
		return errs.InvalidProgram.Errorf("constant %v has %d bytes of data, needs %d", t, len(data), t.NBytes())
	}
	data = data[:t.NBytes():t.NBytes()]
	if t.SetBytes(data) != nil {
		b, err := l.m.allocate(len(data), "constant that the file does not align")
		if err != nil {
			return err
		}
		copy(b, data)
		if err := t.SetBytes(b); err != nil {
			return err
		}
	}
	t.SetReadOnly(true)
	return nil
}

// externalData returns the data of an external tensor after comparing layouts.
func (l *loader) externalData(v *program.Tensor, t *tensor.Tensor) ([]byte, error) {
	b, layout, err := l.opts.data.lookup(v.Name)
	if err != nil {
		return nil, err
	}
	if layout != nil {
		shape := tensor.IntShape(layout.Sizes)
		if tensor.DType(layout.Type) != t.DType() || !slices.Equal(shape, t.Shape()) ||
			!tensor.SameLayout(shape, tensor.DimOrder(layout.DimOrder), t.DimOrder()) {
			return nil, errs.InvalidExternalData.Errorf("external tensor %q: the program wants %v, the data file has %s with dim order %v",
				v.Name, t, tensor.Describe(tensor.DType(layout.Type), shape), tensor.DimOrder(layout.DimOrder))
		}
	}
	if len(b) < t.NBytes() {
		return nil, errs.InvalidExternalData.Errorf("external tensor %q: the program wants %v, %d bytes, the data file has %d", v.Name, t, t.NBytes(), len(b))
	}
	return b[:t.NBytes()], nil
}

// checkCalls checks the arguments of all kernel calls against the operators'
// schemas, so that a kernel need not.
func (l *loader) checkCalls(steps []planStep) error {
	for i := range steps {
		st := &steps[i]
		var err error
		switch st.kind {
		case stepKernel:
			err = l.checkCall(st)
		case stepFree:
			if e := &l.m.values[st.index]; !l.dynamic[st.index] && (e.kind != KindTensor || e.tensor.ReadOnly()) {
				err = fmt.Errorf("frees value %d, which is no tensor with memory of its own", st.index)
			}
		case stepJumpFalse:
			if e := &l.m.values[st.index]; !l.dynamic[st.index] && e.kind != KindBool && (e.kind != KindTensor || e.tensor.DType() != tensor.Bool) {
				err = fmt.Errorf("jumps on value %d, %v, not on a bool", st.index, e)
			}
		}
		if err != nil {
			return errs.InvalidProgram.Errorf("instruction %d: %w", st.instr, err)
		}
	}
	return nil
}

func (l *loader) checkCall(st *planStep) error {
	for k := range st.kernel.sig.Params {
		p, v := &st.kernel.sig.Params[k], st.args[k]
		e := &l.m.values[v]
		if !l.dynamic[v] {
			if err := p.check(e); err != nil {
				return fmt.Errorf("%s: %w", st.kernel.Name(), err)
			}
		}
		if p.Written && p.Type != ArgAny && !l.dynamic[v] {
			if err := checkWritable(e); err != nil {
				return fmt.Errorf("%s: argument %s: %w", st.kernel.Name(), p.Name, err)
			}
		}
	}
	return nil
}

// checkWritable returns an error if e is or holds a constant.
func checkWritable(e *EValue) error {
	if e.tensor != nil && e.tensor.ReadOnly() {
		return fmt.Errorf("%v is a constant and would be written", e.tensor)
	}
	if e.list != nil {
		for _, t := range e.list.tensors {
			if t != nil && t.ReadOnly() {
				return fmt.Errorf("%v in the list is a constant and would be written", t)
			}
		}
	}
	return nil
}

func (l *loader) initDelegates() error {
	for i := range l.plan.Delegates {
		d := &l.plan.Delegates[i]
		specs := make([]CompileSpec, len(d.Specs))
		for j, s := range d.Specs {
			specs[j] = CompileSpec(s)
		}
		ctx := &BackendInitContext{
			Method: l.plan.Name, Threads: l.opts.pool.Threads(), Options: l.opts.backendOptions[d.ID],
			Shared: &l.opts.data.shared, Budget: l.opts.budget, MethodAllocator: l.opts.methodAlloc, data: l.opts.data,
		}
		del, err := l.reg.Backend(d.ID).Init(ctx, d.Processed, specs)
		if err != nil {
			if Code(err) == errs.CodeInternal {
				err = errs.DelegateInvalidCompatibility.Wrap(err)
			}
			return fmt.Errorf("delegate %d, %s: %w", i, d.ID, err)
		}
		l.m.delegates = append(l.m.delegates, del)
	}
	return nil
}

// constant reports whether value v never changes.
func (l *loader) constant(v int32) bool {
	if l.dynamic[v] || l.isInput[v] || l.written[v] {
		return false
	}
	e := &l.m.values[v]
	if e.kind == KindTensor {
		return e.tensor.ReadOnly()
	}
	for _, item := range l.plan.Values[v].Items {
		if item >= 0 && !l.constant(item) {
			return false
		}
	}
	return true
}

// lower turns the planned steps into those that run.
func (l *loader) lower(s *Steps) error {
	m := l.m
	at := make([]int, len(s.steps)+1) // where each planned step went
	n := 0
	for i := range s.steps {
		at[i] = n
		if !s.steps[i].removed {
			n++
		}
	}
	at[len(s.steps)] = n
	m.steps = make([]step, 0, n)
	for i := range s.steps {
		ps := &s.steps[i]
		if ps.removed {
			continue
		}
		st := step{kind: ps.kind, chain: ps.chain, instr: ps.instr}
		switch ps.kind {
		case stepKernel:
			if err := l.lowerKernel(&st, ps); err != nil {
				return err
			}
		case stepDelegate:
			st.name = l.plan.Delegates[ps.index].ID
			st.delegate = m.delegates[ps.index]
			l.bindArgs(&st, ps.args)
		case stepMove:
			st.name = "move"
			st.from, st.to = &m.values[ps.index], &m.values[ps.to]
		case stepJumpFalse:
			st.name = "jump_false"
			st.from = &m.values[ps.index]
			st.target = at[ps.to]
		case stepFree:
			st.name = "free"
			st.from = &m.values[ps.index]
		}
		m.steps = append(m.steps, st)
	}
	return nil
}

func (l *loader) bindArgs(st *step, args []int32) {
	st.args = make(Args, len(args))
	for k, v := range args {
		e := &l.m.values[v]
		st.args[k] = e
		if l.dynamic[v] {
			st.refresh = append(st.refresh, e)
		}
	}
}

func (l *loader) lowerKernel(st *step, ps *planStep) error {
	st.name = ps.kernel.Name()
	st.sig = ps.kernel.sig
	// The outputs that a call repeats behind its arguments are not passed on: nobody
	// has checked them.
	l.bindArgs(st, ps.args[:len(st.sig.Params)])
	for k := range st.sig.Params {
		p, v := &st.sig.Params[k], ps.args[k]
		if p.Type == ArgAny {
			continue
		}
		if l.dynamic[v] {
			st.checks = append(st.checks, k)
		}
		switch p.Type {
		case ArgTensor, ArgTensorList, ArgOptionalTensorList:
			if p.Written {
				st.writes = append(st.writes, k)
			} else {
				st.reads = append(st.reads, k)
			}
		}
	}
	st.run = ps.kernel.Run
	if ps.run != nil {
		st.run = ps.run
	} else if ps.kernel.Prepare != nil {
		ctx := &PrepareContext{
			Shared: &l.opts.data.shared, Threads: l.opts.pool.Threads(), budget: l.opts.budget,
			constant: func(arg int) bool { return l.constant(ps.args[arg]) },
		}
		// A dynamic argument may still be of another kind than the schema asks for.
		for _, k := range st.checks {
			if st.sig.Params[k].check(st.args[k]) != nil {
				return nil
			}
		}
		run, err := ps.kernel.Prepare(ctx, st.args)
		if err != nil {
			return fmt.Errorf("instruction %d: preparing %s: %w", ps.instr, st.name, err)
		}
		if run != nil {
			st.run = run
		}
	}
	return nil
}

// bindInterface prepares the inputs, outputs and attributes.
func (l *loader) bindInterface() {
	m := l.m
	m.inputs = make([]inputSlot, len(l.plan.Inputs))
	for i, v := range l.plan.Inputs {
		m.inputs[i] = inputSlot{
			value: int(v),
			// Memory of the caller is only lent: what the program writes, or hands on to
			// where it may be written, is copied.
			copied: l.written[v] || l.moved[v] || l.dynamic[v],
			symInt: l.symInt[v],
		}
	}
	m.outputs = make([]int, len(l.plan.Outputs))
	m.targets = make([]*tensor.Tensor, len(l.plan.Outputs))
	for i, v := range l.plan.Outputs {
		m.outputs[i] = int(v)
	}
	for i := range l.plan.Values {
		if v := &l.plan.Values[i]; isAttribute(v) {
			m.attributes = append(m.attributes, attribute{v.Tensor.Name, m.values[i].tensor})
		}
	}
}
