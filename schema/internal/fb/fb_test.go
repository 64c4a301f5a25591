package fb

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// buffer returns a flatbuffer with all kinds of fields in its root table.
func buffer(t testing.TB) []byte {
	t.Helper()
	b, err := Build("TEST", func(b Builder) (Offset, error) {
		s := b.CreateString("text")
		bad := b.CreateString("\xff")
		i32, i64, u64 := b.Int32s([]int32{-1, 2}), b.Int64s([]int64{math.MinInt64}), b.Uint64s([]uint64{math.MaxUint64})
		f64, bools, data := b.Float64s([]float64{0.5}), b.Bools([]bool{true, false}), b.AlignedBytes([]byte{1, 2, 3}, 16)
		child := b.Table(1, func() { b.PrependInt64Slot(0, 7, 0) })
		tables := b.Offsets([]Offset{child, child})
		empty := b.Offsets(nil)
		return b.Table(24, func() {
			b.PrependInt64Slot(0, -9, 0)
			b.PrependFloat64Slot(1, 1.5, 0)
			b.PrependInt32Slot(2, -3, 0)
			b.PrependInt8Slot(3, -2, 0)
			b.PrependBoolSlot(4, true, false)
			b.Ref(5, s)
			b.Ref(6, i32)
			b.Ref(7, i64)
			b.Ref(8, u64)
			b.Ref(9, f64)
			b.Ref(10, bools)
			b.Ref(11, data)
			b.Ref(12, child)
			b.Ref(13, tables)
			b.PrependUint8Slot(14, 3, 0)
			b.Ref(15, child)
			b.Ref(16, empty)
			b.Ref(17, bad)
		}), nil
	})
	require.NoError(t, err)
	return b
}

// readAll reads all fields of buffer's root table, and some that are not there.
func readAll(b []byte) *Reader {
	r := NewReader(b)
	t := r.Root()
	for id := range 26 {
		t.Has(id)
	}
	t.Int64(0)
	t.Float64(1)
	t.Int32(2)
	t.Int8(3)
	t.Bool(4)
	_ = t.String(5)
	t.Int32s(6)
	t.Int64s(7)
	t.Uint64s(8)
	t.Float64s(9)
	t.Bools(10)
	t.Bytes(11)
	t.CopyBytes(11)
	t.Table(12).Int64(0)
	for i := range t.Tables(13).Len() {
		t.Tables(13).At(i).Int64(0)
	}
	_, m := t.Union(14)
	m.Int64(0)
	t.Tables(16).At(0)
	_ = t.String(17)
	return r
}

func TestRead(t *testing.T) {
	r := NewReader(buffer(t))
	root := r.Root()
	require.True(t, root.Present())
	require.Equal(t, int64(-9), root.Int64(0))
	require.Equal(t, 1.5, root.Float64(1))
	require.Equal(t, int32(-3), root.Int32(2))
	require.Equal(t, int8(-2), root.Int8(3))
	require.True(t, root.Bool(4))
	require.Equal(t, "text", root.Name(5))
	require.Equal(t, []int32{-1, 2}, root.Int32s(6))
	require.Equal(t, []int64{math.MinInt64}, root.Int64s(7))
	require.Equal(t, []uint64{math.MaxUint64}, root.Uint64s(8))
	require.Equal(t, []float64{0.5}, root.Float64s(9))
	require.Equal(t, []bool{true, false}, root.Bools(10))
	require.Equal(t, []byte{1, 2, 3}, root.Bytes(11))
	require.Equal(t, 3, cap(root.Bytes(11)))
	require.Equal(t, []byte{1, 2, 3}, root.CopyBytes(11))
	require.Equal(t, int64(7), root.Table(12).Int64(0))
	require.Equal(t, 2, root.Tables(13).Len())
	require.Equal(t, int64(7), root.Tables(13).At(1).Int64(0))
	kind, member := root.Union(14)
	require.Equal(t, uint8(3), kind)
	require.Equal(t, int64(7), member.Int64(0))
	require.True(t, root.Has(16))
	require.Zero(t, root.Tables(16).Len())
	require.NoError(t, r.Err())
}

