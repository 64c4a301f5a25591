package program

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/schema"
	"github.com/etgo-ml/etgo/schema/internal/fb"
)

// These tests are about files that were made to do harm. Each is named after the
// fault in it; most have crashed a runtime.

func TestRootOffset(t *testing.T) {
	valid := encode(t, simple())
	for _, offset := range []uint32{0, 1, 4, 7, uint32(len(valid)) - 3, uint32(len(valid)), 1 << 31, math.MaxUint32} {
		b := append([]byte(nil), valid...)
		table{b: b}.put32(0, offset)
		_, err := Decode(b)
		require.ErrorIs(t, err, errs.InvalidProgram, "root offset %d", offset)
	}
}

func TestSegmentOffsetOverflow(t *testing.T) {
	valid := encode(t, everything())
	size := uint64(len(valid))
	tests := []struct {
		name  string
		field int
		value uint64
		text  string
	}{
		{"offset 2^64-1", segmentOffset, math.MaxUint64, "overflow 64 bits"},
		{"offset wraps past the base", segmentOffset, math.MaxUint64 - 64, "overflow 64 bits"},
		{"offset 2^63", segmentOffset, 1 << 63, "file truncated: needs"},
		{"offset at the end", segmentOffset, size, "file truncated: needs"},
		{"size 2^64-1", segmentSize, math.MaxUint64, "overflow 64 bits"},
		{"size 2^63", segmentSize, 1 << 63, "file truncated: needs"},
		{"size beyond the end", segmentSize, size, "file truncated: needs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := append([]byte(nil), valid...)
			s := root(b).at(programSegments, 1)
			s.put64(s.field(tt.field), tt.value)
			requireRefused(t, b, errs.CodeInvalidArgument, tt.text)
		})
	}
	t.Run("size 0", func(t *testing.T) {
		b := append([]byte(nil), valid...)
		s := root(b).at(programSegments, 0)
		s.put64(s.field(segmentSize), 0)
		requireRefused(t, b, errs.CodeInvalidArgument, "begins at byte 32 of the 0 in segment 0")
	})
}

func TestSubsegmentOffsets(t *testing.T) {
	valid := encode(t, everything())
	for _, offset := range []uint64{57, 1 << 31, 1 << 63, math.MaxUint64, math.MaxUint64 - 23} {
		b := append([]byte(nil), valid...)
		offsets := root(b).child(programConstantSegment).child(subsegmentsOffsets)
		offsets.put64(offsets.pos+4+8, offset)
		requireRefused(t, b, errs.CodeInvalidArgument, "constant 1 begins at byte")

		b = append([]byte(nil), valid...)
		offsets = root(b).at(programMutableDataSegments, 0).child(subsegmentsOffsets)
		offsets.put64(offsets.pos+4+8, offset)
		requireRefused(t, b, errs.CodeInvalidArgument, "mutable data segment 0: initial value 1 begins at byte")
	}
	// An offset that is inside, with too little behind it.
	b := append([]byte(nil), valid...)
	offsets := root(b).child(programConstantSegment).child(subsegmentsOffsets)
	offsets.put64(offsets.pos+4+8, 10)
	requireRefused(t, b, errs.CodeInvalidArgument, "constant 1 has 23 bytes at most, float32[3 2] needs 24")
}

func TestSubsegmentSegments(t *testing.T) {
	p := simple()
	p.Segments = [][]byte{{1}}
	p.ConstantSegment = Subsegments{Segment: 1, Offsets: []uint64{0, 0}}
	refused(t, p, errs.CodeInvalidProgram, "constants are in segment 1 of 1")
	p.ConstantSegment = Subsegments{Segment: math.MaxUint32, Offsets: []uint64{0}}
	decodeOK(t, encode(t, p)) // there are no constants
	p.MutableSegments = []Subsegments{{Segment: math.MaxUint32, Offsets: []uint64{0}}}
	refused(t, p, errs.CodeNotFound, "mutable data segment 0: it is segment 4294967295 of 1")
	p.MutableSegments = nil
	p.NamedData = []NamedData{{"key", 1}}
	refused(t, p, errs.CodeInvalidArgument, `named data "key" is in segment 1 of 1`)
}

