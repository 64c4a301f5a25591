package program

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/schema"
	"github.com/etgo-ml/etgo/schema/internal/fb"
)

// everything returns a program that uses all that the schema has.
func everything() *Program {
	return &Program{
		Header:       &Header{Length: 32},
		DelegateData: [][]byte{{1, 2, 3}, {4}},
		Plans: []Plan{
			{
				Name: "forward", InputTree: `[1, {"type": null}]`, OutTree: strings.Repeat(scratch, 8),
				Values: []Value{
					{Kind: KindNull},
					{Kind: KindInt, Int: -5},
					{Kind: KindBool, Bool: true},
					{Kind: KindDouble, Double: math.Copysign(0, -1)},
					{Kind: KindString, String: "mean"},
					{Kind: KindIntList, Items: []int32{1, 1}},
					{Kind: KindDoubleList, Doubles: []float64{0.5, math.Inf(1)}},
					{Kind: KindBoolList, Bools: []bool{true, false, true}},
					{Kind: KindTensorList, Items: []int32{10, 11}},
					{Kind: KindOptionalTensorList, Items: []int32{10, -1, 0}},
					{Kind: KindTensor, Tensor: planned("input", 0, 2, 3)},
					{Kind: KindTensor, Tensor: planned("", 24, 2, 3)},
					{Kind: KindTensor, Tensor: &Tensor{ // 12: a constant
						Type: schema.Float, Sizes: []int32{3, 2}, DimOrder: []uint8{1, 0}, Data: sequence(24), NBytes: 24, RequiresGrad: true,
					}},
					{Kind: KindTensor, Tensor: &Tensor{ // 13: another, without dimensions
						Type: schema.Bool, Data: []byte{1}, NBytes: 1,
					}},
					{Kind: KindTensor, Tensor: &Tensor{ // 14: mutable with an initial value
						Type: schema.Long, Sizes: []int32{4}, DimOrder: []uint8{0}, Data: sequence(32), NBytes: 32, Name: "state",
						Allocation: &Allocation{MemoryID: 2, Offset: 1<<32 + 8},
					}},
					{Kind: KindTensor, Tensor: &Tensor{ // 15: external
						Type: schema.Half, Sizes: []int32{0, 7}, DimOrder: []uint8{0, 1}, Name: "weight", Location: LocationExternal,
					}},
					{Kind: KindTensor, Tensor: &Tensor{ // 16: unbounded, on a device
						Type: schema.BFloat16, Sizes: []int32{5}, DimOrder: []uint8{0}, Dynamism: DynamicUnbound, NBytes: 10,
						Device: Device{Type: DeviceCUDA, Index: 1},
					}},
					{Kind: KindTensor, Tensor: planned("", 48, 1)}, // 17: condition
					{Kind: KindInt},
				},
				Inputs:  []int32{10},
				Outputs: []int32{11, 1},
				Chains: []Chain{{
					Inputs: []int32{10}, Outputs: []int32{11},
					Instructions: []Instruction{
						{Kind: KernelCall, Index: 1, Args: []int32{10, 12, 1, 11, 11}},
						{Kind: DelegateCall, Index: 0, Args: []int32{10, 11}},
						{Kind: JumpFalseCall, Index: 17, To: 4},
						{Kind: MoveCall, Index: 1, To: 18},
						{Kind: DelegateCall, Index: 1, Args: []int32{}},
						{Kind: FreeCall, Index: 16},
					},
					Stacktrace: [][]Frame{{{File: "model.py", Line: 12, Name: "forward", Context: "x + 1"}, {File: "model.py"}}, nil},
				}},
				Operators: []Operator{{"aten::mul", "out"}, {"aten::add", "out"}, {"executorch_prim::add", ""}},
				Delegates: []Delegate{
					{ID: "XnnpackBackend", Processed: []byte{1, 2, 3}, Location: DataInline, Index: 0},
					{ID: "Other", Processed: sequence(300), Specs: []CompileSpec{{"key", []byte{9, 8}}, {"empty", nil}}},
				},
				BufferSizes:   []int64{0, 100, 1<<32 + 64, 0},
				BufferDevices: []BufferDevice{{Buffer: 2, Device: Device{Type: DeviceCUDA, Index: 3}}},
			},
			{Name: "empty", Chains: []Chain{{}}},
		},
		NamedData: []NamedData{{Key: "blob", Segment: 0}, {Key: "same", Segment: 0}},
	}
}

