package program

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/schema"
	"github.com/etgo-ml/etgo/schema/internal/fb"
)

const (
	// Identifier is the file identifier of the programs that Decode reads.
	Identifier = schema.ProgramID
	// Version is the schema version of the programs that Decode reads.
	Version = 0
)

const (
	// minFileSize is the least size of a program. ExecuTorch reads so much to find
	// the extended header, whether there is one or not.
	minFileSize = 64

	headerStart     = 8
	headerMagic     = "eh00"
	headerMinLength = 24 // magic, length, program size, segment base offset
	headerLength    = 32 // and the size of the segments
)

// Decode reads the bytes of a .pte file and checks them: after it, nothing in
// the program has to be checked again but the arguments of instructions against
// the operators they call. The result aliases file, of which Decode reads the
// flatbuffer only and none of the segments behind it.
//
// All errors are errs.InvalidProgram. Where ExecuTorch gives a fault another
// number the error is of that class too, and has its number.
func Decode(file []byte) (*Program, error) {
	p, err := decode(file)
	if err != nil {
		return nil, invalid(err)
	}
	return p, nil
}

// invalid makes err an InvalidProgram that keeps the number of its own class.
func invalid(err error) error {
	var own *errs.Class
	has := errors.As(err, &own)
	err = errs.InvalidProgram.Wrap(err)
	if has {
		err = own.Wrap(err)
	}
	return err
}

func decode(file []byte) (*Program, error) {
	if err := schema.Expect(Identifier, file, int64(len(file))); err != nil {
		if len(file) < minFileSize {
			err = errs.InvalidArgument.Wrap(err)
		}
		return nil, err
	}
	if len(file) < minFileSize {
		return nil, errs.InvalidArgument.Wrap(truncated(minFileSize, len(file)))
	}
	h, err := decodeHeader(file)
	if err != nil {
		return nil, err
	}
	d := decoder{file: file, program: &Program{Header: h}}
	flatbuffer := file
	if h != nil {
		flatbuffer = file[:h.ProgramSize]
		d.base = h.SegmentBaseOffset
	}
	d.fb = fb.NewReader(flatbuffer)
	if err := d.decodeProgram(d.fb.Root()); err != nil {
		return nil, err
	}
	return d.program, nil
}

func truncated(need uint64, have int) error {
	return fmt.Errorf("file truncated: needs %d bytes, has %d", need, have)
}

// decodeHeader reads the extended header and compares the sizes in it with that
// of the file. It returns nil where there is none: then the whole file is the
// flatbuffer.
func decodeHeader(file []byte) (*Header, error) {
	b := file[headerStart:]
	if string(b[:4]) != headerMagic {
		return nil, nil
	}
	le := binary.LittleEndian
	h := &Header{Length: le.Uint32(b[4:]), ProgramSize: le.Uint64(b[8:]), SegmentBaseOffset: le.Uint64(b[16:])}
	if h.Length < headerMinLength {
		return nil, fmt.Errorf("extended header has a length of %d bytes, at least %d expected", h.Length, headerMinLength)
	}
	if h.Length >= headerLength {
		h.SegmentDataSize = le.Uint64(b[24:])
	}
	size := uint64(len(file))
	// Files older than the size of the segments cannot be measured by it.
	if h.SegmentDataSize > 0 {
		end := h.SegmentBaseOffset + h.SegmentDataSize
		if end < h.SegmentDataSize {
			return nil, fmt.Errorf("extended header: segments of %d bytes at %d overflow 64 bits", h.SegmentDataSize, h.SegmentBaseOffset)
		}
		if end > size && h.SegmentBaseOffset > 0 {
			return nil, truncated(end, len(file))
		}
	}
	if h.ProgramSize > size {
		err := truncated(h.ProgramSize, len(file))
		if h.SegmentBaseOffset > 0 {
			err = errs.InvalidArgument.Wrap(err)
		}
		return nil, err
	}
	return h, nil
}

// decoder decodes one program.
type decoder struct {
	file    []byte
	base    uint64 // of the segments in file
	fb      *fb.Reader
	program *Program
}

func (d *decoder) decodeProgram(t fb.Table) error {
	p := d.program
	p.Version = t.Uint32(programVersion)
	if err := d.fb.Err(); err != nil {
		return err
	}
	if p.Version != Version {
		return fmt.Errorf("schema version %d, only %d is known", p.Version, Version)
	}
	for _, part := range []func(fb.Table) error{
		d.decodeSegments, d.decodeConstants, d.decodeMutableSegments, d.decodeNamedData, d.decodePlans,
	} {
		if err := part(t); err != nil {
			return err
		}
	}
	return d.fb.Err()
}

// decodeSegments resolves the segments, of which it does not touch the bytes.
func (d *decoder) decodeSegments(t fb.Table) error {
	v := t.Tables(programSegments)
	d.program.Segments = fb.Make[[]byte](d.fb, v.Len())
	for i := range d.program.Segments {
		s := v.At(i)
		offset, size := s.Uint64(segmentOffset), s.Uint64(segmentSize)
		if err := d.fb.Err(); err != nil {
			return fmt.Errorf("segment %d: %w", i, err)
		}
		if size == 0 {
			d.program.Segments[i] = []byte{}
			continue
		}
		if d.base == 0 {
			return errs.NotFound.Errorf("segment %d: the file's head does not say where segments begin", i)
		}
		start := d.base + offset
		if start < offset || start+size < size {
			return errs.InvalidArgument.Errorf("segment %d: %d bytes at %d+%d overflow 64 bits", i, size, d.base, offset)
		}
		if start+size > uint64(len(d.file)) {
			return errs.InvalidArgument.Errorf("segment %d: %w", i, truncated(start+size, len(d.file)))
		}
		d.program.Segments[i] = slice(d.file, start, size)
	}
	return nil
}

