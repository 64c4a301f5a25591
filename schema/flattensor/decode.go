package flattensor

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/schema"
	"github.com/etgo-ml/etgo/schema/internal/fb"
)

const (
	// Identifier is the file identifier of the data files that Decode reads.
	Identifier = schema.DataID
	// Version is the schema version that Decode reads.
	Version = 0
)

const (
	// minFileSize is the least size of a data file: ExecuTorch reads so much to find
	// the extended header.
	minFileSize = 64

	headerStart  = 8
	headerMagic  = "FH01"
	headerLength = 40
)

// The fields of the tables in ExecuTorch's flat_tensor.fbs by number.
const (
	fileVersion = iota
	fileSegments
	fileNamedData
	fileFields
)

const (
	segmentOffset = iota
	segmentSize
	segmentFields
)

const (
	namedKey = iota
	namedSegment
	namedLayout
	namedFields
)

const (
	layoutScalarType = iota
	layoutSizes
	layoutDimOrder
	layoutFields
)

// The fields of earlier data files, which are FT01 and version 0 as well: until
// ExecuTorch 0.6 they listed tensors, each at an offset of a segment.
const (
	_ = iota // version
	_        // alignment of the tensors
	earlierTensors
	earlierSegments
	earlierNamedData
)

const (
	earlierName   = iota
	earlierLayout // three fields, those of a layout
	_
	_
	earlierSegment
	earlierOffset
)

// Decode reads the bytes of a .ptd file and checks them. The result aliases
// file, of which Decode reads the flatbuffer only and none of the data. Errors
// are errs.InvalidExternalData.
func Decode(file []byte) (*File, error) {
	f, err := decode(file)
	if err != nil {
		return nil, errs.InvalidExternalData.Wrap(err)
	}
	return f, nil
}

func decode(file []byte) (*File, error) {
	if err := schema.Expect(Identifier, file, int64(len(file))); err != nil {
		return nil, err
	}
	if len(file) < minFileSize {
		return nil, truncated(minFileSize, len(file))
	}
	h, err := decodeHeader(file)
	if err != nil {
		return nil, err
	}
	f := &File{Header: *h}
	d := decoder{file: file, header: h}
	if f.Version, f.Data, err = d.decode(); err == nil {
		return f, nil
	}
	// Nothing in the file tells which form it has. A file of one form is never valid
	// as the other: what is a small number there is an offset here.
	if version, data, earlierErr := d.decodeEarlier(); earlierErr == nil {
		f.Version, f.Data = version, data
		return f, nil
	}
	return nil, err
}

// decoder decodes one file.
type decoder struct {
	file   []byte
	header *Header
	fb     *fb.Reader
}

// root starts reading anew.
func (d *decoder) root() fb.Table {
	d.fb = fb.NewReader(d.file[:d.header.FlatbufferOffset+d.header.FlatbufferSize])
	return d.fb.Root()
}

func (d *decoder) checkVersion(t fb.Table) (uint32, error) {
	v := t.Uint32(fileVersion)
	if err := d.fb.Err(); err != nil {
		return 0, err
	}
	if v != Version {
		return 0, fmt.Errorf("schema version %d, only %d is known", v, Version)
	}
	return v, nil
}

func (d *decoder) decode() (uint32, []NamedData, error) {
	t := d.root()
	version, err := d.checkVersion(t)
	if err != nil {
		return 0, nil, err
	}
	st, nt := t.Tables(fileSegments), t.Tables(fileNamedData)
	if err := d.fb.Err(); err != nil {
		return 0, nil, err
	}
	if !t.Has(fileSegments) || !t.Has(fileNamedData) {
		return 0, nil, errors.New("data file lacks its segments or named data")
	}
	segments, err := d.decodeSegments(st)
	if err != nil {
		return 0, nil, err
	}
	data, err := d.decodeNamedData(nt, segments)
	return version, data, err
}

func (d *decoder) decodeEarlier() (uint32, []NamedData, error) {
	t := d.root()
	version, err := d.checkVersion(t)
	if err != nil {
		return 0, nil, err
	}
	if !t.Has(earlierTensors) || !t.Has(earlierSegments) {
		return 0, nil, errors.New("data file lacks its tensors or segments")
	}
	segments, err := d.decodeSegments(t.Tables(earlierSegments))
	if err != nil {
		return 0, nil, err
	}
	data, err := d.decodeNamedData(t.Tables(earlierNamedData), segments)
	if err != nil {
		return 0, nil, err
	}
	v := t.Tables(earlierTensors)
	tensors := fb.Make[NamedData](d.fb, v.Len())
	for i := range tensors {
		e := v.At(i)
		segment, offset := e.Uint32(earlierSegment), e.Uint64(earlierOffset)
		tensors[i].Key = e.Name(earlierName)
		if err := d.fb.Err(); err != nil {
			return 0, nil, err
		}
		if tensors[i].Key == "" || int64(segment) >= int64(len(segments)) || offset > uint64(len(segments[segment])) {
			return 0, nil, fmt.Errorf("tensor %d has no name or no data", i)
		}
		b := segments[segment][offset:]
		if tensors[i].Layout, err = d.decodeLayout(e, earlierLayout, b); err != nil {
			return 0, nil, err
		}
		n, _ := schema.NBytes(tensors[i].Layout.Type, tensors[i].Layout.Sizes)
		tensors[i].Bytes = b[:n:n]
	}
	data = append(data, tensors...)
	return version, data, checkKeys(data)
}