// planned returns a float tensor at an offset of planned memory 1.
func planned(name string, offset uint64, sizes ...int32) *Tensor {
	t := &Tensor{Type: schema.Float, Sizes: sizes, Name: name, Dynamism: DynamicBound, Allocation: &Allocation{MemoryID: 1, Offset: offset}, NBytes: 4}
	for i, n := range sizes {
		t.DimOrder = append(t.DimOrder, uint8(i))
		t.NBytes *= int64(n)
	}
	if name == "" && len(sizes) == 1 {
		t.Type, t.NBytes = schema.Bool, t.NBytes/4
	}
	return t
}

func sequence(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// simple returns a program with one method, of which the values are given.
func simple(values ...Value) *Program {
	return &Program{Plans: []Plan{{
		Name: "forward", OutTree: scratch, Values: values, Chains: []Chain{{}}, BufferSizes: []int64{0, 64},
		Operators: []Operator{{"aten::add", "out"}},
	}}}
}

func tensorValue(t Tensor) Value { return Value{Kind: KindTensor, Tensor: &t} }

func encode(t testing.TB, p *Program) []byte {
	t.Helper()
	b, err := Encode(p)
	require.NoError(t, err)
	return b
}

func decodeOK(t testing.TB, b []byte) *Program {
	t.Helper()
	p, err := Decode(b)
	require.NoError(t, err)
	return p
}

// requireRefused requires that file is refused with a text, and with the number
// that ExecuTorch gives.
func requireRefused(t testing.TB, file []byte, code errs.Code, text string) {
	t.Helper()
	p, err := Decode(file)
	require.ErrorContains(t, err, text)
	require.Nil(t, p)
	require.ErrorIs(t, err, errs.InvalidProgram)
	require.Equal(t, code, errs.CodeOf(err), "code of: %v", err)
}

// refused is requireRefused for a program that Encode can write.
func refused(t testing.TB, p *Program, code errs.Code, text string) {
	t.Helper()
	requireRefused(t, encode(t, p), code, text)
}

// table is a table in an encoded program that a test damages.
type table struct {
	b   []byte
	pos int
}

func root(b []byte) table { return table{b, int(binary.LittleEndian.Uint32(b))} }

// entry returns the position of a field's entry in the vtable.
func (t table) entry(id int) int {
	return t.pos - int(int32(binary.LittleEndian.Uint32(t.b[t.pos:]))) + 4 + 2*id
}

// field returns the position of a field, which must be set.
func (t table) field(id int) int {
	return t.pos + int(binary.LittleEndian.Uint16(t.b[t.entry(id):]))
}

// follow returns the table or vector to which the offset at pos leads.
func (t table) follow(pos int) table {
	return table{t.b, pos + int(binary.LittleEndian.Uint32(t.b[pos:]))}
}

// child returns the table in a field.
func (t table) child(id int) table { return t.follow(t.field(id)) }

// at returns the i-th table of the vector in a field.
func (t table) at(id, i int) table { return t.follow(t.child(id).pos + 4 + 4*i) }

// scratch marks room in the flatbuffer for another vtable.
const scratch = "scratch_scratch_scratch_scratch_"

// remove makes a field absent. As the vtable may be shared with other tables, the
// table gets one of its own.
func (t table) remove(id int) {
	at := bytes.Index(t.b, []byte(scratch))
	vtable := t.entry(-2)
	copy(t.b[at:at+len(scratch)], t.b[vtable:])
	t.put32(t.pos, uint32(t.pos-at))
	copy(t.b[t.entry(id):], []byte{0, 0})
}

func (t table) put32(pos int, v uint32) { binary.LittleEndian.PutUint32(t.b[pos:], v) }

func (t table) put64(pos int, v uint64) { binary.LittleEndian.PutUint64(t.b[pos:], v) }

func TestRoundTrip(t *testing.T) {
	want := everything()
	want.Segments = [][]byte{sequence(20)}
	got := decodeOK(t, encode(t, want))

	// What Encode placed and computed.
	require.Equal(t, uint32(32), got.Header.Length)
	require.Zero(t, got.Header.SegmentBaseOffset%128)
	require.Equal(t, Subsegments{Segment: 1, Offsets: []uint64{0, 0, 32}}, got.ConstantSegment)
	require.Equal(t, []Subsegments{{Segment: 2, Offsets: []uint64{0, 0}}}, got.MutableSegments)
	require.Len(t, got.Segments, 4)
	require.Equal(t, sequence(20), got.Segments[0])
	values := got.Plans[0].Values
	require.Equal(t, []uint32{1, 2, 1}, []uint32{values[12].Tensor.DataBuffer, values[13].Tensor.DataBuffer, values[14].Tensor.DataBuffer})
	require.Equal(t, uint32(3), got.Plans[0].Delegates[1].Index)
	require.Equal(t, DataSegment, got.Plans[0].Delegates[1].Location)

	// The rest is as it was.
	want.Header, want.Segments = got.Header, got.Segments
	want.ConstantSegment, want.MutableSegments = got.ConstantSegment, got.MutableSegments
	w := want.Plans[0].Values
	w[12].Tensor.DataBuffer, w[13].Tensor.DataBuffer, w[14].Tensor.DataBuffer = 1, 2, 1
	want.Plans[0].Delegates[1].Location, want.Plans[0].Delegates[1].Index = DataSegment, 3
	want.Plans[0].Chains[0].Instructions[4].Args = nil
	require.Equal(t, want, got)
	require.True(t, math.Signbit(values[3].Double))

	// A decoded program is written as it is.
	again := encode(t, got)
	require.Equal(t, encode(t, want), again)
	require.Equal(t, got, decodeOK(t, again))
}

func TestEncodeLeavesProgramAlone(t *testing.T) {
	p := everything()
	encode(t, p)
	require.Equal(t, everything(), p)
}

func TestEncodeErrors(t *testing.T) {
	_, err := Encode(simple(Value{Kind: KindTensor}))
	require.ErrorContains(t, err, "value 0 is a tensor and has none")
	_, err = Encode(simple(Value{}))
	require.ErrorContains(t, err, "value 0 is of unknown kind 0")
	_, err = Encode(simple(Value{Kind: 12}))
	require.ErrorContains(t, err, "value 0 is of unknown kind 12")
	p := simple()
	p.Plans[0].Chains[0].Instructions = []Instruction{{}}
	_, err = Encode(p)
	require.ErrorContains(t, err, "instruction 0 is of unknown kind 0")
}

func TestEncodeMinimal(t *testing.T) {
	b := encode(t, &Program{})
	require.GreaterOrEqual(t, len(b), 64)
	require.Equal(t, &Program{ConstantSegment: Subsegments{}}, decodeOK(t, b))
}

// Until late 2024 constants were part of the flatbuffer.
func TestInlineConstants(t *testing.T) {
	p := simple(
		tensorValue(Tensor{Type: schema.Int, Sizes: []int32{2}, DimOrder: []uint8{0}, DataBuffer: 1}),
		tensorValue(Tensor{Type: schema.Float, Sizes: []int32{2}, DimOrder: []uint8{0}, Data: sequence(8)}),
	)
	p.ConstantBuffers = [][]byte{nil, sequence(16)}
	b := encode(t, p)
	got := decodeOK(t, b)
	require.Nil(t, got.Header)
	require.Empty(t, got.Segments)
	require.Equal(t, sequence(8), got.Plans[0].Values[0].Tensor.Data, "may be padded in the file")
	require.Equal(t, uint32(2), got.Plans[0].Values[1].Tensor.DataBuffer)

	t.Run("too short", func(t *testing.T) {
		p.Plans[0].Values[0].Tensor.Sizes[0] = 5
		refused(t, p, errs.CodeInvalidArgument, "constant 1 has 16 bytes at most, int32[5] needs 20")
	})
	t.Run("both forms", func(t *testing.T) {
		p := simple(tensorValue(Tensor{Type: schema.Byte, Data: []byte{1}}))
		p.ConstantBuffers = [][]byte{nil}
		p.ConstantSegment = Subsegments{Offsets: []uint64{0, 0}}
		p.Segments = [][]byte{{1}}
		refused(t, p, errs.CodeInvalidProgram, "constants are both inline (2) and in a segment (2)")
	})
}

func TestHeaderLengths(t *testing.T) {
	for _, length := range []uint32{24, 31, 32, 40, 100} {
		p := everything()
		p.Header.Length = length
		got := decodeOK(t, encode(t, p))
		require.Equal(t, length, got.Header.Length)
		require.Equal(t, length >= 32, got.Header.SegmentDataSize != 0)
		require.Equal(t, sequence(24), got.Plans[0].Values[12].Tensor.Data)
	}
	p := simple()
	p.Header = &Header{Length: 32}
	got := decodeOK(t, encode(t, p))
	require.Zero(t, got.Header.SegmentBaseOffset)
}

func TestHeaderFaults(t *testing.T) {
	valid := encode(t, everything())
	size := uint64(len(valid))
	const length, programSize, base, dataSize = 12, 16, 24, 32
	tests := []struct {
		name  string
		field int
		value uint64
		code  errs.Code
		text  string
	}{
		{"length 0", length, 0, errs.CodeInvalidProgram, "length of 0 bytes, at least 24"},
		{"length 23", length, 23, errs.CodeInvalidProgram, "length of 23 bytes"},
		{"program size 0", programSize, 0, errs.CodeInvalidProgram, "at least 12 bytes, this one has 0"},
		{"program size beyond the file", programSize, size + 1, errs.CodeInvalidArgument, "file truncated: needs"},
		{"program size 2^64-1", programSize, math.MaxUint64, errs.CodeInvalidArgument, "file truncated: needs 18446744073709551615"},
		{"base 0", base, 0, errs.CodeNotFound, "does not say where segments begin"},
		{"base at the end", base, size, errs.CodeInvalidProgram, "file truncated: needs"},
		{"base 2^64-1", base, math.MaxUint64, errs.CodeInvalidProgram, "overflow 64 bits"},
		{"data size beyond the file", dataSize, size, errs.CodeInvalidProgram, "file truncated"},
		{"data size 2^64-1", dataSize, math.MaxUint64, errs.CodeInvalidProgram, "overflow 64 bits"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := append([]byte(nil), valid...)
			if tt.field == length {
				binary.LittleEndian.PutUint32(b[tt.field:], uint32(tt.value))
			} else {
				binary.LittleEndian.PutUint64(b[tt.field:], tt.value)
			}
			requireRefused(t, b, tt.code, tt.text)
		})
	}
	t.Run("program size of the file", func(t *testing.T) {
		b := append([]byte(nil), valid...)
		binary.LittleEndian.PutUint64(b[programSize:], size)
		decodeOK(t, b)
	})
	t.Run("data size 0", func(t *testing.T) {
		b := append([]byte(nil), valid...)
		binary.LittleEndian.PutUint64(b[dataSize:], 0)
		decodeOK(t, b)
	})
	t.Run("unknown magic", func(t *testing.T) {
		b := append([]byte(nil), valid...)
		copy(b[8:], "eh01")
		requireRefused(t, b, errs.CodeNotFound, "does not say where segments begin")
	})
}

