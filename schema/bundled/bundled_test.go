package bundled

import (
	"encoding/binary"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/schema"
	"github.com/etgo-ml/etgo/schema/internal/fb"
	"github.com/etgo-ml/etgo/schema/program"
)

func everything(t testing.TB) *File {
	t.Helper()
	p, err := program.Encode(&program.Program{Plans: []program.Plan{{Name: "forward", Chains: []program.Chain{{}}}}, Segments: [][]byte{{1}}})
	require.NoError(t, err)
	return &File{
		Version: 2,
		Program: p,
		Suites: []Suite{
			{Method: "forward", Cases: []Case{
				{
					Inputs: []Value{
						{Kind: KindTensor, Tensor: Tensor{Type: schema.Short, Sizes: []int32{2, 3}, DimOrder: []uint8{1, 0}, Data: make([]byte, 12)}},
						{Kind: KindInt, Int: math.MinInt64}, {Kind: KindBool, Bool: true}, {Kind: KindDouble, Double: math.Copysign(0, -1)}, {},
					},
					Outputs: []Value{
						{Kind: KindTensor, Tensor: Tensor{Type: schema.Float, Data: []byte{0, 0, 128, 63}}},
						{Kind: KindTensor, Tensor: Tensor{Type: schema.Float, Sizes: []int32{0}, DimOrder: []uint8{0}}},
					},
				},
				{},
			}},
			{Method: "other"},
		},
	}
}

func one(v Value) *File {
	return &File{Version: 2, Program: []byte{1}, Suites: []Suite{{Method: "forward", Cases: []Case{{Inputs: []Value{v}}}}}}
}

func encode(t testing.TB, f *File) []byte {
	t.Helper()
	b, err := Encode(f)
	require.NoError(t, err)
	return b
}

func refused(t *testing.T, b []byte, text string) {
	t.Helper()
	f, err := Decode(b)
	require.ErrorContains(t, err, text)
	require.Nil(t, f)
	require.ErrorIs(t, err, errs.InvalidProgram)
}

func TestRoundTrip(t *testing.T) {
	want := everything(t)
	b := encode(t, want)
	got, err := Decode(b)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.True(t, math.Signbit(got.Suites[0].Cases[0].Inputs[3].Double))
	require.Equal(t, b, encode(t, got))
	_, err = program.Decode(got.Program)
	require.NoError(t, err)
}

func TestEncodeUnknownKind(t *testing.T) {
	_, err := Encode(one(Value{Kind: 5}))
	require.ErrorContains(t, err, `test suite "forward": case 0: input 0 is of unknown kind 5`)
}

func TestOtherFiles(t *testing.T) {
	f := everything(t)
	_, err := Decode(f.Program)
	require.EqualError(t, err, "not a bundled program (BP08): an ExecuTorch program (ET12); open it as a program")
	require.Equal(t, errs.CodeNotSupported, errs.CodeOf(err))
	b := encode(t, f)
	copy(b[4:], "BP09")
	refused(t, b, "BP08 expected, file says BP09")
	refused(t, nil, "an empty file")
}

func TestVersion(t *testing.T) {
	f := everything(t)
	f.Version = 3
	refused(t, encode(t, f), "schema version 3, only 0 to 2 are known")
	f.Version = 0
	_, err := Decode(encode(t, f))
	require.NoError(t, err)
}

func TestNoProgram(t *testing.T) {
	f := everything(t)
	f.Program = nil
	refused(t, encode(t, f), "it has no program")
}

func TestUnknownValueKind(t *testing.T) {
	b := encode(t, one(Value{Kind: KindInt, Int: 1}))
	root := int(binary.LittleEndian.Uint32(b))
	follow := func(pos int) int { return pos + int(binary.LittleEndian.Uint32(b[pos:])) }
	field := func(table, id int) int {
		vtable := table - int(int32(binary.LittleEndian.Uint32(b[table:])))
		return table + int(binary.LittleEndian.Uint16(b[vtable+4+2*id:]))
	}
	at := func(table, id int) int { return follow(follow(field(table, id)) + 4) }
	value := at(at(at(root, bundleSuites), suiteCases), caseInputs)
	b[field(value, unionKind)] = 5
	refused(t, b, `test suite 0, "forward": case 0: input 0: value is of unknown kind 5, known are 0 to 4`)
}

// Data that was shorter than the sizes asked for was read past its end.
func TestTensorDataLength(t *testing.T) {
	tensor := func(n int, sizes ...int32) []byte {
		x := Tensor{Type: schema.Float, Sizes: sizes, Data: make([]byte, n)}
		for i := range sizes {
			x.DimOrder = append(x.DimOrder, uint8(i))
		}
		return encode(t, one(Value{Kind: KindTensor, Tensor: x}))
	}
	_, err := Decode(tensor(24, 2, 3))
	require.NoError(t, err)
	refused(t, tensor(23, 2, 3), "float32[2 3] has 23 bytes of data, needs 24")
	refused(t, tensor(25, 2, 3), "float32[2 3] has 25 bytes of data, needs 24")
	refused(t, tensor(0, 2, 3), "float32[2 3] has 0 bytes of data, needs 24")
	refused(t, tensor(0, math.MaxInt32, math.MaxInt32), "needs 9223372036854775807")
	refused(t, tensor(4, math.MaxInt32, math.MaxInt32, 4), "overflows")
	refused(t, tensor(4, -1), "negative size -1")
	refused(t, tensor(4, make([]int32, 17)...), "tensor has 17 dimensions")
}