func TestDataBufferIndex(t *testing.T) {
	tensor := Tensor{Type: schema.Byte, DataBuffer: 999}
	refused(t, simple(tensorValue(tensor)), errs.CodeInvalidProgram, "data is constant 999, and the program has no constants")
	p := simple(tensorValue(tensor))
	p.Segments, p.ConstantSegment = [][]byte{{1, 2}}, Subsegments{Offsets: []uint64{0, 0, 1}}
	refused(t, p, errs.CodeInvalidArgument, "data is constant 999 of 3")
	p = simple(tensorValue(tensor))
	p.ConstantBuffers = [][]byte{nil, {1}}
	refused(t, p, errs.CodeInvalidArgument, "data is constant 999 of 2")

	tensor.Allocation = &Allocation{MemoryID: 1}
	p = simple(tensorValue(tensor))
	refused(t, p, errs.CodeNotFound, "initial value is 999, and the program has none")
	p.Segments, p.MutableSegments = [][]byte{{1, 2}}, []Subsegments{{Offsets: []uint64{0, 0}}}
	refused(t, p, errs.CodeNotFound, "initial value is 999 of 2")
}

// ExecuTorch ignores where a tensor says that its initial value is.
func TestMutableSegmentIndex(t *testing.T) {
	p := simple(tensorValue(Tensor{Type: schema.Byte, DataBuffer: 1, Allocation: &Allocation{MemoryID: 1}, MutableSegment: math.MaxUint64}))
	p.Segments, p.MutableSegments = [][]byte{{7}, {8}}, []Subsegments{{0, []uint64{0, 0}}, {1, []uint64{0, 0}}}
	require.Equal(t, []byte{7}, decodeOK(t, encode(t, p)).Plans[0].Values[0].Tensor.Data)
	p.Plans[0].Values[0].Tensor.MutableSegment = 1
	require.Equal(t, []byte{8}, decodeOK(t, encode(t, p)).Plans[0].Values[0].Tensor.Data)
}

// order returns the dim order of a contiguous tensor.
func order(n int) []uint8 {
	o := make([]uint8, n)
	for i := range o {
		o[i] = uint8(i)
	}
	return o
}

func TestDimsOverflow(t *testing.T) {
	const big = math.MaxInt32
	tests := []struct {
		typ   schema.ScalarType
		sizes []int32
		code  errs.Code
		text  string
	}{
		{schema.Float, []int32{big, big}, 0, ""}, // bytes of it fit into 64 bits, barely
		{schema.Double, []int32{big, big}, errs.CodeInvalidProgram, "float64[2147483647 2147483647]: its size overflows"},
		{schema.Byte, []int32{big, big, big}, errs.CodeInvalidProgram, "overflows"},
		{schema.Byte, []int32{65536, 65536, 65536, 65536}, errs.CodeInvalidProgram, "overflows"}, // 2^64
		{schema.Float, []int32{65536, 65536, 65536, 65536, 65536}, errs.CodeInvalidProgram, "overflows"},
		{schema.Byte, []int32{0, big, big, big}, errs.CodeInvalidProgram, "overflows"}, // its strides do
	}
	for _, tt := range tests {
		tensor := Tensor{Type: tt.typ, Sizes: tt.sizes, DimOrder: order(len(tt.sizes))}
		p := simple(tensorValue(tensor))
		if tt.text == "" {
			require.Equal(t, int64(math.MaxInt64), decodeOK(t, encode(t, p)).Plans[0].Values[0].Tensor.NBytes)
		} else {
			refused(t, p, tt.code, tt.text)
		}
		// No planned memory and no constant can be so large.
		p.Plans[0].Values[0].Tensor.Allocation = &Allocation{MemoryID: 1}
		_, err := Decode(encode(t, p))
		require.ErrorIs(t, err, errs.InvalidProgram)
		p.Plans[0].Values[0].Tensor.Allocation = nil
		p.Plans[0].Values[0].Tensor.Data = []byte{1}
		_, err = Decode(encode(t, p))
		require.ErrorIs(t, err, errs.InvalidProgram)
	}
	// An input of dynamic shape has a bound, which may be no more than that.
	p := simple(tensorValue(Tensor{Type: schema.Double, Sizes: []int32{big, big}, DimOrder: order(2), Dynamism: DynamicBound}))
	require.Equal(t, int64(math.MaxInt64), decodeOK(t, encode(t, p)).Plans[0].Values[0].Tensor.NBytes)
}