func TestTruncated(t *testing.T) {
	valid := encode(t, everything())
	for n := range len(valid) {
		_, err := Decode(valid[:n:n])
		require.ErrorIs(t, err, errs.InvalidProgram, "truncated to %d", n)
		if n >= minFileSize {
			require.ErrorContains(t, err, "file truncated: needs")
		}
	}
	requireRefused(t, valid[:40], errs.CodeInvalidArgument, "file truncated: needs 64 bytes, has 40")
	// Without an extended header, the flatbuffer itself tells.
	old := encode(t, simple(Value{Kind: KindInt, Int: 1}))
	for n := range len(old) {
		_, err := Decode(old[:n:n])
		require.ErrorIs(t, err, errs.InvalidProgram, "truncated to %d", n)
	}
}

func TestOtherFiles(t *testing.T) {
	valid := encode(t, everything())
	with := func(id string) []byte {
		b := append([]byte(nil), valid...)
		copy(b[4:], id)
		return b
	}
	requireRefused(t, nil, errs.CodeInvalidArgument, "an empty file")
	requireRefused(t, with("ET11"), errs.CodeInvalidProgram, "another version: ET12 expected, file says ET11")
	requireRefused(t, with("BP08"), errs.CodeInvalidProgram, "a bundled program (.bpte, BP08); open it as a bundle")
	requireRefused(t, with("FT01"), errs.CodeInvalidProgram, "an ExecuTorch data file (.ptd, FT01)")
	requireRefused(t, make([]byte, 100), errs.CodeInvalidProgram, "of no known format")
	requireRefused(t, []byte("version https://git-lfs.github.com/spec/v1\noid sha256:0123456789\nsize 100\n"), errs.CodeInvalidProgram, "git lfs pull")
}