func truncated(need uint64, have int) error {
	return fmt.Errorf("file truncated: needs %d bytes, has %d", need, have)
}

// decodeHeader reads the extended header, which every data file has, and
// compares the sizes in it with that of the file.
func decodeHeader(file []byte) (*Header, error) {
	b := file[headerStart:]
	if string(b[:4]) != headerMagic {
		return nil, fmt.Errorf("extended header begins with %q, %q expected", b[:4], headerMagic)
	}
	le := binary.LittleEndian
	h := &Header{
		Length: le.Uint32(b[4:]), FlatbufferOffset: le.Uint64(b[8:]), FlatbufferSize: le.Uint64(b[16:]),
		SegmentBaseOffset: le.Uint64(b[24:]), SegmentDataSize: le.Uint64(b[32:]),
	}
	if h.Length < headerLength {
		return nil, fmt.Errorf("extended header has a length of %d bytes, at least %d expected", h.Length, headerLength)
	}
	for _, part := range []struct {
		name         string
		offset, size uint64
	}{{"flatbuffer", h.FlatbufferOffset, h.FlatbufferSize}, {"segments", h.SegmentBaseOffset, h.SegmentDataSize}} {
		end := part.offset + part.size
		if end < part.size {
			return nil, fmt.Errorf("extended header: %s of %d bytes at %d overflow 64 bits", part.name, part.size, part.offset)
		}
		if end > uint64(len(file)) {
			return nil, truncated(end, len(file))
		}
	}
	return h, nil
}

// decodeSegments returns the segments' bytes, which it does not touch.
func (d *decoder) decodeSegments(v fb.Tables) ([][]byte, error) {
	data := d.file[d.header.SegmentBaseOffset : d.header.SegmentBaseOffset+d.header.SegmentDataSize]
	list := fb.Make[[]byte](d.fb, v.Len())
	for i := range list {
		s := v.At(i)
		offset, size := s.Uint64(segmentOffset), s.Uint64(segmentSize)
		if err := d.fb.Err(); err != nil {
			return nil, fmt.Errorf("segment %d: %w", i, err)
		}
		if n := uint64(len(data)); offset > n || size > n-offset {
			return nil, fmt.Errorf("segment %d: %d bytes at %d do not fit into the %d of all segments", i, size, offset, n)
		}
		list[i] = data[offset : offset+size : offset+size]
	}
	return list, d.fb.Err()
}

func (d *decoder) decodeNamedData(v fb.Tables, segments [][]byte) ([]NamedData, error) {
	list := fb.Make[NamedData](d.fb, v.Len())
	for i := range list {
		n := &list[i]
		t := v.At(i)
		n.Key = t.Name(namedKey)
		segment := t.Uint32(namedSegment)
		if err := d.fb.Err(); err != nil {
			return nil, fmt.Errorf("named data %d: %w", i, err)
		}
		if !t.Has(namedKey) {
			return nil, fmt.Errorf("named data %d has no key", i)
		}
		if int64(segment) >= int64(len(segments)) {
			return nil, fmt.Errorf("named data %.64q is in segment %d of %d", n.Key, segment, len(segments))
		}
		n.Bytes = segments[segment]
		if l := t.Table(namedLayout); l.Present() {
			var err error
			if n.Layout, err = d.decodeLayout(l, 0, n.Bytes); err != nil {
				return nil, fmt.Errorf("named data %.64q: %w", n.Key, err)
			}
		}
	}
	if err := d.fb.Err(); err != nil {
		return nil, err
	}
	return list, checkKeys(list)
}

func checkKeys(list []NamedData) error {
	seen := make(map[string]int, len(list))
	for i := range list {
		if j, ok := seen[list[i].Key]; ok {
			return fmt.Errorf("named data %.64q is there twice, as entries %d and %d", list[i].Key, j, i)
		}
		seen[list[i].Key] = i
	}
	return nil
}

// decodeLayout reads the three fields of a layout, of which first is the number
// of the first. The tensor must fit into data.
func (d *decoder) decodeLayout(t fb.Table, first int, data []byte) (*TensorLayout, error) {
	l := fb.New[TensorLayout](d.fb)
	if l == nil {
		return nil, d.fb.Err()
	}
	l.Type, l.Sizes = schema.ScalarType(t.Int8(first+layoutScalarType)), t.Int32s(first+layoutSizes)
	l.DimOrder = t.CopyBytes(first + layoutDimOrder)
	if err := d.fb.Err(); err != nil {
		return nil, err
	}
	n, err := schema.NBytes(l.Type, l.Sizes)
	if err != nil {
		return nil, err
	}
	if err := schema.CheckDimOrder(l.DimOrder, len(l.Sizes)); err != nil {
		return nil, err
	}
	if n > int64(len(data)) {
		return nil, fmt.Errorf("%v%v needs %d bytes, its segment has %d", l.Type, l.Sizes, n, len(data))
	}
	return l, nil
}