func TestNegativeDims(t *testing.T) {
	for _, size := range []int32{-1, math.MinInt32} {
		refused(t, simple(tensorValue(Tensor{Sizes: []int32{2, size}, DimOrder: order(2)})), errs.CodeInvalidProgram,
			fmt.Sprintf("dimension 1 has the negative size %d", size))
	}
}

func TestTooManyDims(t *testing.T) {
	for _, n := range []int{17, 200, 10000} {
		refused(t, simple(tensorValue(Tensor{Sizes: make([]int32, n), DimOrder: make([]uint8, n)})), errs.CodeInvalidProgram,
			fmt.Sprintf("tensor has %d dimensions, at most 16", n))
	}
	decodeOK(t, encode(t, simple(tensorValue(Tensor{Sizes: make([]int32, 16), DimOrder: order(16)}))))
}

func TestDimOrder(t *testing.T) {
	for _, o := range [][]uint8{{0, 0}, {0, 2}, {255, 1}} {
		refused(t, simple(tensorValue(Tensor{Sizes: []int32{2, 2}, DimOrder: o})), errs.CodeInternal, "is not a permutation of 0 to 1")
	}
	for _, o := range [][]uint8{nil, {0}, {0, 1, 2}} {
		refused(t, simple(tensorValue(Tensor{Sizes: []int32{2, 2}, DimOrder: o})), errs.CodeInvalidProgram, "entries for 2 dimensions")
	}
}

func TestScalarType(t *testing.T) {
	for _, s := range []schema.ScalarType{-1, -128, 30, 100} {
		refused(t, simple(tensorValue(Tensor{Type: s})), errs.CodeInvalidProgram, fmt.Sprintf("scalar type %d is unknown", s))
	}
}

func TestStorageOffset(t *testing.T) {
	// Encode has no field for it: write one over the layout, which is unused.
	b, err := fb.Build(Identifier, func(b fb.Builder) (fb.Offset, error) {
		e := &encoder{Builder: b}
		sizes, order := e.Int32s(nil), e.AlignedBytes(nil, 1)
		member := e.Table(tensorFields, func() {
			e.Ref(tensorSizes, sizes)
			e.Ref(tensorDimOrder, order)
			e.PrependInt32Slot(tensorStorageOffset, -4, 0)
		})
		value := e.union(uint8(KindTensor), member)
		name, values, empty := e.CreateString("f"), e.Offsets([]fb.Offset{value}), e.Offsets(nil)
		plan := e.Table(planFields, func() {
			for _, id := range []int{planInputs, planOutputs, planChains, planDelegates, planNonConstBufferSizes} {
				e.Ref(id, empty)
			}
			e.Ref(planName, name)
			e.Ref(planValues, values)
		})
		plans := e.Offsets([]fb.Offset{plan})
		return e.Table(programFields, func() { e.Ref(programExecutionPlan, plans) }), nil
	})
	require.NoError(t, err)
	requireRefused(t, b, errs.CodeNotSupported, "storage offset is -4")
}

func TestPlannedMemory(t *testing.T) {
	at := func(id uint32, offset uint64) *Program {
		return simple(tensorValue(Tensor{Type: schema.Float, Sizes: []int32{4}, DimOrder: order(1), Allocation: &Allocation{id, offset}}))
	}
	decodeOK(t, encode(t, at(1, 48)))
	decodeOK(t, encode(t, at(1, 47))) // ExecuTorch does not ask for alignment
	refused(t, at(0, 0), errs.CodeInvalidArgument, "planned memory 0: the method has 1 to 1")
	refused(t, at(2, 0), errs.CodeInvalidArgument, "planned memory 2: the method has 1 to 1")
	refused(t, at(math.MaxUint32, 0), errs.CodeInvalidArgument, "planned memory 4294967295")
	refused(t, at(1, 49), errs.CodeMemoryAllocationFailed, "planned memory 1: 16 bytes at 49 do not fit into 64")
	refused(t, at(1, 1<<63), errs.CodeMemoryAllocationFailed, "do not fit into 64")
	refused(t, at(1, math.MaxUint64), errs.CodeInvalidArgument, "overflow 64 bits")
	p := at(1, 0)
	p.Plans[0].BufferSizes = nil
	refused(t, p, errs.CodeInvalidArgument, "planned memory 1")
	p.Plans[0].BufferSizes = []int64{-1, -1}
	refused(t, p, errs.CodeInvalidProgram, "planned memory 1 has the negative size -1")
	p.Plans[0].BufferSizes = []int64{-1, 16}
	decodeOK(t, encode(t, p)) // entry 0 means nothing
	p.Plans[0].BufferDevices = []BufferDevice{{Buffer: 2}}
	refused(t, p, errs.CodeInvalidProgram, "device 0 is that of planned memory 2 of 2")
}

