package flattensor

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/schema"
	"github.com/etgo-ml/etgo/schema/internal/fb"
)

func everything() *File {
	shared := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}
	return &File{Data: []NamedData{
		{Key: "weight", Bytes: shared, Layout: &TensorLayout{Type: schema.Int, Sizes: []int32{1, 2}, DimOrder: []uint8{1, 0}}},
		{Key: "blob", Bytes: make([]byte, 200)},
		{Key: "same", Bytes: shared},
		{Key: "scalar", Bytes: []byte{1}, Layout: &TensorLayout{Type: schema.Bool}},
		{Key: "empty", Bytes: []byte{}, Layout: &TensorLayout{Type: schema.Float, Sizes: []int32{0}, DimOrder: []uint8{0}}},
	}}
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
	require.ErrorIs(t, err, errs.InvalidExternalData)
	require.Equal(t, errs.CodeInvalidExternalData, errs.CodeOf(err))
}

func TestRoundTrip(t *testing.T) {
	want := everything()
	b := encode(t, want)
	got, err := Decode(b)
	require.NoError(t, err)
	require.Zero(t, got.Header.SegmentBaseOffset%128)
	require.Equal(t, uint64(512), got.Header.SegmentDataSize, "shared data is stored once")
	want.Header = got.Header
	require.Equal(t, want, got)
	require.Equal(t, b, encode(t, got))
	require.Equal(t, 9, cap(got.Data[0].Bytes))
}

func TestEmptyFile(t *testing.T) {
	f, err := Decode(encode(t, &File{}))
	require.NoError(t, err)
	require.Empty(t, f.Data)
}

func TestOtherFiles(t *testing.T) {
	b := encode(t, everything())
	with := func(id string) []byte {
		c := append([]byte(nil), b...)
		copy(c[4:], id)
		return c
	}
	refused(t, with("ET12"), "not an ExecuTorch data file (FT01): an ExecuTorch program (ET12); open it as a program")
	refused(t, with("FT02"), "FT01 expected, file says FT02")
	refused(t, nil, "an empty file")
}

func TestVersion(t *testing.T) {
	f := everything()
	f.Version = 1
	refused(t, encode(t, f), "schema version 1, only 0 is known")
}

func TestHeaderFaults(t *testing.T) {
	valid := encode(t, everything())
	size := uint64(len(valid))
	const length, offset, flatbufferSize, base, dataSize = 12, 16, 24, 32, 40
	for _, tt := range []struct {
		field int
		value uint64
		text  string
	}{
		{length, 39, "length of 39 bytes, at least 40"},
		{offset, size, "file truncated: needs"},
		{offset, math.MaxUint64, "overflow 64 bits"},
		{flatbufferSize, size, "file truncated: needs"},
		{flatbufferSize, math.MaxUint64, "overflow 64 bits"},
		{base, size, "file truncated: needs"},
		{base, math.MaxUint64, "overflow 64 bits"},
		{dataSize, size, "file truncated: needs"},
		{dataSize, math.MaxUint64, "overflow 64 bits"},
		{dataSize, 0, "do not fit into the 0 of all segments"},
	} {
		b := append([]byte(nil), valid...)
		if tt.field == length {
			binary.LittleEndian.PutUint32(b[tt.field:], uint32(tt.value))
		} else {
			binary.LittleEndian.PutUint64(b[tt.field:], tt.value)
		}
		refused(t, b, tt.text)
	}
	b := append([]byte(nil), valid...)
	copy(b[8:], "FH02")
	refused(t, b, `extended header begins with "FH02", "FH01" expected`)
	binary.LittleEndian.PutUint32(valid[length:], 100) // has more fields in future
	_, err := Decode(valid)
	require.NoError(t, err)
}

func TestTruncated(t *testing.T) {
	valid := encode(t, everything())
	for n := range len(valid) {
		_, err := Decode(valid[:n:n])
		require.ErrorIs(t, err, errs.InvalidExternalData, "truncated to %d", n)
	}
}