func TestVersion(t *testing.T) {
	p := simple()
	p.Version = 1000
	refused(t, p, errs.CodeInvalidProgram, "schema version 1000, only 0 is known")
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	b, err := fb.Build(Identifier, func(b fb.Builder) (fb.Offset, error) {
		plans := b.Offsets(nil)
		return b.Table(programFields+3, func() {
			b.Ref(programExecutionPlan, plans)
			b.PrependUint64Slot(programFields+2, 7, 0)
		}), nil
	})
	require.NoError(t, err)
	b = append(b, make([]byte, 64)...)
	require.Empty(t, decodeOK(t, b).Plans)
}

func TestUnknownUnionMembers(t *testing.T) {
	p := simple(Value{Kind: KindInt, Int: 5})
	p.Plans[0].Chains[0].Instructions = []Instruction{{Kind: KernelCall}}
	for _, kind := range []byte{0, 12, 255} {
		b := encode(t, p)
		v := root(b).at(programExecutionPlan, 0).at(planValues, 0)
		b[v.field(unionKind)] = kind
		text := "value 0: it is of unknown kind"
		if kind == 0 {
			text = "value 0: it holds nothing"
		}
		requireRefused(t, b, errs.CodeInvalidProgram, text)
	}
	for _, kind := range []byte{0, 6, 255} {
		b := encode(t, p)
		in := root(b).at(programExecutionPlan, 0).at(planChains, 0).at(chainInstructions, 0)
		b[in.field(unionKind)] = kind
		requireRefused(t, b, errs.CodeInvalidProgram, "chain 0: instruction 0: it is of unknown kind")
	}
	t.Run("member missing", func(t *testing.T) {
		b := encode(t, p)
		root(b).at(programExecutionPlan, 0).at(planValues, 0).remove(unionMember)
		requireRefused(t, b, errs.CodeInvalidProgram, "int has no content")
	})
}