func TestUnboundedTensors(t *testing.T) {
	tensor := Tensor{Type: schema.Float, Sizes: []int32{4}, DimOrder: order(1), Dynamism: DynamicUnbound}
	decodeOK(t, encode(t, simple(tensorValue(tensor))))
	tensor.Allocation = &Allocation{MemoryID: 1}
	refused(t, simple(tensorValue(tensor)), errs.CodeNotSupported, "unbounded shape")
}

func TestExternalTensors(t *testing.T) {
	tensor := Tensor{Location: LocationExternal, DataBuffer: 999}
	refused(t, simple(tensorValue(tensor)), errs.CodeInvalidExternalData, "no name to find it by")
	tensor.Name = "weight"
	decodeOK(t, encode(t, simple(tensorValue(tensor))))
	tensor.Location = 2
	refused(t, simple(tensorValue(tensor)), errs.CodeInvalidProgram, "unknown location 2")
}

func TestValueIndices(t *testing.T) {
	tests := map[string]func(p *Plan, v int32){
		"input 0 is value":          func(p *Plan, v int32) { p.Inputs = []int32{v} },
		"output 1 is value":         func(p *Plan, v int32) { p.Outputs = []int32{0, v} },
		"chain 0: input 0 is value": func(p *Plan, v int32) { p.Chains[0].Inputs = []int32{v} },
		"argument 1 is value": func(p *Plan, v int32) {
			p.Chains[0].Instructions = []Instruction{{Kind: KernelCall, Args: []int32{0, v}}}
		},
		"argument 0 is value": func(p *Plan, v int32) {
			p.Delegates = []Delegate{{ID: "x", Processed: []byte{1}}}
			p.Chains[0].Instructions = []Instruction{{Kind: DelegateCall, Args: []int32{v}}}
		},
		"it names value": func(p *Plan, v int32) { p.Chains[0].Instructions = []Instruction{{Kind: MoveCall, Index: v}} },
		"it moves to value": func(p *Plan, v int32) {
			p.Chains[0].Instructions = []Instruction{{Kind: MoveCall, To: v}}
		},
		"names value": func(p *Plan, v int32) { p.Chains[0].Instructions = []Instruction{{Kind: JumpFalseCall, Index: v}} },
		"s value":     func(p *Plan, v int32) { p.Chains[0].Instructions = []Instruction{{Kind: FreeCall, Index: v}} },
	}
	for text, set := range tests {
		for _, v := range []int32{-1, 1, math.MaxInt32, math.MinInt32} {
			p := simple(Value{Kind: KindInt})
			set(&p.Plans[0], v)
			refused(t, p, errs.CodeInvalidProgram, text)
		}
	}
}

func TestCallIndices(t *testing.T) {
	for _, i := range []int32{-1, 1, math.MaxInt32} {
		p := simple()
		p.Plans[0].Chains[0].Instructions = []Instruction{{Kind: KernelCall, Index: i}}
		refused(t, p, errs.CodeInvalidProgram, fmt.Sprintf("it calls operator %d of 1", i))
		p.Plans[0].Chains[0].Instructions = []Instruction{{Kind: DelegateCall, Index: i}}
		refused(t, p, errs.CodeInvalidProgram, fmt.Sprintf("it calls delegate %d of 0", i))
	}
}

