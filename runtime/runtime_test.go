package runtime

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/memory"
	"github.com/etgo-ml/etgo/schema"
	"github.com/etgo-ml/etgo/schema/program"
	"github.com/etgo-ml/etgo/tensor"
)

// planBuilder builds a method for tests.
type planBuilder struct {
	plan   program.Plan
	instrs []program.Instruction
	next   uint64 // offset in memory id 1
}

func newPlan(name string) *planBuilder {
	return &planBuilder{plan: program.Plan{Name: name}}
}

func (b *planBuilder) value(v program.Value) int32 {
	b.plan.Values = append(b.plan.Values, v)
	return int32(len(b.plan.Values) - 1)
}

func (b *planBuilder) int(v int64) int32 {
	return b.value(program.Value{Kind: program.KindInt, Int: v})
}
func (b *planBuilder) bool(v bool) int32 {
	return b.value(program.Value{Kind: program.KindBool, Bool: v})
}
func (b *planBuilder) none() int32 { return b.value(program.Value{Kind: program.KindNull}) }

func f32Tensor(sizes ...int32) *program.Tensor {
	order := make([]uint8, len(sizes))
	n := int64(4)
	for i, s := range sizes {
		order[i] = uint8(i)
		n *= int64(s)
	}
	return &program.Tensor{Type: schema.Float, Sizes: sizes, DimOrder: order, NBytes: n}
}

// unplanned adds a float32 tensor without planned memory.
func (b *planBuilder) unplanned(sizes ...int32) int32 {
	return b.value(program.Value{Kind: program.KindTensor, Tensor: f32Tensor(sizes...)})
}

// planned adds a float32 tensor in planned memory.
func (b *planBuilder) planned(sizes ...int32) int32 {
	t := f32Tensor(sizes...)
	t.Allocation = &program.Allocation{MemoryID: 1, Offset: b.next}
	b.next += uint64(t.NBytes+15) &^ 15
	return b.value(program.Value{Kind: program.KindTensor, Tensor: t})
}

func (b *planBuilder) constant(data []byte, sizes ...int32) int32 {
	t := f32Tensor(sizes...)
	t.DataBuffer, t.Data = 1, data
	return b.value(program.Value{Kind: program.KindTensor, Tensor: t})
}

func (b *planBuilder) tensorOf(v int32) *program.Tensor { return b.plan.Values[v].Tensor }

func (b *planBuilder) call(op string, args ...int32) *planBuilder {
	i := len(b.plan.Operators)
	b.plan.Operators = append(b.plan.Operators, program.Operator{Name: op})
	b.instrs = append(b.instrs, program.Instruction{Kind: program.KernelCall, Index: int32(i), Args: args})
	return b
}

func (b *planBuilder) instr(kind program.InstructionKind, index, to int32) *planBuilder {
	b.instrs = append(b.instrs, program.Instruction{Kind: kind, Index: index, To: to})
	return b
}

func (b *planBuilder) build(inputs, outputs []int32) *Program {
	b.plan.Inputs, b.plan.Outputs = inputs, outputs
	b.plan.Chains = []program.Chain{{Instructions: b.instrs}}
	b.plan.BufferSizes = []int64{0, int64(b.next)}
	return testProgram(b.plan)
}

func testProgram(plans ...program.Plan) *Program {
	p := &program.Program{Plans: plans}
	data, err := newDataSet(p, nil)
	if err != nil {
		panic(err)
	}
	return &Program{file: p, plans: plansByName(p), data: data, life: newLifetime(nil)}
}

// testKernels are a few operators for tests.
var testKernels = Kernels{
	// t::add adds b to a.
	{Schema: "t::add(Tensor a, Tensor b, *, Tensor(a!) out) -> Tensor(a!)", Run: func(_ *KernelRuntimeContext, args Args) error {
		if err := args.Tensor(2).Resize(args.Tensor(0).Shape()); err != nil {
			return err
		}
		a, b, out := tensor.Raw[float32](args.Tensor(0)), tensor.Raw[float32](args.Tensor(1)), tensor.Raw[float32](args.Tensor(2))
		for i := range out {
			out[i] = a[i] + b[i%len(b)]
		}
		return nil
	}},
	{Schema: "t::inc(Scalar a) -> Scalar", Run: func(_ *KernelRuntimeContext, args Args) error {
		args.Set(1, Int(args[0].Int()+1))
		return nil
	}},
	{Schema: "t::less(Scalar a, Scalar b) -> bool", Run: func(_ *KernelRuntimeContext, args Args) error {
		args.Set(2, Bool(args[0].Int() < args[1].Int()))
		return nil
	}},
	{Schema: "t::panic(Tensor a) -> ()", Run: func(_ *KernelRuntimeContext, args Args) error {
		var none []int
		none[args.Tensor(0).Numel()] = 1
		return nil
	}},
	{Schema: "t::scratch(int n) -> int", Run: func(ctx *KernelRuntimeContext, args Args) error {
		s, err := Temp[float64](ctx, args.Int(0))
		if err != nil {
			return err
		}
		args.Set(1, Int(int64(len(s))))
		return nil
	}},
	{Schema: "t::sum(int[] v) -> int", Run: func(_ *KernelRuntimeContext, args Args) error {
		var sum int64
		for _, v := range args.Ints(0) {
			sum += v
		}
		args.Set(1, Int(sum))
		return nil
	}},
}

func testRegistry(t testing.TB) *Registry {
	reg := NewRegistry()
	require.NoError(t, reg.Register(testKernels))
	return reg
}