// ExecuTorch has no use for a number of dynamism beyond the known, and lets it pass.
func TestUnknownDynamism(t *testing.T) {
	p := simple(tensorValue(Tensor{Dynamism: 9}), tensorValue(Tensor{Dynamism: -1}))
	got := decodeOK(t, encode(t, p))
	require.Equal(t, DynamicBound, got.Plans[0].Values[0].Tensor.Dynamism)
	require.Equal(t, DynamicBound, got.Plans[0].Values[1].Tensor.Dynamism)
}

func TestMissingFields(t *testing.T) {
	p := everything()
	p.Segments = [][]byte{{1}}
	tests := []struct {
		text   string
		code   errs.Code
		remove func(r table)
	}{
		{"no field execution_plan", errs.CodeInvalidProgram, func(r table) { r.remove(programExecutionPlan) }},
		{"field name is missing", errs.CodeInvalidProgram, func(r table) { r.at(programExecutionPlan, 0).remove(planName) }},
		{"field values is missing", errs.CodeInvalidProgram, func(r table) { r.at(programExecutionPlan, 0).remove(planValues) }},
		{"field inputs is missing", errs.CodeInvalidProgram, func(r table) { r.at(programExecutionPlan, 0).remove(planInputs) }},
		{"field outputs is missing", errs.CodeInvalidProgram, func(r table) { r.at(programExecutionPlan, 0).remove(planOutputs) }},
		{"field chains is missing", errs.CodeInvalidProgram, func(r table) { r.at(programExecutionPlan, 0).remove(planChains) }},
		{"field delegates is missing", errs.CodeInvalidProgram, func(r table) { r.at(programExecutionPlan, 0).remove(planDelegates) }},
		{"field non_const_buffer_sizes is missing", errs.CodeInvalidProgram, func(r table) { r.at(programExecutionPlan, 0).remove(planNonConstBufferSizes) }},
		{"it calls operator 1 of 0", errs.CodeInvalidProgram, func(r table) { r.at(programExecutionPlan, 0).remove(planOperators) }},
		{"chain 0: field instructions is missing", errs.CodeInvalidProgram, func(r table) { r.at(programExecutionPlan, 0).at(planChains, 0).remove(chainInstructions) }},
		{"operator 0 has no name", errs.CodeInvalidProgram, func(r table) { r.at(programExecutionPlan, 0).at(planOperators, 0).remove(operatorName) }},
		{"delegate 0: field id is missing", errs.CodeInvalidProgram, func(r table) { r.at(programExecutionPlan, 0).at(planDelegates, 0).remove(delegateID) }},
		{"delegate 0: field processed is missing", errs.CodeInvalidProgram, func(r table) { r.at(programExecutionPlan, 0).at(planDelegates, 0).remove(delegateProcessed) }},
		{"compile spec 0: field key is missing", errs.CodeInvalidProgram, func(r table) {
			r.at(programExecutionPlan, 0).at(planDelegates, 1).at(delegateCompileSpecs, 0).remove(specKey)
		}},
		{"named data 0 has no key", errs.CodeInvalidArgument, func(r table) { r.at(programNamedData, 0).remove(namedKey) }},
		{"value 4: string has no content", errs.CodeInvalidProgram, func(r table) {
			r.at(programExecutionPlan, 0).at(planValues, 4).child(unionMember).remove(itemValue)
		}},
		{"value 5: int list has no content", errs.CodeInvalidProgram, func(r table) {
			r.at(programExecutionPlan, 0).at(planValues, 5).child(unionMember).remove(itemValue)
		}},
		{"field sizes is missing", errs.CodeInvalidProgram, func(r table) {
			r.at(programExecutionPlan, 0).at(planValues, 10).child(unionMember).remove(tensorSizes)
		}},
		{"field dim_order is missing", errs.CodeInvalidProgram, func(r table) {
			r.at(programExecutionPlan, 0).at(planValues, 10).child(unionMember).remove(tensorDimOrder)
		}},
		{"instruction 0: field args is missing", errs.CodeInvalidProgram, func(r table) {
			r.at(programExecutionPlan, 0).at(planChains, 0).at(chainInstructions, 0).child(unionMember).remove(callArgs)
		}},
		{"no constants", errs.CodeInvalidProgram, func(r table) { r.remove(programConstantSegment) }},
		{"the program has none", errs.CodeNotFound, func(r table) { r.remove(programMutableDataSegments) }},
		{"constants are in segment 1 of 0", errs.CodeInvalidProgram, func(r table) { r.remove(programSegments) }},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			b := encode(t, p)
			tt.remove(root(b))
			requireRefused(t, b, tt.code, tt.text)
		})
	}
}