func TestDelegatePayload(t *testing.T) {
	p := simple()
	p.Plans[0].Delegates = []Delegate{{ID: "x", Index: 5}}
	refused(t, p, errs.CodeNotFound, "delegate 0: payload is inline payload 5 of 0")
	p.Plans[0].Delegates[0].Location = DataSegment
	refused(t, p, errs.CodeNotFound, "delegate 0: payload is segment 5 of 0")
	p.Plans[0].Delegates[0].Location = 2
	refused(t, p, errs.CodeInvalidProgram, "delegate 0: payload has the unknown location 2")
}

func TestJumpTargets(t *testing.T) {
	for to, ok := range map[int32]bool{0: true, 1: true, 2: true, 3: false, -1: false, math.MaxInt32: false} {
		p := simple(Value{Kind: KindBool})
		p.Plans[0].Chains[0].Instructions = []Instruction{{Kind: JumpFalseCall, To: to}, {Kind: KernelCall}}
		if ok {
			decodeOK(t, encode(t, p))
		} else {
			refused(t, p, errs.CodeInvalidProgram, fmt.Sprintf("it jumps to instruction %d of 2", to))
		}
	}
}

func TestJumpCondition(t *testing.T) {
	boolTensor := Tensor{Type: schema.Bool}
	for i, v := range []Value{{Kind: KindInt}, {Kind: KindNull}, {Kind: KindString}, {Kind: KindIntList}, {Kind: KindDouble}, tensorValue(Tensor{Type: schema.Byte})} {
		p := simple(v, Value{Kind: KindBool})
		p.Plans[0].Chains[0].Instructions = []Instruction{{Kind: JumpFalseCall}}
		refused(t, p, errs.CodeInvalidProgram, "it jumps on value 0")
		// An instruction may make it one; whether it does, the operator tells.
		p.Plans[0].Chains[0].Instructions = []Instruction{{Kind: KernelCall, Args: []int32{0}}, {Kind: JumpFalseCall}}
		decodeOK(t, encode(t, p))
		if i < 2 {
			p.Plans[0].Chains[0].Instructions = []Instruction{{Kind: MoveCall, Index: 1}, {Kind: JumpFalseCall}}
			decodeOK(t, encode(t, p))
		}
	}
	p := simple(Value{Kind: KindBool}, tensorValue(boolTensor))
	p.Plans[0].Chains[0].Instructions = []Instruction{{Kind: JumpFalseCall}, {Kind: JumpFalseCall, Index: 1}}
	decodeOK(t, encode(t, p))
}

// An int moved into the slot of a list made a list of it.
func TestMoveKinds(t *testing.T) {
	const null, integer, boolean, tensor, list, tensors = 0, 1, 2, 3, 4, 5
	values := []Value{
		{Kind: KindNull}, {Kind: KindInt}, {Kind: KindBool}, tensorValue(Tensor{}), {Kind: KindIntList}, {Kind: KindTensorList},
	}
	for _, tt := range []struct {
		from, to int32
		ok       bool
	}{
		{integer, tensors, false}, {integer, list, false}, {integer, tensor, false}, {tensor, integer, false}, {tensor, tensors, false},
		{list, tensors, false}, {tensors, tensor, false},
		{integer, integer, true}, {integer, boolean, true}, {tensor, tensor, true}, {null, tensor, true}, {tensor, null, true}, {list, list, true},
	} {
		p := simple(values...)
		p.Plans[0].Chains[0].Instructions = []Instruction{{Kind: MoveCall, Index: tt.from, To: tt.to}}
		if tt.ok {
			decodeOK(t, encode(t, p))
		} else {
			refused(t, p, errs.CodeInvalidProgram, "instruction 0: it moves")
		}
	}
}

