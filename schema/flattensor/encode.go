package flattensor

import (
	"encoding/binary"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/schema/internal/fb"
)

const (
	segmentAlignment = 128
	headerAlignment  = 16
)

// Encode writes f as a .ptd file. Data that is the same memory is stored once;
// the sizes in the header are computed. Encode does not check that f is one that
// Decode accepts.
func Encode(f *File) ([]byte, error) {
	type memory struct {
		first *byte
		size  int
	}
	var segments [][]byte
	segmentOf := make([]uint32, len(f.Data))
	known := map[memory]uint32{}
	for i := range f.Data {
		b := f.Data[i].Bytes
		var key memory
		if len(b) > 0 {
			key = memory{&b[0], len(b)}
		}
		s, ok := known[key]
		if !ok {
			s = uint32(len(segments))
			segments = append(segments, b)
			known[key] = s
		}
		segmentOf[i] = s
	}
	offsets, data := fb.Pack(segments, segmentAlignment)
	buf, err := fb.Build(Identifier, func(b fb.Builder) (fb.Offset, error) {
		st := make([]fb.Offset, len(segments))
		for i := range st {
			st[i] = b.Table(segmentFields, func() {
				b.PrependUint64Slot(segmentOffset, offsets[i], 0)
				b.PrependUint64Slot(segmentSize, uint64(len(segments[i])), 0)
			})
		}
		nt := make([]fb.Offset, len(f.Data))
		for i := range nt {
			key, layout := b.CreateString(f.Data[i].Key), encodeLayout(b, f.Data[i].Layout)
			nt[i] = b.Table(namedFields, func() {
				b.Ref(namedKey, key)
				b.PrependUint32Slot(namedSegment, segmentOf[i], 0)
				b.Ref(namedLayout, layout)
			})
		}
		sv, nv := b.Offsets(st), b.Offsets(nt)
		return b.Table(fileFields, func() {
			b.PrependUint32Slot(fileVersion, f.Version, 0)
			b.Ref(fileSegments, sv)
			b.Ref(fileNamedData, nv)
		}), nil
	})
	if err != nil {
		return nil, errs.InvalidArgument.Wrap(err)
	}
	header := make([]byte, fb.Align(headerLength, headerAlignment))
	end := len(header) + len(buf)
	base := fb.Align(end, segmentAlignment)
	le := binary.LittleEndian
	copy(header, headerMagic)
	le.PutUint32(header[4:], headerLength)
	le.PutUint64(header[8:], uint64(len(header)))
	le.PutUint64(header[16:], uint64(len(buf)))
	le.PutUint64(header[24:], uint64(base))
	le.PutUint64(header[32:], uint64(len(data)))
	if buf, err = fb.InsertHeader(buf, header); err != nil {
		return nil, errs.Internal.Wrap(err)
	}
	buf = append(buf, make([]byte, base-end)...)
	return append(buf, data...), nil
}

func encodeLayout(b fb.Builder, l *TensorLayout) fb.Offset {
	if l == nil {
		return 0
	}
	sizes, order := b.Int32s(l.Sizes), b.AlignedBytes(l.DimOrder, 1)
	return b.Table(layoutFields, func() {
		b.Ref(layoutSizes, sizes)
		b.Ref(layoutDimOrder, order)
		b.PrependInt8Slot(layoutScalarType, int8(l.Type), 0)
	})
}