// Many programs have no container_meta_type, and old ones no overloads.
func TestOptionalFields(t *testing.T) {
	b := encode(t, everything())
	plan := root(b).at(programExecutionPlan, 0)
	plan.remove(planContainerMetaType)
	plan.remove(planNonConstBufferDevice)
	plan.at(planOperators, 0).remove(operatorOverload)
	p := decodeOK(t, b)
	require.Empty(t, p.Plans[0].InputTree)
	require.Empty(t, p.Plans[0].BufferDevices)
	require.Equal(t, "aten::mul", p.Plans[0].Operators[0].FullName())
}

func TestNames(t *testing.T) {
	p := simple()
	p.Plans[0].Name = "for\xffward"
	refused(t, p, errs.CodeInvalidProgram, "not valid UTF-8")
	// A string value is data.
	p = simple(Value{Kind: KindString, String: "a\xff\x00b"})
	require.Equal(t, "a\xff\x00b", decodeOK(t, encode(t, p)).Plans[0].Values[0].String)
}

func TestDuplicateNames(t *testing.T) {
	p := simple()
	p.Plans = append(p.Plans, p.Plans[0])
	require.Len(t, decodeOK(t, encode(t, p)).Plans, 2, "ExecuTorch takes the first method of a name")
	p.Segments = [][]byte{{1}, {2}}
	p.NamedData = []NamedData{{"a", 0}, {"b", 0}, {"a", 1}}
	refused(t, p, errs.CodeInvalidProgram, `"a" is there twice, as entries 0 and 2`)
}

// A program may lie anywhere in memory, as it does inside of a bundle.
func TestUnalignedMemory(t *testing.T) {
	b := encode(t, everything())
	want := decodeOK(t, b)
	for shift := 1; shift < 16; shift++ {
		moved := make([]byte, len(b)+shift)
		copy(moved[shift:], b)
		require.Equal(t, want, decodeOK(t, moved[shift:]))
	}
}

func TestResultAliasesFile(t *testing.T) {
	b := encode(t, everything())
	p := decodeOK(t, b)
	data := p.Plans[0].Values[12].Tensor.Data
	require.Equal(t, len(data), cap(data), "nothing beyond can be reached by append")
	clear(b)
	require.Equal(t, make([]byte, 24), data)
	require.Equal(t, "forward", p.Plans[0].Name, "names are copied")
	require.Equal(t, []uint8{1, 0}, p.Plans[0].Values[12].Tensor.DimOrder, "and so are small vectors")
}