func f32(v ...float32) EValue { return TensorValue(tensor.Of(v)) }

func floatsOf(t testing.TB, v EValue) []float32 {
	require.Equal(t, KindTensor, v.Kind())
	s, err := tensor.Data[float32](v.Tensor())
	require.NoError(t, err)
	return s
}

func load(t testing.TB, p *Program, opts ...MethodOption) *Method {
	m, err := p.LoadMethod("forward", testRegistry(t), opts...)
	require.NoError(t, err)
	return m
}

// bytesOf3 is [1 2 3] as float32.
var bytesOf3 = tensor.Of([]float32{1, 2, 3}).Bytes()

func addProgram(planned bool) *Program {
	b := newPlan("forward")
	add := b.unplanned
	if planned {
		add = b.planned
	}
	in, out := add(3), add(3)
	c := b.constant(bytesOf3, 3)
	return b.call("t::add", in, c, out, out).build([]int32{in}, []int32{out})
}

func TestExecute(t *testing.T) {
	for _, planned := range []bool{false, true} {
		m := load(t, addProgram(planned))
		for range 3 {
			out, err := m.Execute(context.Background(), f32(10, 20, 30))
			require.NoError(t, err)
			assert.Equal(t, []float32{11, 22, 33}, floatsOf(t, out[0]))
		}
		require.NoError(t, m.Close())
		_, err := m.Execute(context.Background(), f32(10, 20, 30))
		assert.ErrorIs(t, err, ErrClosed)
	}
}

func TestExecuteIntoAllocatesNothing(t *testing.T) {
	m := load(t, addProgram(true))
	in, out := f32(10, 20, 30), make([]EValue, 1)
	ctx := context.Background()
	n := testing.AllocsPerRun(10, func() {
		if err := m.ExecuteInto(ctx, out, in); err != nil {
			t.Error(err)
		}
	})
	assert.Zero(t, n)
	assert.Equal(t, []float32{11, 22, 33}, floatsOf(t, out[0]))
}

func TestInputErrorsNameExpectedAndGiven(t *testing.T) {
	m := load(t, addProgram(true))
	ctx := context.Background()
	for _, c := range []struct {
		inputs []EValue
		code   ErrorCode
		text   string
	}{
		{nil, 0x12, "wants 1 inputs (float32[3]), got 0"},
		{[]EValue{f32(1), f32(1)}, 0x12, "wants 1 inputs (float32[3]), got 2"},
		{[]EValue{Int(1)}, 0x12, "tensor expected, int given"},
		{[]EValue{None()}, 0x12, "tensor expected, None given"},
		{[]EValue{TensorValue(tensor.Of([]int64{1, 2, 3}))}, 0x12, "float32[3] expected, int64[3] given"},
		{[]EValue{f32(1, 2)}, 0x10, "float32[3] expected, float32[2] given; the shape is static"},
		{[]EValue{TensorValue(tensor.Of([]float32{1, 2, 3}, 1, 3))}, 0x10, "float32[3] expected, float32[1,3] given"},
		{[]EValue{TensorValue(tensor.Of([]float32{1, 2, 3}, 4))}, 0x12, "bytes given"},
	} {
		_, err := m.Execute(ctx, c.inputs...)
		assert.ErrorContains(t, err, c.text)
		assert.Equal(t, c.code, Code(err), "%v", err)
	}
	err := m.Run(ctx)
	assert.ErrorContains(t, err, "input 0 of 1 has not been set")
	_, err = m.Execute(ctx, f32(1, 2, 3))
	assert.NoError(t, err, "errors leave the method usable")
}

func TestChannelsLastInputIsConverted(t *testing.T) {
	for _, planned := range []bool{false, true} {
		b := newPlan("forward")
		add := b.unplanned
		if planned {
			add = b.planned
		}
		in, out := add(1, 2, 2, 2), add(1, 2, 2, 2)
		zero := b.constant(make([]byte, 4), 1)
		m := load(t, b.call("t::add", in, zero, out, out).build([]int32{in}, []int32{out}))
		x := tensor.Of([]float32{0, 1, 2, 3, 4, 5, 6, 7}, 1, 2, 2, 2)
		got, err := m.Execute(context.Background(), TensorValue(x.WithOrder(tensor.ChannelsLast(4))))
		require.NoError(t, err)
		assert.Equal(t, []float32{0, 1, 2, 3, 4, 5, 6, 7}, floatsOf(t, got[0]))
	}
}

func TestConstantInputsMustAgree(t *testing.T) {
	b := newPlan("forward")
	i, d, s, n := b.int(5), b.value(program.Value{Kind: program.KindDouble, Double: 0.5}), b.value(program.Value{Kind: program.KindString, String: "mode"}), b.none()
	size, got := b.none(), b.none()
	m := load(t, b.call("t::inc", size, got).build([]int32{i, d, s, n, size}, []int32{i, n, got}))
	ctx := context.Background()
	out, err := m.Execute(ctx, Int(5), Double(0.50000001), String("mode"), None(), Int(7))
	require.NoError(t, err)
	assert.True(t, out[1].IsNone())
	assert.Equal(t, int64(8), out[2].Int(), "None stands for a symbolic size where an int is used")
	for _, bad := range [][]EValue{
		{Int(6), Double(0.5), String("mode"), None(), Int(7)},
		{Double(5), Double(0.5), String("mode"), None(), Int(7)},
		{Int(5), Double(0.51), String("mode"), None(), Int(7)},
		{Int(5), Double(math.NaN()), String("mode"), None(), Int(7)},
		{Int(5), Double(0.5), String("other"), None(), Int(7)},
		{Int(5), Double(0.5), String("mode"), String("x"), Int(7)},
		{Int(5), Double(0.5), String("mode"), Int(7), Int(7)},
		{Int(5), Double(0.5), String("mode"), None(), None()},
		{Int(5), Double(0.5), String("mode"), None(), Double(7)},
	} {
		_, err := m.Execute(ctx, bad...)
		assert.ErrorIs(t, err, ErrInvalidArgument)
	}
}