func TestKeys(t *testing.T) {
	f := &File{Data: []NamedData{{Key: "a"}, {Key: "b"}, {Key: "a"}}}
	refused(t, encode(t, f), `named data "a" is there twice, as entries 0 and 2`)
	f = &File{Data: []NamedData{{Key: "\xff"}}}
	refused(t, encode(t, f), "not valid UTF-8")
}

func TestLayoutFaults(t *testing.T) {
	for _, tt := range []struct {
		layout TensorLayout
		text   string
	}{
		{TensorLayout{Type: schema.Float, Sizes: []int32{3}, DimOrder: []uint8{0}}, "float32[3] needs 12 bytes, its segment has 8"},
		{TensorLayout{Type: schema.Float, Sizes: []int32{-1}, DimOrder: []uint8{0}}, "dimension 0 has the negative size -1"},
		{TensorLayout{Type: schema.Float, Sizes: []int32{1, 1}, DimOrder: []uint8{1, 1}}, "not a permutation"},
		{TensorLayout{Type: schema.Float, Sizes: []int32{1, 1}}, "0 entries for 2 dimensions"},
		{TensorLayout{Type: schema.Float, Sizes: make([]int32, 17)}, "17 dimensions"},
		{TensorLayout{Type: 100}, "scalar type 100 is unknown"},
		{TensorLayout{Type: schema.Double, Sizes: []int32{math.MaxInt32, math.MaxInt32}, DimOrder: []uint8{0, 1}}, "overflows"},
	} {
		refused(t, encode(t, &File{Data: []NamedData{{Key: "w", Bytes: make([]byte, 8), Layout: &tt.layout}}}), tt.text)
	}
}

// segment is the place of a segment in a hand-made file.
type segment struct{ offset, size uint64 }

// handMade returns a file with 64 bytes of data and a root table that build makes
// around a vector of segments.
func handMade(t testing.TB, segments []segment, build func(b fb.Builder, segments fb.Offset) fb.Offset) []byte {
	t.Helper()
	b, err := fb.Build(Identifier, func(b fb.Builder) (fb.Offset, error) {
		list := make([]fb.Offset, len(segments))
		for i, s := range segments {
			list[i] = b.Table(segmentFields, func() {
				b.PrependUint64Slot(segmentOffset, s.offset, 0)
				b.PrependUint64Slot(segmentSize, s.size, 0)
			})
		}
		return build(b, b.Offsets(list)), nil
	})
	require.NoError(t, err)
	header := make([]byte, 48)
	copy(header, "FH01")
	le := binary.LittleEndian
	le.PutUint32(header[4:], 40)
	le.PutUint64(header[8:], 48)
	le.PutUint64(header[16:], uint64(len(b)))
	le.PutUint64(header[24:], uint64(len(b)+48))
	le.PutUint64(header[32:], 64)
	b, err = fb.InsertHeader(b, header)
	require.NoError(t, err)
	for i := range 64 {
		b = append(b, byte(i))
	}
	return b
}

func named(b fb.Builder, key string, segment uint32) fb.Offset {
	k := b.OptionalString(key)
	return b.Table(namedFields, func() {
		b.Ref(namedKey, k)
		b.PrependUint32Slot(namedSegment, segment, 0)
	})
}

func TestSegmentOffsetOverflow(t *testing.T) {
	for _, s := range []segment{{0, 65}, {65, 0}, {64, 1}, {1, math.MaxUint64}, {math.MaxUint64, 1}, {math.MaxUint64, 0}, {1 << 63, 1 << 63}} {
		refused(t, handMade(t, []segment{s}, func(b fb.Builder, segments fb.Offset) fb.Offset {
			data := b.Offsets([]fb.Offset{named(b, "a", 0)})
			return b.Table(fileFields, func() {
				b.Ref(fileSegments, segments)
				b.Ref(fileNamedData, data)
			})
		}), "do not fit into the 64 of all segments")
	}
}