func TestFreeCall(t *testing.T) {
	free := Instruction{Kind: FreeCall, Index: 0}
	use := Instruction{Kind: KernelCall, Args: []int32{0}}
	p := simple(Value{Kind: KindInt})
	p.Plans[0].Chains[0].Instructions = []Instruction{free}
	refused(t, p, errs.CodeInvalidType, "it frees value 0, int, which is no tensor")

	p = simple(tensorValue(Tensor{Allocation: &Allocation{MemoryID: 1}}), Value{Kind: KindTensorList, Items: []int32{0}})
	p.Plans[0].Chains[0].Instructions = []Instruction{use, free}
	decodeOK(t, encode(t, p))
	p.Plans[0].Chains[0].Instructions = []Instruction{free, use}
	refused(t, p, errs.CodeInvalidProgram, "it frees value 0, which is used afterwards")
	p.Plans[0].Chains[0].Instructions = []Instruction{free, {Kind: KernelCall, Args: []int32{1}}}
	refused(t, p, errs.CodeInvalidProgram, "it frees value 0, which is used afterwards") // through the list
	p.Plans[0].Chains[0].Instructions = []Instruction{free}
	p.Plans[0].Outputs = []int32{0}
	refused(t, p, errs.CodeInvalidProgram, "it frees value 0, which is used afterwards")
	p.Plans[0].Inputs = []int32{0}
	refused(t, p, errs.CodeInvalidProgram, "it frees value 0, which is an input")

	p = simple(tensorValue(Tensor{Dynamism: DynamicUnbound}))
	p.Plans[0].Chains[0].Instructions = []Instruction{free, use}
	decodeOK(t, encode(t, p)) // gets new memory
}

func TestListItems(t *testing.T) {
	list := func(kind ValueKind, items ...int32) *Program {
		return simple(Value{Kind: kind, Items: items}, Value{Kind: KindInt}, Value{Kind: KindNull}, tensorValue(Tensor{}),
			Value{Kind: KindIntList}, Value{Kind: KindTensorList}, Value{Kind: KindBool})
	}
	const itself, integer, null, tensor, ints, tensors, boolean = 0, 1, 2, 3, 4, 5, 6
	for _, tt := range []struct {
		kind ValueKind
		item int32
		ok   bool
	}{
		{KindIntList, integer, true}, {KindIntList, null, true}, {KindIntList, boolean, true},
		{KindIntList, itself, false}, {KindIntList, ints, false}, {KindIntList, tensors, false},
		{KindIntList, 7, false}, {KindIntList, -1, false},
		{KindTensorList, tensor, true},
		{KindTensorList, itself, false}, {KindTensorList, integer, false}, {KindTensorList, null, false}, {KindTensorList, -1, false}, {KindTensorList, 7, false},
		{KindOptionalTensorList, tensor, true}, {KindOptionalTensorList, null, true}, {KindOptionalTensorList, -1, true},
		{KindOptionalTensorList, itself, false}, {KindOptionalTensorList, integer, false}, {KindOptionalTensorList, -2, false}, {KindOptionalTensorList, 7, false},
	} {
		if tt.ok {
			decodeOK(t, encode(t, list(tt.kind, tt.item)))
		} else {
			refused(t, list(tt.kind, tt.item), errs.CodeInvalidProgram, "item 0 is value")
		}
	}
	// Items of an int list have 64 bits in the file.
	b := encode(t, list(KindIntList, integer))
	items := root(b).at(programExecutionPlan, 0).at(planValues, 0).child(unionMember).child(itemValue)
	items.put64(items.pos+4, 1<<32+1)
	requireRefused(t, b, errs.CodeInvalidProgram, "item 0 is value 4294967297 of 7")
}

func TestChains(t *testing.T) {
	p := simple()
	p.Plans[0].Chains = nil
	refused(t, p, errs.CodeInvalidProgram, "there are no chains of instructions")
}

// aliased returns a program whose method is named n times in the file.
func aliased(t testing.TB, p *Program, n int) []byte {
	t.Helper()
	e := encoder{Program: *p}
	b, err := fb.Build(Identifier, func(b fb.Builder) (fb.Offset, error) {
		e.Builder = b
		plans := make([]fb.Offset, n)
		plan := e.plan(&p.Plans[0])
		for i := range plans {
			plans[i] = plan
		}
		list := e.Offsets(plans)
		return e.Table(programFields, func() { e.Ref(programExecutionPlan, list) }), nil
	})
	require.NoError(t, err)
	return b
}

// requireCheap requires that f takes time and memory that a file of size bytes
// warrants.
func requireCheap(t *testing.T, size int, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	elapsed := time.Since(start)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(40*size+1<<20), "bytes for a file of %d", size)
	require.Less(t, elapsed, 15*time.Second, "even where the race detector slows it down")
}