func TestMissingOperatorsAreListedAtOnce(t *testing.T) {
	b := newPlan("forward")
	x := b.planned(3)
	p := b.call("t::nope", x, x).call("t::add", x, x, x, x).call("t::nope", x, x).call("other::inc", x, x).build(nil, nil)
	_, err := p.LoadMethod("forward", testRegistry(t))
	assert.ErrorIs(t, err, ErrOperatorMissing)
	assert.Equal(t, ErrorCode(0x14), Code(err))
	assert.ErrorContains(t, err, "t::nope (2 calls, first at instruction 0)")
	assert.ErrorContains(t, err, "other::inc (instruction 3; registered: t::inc)")
}

func TestBackendUnavailable(t *testing.T) {
	b := newPlan("forward")
	b.plan.Delegates = []program.Delegate{{ID: "NpuBackend"}}
	_, err := b.build(nil, nil).LoadMethod("forward", testRegistry(t))
	assert.ErrorIs(t, err, ErrBackendUnavailable)
	assert.ErrorIs(t, err, ErrNotFound)
	assert.Equal(t, ErrorCode(0x20), Code(err))
	assert.ErrorContains(t, err, "NpuBackend")
}

func TestMethodNotFound(t *testing.T) {
	_, err := addProgram(true).LoadMethod("backward", testRegistry(t))
	assert.ErrorIs(t, err, ErrMethodNotFound)
	assert.ErrorContains(t, err, `"forward"`)
}

func TestCallsAreCheckedAtLoad(t *testing.T) {
	for name, build := range map[string]func(*planBuilder) *planBuilder{
		"too few":  func(b *planBuilder) *planBuilder { x := b.planned(3); return b.call("t::add", x, x) },
		"too many": func(b *planBuilder) *planBuilder { x := b.planned(3); return b.call("t::add", x, x, x, x, x) },
		"none":     func(b *planBuilder) *planBuilder { return b.call("t::add") },
		"wrong":    func(b *planBuilder) *planBuilder { x := b.planned(3); return b.call("t::add", x, b.int(1), x, x) },
		"null":     func(b *planBuilder) *planBuilder { x := b.planned(3); return b.call("t::add", x, b.none(), x, x) },
		"constant": func(b *planBuilder) *planBuilder { c := b.constant(bytesOf3, 3); return b.call("t::add", c, c, c, c) },
		"free int": func(b *planBuilder) *planBuilder { return b.instr(program.FreeCall, b.int(1), 0) },
		"free const": func(b *planBuilder) *planBuilder {
			return b.instr(program.FreeCall, b.constant(bytesOf3, 3), 0)
		},
		"jump int": func(b *planBuilder) *planBuilder { return b.instr(program.JumpFalseCall, b.int(1), 0) },
		"list of double": func(b *planBuilder) *planBuilder {
			d := b.value(program.Value{Kind: program.KindDouble})
			return b.call("t::sum", b.value(program.Value{Kind: program.KindIntList, Items: []int32{d}}), b.none())
		},
	} {
		_, err := build(newPlan("forward")).build(nil, nil).LoadMethod("forward", testRegistry(t))
		assert.ErrorIs(t, err, ErrInvalidProgram, name)
	}
}

// A constant that reaches a written argument by a move is found when it happens.
func TestMovedConstantIsNotWritten(t *testing.T) {
	b := newPlan("forward")
	c, x := b.constant(bytesOf3, 3), b.planned(3)
	p := b.instr(program.MoveCall, c, x).call("t::add", c, c, x, x).build(nil, []int32{x})
	_, err := load(t, p).Execute(context.Background())
	assert.ErrorIs(t, err, ErrInvalidProgram)
	assert.ErrorContains(t, err, "would be written")
}

// loopProgram counts from 0 to n by a jump back.
func loopProgram(n int64) *Program {
	b := newPlan("forward")
	i, limit, cond := b.int(0), b.int(n), b.bool(false)
	b.call("t::inc", i, i).call("t::less", limit, i, cond)
	// limit < i is false until i exceeds limit: jump back.
	return b.instr(program.JumpFalseCall, cond, 0).build(nil, []int32{i})
}

func TestLoopAndPersistentNumbers(t *testing.T) {
	m := load(t, loopProgram(10))
	out, err := m.Execute(context.Background())
	require.NoError(t, err)
	assert.Equal(t, int64(11), out[0].Int())
	out, err = m.Execute(context.Background())
	require.NoError(t, err)
	assert.Equal(t, int64(12), out[0].Int(), "numbers that instructions compute are kept")
	require.NoError(t, m.Reset())
	out, err = m.Execute(context.Background())
	require.NoError(t, err)
	assert.Equal(t, int64(11), out[0].Int())
}