// slice returns b[start:start+size], which the caller has checked, with no
// capacity beyond. It is never nil.
func slice(b []byte, start, size uint64) []byte {
	if b == nil {
		return []byte{}
	}
	return b[start : start+size : start+size]
}

// decodeConstants reads where constants and the payloads of delegates are.
func (d *decoder) decodeConstants(t fb.Table) error {
	p := d.program
	p.ConstantBuffers = d.inline(t.Tables(programConstantBuffer))
	p.DelegateData = d.inline(t.Tables(programBackendDelegateData))
	constants := t.Table(programConstantSegment)
	p.ConstantSegment = d.subsegments(constants)
	if err := d.fb.Err(); err != nil {
		return err
	}
	// Entry 0 is a placeholder. Where it is alone there are no constants, and the
	// segment need not exist.
	n := len(p.ConstantSegment.Offsets)
	if n <= 1 {
		return nil
	}
	if len(p.ConstantBuffers) > 0 {
		return fmt.Errorf("constants are both inline (%d) and in a segment (%d)", len(p.ConstantBuffers), n)
	}
	if int64(p.ConstantSegment.Segment) >= int64(len(p.Segments)) {
		return fmt.Errorf("constants are in segment %d of %d", p.ConstantSegment.Segment, len(p.Segments))
	}
	if err := d.checkSubsegments(p.ConstantSegment); err != nil {
		return fmt.Errorf("constant %w", err)
	}
	return nil
}

// inline returns the byte vectors of a vector of tables that have only that.
func (d *decoder) inline(v fb.Tables) [][]byte {
	list := fb.Make[[]byte](d.fb, v.Len())
	for i := range list {
		list[i] = v.At(i).Bytes(itemValue)
	}
	return list
}

func (d *decoder) subsegments(t fb.Table) Subsegments {
	return Subsegments{Segment: t.Uint32(subsegmentsIndex), Offsets: t.Uint64s(subsegmentsOffsets)}
}

func (d *decoder) checkSubsegments(s Subsegments) error {
	size := len(d.program.Segments[s.Segment])
	for i, off := range s.Offsets {
		if off > uint64(size) {
			return errs.InvalidArgument.Errorf("%d begins at byte %d of the %d in segment %d", i, off, size, s.Segment)
		}
	}
	return nil
}

func (d *decoder) decodeMutableSegments(t fb.Table) error {
	v := t.Tables(programMutableDataSegments)
	list := fb.Make[Subsegments](d.fb, v.Len())
	for i := range list {
		list[i] = d.subsegments(v.At(i))
		if err := d.fb.Err(); err != nil {
			return fmt.Errorf("mutable data segment %d: %w", i, err)
		}
		if int64(list[i].Segment) >= int64(len(d.program.Segments)) {
			return errs.NotFound.Errorf("mutable data segment %d: it is segment %d of %d", i, list[i].Segment, len(d.program.Segments))
		}
		if err := d.checkSubsegments(list[i]); err != nil {
			return fmt.Errorf("mutable data segment %d: initial value %w", i, err)
		}
	}
	d.program.MutableSegments = list
	return nil
}

func (d *decoder) decodeNamedData(t fb.Table) error {
	v := t.Tables(programNamedData)
	list := fb.Make[NamedData](d.fb, v.Len())
	seen := make(map[string]int, len(list))
	for i := range list {
		e := v.At(i)
		list[i] = NamedData{Key: e.Name(namedKey), Segment: e.Uint32(namedSegment)}
		if err := d.fb.Err(); err != nil {
			return fmt.Errorf("named data %d: %w", i, err)
		}
		if !e.Has(namedKey) {
			return errs.InvalidArgument.Errorf("named data %d has no key", i)
		}
		if int64(list[i].Segment) >= int64(len(d.program.Segments)) {
			return errs.InvalidArgument.Errorf("named data %q is in segment %d of %d", list[i].Key, list[i].Segment, len(d.program.Segments))
		}
		if j, ok := seen[list[i].Key]; ok {
			return fmt.Errorf("named data %q is there twice, as entries %d and %d", list[i].Key, j, i)
		}
		seen[list[i].Key] = i
	}
	d.program.NamedData = list
	return nil
}

func (d *decoder) decodePlans(t fb.Table) error {
	v := t.Tables(programExecutionPlan)
	if !t.Has(programExecutionPlan) {
		if err := d.fb.Err(); err != nil {
			return err
		}
		return errors.New("program has no field execution_plan")
	}
	d.program.Plans = fb.Make[Plan](d.fb, v.Len())
	for i := range d.program.Plans {
		p := &d.program.Plans[i]
		if err := d.decodePlan(v.At(i), p); err != nil {
			if p.Name == "" {
				return fmt.Errorf("method %d: %w", i, err)
			}
			return fmt.Errorf("method %.64q: %w", p.Name, err)
		}
	}
	return nil
}