func TestDimOrder(t *testing.T) {
	x := Tensor{Type: schema.Byte, Sizes: []int32{1, 1}, DimOrder: []uint8{0, 0}, Data: []byte{1}}
	refused(t, encode(t, one(Value{Kind: KindTensor, Tensor: x})), "not a permutation")
	x.DimOrder = []uint8{0}
	refused(t, encode(t, one(Value{Kind: KindTensor, Tensor: x})), "1 entries for 2 dimensions")
	// A file may leave it out.
	b, err := fb.Build(Identifier, func(b fb.Builder) (fb.Offset, error) {
		sizes, data := b.Int32s([]int32{1, 1}), b.AlignedBytes([]byte{7}, 16)
		tensor := b.Table(tensorFields, func() {
			b.Ref(tensorSizes, sizes)
			b.Ref(tensorData, data)
		})
		value := b.Table(unionFields, func() {
			b.PrependUint8Slot(unionKind, uint8(KindTensor), 0)
			b.Ref(unionMember, tensor)
		})
		values := b.Offsets([]fb.Offset{value})
		c := b.Offsets([]fb.Offset{b.Table(caseFields, func() { b.Ref(caseInputs, values) })})
		name := b.CreateString("forward")
		s := b.Offsets([]fb.Offset{b.Table(suiteFields, func() {
			b.Ref(suiteMethod, name)
			b.Ref(suiteCases, c)
		})})
		return b.Table(bundleFields, func() {
			b.Ref(bundleSuites, s)
			b.Ref(bundleProgram, data)
		}), nil
	})
	require.NoError(t, err)
	f, err := Decode(b)
	require.NoError(t, err)
	require.Equal(t, []uint8{0, 1}, f.Suites[0].Cases[0].Inputs[0].Tensor.DimOrder)
}

func TestTruncated(t *testing.T) {
	valid := encode(t, everything(t))
	for n := range len(valid) - 32 { // up to the padding behind the program
		_, err := Decode(valid[:n:n])
		require.ErrorIs(t, err, errs.InvalidProgram, "truncated to %d of %d", n, len(valid))
	}
}

func TestAliasedCasesBudget(t *testing.T) {
	b, err := fb.Build(Identifier, func(b fb.Builder) (fb.Offset, error) {
		program, name := b.AlignedBytes([]byte{1}, 32), b.CreateString("forward")
		repeat := func(o fb.Offset) fb.Offset {
			list := make([]fb.Offset, 2000)
			for i := range list {
				list[i] = o
			}
			return b.Offsets(list)
		}
		member := b.Table(scalarFields, func() {})
		values := repeat(b.Table(unionFields, func() {
			b.PrependUint8Slot(unionKind, uint8(KindInt), 0)
			b.Ref(unionMember, member)
		}))
		cases := repeat(b.Table(caseFields, func() { b.Ref(caseInputs, values) }))
		suites := repeat(b.Table(suiteFields, func() {
			b.Ref(suiteMethod, name)
			b.Ref(suiteCases, cases)
		}))
		return b.Table(bundleFields, func() {
			b.Ref(bundleSuites, suites)
			b.Ref(bundleProgram, program)
		}), nil
	})
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	refused(t, b, "unfold")
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20+40*len(b)))
}

// check decodes a file, which may be anything, and requires of what comes out of
// it what Decode promises.
func check(t *testing.T, b []byte) {
	f, err := Decode(b)
	if err != nil {
		require.Nil(t, f)
		require.ErrorIs(t, err, errs.InvalidProgram)
		return
	}
	size := 0
	for _, s := range f.Suites {
		for _, c := range s.Cases {
			for _, v := range append(append([]Value{}, c.Inputs...), c.Outputs...) {
				require.LessOrEqual(t, v.Kind, KindDouble)
				if v.Kind == KindTensor {
					n, err := schema.NBytes(v.Tensor.Type, v.Tensor.Sizes)
					require.NoError(t, err)
					require.Len(t, v.Tensor.Data, int(n))
					require.NoError(t, schema.CheckDimOrder(v.Tensor.DimOrder, len(v.Tensor.Sizes)))
					size += len(v.Tensor.Data)
				}
			}
		}
	}
	if size > 1<<20 {
		return // data that overlaps is written one by one
	}
	again := encode(t, f)
	g, err := Decode(again)
	require.NoError(t, err)
	require.Equal(t, again, encode(t, g))
}

func TestEveryByteDamaged(t *testing.T) {
	valid := encode(t, everything(t))
	b := append([]byte(nil), valid...)
	for i := range valid {
		for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff, valid[i] ^ 1, valid[i] + 4, valid[i] - 4} {
			b[i] = v
			check(t, b)
		}
		b[i] = valid[i]
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add(encode(f, everything(f)))
	f.Add(encode(f, one(Value{Kind: KindDouble, Double: 1})))
	f.Fuzz(check)
}