func TestEndlessLoop(t *testing.T) {
	m := load(t, loopProgram(math.MaxInt64), WithMaxInstructions(1000))
	_, err := m.Execute(context.Background())
	assert.ErrorIs(t, err, ErrInvalidProgram)

	m = load(t, loopProgram(math.MaxInt64))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = m.Execute(ctx)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestMoveReplacesKind(t *testing.T) {
	b := newPlan("forward")
	i, x := b.int(3), b.planned(3)
	m := load(t, b.instr(program.MoveCall, i, x).build(nil, []int32{x}))
	out, err := m.Execute(context.Background())
	require.NoError(t, err)
	assert.Equal(t, KindInt, out[0].Kind())

	// What was a tensor when it was loaded is an int when the kernel runs.
	b = newPlan("forward")
	i, x = b.int(3), b.planned(3)
	y := b.planned(3)
	m = load(t, b.instr(program.MoveCall, i, x).call("t::add", x, x, y, y).build(nil, nil))
	_, err = m.Execute(context.Background())
	assert.ErrorIs(t, err, ErrInvalidType)
	assert.ErrorContains(t, err, "instruction 1, t::add: argument a takes Tensor, the call gives int")
}

func TestListsFollowTheirElements(t *testing.T) {
	b := newPlan("forward")
	i, j, sum := b.int(1), b.int(100), b.none()
	list := b.value(program.Value{Kind: program.KindIntList, Items: []int32{i, j}})
	m := load(t, b.call("t::inc", i, i).call("t::sum", list, sum).build(nil, []int32{sum, list}))
	for _, want := range []int64{102, 103} {
		out, err := m.Execute(context.Background())
		require.NoError(t, err)
		assert.Equal(t, want, out[0].Int())
		assert.Equal(t, []int64{want - 100, 100}, out[1].Ints())
	}
}

func TestFreedMemoryIsBackInTheNextRun(t *testing.T) {
	b := newPlan("forward")
	in, mid, out := b.planned(3), b.planned(3), b.planned(3)
	p := b.call("t::add", in, in, mid, mid).call("t::add", mid, mid, out, out).instr(program.FreeCall, mid, 0).build([]int32{in}, []int32{out})
	m := load(t, p)
	for range 3 {
		got, err := m.Execute(context.Background(), f32(1, 2, 3))
		require.NoError(t, err)
		assert.Equal(t, []float32{4, 8, 12}, floatsOf(t, got[0]))
	}

	b = newPlan("forward")
	x, y := b.planned(3), b.planned(3)
	m = load(t, b.instr(program.FreeCall, x, 0).call("t::add", x, x, y, y).build(nil, nil))
	_, err := m.Execute(context.Background())
	assert.ErrorIs(t, err, ErrInvalidState)
}

func TestUnboundShapes(t *testing.T) {
	b := newPlan("forward")
	in, out := b.unplanned(1), b.unplanned(1)
	b.tensorOf(in).Dynamism, b.tensorOf(out).Dynamism = program.DynamicUnbound, program.DynamicUnbound
	c := b.constant(make([]byte, 4), 1)
	m := load(t, b.call("t::add", in, c, out, out).build([]int32{in}, []int32{out}))
	for _, n := range []int{1, 100, 7, 0, 1000} {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i)
		}
		got, err := m.Execute(context.Background(), TensorValue(tensor.Of(x, n)))
		require.NoError(t, err)
		assert.Equal(t, x, floatsOf(t, got[0]))
	}
	_, err := load(t, m.program, WithBudget(memory.NewBudget(memory.Limits{MaxBytes: 10_000}))).
		Execute(context.Background(), TensorValue(tensor.Of(make([]float32, 10000))))
	assert.ErrorIs(t, err, ErrLimitExceeded)
}

func TestDynamicBound(t *testing.T) {
	b := newPlan("forward")
	in, out := b.planned(4), b.planned(4)
	b.tensorOf(in).Dynamism, b.tensorOf(out).Dynamism = program.DynamicBound, program.DynamicBound
	c := b.constant(make([]byte, 4), 1)
	m := load(t, b.call("t::add", in, c, out, out).build([]int32{in}, []int32{out}))
	outs := make([]EValue, 1)
	for _, x := range [][]float32{{1}, {1, 2, 3, 4}, {}, {5, 6}} {
		require.NoError(t, m.ExecuteInto(context.Background(), outs, TensorValue(tensor.Of(x, len(x)))))
		assert.Equal(t, x, floatsOf(t, outs[0]))
	}
	_, err := m.Execute(context.Background(), f32(1, 2, 3, 4, 5))
	assert.ErrorIs(t, err, ErrNotSupported)
	assert.ErrorContains(t, err, "float32[4] dynamic (of rank 1, with at most as many elements) expected, float32[5] given")
}

// Resizing an output that is an input too would pull the shape from under the kernel.
func TestDynamicTensorIsNotInputAndOutput(t *testing.T) {
	b := newPlan("forward")
	x := b.planned(4)
	b.tensorOf(x).Dynamism = program.DynamicBound
	m := load(t, b.call("t::add", x, x, x, x).build([]int32{x}, []int32{x}))
	_, err := m.Execute(context.Background(), f32(1, 2))
	assert.ErrorIs(t, err, ErrInvalidProgram)
}