func TestAbsent(t *testing.T) {
	r := NewReader(buffer(t))
	for _, table := range []Table{r.Root().Table(20), {}} {
		require.False(t, table.Present())
	}
	for _, x := range []Table{{}, r.Root()} {
		const absent = 20
		require.False(t, x.Has(absent))
		require.Zero(t, x.Int64(absent))
		require.Zero(t, x.Int32(absent))
		require.Zero(t, x.Int8(absent))
		require.False(t, x.Bool(absent))
		require.Empty(t, x.Name(absent))
		require.Nil(t, x.Int32s(absent))
		require.Nil(t, x.Bytes(absent))
		require.Nil(t, x.CopyBytes(absent))
		require.Zero(t, x.Tables(absent).Len())
		require.False(t, x.Tables(absent).At(0).Present())
		kind, member := x.Union(absent)
		require.Zero(t, kind)
		require.False(t, member.Present())
	}
	require.False(t, r.Root().Tables(13).At(2).Present())
	require.False(t, r.Root().Tables(13).At(-1).Present())
	require.NoError(t, r.Err())
}

func TestNameMustBeUTF8(t *testing.T) {
	r := NewReader(buffer(t))
	require.Equal(t, "\xff", r.Root().String(17))
	require.NoError(t, r.Err())
	r.Root().Name(17)
	require.ErrorContains(t, r.Err(), `name "\xff" in field 17 is not valid UTF-8`)
}

func TestFirstFaultSticks(t *testing.T) {
	r := NewReader(buffer(t))
	root := r.Root()
	root.Name(17)
	first := r.Err()
	require.Zero(t, root.Int64(0))
	require.Nil(t, Make[int](r, 1))
	require.Nil(t, New[int](r))
	require.False(t, r.Root().Present())
	require.Equal(t, first, r.Err())
}

func TestFaults(t *testing.T) {
	valid := buffer(t)
	le := binary.LittleEndian
	root := int(le.Uint32(valid))
	vtable := root - int(int32(le.Uint32(valid[root:])))
	field := func(id int) int { return root + int(le.Uint16(valid[vtable+4+2*id:])) }
	target := func(id int) int { return field(id) + int(le.Uint32(valid[field(id):])) }
	tests := []struct {
		name  string
		pos   int
		value uint32
		width int
		text  string
	}{
		{"root in the head", 0, 4, 4, "root offset 4"},
		{"root beyond", 0, uint32(len(valid)), 4, "no table can be"},
		{"root at the last bytes", 0, uint32(len(valid) - 3), 4, "no table can be"},
		{"root misaligned", 0, uint32(root + 2), 4, "no table can be"},
		{"vtable before the buffer", root, uint32(root + 4), 4, "table has its vtable at byte -4"},
		{"vtable beyond", root, uint32(root-len(valid)) &^ 1, 4, "table has its vtable at byte"},
		{"vtable misaligned", root, le.Uint32(valid[root:]) + 1, 4, "table has its vtable at byte"},
		{"vtable too small", vtable, 2, 2, "vtable has a size of 2"},
		{"vtable of odd size", vtable, 9, 2, "vtable has a size of 9"},
		{"vtable too large", vtable, 0xfffe, 2, "vtable has a size of 65534"},
		{"field over the table's head", vtable + 4, 2, 2, "field 0 of 0 bytes has the offset 2"},
		{"field beyond", vtable + 4, 0xfff0, 2, "field 0 of 0 bytes has the offset 65520"},
		{"offset 0", field(5), 0, 4, "offset is 0"},
		{"offset beyond", field(6), uint32(len(valid)), 4, "offset leads to byte"},
		{"offset 2^32-1", field(6), math.MaxUint32, 4, "offset leads to byte"},
		{"offset misaligned", field(6), le.Uint32(valid[field(6):]) + 1, 4, "not a multiple of 4"},
		{"string beyond", target(5), 1 << 31, 4, "vector of 2147483648 elements of 1 bytes"},
		{"string without its end", target(5), 3, 4, "string of 3 bytes is not terminated"},
		{"vector 2^32-1", target(8), math.MaxUint32, 4, "vector of 4294967295 elements of 8 bytes"},
		{"vector 2^29, wraps in 32 bits", target(8), 1 << 29, 4, "vector of 536870912 elements of 8 bytes"},
		{"tables 2^30, wraps in 32 bits", target(13), 1 << 30, 4, "vector of 1073741824 elements of 4 bytes"},
		{"table beyond", target(13) + 4, 1 << 20, 4, "offset leads to byte"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := append([]byte(nil), valid...)
			if tt.width == 2 {
				le.PutUint16(b[tt.pos:], uint16(tt.value))
			} else {
				le.PutUint32(b[tt.pos:], tt.value)
			}
			require.ErrorContains(t, readAll(b).Err(), tt.text)
		})
	}
	require.NoError(t, readAll(valid).Err())
}

func TestTruncated(t *testing.T) {
	valid := buffer(t)
	for n := range len(valid) - 3 {
		require.Error(t, readAll(valid[:n:n]).Err(), "truncated to %d of %d", n, len(valid))
	}
}