func TestNamedDataFaults(t *testing.T) {
	for _, tt := range []struct {
		key     string
		segment uint32
		text    string
	}{{"", 0, "named data 0 has no key"}, {"a", 1, `named data "a" is in segment 1 of 1`}, {"a", math.MaxUint32, "of 1"}} {
		refused(t, handMade(t, []segment{{0, 64}}, func(b fb.Builder, segments fb.Offset) fb.Offset {
			data := b.Offsets([]fb.Offset{named(b, tt.key, tt.segment)})
			return b.Table(fileFields, func() {
				b.Ref(fileSegments, segments)
				b.Ref(fileNamedData, data)
			})
		}), tt.text)
	}
	refused(t, handMade(t, nil, func(b fb.Builder, segments fb.Offset) fb.Offset {
		return b.Table(fileFields, func() { b.Ref(fileSegments, segments) })
	}), "lacks its segments or named data")
}

// earlier returns a file as ExecuTorch 0.5 and 0.6 wrote them.
func earlier(t testing.TB, offset uint64) []byte {
	t.Helper()
	return handMade(t, []segment{{0, 64}}, func(b fb.Builder, segments fb.Offset) fb.Offset {
		name := b.CreateString("linear.bias")
		sizes, order := b.Int32s([]int32{3}), b.AlignedBytes([]byte{0}, 1)
		tensor := b.Table(6, func() {
			b.Ref(earlierName, name)
			b.PrependInt8Slot(earlierLayout, int8(schema.Float), 0)
			b.Ref(earlierLayout+layoutSizes, sizes)
			b.Ref(earlierLayout+layoutDimOrder, order)
			b.PrependUint64Slot(earlierOffset, offset, 0)
		})
		tensors := b.Offsets([]fb.Offset{tensor})
		data := b.Offsets([]fb.Offset{named(b, "blob", 0)})
		return b.Table(5, func() {
			b.PrependUint32Slot(1, 16, 0) // alignment
			b.Ref(earlierTensors, tensors)
			b.Ref(earlierSegments, segments)
			b.Ref(earlierNamedData, data)
		})
	})
}

func TestEarlierForm(t *testing.T) {
	f, err := Decode(earlier(t, 48))
	require.NoError(t, err)
	require.Equal(t, "blob", f.Data[0].Key)
	require.Equal(t, NamedData{
		Key: "linear.bias", Bytes: []byte{48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59},
		Layout: &TensorLayout{Type: schema.Float, Sizes: []int32{3}, DimOrder: []uint8{0}},
	}, f.Data[1])
	for _, offset := range []uint64{53, 64, 65, 1 << 63, math.MaxUint64} {
		_, err := Decode(earlier(t, offset))
		require.ErrorIs(t, err, errs.InvalidExternalData)
	}
}

// check decodes a file, which may be anything, and requires of what comes out of
// it what Decode promises.
func check(t *testing.T, b []byte) {
	f, err := Decode(b)
	if err != nil {
		require.Nil(t, f)
		require.Equal(t, errs.CodeInvalidExternalData, errs.CodeOf(err))
		return
	}
	size := 0
	keys := map[string]bool{}
	for _, d := range f.Data {
		require.False(t, keys[d.Key])
		keys[d.Key] = true
		size += len(d.Bytes)
		if l := d.Layout; l != nil {
			n, err := schema.NBytes(l.Type, l.Sizes)
			require.NoError(t, err)
			require.LessOrEqual(t, n, int64(len(d.Bytes)))
			require.NoError(t, schema.CheckDimOrder(l.DimOrder, len(l.Sizes)))
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
	for _, valid := range [][]byte{encode(t, everything()), earlier(t, 48)} {
		b := append([]byte(nil), valid...)
		for i := range valid {
			for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff, valid[i] ^ 1, valid[i] + 4, valid[i] - 4} {
				b[i] = v
				check(t, b)
			}
			b[i] = valid[i]
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add(encode(f, everything()))
	f.Add(encode(f, &File{}))
	f.Add(earlier(f, 48))
	f.Fuzz(check)
}