// What a call repeats behind its arguments is nobody's argument: here a constant.
func TestRepeatedOutputIsNotPassedOn(t *testing.T) {
	b := newPlan("forward")
	in, out, c := b.planned(3), b.planned(3), b.constant(bytesOf3, 3)
	reg := NewRegistry()
	require.NoError(t, reg.Register(Kernels{{
		Schema: "t::last(Tensor a, *, Tensor(a!) out) -> Tensor(a!)",
		Run: func(_ *KernelRuntimeContext, args Args) error {
			assert.Len(t, args, 2)
			return nil
		},
	}}))
	m, err := b.call("t::last", in, out, c).build([]int32{in}, []int32{out}).LoadMethod("forward", reg)
	require.NoError(t, err)
	_, err = m.Execute(context.Background(), f32(1, 2, 3))
	require.NoError(t, err)
}

// A bound that the file invents costs nothing until shapes need it.
func TestOutputsTakeWhatTheirShapeNeeds(t *testing.T) {
	b := newPlan("forward")
	x := b.unplanned(1<<20, 1<<20)
	b.tensorOf(x).Dynamism = program.DynamicBound
	m := load(t, b.build([]int32{x}, []int32{x}))
	outs := make([]EValue, 1)
	for _, n := range []int{1, 100, 3} {
		require.NoError(t, m.ExecuteInto(context.Background(), outs, TensorValue(tensor.Of(make([]float32, n), 1, n))))
		assert.Equal(t, []int{1, n}, outs[0].Tensor().Shape())
	}
}

// A small file cannot have a large tensor copied thousands of times.
func TestOutputsAreLimited(t *testing.T) {
	b := newPlan("forward")
	x := b.planned(1 << 10)
	outputs := make([]int32, 4000)
	for i := range outputs {
		outputs[i] = x
	}
	m := load(t, b.build(nil, outputs), WithBudget(memory.NewBudget(memory.Limits{MaxBytes: 4 << 20})))
	_, err := m.Execute(context.Background())
	assert.ErrorIs(t, err, ErrLimitExceeded)
}

func TestUnboundOutputHasMemory(t *testing.T) {
	b := newPlan("forward")
	out := b.unplanned(3)
	b.tensorOf(out).Dynamism = program.DynamicUnbound
	reg := NewRegistry()
	require.NoError(t, reg.Register(Kernels{{
		Schema: "t::fill(*, Tensor(a!) out) -> Tensor(a!)", // does not resize
		Run: func(_ *KernelRuntimeContext, args Args) error {
			tensor.Raw[float32](args.Tensor(0))[2] = 7
			return nil
		},
	}}))
	m, err := b.call("t::fill", out, out).build(nil, []int32{out}).LoadMethod("forward", reg)
	require.NoError(t, err)
	got, err := m.Execute(context.Background())
	require.NoError(t, err)
	assert.Equal(t, float32(7), floatsOf(t, got[0])[2])
}

func TestNoContext(t *testing.T) {
	m := load(t, addProgram(true))
	var none context.Context
	_, err := m.Execute(none, f32(1, 2, 3))
	assert.ErrorIs(t, err, ErrInvalidArgument)
}

func stateProgram() *Program {
	b := newPlan("forward")
	in, state := b.planned(3), b.planned(3)
	t := b.tensorOf(state)
	t.Name, t.DataBuffer, t.Data = "counter", 1, bytesOf3
	return b.call("t::add", state, in, state, state).build([]int32{in}, []int32{state})
}

func TestState(t *testing.T) {
	m := load(t, stateProgram())
	ctx := context.Background()
	assert.Equal(t, []string{"counter"}, m.Attributes())
	run := func() []float32 {
		out, err := m.Execute(ctx, f32(1, 1, 1))
		require.NoError(t, err)
		return floatsOf(t, out[0])
	}
	assert.Equal(t, []float32{2, 3, 4}, run())
	assert.Equal(t, []float32{3, 4, 5}, run())
	require.NoError(t, m.Reset())
	assert.Equal(t, []float32{2, 3, 4}, run())
	require.NoError(t, m.SetAttribute("counter", tensor.Of([]float32{7, 7, 7})))
	assert.Equal(t, []float32{8, 8, 8}, run())
	state, err := m.Attribute("counter")
	require.NoError(t, err)
	assert.Equal(t, []float32{8, 8, 8}, floatsOf(t, TensorValue(state)))
	assert.Error(t, m.SetAttribute("counter", tensor.Of([]float32{7})))
	_, err = m.Attribute("other")
	assert.ErrorIs(t, err, ErrNotFound)
}

func TestSharedArenas(t *testing.T) {
	b := newPlan("a")
	in, state := b.planned(3), b.planned(3)
	pa := b.call("t::add", state, in, state, state).build([]int32{in}, []int32{state})
	second := pa.file.Plans[0]
	second.Name = "b"
	p := testProgram(pa.file.Plans[0], second)
	shared, err := p.NewSharedArenas(nil, nil)
	require.NoError(t, err)
	reg := testRegistry(t)
	a, err := p.LoadMethod("a", reg, WithSharedArenas(shared))
	require.NoError(t, err)
	c, err := p.LoadMethod("b", reg, WithSharedArenas(shared))
	require.NoError(t, err)
	_, err = a.Execute(context.Background(), f32(1, 2, 3))
	require.NoError(t, err)
	out, err := c.Execute(context.Background(), f32(10, 10, 10))
	require.NoError(t, err)
	assert.Equal(t, []float32{11, 12, 13}, floatsOf(t, out[0]))
}