// A string at the very end of the buffer has no room for its end.
func TestStringAtEnd(t *testing.T) {
	b := make([]byte, 40)
	le := binary.LittleEndian
	le.PutUint32(b, 16)      // root
	le.PutUint16(b[8:], 6)   // vtable: its size, the table's, field 0
	le.PutUint16(b[10:], 8)  //
	le.PutUint16(b[12:], 4)  //
	le.PutUint32(b[16:], 8)  // table: the vtable, field 0
	le.PutUint32(b[20:], 12) // leads to 32
	le.PutUint32(b[32:], 4)  // the string's length, to the end
	copy(b[36:], "text")
	r := NewReader(b)
	require.Empty(t, r.Root().String(0))
	require.ErrorContains(t, r.Err(), "not terminated")
}

// Tables of the schemas are not recursive, so only a reader that follows one
// field again and again gets deep.
func TestDepth(t *testing.T) {
	b := make([]byte, 40)
	le := binary.LittleEndian
	le.PutUint32(b, 20)
	le.PutUint16(b[8:], 6)
	le.PutUint16(b[10:], 8)
	le.PutUint16(b[12:], 4)
	le.PutUint32(b[20:], 12) // a table whose field leads on
	le.PutUint32(b[24:], 4)
	le.PutUint32(b[28:], 20)
	le.PutUint32(b[32:], 4)
	r := NewReader(b)
	x := r.Root().Table(0)
	require.True(t, x.Present())
	require.NoError(t, r.Err())
	x.depth = maxDepth
	x.Table(0)
	require.ErrorContains(t, r.Err(), "nested more than 64 deep")
}

func TestBudget(t *testing.T) {
	b, err := Build("TEST", func(b Builder) (Offset, error) {
		v := b.Int32s(make([]int32, 10_000))
		child := b.Table(1, func() { b.Ref(0, v) })
		list := make([]Offset, 10_000)
		for i := range list {
			list[i] = child
		}
		tables := b.Offsets(list)
		return b.Table(1, func() { b.Ref(0, tables) }), nil
	})
	require.NoError(t, err)
	r := NewReader(b)
	v := r.Root().Tables(0)
	total := 0
	for i := range v.Len() {
		total += 4 * len(v.At(i).Int32s(0))
	}
	require.ErrorContains(t, r.Err(), "unfold")
	require.LessOrEqual(t, total, budgetBase+budgetFactor*len(b))
	require.NotZero(t, total)
}

func TestSharedStringsCostOnce(t *testing.T) {
	b, err := Build("TEST", func(b Builder) (Offset, error) {
		s := b.CreateString(strings.Repeat("x", 100_000))
		child := b.Table(1, func() { b.Ref(0, s) })
		list := make([]Offset, 1000)
		for i := range list {
			list[i] = child
		}
		tables := b.Offsets(list)
		return b.Table(1, func() { b.Ref(0, tables) }), nil
	})
	require.NoError(t, err)
	r := NewReader(b)
	v := r.Root().Tables(0)
	for i := range v.Len() {
		require.Len(t, v.At(i).Name(0), 100_000)
	}
	require.NoError(t, r.Err())
}

func TestBuilderAlignment(t *testing.T) {
	for n := range 40 {
		b, err := Build("TEST", func(b Builder) (Offset, error) {
			b.CreateString(strings.Repeat("x", n))
			v := b.AlignedBytes(make([]byte, n), 32)
			return b.Table(1, func() { b.Ref(0, v) }), nil
		})
		require.NoError(t, err)
		root := int(binary.LittleEndian.Uint32(b))
		pos := root + 4
		pos += int(binary.LittleEndian.Uint32(b[pos:]))
		require.Zero(t, (pos+4)%32)
	}
}

func TestInsertHeader(t *testing.T) {
	valid := buffer(t)
	b, err := InsertHeader(valid, make([]byte, 48))
	require.NoError(t, err)
	require.Len(t, b, len(valid)+48)
	require.Equal(t, "TEST", string(b[4:8]))
	require.NoError(t, readAll(b).Err())
	_, err = InsertHeader(valid, make([]byte, 24))
	require.Error(t, err)
	_, err = InsertHeader(nil, make([]byte, 16))
	require.Error(t, err)
}

func TestPack(t *testing.T) {
	offsets, data := Pack([][]byte{{1}, nil, make([]byte, 17), {2}}, 16)
	require.Equal(t, []uint64{0, 16, 16, 48}, offsets)
	require.Len(t, data, 49)
	require.Equal(t, byte(2), data[48])
}

func FuzzReader(f *testing.F) {
	f.Add(buffer(f))
	f.Fuzz(func(t *testing.T, b []byte) { readAll(b) })
}
