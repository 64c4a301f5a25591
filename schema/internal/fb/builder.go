package fb

import (
	"errors"
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Builder builds a flatbuffer from its leaves to its root. It adds to that of
// the flatbuffers library what the encoders have in common.
type Builder struct {
	*flatbuffers.Builder
}

// Offset locates what a Builder has built. The zero Offset is nothing.
type Offset = flatbuffers.UOffsetT

// Build returns the flatbuffer of which build makes the root table, with the
// given file identifier. Beyond 2 GiB it returns an error.
func Build(identifier string, build func(b Builder) (Offset, error)) (buf []byte, err error) {
	defer func() {
		// The library knows no other way to say that a buffer grew too large.
		if r := recover(); r != nil {
			err = fmt.Errorf("building flatbuffer: %v", r)
		}
	}()
	b := Builder{flatbuffers.NewBuilder(1024)}
	root, err := build(b)
	if err != nil {
		return nil, err
	}
	b.FinishWithFileIdentifier(root, []byte(identifier))
	return b.FinishedBytes(), nil
}

// Table builds a table with room for n fields, which fill sets.
func (b Builder) Table(n int, fill func()) Offset {
	b.StartObject(n)
	fill()
	return b.EndObject()
}

// Ref sets a field to what was built before; nothing for the zero Offset.
func (b Builder) Ref(id int, o Offset) { b.PrependUOffsetTSlot(id, o, 0) }

// OptionalString builds a string, nothing for an empty one.
func (b Builder) OptionalString(s string) Offset {
	if s == "" {
		return 0
	}
	return b.CreateString(s)
}

// Offsets builds a vector of tables.
func (b Builder) Offsets(v []Offset) Offset {
	return vector(b, v, 4, b.PrependUOffsetT)
}

// OptionalOffsets builds a vector of tables, nothing for an empty one.
func (b Builder) OptionalOffsets(v []Offset) Offset {
	if len(v) == 0 {
		return 0
	}
	return b.Offsets(v)
}

// AlignedBytes builds a vector of bytes that starts at a multiple of align.
func (b Builder) AlignedBytes(v []byte, align int) Offset {
	b.StartVector(1, len(v), align)
	// Filled from behind in one go, as the library's own CreateByteVector does not
	// align.
	b.Pad(len(v))
	copy(b.Bytes[b.Head():], v)
	return b.EndVector(len(v))
}

// Int32s builds a vector of int.
func (b Builder) Int32s(v []int32) Offset { return vector(b, v, 4, b.PrependInt32) }

// Int64s builds a vector of long.
func (b Builder) Int64s(v []int64) Offset { return vector(b, v, 8, b.PrependInt64) }

// Uint64s builds a vector of ulong.
func (b Builder) Uint64s(v []uint64) Offset { return vector(b, v, 8, b.PrependUint64) }

// Float64s builds a vector of double.
func (b Builder) Float64s(v []float64) Offset { return vector(b, v, 8, b.PrependFloat64) }

// Bools builds a vector of bool.
func (b Builder) Bools(v []bool) Offset { return vector(b, v, 1, b.PrependBool) }

func vector[T any](b Builder, v []T, width int, prepend func(T)) Offset {
	b.StartVector(width, len(v), width)
	for i := len(v) - 1; i >= 0; i-- {
		prepend(v[i])
	}
	return b.EndVector(len(v))
}

// InsertHeader inserts an extended header behind the file identifier of a
// finished flatbuffer. The header's length must be a multiple of 16, so that all
// that follows keeps its alignment.
func InsertHeader(buf, header []byte) ([]byte, error) {
	if len(header)%16 != 0 {
		return nil, fmt.Errorf("header of %d bytes breaks the alignment", len(header))
	}
	if len(buf) < rootMin {
		return nil, errors.New("flatbuffer has no file identifier")
	}
	out := make([]byte, 0, len(buf)+len(header))
	out = append(out, buf[:rootMin]...)
	out = append(out, header...)
	out = append(out, buf[rootMin:]...)
	flatbuffers.WriteUOffsetT(out, flatbuffers.GetUOffsetT(buf)+Offset(len(header)))
	return out, nil
}

// Align returns n rounded up to a multiple of align.
func Align[T ~int | ~uint64](n, align T) T { return (n + align - 1) / align * align }

// Pack lays out segments one after the other, each at a multiple of align. It
// returns their offsets and all their bytes.
func Pack(segments [][]byte, align int) (offsets []uint64, data []byte) {
	for _, s := range segments {
		data = append(data, make([]byte, Align(len(data), align)-len(data))...)
		offsets = append(offsets, uint64(len(data)))
		data = append(data, s...)
	}
	return offsets, data
}