func TestSetOutput(t *testing.T) {
	for _, planned := range []bool{false, true} {
		m := load(t, addProgram(planned))
		mine := make([]float32, 3)
		require.NoError(t, m.SetOutput(0, tensor.Of(mine)))
		require.NoError(t, m.SetInput(0, f32(1, 1, 1)))
		require.NoError(t, m.Run(context.Background()))
		assert.Equal(t, []float32{2, 3, 4}, mine)
		require.NoError(t, m.SetOutput(0, nil))
		out, err := m.Execute(context.Background(), f32(0, 0, 0))
		require.NoError(t, err)
		assert.Equal(t, []float32{1, 2, 3}, floatsOf(t, out[0]))
		assert.Equal(t, []float32{2, 3, 4}, mine)
		assert.Error(t, m.SetOutput(0, tensor.Of([]int32{1, 2, 3})))
		assert.Error(t, m.SetOutput(1, nil))
	}
}

func TestOutputThatIsAConstantIsCopied(t *testing.T) {
	b := newPlan("forward")
	c := b.constant(bytesOf3, 3)
	m := load(t, b.build(nil, []int32{c}))
	require.NoError(t, m.Run(context.Background()))
	out, err := m.Output(0)
	require.NoError(t, err)
	assert.False(t, out.Tensor().ReadOnly())
	assert.NotSame(t, &bytesOf3[0], &out.Tensor().Bytes()[0])
}

func TestPanicBecomesError(t *testing.T) {
	b := newPlan("forward")
	x := b.planned(3)
	m := load(t, b.call("t::panic", x).build(nil, nil))
	_, err := m.Execute(context.Background())
	require.Error(t, err)
	assert.True(t, IsPanic(err))
	assert.Equal(t, ErrorCode(0x01), Code(err))
	assert.ErrorContains(t, err, "method forward: instruction 0, t::panic")
}

func TestBusy(t *testing.T) {
	m := load(t, addProgram(true))
	require.NoError(t, m.enter())
	_, err := m.Execute(context.Background(), f32(1, 2, 3))
	assert.ErrorIs(t, err, ErrBusy)
	assert.ErrorIs(t, m.Close(), ErrBusy)
	m.leave()
}

type countingAllocator struct {
	memory.Heap
	live, calls int
	fail        bool
}

func (a *countingAllocator) Allocate(size, align int) ([]byte, error) {
	if a.fail {
		return nil, errors.New("exhausted")
	}
	a.live++
	a.calls++
	return a.Heap.Allocate(size, align)
}

func (a *countingAllocator) Free(b []byte) { a.live-- }

func TestScratchIsFreedAfterTheStep(t *testing.T) {
	b := newPlan("forward")
	n, got := b.int(1000), b.none()
	p := b.call("t::scratch", n, got).build(nil, []int32{got})
	a := &countingAllocator{}
	m := load(t, p, WithTempAllocator(a))
	out, err := m.Execute(context.Background())
	require.NoError(t, err)
	assert.Equal(t, int64(1000), out[0].Int())
	assert.Equal(t, 1, a.calls)
	assert.Zero(t, a.live)

	a.fail = true
	_, err = m.Execute(context.Background())
	assert.NoError(t, err, "an exhausted allocator is replaced by the heap")

	budget := memory.NewBudget(memory.Limits{MaxBytes: 7999})
	m = load(t, p, WithBudget(budget))
	before := budget.Used()
	_, err = m.Execute(context.Background())
	assert.ErrorIs(t, err, ErrLimitExceeded)
	assert.Equal(t, before, budget.Used())
	require.NoError(t, m.Close())
	assert.Zero(t, budget.Used())
}

func TestMethodAllocatorGetsEverythingBack(t *testing.T) {
	a := &countingAllocator{}
	budget := memory.NewBudget(memory.Limits{})
	m := load(t, addProgram(false), WithMethodAllocator(a), WithBudget(budget))
	_, err := m.Execute(context.Background(), f32(1, 2, 3))
	require.NoError(t, err)
	assert.Positive(t, a.live)
	require.NoError(t, m.Close())
	assert.Zero(t, a.live)
	assert.Zero(t, budget.Used())
}

func TestMemoryLimitAtLoad(t *testing.T) {
	b := newPlan("forward")
	b.planned(1 << 20)
	p := b.build(nil, nil)
	e, err := p.MemoryEstimate("forward")
	require.NoError(t, err)
	assert.Equal(t, int64(4<<20), e.Planned)
	_, err = p.LoadMethod("forward", testRegistry(t), WithBudget(memory.NewBudget(memory.Limits{MaxBytes: 1 << 20})))
	assert.ErrorIs(t, err, ErrLimitExceeded)
	assert.Equal(t, ErrorCode(0x21), Code(err))
}

func TestMisalignedPlannedMemory(t *testing.T) {
	b := newPlan("forward")
	in, out := b.planned(3), b.planned(3)
	b.next += 16
	b.tensorOf(in).Allocation.Offset++
	m := load(t, b.call("t::add", in, in, out, out).build([]int32{in}, []int32{out}))
	got, err := m.Execute(context.Background(), f32(1, 2, 3))
	require.NoError(t, err)
	assert.Equal(t, []float32{2, 4, 6}, floatsOf(t, got[0]))
}