// A file can refer to one object many times.
func TestAliasedVectorsBudget(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	big := make([]Value, 5000)
	for i := range big {
		big[i] = Value{Kind: KindInt, Int: 1}
	}
	tests := map[string]*Program{
		"values":    simple(big...),
		"doubles":   simple(Value{Kind: KindDoubleList, Doubles: make([]float64, 50_000)}),
		"items":     simple(Value{Kind: KindInt}, Value{Kind: KindIntList, Items: make([]int32, 50_000)}),
		"inputs":    simple(Value{Kind: KindInt}),
		"arguments": simple(Value{Kind: KindInt}),
		"frames":    simple(),
		"buffers":   simple(),
	}
	tests["frames"].Plans[0].Chains[0].Stacktrace = [][]Frame{make([]Frame, 10_000)}
	tests["inputs"].Plans[0].Inputs = make([]int32, 100_000)
	tests["arguments"].Plans[0].Chains[0].Instructions = []Instruction{{Kind: KernelCall, Args: make([]int32, 100_000)}}
	tests["buffers"].Plans[0].BufferSizes = make([]int64, 50_000)
	for name, p := range tests {
		t.Run(name, func(t *testing.T) {
			b := aliased(t, p, 50_000)
			requireCheap(t, len(b), func() {
				_, err := Decode(b)
				require.ErrorIs(t, err, errs.InvalidProgram)
				require.ErrorContains(t, err, "unfold")
			})
		})
	}
	// What is named but not copied may be shared.
	t.Run("names", func(t *testing.T) {
		p := simple()
		p.Plans[0].Name = long
		b := aliased(t, p, 1000)
		requireCheap(t, len(b), func() { require.Len(t, decodeOK(t, b).Plans, 1000) })
	})
	// Strings may overlap, and the same bytes be part of very many.
	t.Run("overlapping strings", func(t *testing.T) {
		p := simple()
		p.Plans[0].Name = strings.Repeat("\x11\x00\x01\x00", 30_000) // the length 65553 over and over, and text
		p.Plans[0].Operators = make([]Operator, 20_000)
		b := encode(t, p)
		plan := root(b).at(programExecutionPlan, 0)
		name := plan.child(planName).pos + 4
		for i := range p.Plans[0].Operators {
			op := plan.at(planOperators, i)
			op.put32(op.field(operatorName), uint32(name+4*i-op.field(operatorName)))
		}
		requireCheap(t, len(b), func() {
			_, err := Decode(b)
			require.ErrorContains(t, err, "unfold")
		})
	})
}

// 100,000 methods are many, but a file may have them.
func Test100kPlans(t *testing.T) {
	one := Plan{Name: "forward", Values: []Value{{Kind: KindInt, Int: 1}}, Outputs: []int32{0}, Chains: []Chain{{}}, BufferSizes: []int64{0}}
	p := &Program{Plans: make([]Plan, 100_000)}
	for i := range p.Plans {
		p.Plans[i] = one
	}
	b := encode(t, p)
	requireCheap(t, len(b), func() { require.Len(t, decodeOK(t, b).Plans, len(p.Plans)) })

	b = aliased(t, &Program{Plans: []Plan{one}}, 100_000)
	requireCheap(t, len(b), func() {
		_, err := Decode(b)
		require.ErrorContains(t, err, "unfold")
	})
}

// Checks over lists and instructions must not multiply.
func TestListsTimesInstructions(t *testing.T) {
	p := simple(Value{Kind: KindTensorList, Items: make([]int32, 50_000)}, tensorValue(Tensor{}))
	for i := range p.Plans[0].Values[0].Items {
		p.Plans[0].Values[0].Items[i] = 1
	}
	in := make([]Instruction, 50_000)
	for i := range in {
		in[i] = Instruction{Kind: KernelCall, Args: []int32{0}}
	}
	p.Plans[0].Chains[0].Instructions = append(in, Instruction{Kind: FreeCall, Index: 1})
	b := encode(t, p)
	requireCheap(t, len(b), func() { decodeOK(t, b) })
}

// Any single byte of a file may be wrong.
func TestEveryByteDamaged(t *testing.T) {
	valid := encode(t, everything())
	h := decodeOK(t, valid).Header
	b := append([]byte(nil), valid...)
	for i := range valid[:h.SegmentBaseOffset] {
		for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff, valid[i] ^ 1, valid[i] + 4, valid[i] - 4} {
			b[i] = v
			check(t, b)
		}
		b[i] = valid[i]
	}
}