func TestPrepare(t *testing.T) {
	type packed struct{ v []float32 }
	made, prepared := 0, 0
	k := Kernels{{
		Schema: "t::packed(Tensor a, Tensor w, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    func(*KernelRuntimeContext, Args) error { return errors.New("not prepared") },
		Prepare: func(p *PrepareContext, args Args) (KernelFunc, error) {
			prepared++
			if p.Constant(0) || !p.Constant(1) || p.Constant(2) {
				return nil, errors.New("wrong constants")
			}
			w, err := p.Shared.Get(&args.Tensor(1).Bytes()[0], func() (any, error) {
				made++
				return &packed{tensor.Raw[float32](args.Tensor(1))}, p.Charge(12, "weights")
			})
			if err != nil {
				return nil, err
			}
			return func(_ *KernelRuntimeContext, args Args) error {
				copy(tensor.Raw[float32](args.Tensor(2)), w.(*packed).v)
				return nil
			}, nil
		},
	}}
	reg := NewRegistry()
	require.NoError(t, reg.Register(k))
	b := newPlan("forward")
	in, w, out := b.planned(3), b.constant(bytesOf3, 3), b.planned(3)
	p := b.call("t::packed", in, w, out, out).build([]int32{in}, []int32{out})
	for range 2 {
		m, err := p.LoadMethod("forward", reg)
		require.NoError(t, err)
		got, err := m.Execute(context.Background(), f32(0, 0, 0))
		require.NoError(t, err)
		assert.Equal(t, []float32{1, 2, 3}, floatsOf(t, got[0]))
	}
	assert.Equal(t, 2, prepared)
	assert.Equal(t, 1, made, "packed once per program")
}

// dropAdds removes additions of a constant zero whose output nobody else writes:
// their users read the first operand instead.
type dropAdds struct{ dropped int }

func (*dropAdds) Name() string { return "drop_adds" }

func (d *dropAdds) Run(s *Steps) error {
	for i := range s.Len() {
		if s.Op(i) != "t::add" || s.Impure(i) || s.IsJumpTarget(i) {
			continue
		}
		args := s.Args(i)
		a, z, out := args[0], args[1], args[2]
		if !s.Constant(z) || s.Constant(a) || s.Output(out) {
			continue
		}
		for _, v := range tensor.Raw[float32](s.Value(z).Tensor()) {
			if v != 0 {
				return nil
			}
		}
		for _, u := range s.Uses(out) {
			if u == i {
				continue
			}
			replaced := append([]int32(nil), s.Args(u)...)
			for k := range replaced {
				if replaced[k] == out {
					replaced[k] = a
				}
			}
			if err := s.Replace(u, nil, replaced); err != nil {
				return err
			}
		}
		s.Remove(i)
		d.dropped++
	}
	return nil
}

func TestPass(t *testing.T) {
	pass := &dropAdds{}
	reg := testRegistry(t)
	reg.RegisterPass(pass)
	b := newPlan("forward")
	in, mid, out := b.planned(3), b.planned(3), b.planned(3)
	z, c := b.constant(make([]byte, 4), 1), b.constant(bytesOf3, 3)
	cond := b.bool(false)
	// The jump leads behind the removed step and must still do so afterwards.
	p := b.call("t::add", in, z, mid, mid).instr(program.JumpFalseCall, cond, 3).call("t::panic", in).
		call("t::add", mid, c, out, out).build([]int32{in}, []int32{out})
	for _, on := range []bool{true, false} {
		m, err := p.LoadMethod("forward", reg, WithFusion(on))
		require.NoError(t, err)
		got, err := m.Execute(context.Background(), f32(1, 1, 1))
		require.NoError(t, err)
		assert.Equal(t, []float32{2, 3, 4}, floatsOf(t, got[0]))
	}
	assert.Equal(t, 1, pass.dropped)
}

type recorder struct{ events []string }

func (r *recorder) Begin(e *Event) { r.events = append(r.events, "+"+e.Kind.String()+" "+e.Name) }
func (r *recorder) End(e *Event) {
	s := "-" + e.Kind.String() + " " + e.Name
	if e.Err != nil {
		s += " failed"
	}
	r.events = append(r.events, s)
}

func TestTracer(t *testing.T) {
	r := &recorder{}
	m := load(t, addProgram(true), WithTracer(r))
	_, err := m.Execute(context.Background(), f32(1, 2, 3))
	require.NoError(t, err)
	assert.Equal(t, []string{"+load_method ", "-load_method ", "+execute ", "+kernel t::add", "-kernel t::add", "-execute "}, r.events)
}

// doubler is a backend whose delegates multiply by a named constant.
type doubler struct{ closed int }

func (d *doubler) Init(ctx *BackendInitContext, payload []byte, specs []CompileSpec) (Delegate, error) {
	if string(payload) != "payload" || len(specs) != 1 || specs[0].Key != "k" {
		return nil, errors.New("unexpected payload or specs")
	}
	if ctx.Options != 3 {
		return nil, errors.New("unexpected options")
	}
	b, err := ctx.NamedData("factor")
	if err != nil {
		return nil, err
	}
	if _, err := ctx.NamedData("none"); !errors.Is(err, ErrNotFound) {
		return nil, errors.New("found what is not there")
	}
	return &doublerDelegate{d, tensor.Cast[float32](b)[0]}, nil
}

type doublerDelegate struct {
	d      *doubler
	factor float32
}

func (d *doublerDelegate) Execute(ctx *BackendExecutionContext, args Args) error {
	s, err := Temp[float32](ctx.KernelRuntimeContext, 3)
	if err != nil {
		return err
	}
	for i, v := range tensor.Raw[float32](args.Tensor(0)) {
		s[i] = v * d.factor
	}
	copy(tensor.Raw[float32](args.Tensor(1)), s)
	return nil
}

func (d *doublerDelegate) Close() error { d.d.closed++; return nil }

func TestDelegate(t *testing.T) {
	b := newPlan("forward")
	in, out := b.planned(3), b.planned(3)
	b.plan.Delegates = []program.Delegate{{ID: "Doubler", Processed: []byte("payload"), Specs: []program.CompileSpec{{Key: "k"}}}}
	b.instrs = []program.Instruction{{Kind: program.DelegateCall, Index: 0, Args: []int32{in, out}}}
	p := b.build([]int32{in}, []int32{out})
	p.file.Segments = [][]byte{tensor.Of([]float32{2}).Bytes()}
	p.file.NamedData = []program.NamedData{{Key: "factor", Segment: 0}}
	data, err := p.NewDataSet()
	require.NoError(t, err)
	reg, d := NewRegistry(), &doubler{}
	require.NoError(t, reg.RegisterBackend("Doubler", d))
	assert.Error(t, reg.RegisterBackend("Doubler", d))
	m, err := p.LoadMethod("forward", reg, WithDataSet(data), WithBackendOptions("Doubler", 3))
	require.NoError(t, err)
	got, err := m.Execute(context.Background(), f32(1, 2, 3))
	require.NoError(t, err)
	assert.Equal(t, []float32{2, 4, 6}, floatsOf(t, got[0]))
	require.NoError(t, m.Close())
	assert.Equal(t, 1, d.closed)

	_, err = p.LoadMethod("forward", reg, WithDataSet(data))
	assert.Equal(t, ErrorCode(0x30), Code(err))
}

func TestParseSignature(t *testing.T) {
	s, err := ParseSignature("aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)")
	require.NoError(t, err)
	assert.Equal(t, "aten::max.dim_max", s.Name)
	assert.Len(t, s.Params, 5)
	assert.True(t, s.Params[3].Written && s.Params[4].Written && !s.Params[0].Written)
	assert.NoError(t, s.checkCount(5))
	assert.NoError(t, s.checkCount(6))
	assert.Error(t, s.checkCount(4))

	s, err = ParseSignature("aten::index.Tensor_out(Tensor self, Tensor?[] indices, *, Tensor(a!) out) -> Tensor(a!)")
	require.NoError(t, err)
	assert.Equal(t, ArgOptionalTensorList, s.Params[1].Type)

	s, err = ParseSignature("aten::split_copy.Tensor_out(Tensor self, SymInt split_size, int dim=0, *, Tensor(a!)[] out) -> ()")
	require.NoError(t, err)
	assert.Equal(t, Param{Name: "out", Type: ArgTensorList, Written: true}, s.Params[3])

	s, err = ParseSignature("aten::x(Tensor? a, int[2]? b=[0, 1], SymInt[] c, float[]? d, bool[3] e, ScalarType? f, str g=\"mean\", Scalar? h) -> (Tensor, Scalar)")
	require.NoError(t, err)
	assert.Len(t, s.Params, 10)
	assert.Equal(t, Param{Name: "b", Type: ArgIntList, Optional: true}, s.Params[1])
	assert.Equal(t, ArgAny, s.Params[9].Type)

	for _, bad := range []string{"", "add(Tensor a) -> ()", "a::b", "a::b(Tensor a", "a::b(Thing x) -> ()", "a::b(Tensor) -> ()", "a::b(Scalar[] x) -> ()"} {
		_, err := ParseSignature(bad)
		assert.Error(t, err, bad)
	}
}

func TestRegistry(t *testing.T) {
	reg := testRegistry(t)
	assert.Error(t, reg.Register(Kernels{{Schema: "t::new(int a) -> ()", Run: testKernels[0].Run}, {Schema: "t::add(int a) -> ()", Run: testKernels[0].Run}}))
	assert.Nil(t, reg.Kernel("t::new"), "a group that fails adds nothing")
	assert.Error(t, reg.Register(Kernels{{Schema: "t::new(int a) -> ()"}}))
	assert.Contains(t, reg.Operators(), "t::add")
}

func TestDataFileKeysMustBeUnique(t *testing.T) {
	p := testProgram()
	p.file.Segments = [][]byte{{1}}
	p.file.NamedData = []program.NamedData{{Key: "w"}}
	d, err := newDataSet(p.file, nil)
	require.NoError(t, err)
	b, _, err := d.lookup("w")
	require.NoError(t, err)
	assert.Equal(t, []byte{1}, b)
}

func TestExternalTensors(t *testing.T) {
	b := newPlan("forward")
	x, y := b.constant(nil, 3), b.constant(nil, 3)
	for v, name := range map[int32]string{x: "w.b", y: "w.a"} {
		b.tensorOf(v).Location, b.tensorOf(v).Name, b.tensorOf(v).DataBuffer = program.LocationExternal, name, 0
	}
	p := b.build(nil, []int32{x, y})
	_, err := p.LoadMethod("forward", testRegistry(t))
	assert.Equal(t, ErrorCode(0x02), Code(err))
	assert.ErrorContains(t, err, `["w.a" "w.b"]`)
	p.data.entries["w.a"] = dataEntry{bytes: bytesOf3}
	_, err = p.LoadMethod("forward", testRegistry(t))
	assert.Equal(t, ErrorCode(0x24), Code(err))
	p.data.entries["w.b"] = dataEntry{bytes: bytesOf3[:8]}
	_, err = p.LoadMethod("forward", testRegistry(t))
	assert.Equal(t, ErrorCode(0x24), Code(err))
	p.data.entries["w.b"] = dataEntry{bytes: bytesOf3}
	out, err := load(t, p).Execute(context.Background())
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 2, 3}, floatsOf(t, out[1]))
}
