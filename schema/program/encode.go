package program

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/schema/internal/fb"
)

const (
	// segmentAlignment is that of segments in the file, so that they can be mapped.
	segmentAlignment = 128
	// dataAlignment is that of constants and payloads.
	dataAlignment = 16
)

// Encode writes p as a .pte file.
//
// It writes p as it stands, so that tests can make faulty programs: Decode is
// what checks. Only what cannot be written is an error.
//
// Data need not be placed beforehand. A tensor with Data and without a
// DataBuffer gets one: a constant in the constant segment (inline if there are
// ConstantBuffers), an initial value in a mutable segment. A delegate's Processed
// that is not where Location and Index say gets a segment. Decode gives the
// program with all of them placed.
//
// A program with segments gets an extended header, of p.Header's length if it
// has one; the sizes in it are computed. Without segments p.Header decides.
func Encode(p *Program) ([]byte, error) {
	e := encoder{Program: *p, buffers: map[*Tensor]uint32{}, payloads: map[*Delegate]uint32{}}
	if err := e.place(); err != nil {
		return nil, err
	}
	offsets, data := fb.Pack(e.Segments, segmentAlignment)
	buf, err := fb.Build(Identifier, func(b fb.Builder) (fb.Offset, error) {
		e.Builder = b
		return e.program(offsets)
	})
	if err != nil {
		return nil, errs.InvalidArgument.Wrap(err)
	}
	if e.Header == nil && len(e.Segments) == 0 {
		return append(buf, make([]byte, max(minFileSize-len(buf), 0))...), nil
	}
	length := headerLength
	if e.Header != nil {
		length = int(min(max(e.Header.Length, headerMinLength), 1<<20))
	}
	header := make([]byte, fb.Align(length, dataAlignment))
	programSize := len(buf) + len(header)
	le := binary.LittleEndian
	copy(header, headerMagic)
	le.PutUint32(header[4:], uint32(length))
	le.PutUint64(header[8:], uint64(programSize))
	if buf, err = fb.InsertHeader(buf, header); err != nil {
		return nil, errs.Internal.Wrap(err)
	}
	if len(e.Segments) > 0 {
		buf = append(buf, make([]byte, fb.Align(programSize, segmentAlignment)-programSize)...)
		le.PutUint64(buf[headerStart+16:], uint64(len(buf)))
		if length >= headerLength {
			le.PutUint64(buf[headerStart+24:], uint64(len(data)))
		}
		buf = append(buf, data...)
	}
	return buf, nil
}

// encoder writes one program, of which it holds a copy: data is placed in it.
type encoder struct {
	Program
	fb.Builder
	buffers  map[*Tensor]uint32
	payloads map[*Delegate]uint32
}

// place gives data that has no place one.
func (e *encoder) place() error {
	e.Segments = slices.Clone(e.Segments)
	e.ConstantBuffers = slices.Clone(e.ConstantBuffers)
	e.MutableSegments = slices.Clone(e.MutableSegments)
	for i := range e.Plans {
		p := &e.Plans[i]
		for j := range p.Values {
			v := &p.Values[j]
			if v.Kind == KindTensor && v.Tensor == nil {
				return errs.InvalidArgument.Errorf("method %q: value %d is a tensor and has none", p.Name, j)
			}
			if v.Kind == KindTensor && v.Tensor.Data != nil && v.Tensor.DataBuffer == 0 && v.Tensor.Location != LocationExternal {
				e.placeTensor(v.Tensor)
			}
		}
		for j := range p.Delegates {
			d := &p.Delegates[j]
			list := e.DelegateData
			if d.Location == DataSegment {
				list = e.Segments
			}
			if d.Processed != nil && (int64(d.Index) >= int64(len(list)) || !bytes.Equal(d.Processed, list[d.Index])) {
				e.payloads[d] = uint32(len(e.Segments))
				e.Segments = append(e.Segments, d.Processed)
			}
		}
	}
	return nil
}

func (e *encoder) placeTensor(t *Tensor) {
	if _, ok := e.buffers[t]; ok {
		return
	}
	switch {
	case t.Allocation != nil:
		i := uint64(0)
		if len(e.MutableSegments) == 0 {
			e.MutableSegments = []Subsegments{{}}
		} else if t.MutableSegment < uint64(len(e.MutableSegments)) {
			i = t.MutableSegment
		}
		e.buffers[t] = e.appendTo(&e.MutableSegments[i], t.Data)
	case len(e.ConstantBuffers) > 0:
		e.buffers[t] = uint32(len(e.ConstantBuffers))
		e.ConstantBuffers = append(e.ConstantBuffers, t.Data)
	default:
		e.buffers[t] = e.appendTo(&e.ConstantSegment, t.Data)
	}
}

// appendTo adds data to a segment, a new one if s locates nothing yet, and
// returns its number in s.
func (e *encoder) appendTo(s *Subsegments, data []byte) uint32 {
	offsets := slices.Clone(s.Offsets)
	if len(offsets) <= 1 {
		s.Segment = uint32(len(e.Segments))
		e.Segments = append(e.Segments, nil)
		offsets = []uint64{0} // entry 0 stands for no data
	}
	if int64(s.Segment) < int64(len(e.Segments)) {
		old := e.Segments[s.Segment]
		at := fb.Align(len(old), dataAlignment)
		segment := make([]byte, at, at+len(data))
		copy(segment, old)
		e.Segments[s.Segment] = append(segment, data...)
		offsets = append(offsets, uint64(at))
	}
	s.Offsets = offsets
	return uint32(len(offsets) - 1)
}

// each builds n tables.
func each(n int, build func(i int) fb.Offset) []fb.Offset {
	v := make([]fb.Offset, n)
	for i := range v {
		v[i] = build(i)
	}
	return v
}

func (e *encoder) program(segmentOffsets []uint64) (fb.Offset, error) {
	for i := range e.Plans {
		if err := checkEncodable(&e.Plans[i]); err != nil {
			return 0, fmt.Errorf("method %q: %w", e.Plans[i].Name, err)
		}
	}
	plans := e.Offsets(each(len(e.Plans), func(i int) fb.Offset { return e.plan(&e.Plans[i]) }))
	buffers := e.Offsets(each(len(e.ConstantBuffers), func(i int) fb.Offset { return e.inlineData(e.ConstantBuffers[i]) }))
	payloads := e.Offsets(each(len(e.DelegateData), func(i int) fb.Offset { return e.inlineData(e.DelegateData[i]) }))
	segments := e.Offsets(each(len(e.Segments), func(i int) fb.Offset {
		return e.Table(segmentFields, func() {
			e.PrependUint64Slot(segmentOffset, segmentOffsets[i], 0)
			e.PrependUint64Slot(segmentSize, uint64(len(e.Segments[i])), 0)
		})
	}))
	constants := e.subsegments(e.ConstantSegment)
	mutable := e.OptionalOffsets(each(len(e.MutableSegments), func(i int) fb.Offset { return e.subsegments(e.MutableSegments[i]) }))
	named := e.OptionalOffsets(each(len(e.NamedData), func(i int) fb.Offset {
		key := e.CreateString(e.NamedData[i].Key)
		return e.Table(namedFields, func() {
			e.Ref(namedKey, key)
			e.PrependUint32Slot(namedSegment, e.NamedData[i].Segment, 0)
		})
	}))
	return e.Table(programFields, func() {
		e.PrependUint32Slot(programVersion, e.Version, 0)
		e.Ref(programExecutionPlan, plans)
		e.Ref(programConstantBuffer, buffers)
		e.Ref(programBackendDelegateData, payloads)
		e.Ref(programSegments, segments)
		e.Ref(programConstantSegment, constants)
		e.Ref(programMutableDataSegments, mutable)
		e.Ref(programNamedData, named)
	}), nil
}

// checkEncodable returns an error for kinds that the schema does not have.
func checkEncodable(p *Plan) error {
	for i := range p.Values {
		if k := p.Values[i].Kind; k == KindNone || k > KindOptionalTensorList {
			return fmt.Errorf("value %d is of unknown kind %d", i, k)
		}
	}
	for c := range p.Chains {
		for i, in := range p.Chains[c].Instructions {
			if in.Kind < KernelCall || in.Kind > FreeCall {
				return fmt.Errorf("chain %d: instruction %d is of unknown kind %d", c, i, in.Kind)
			}
		}
	}
	return nil
}

func (e *encoder) inlineData(b []byte) fb.Offset {
	data := e.AlignedBytes(b, dataAlignment)
	return e.Table(itemFields, func() { e.Ref(itemValue, data) })
}

func (e *encoder) subsegments(s Subsegments) fb.Offset {
	offsets := e.Uint64s(s.Offsets)
	return e.Table(subsegmentsFields, func() {
		e.PrependUint32Slot(subsegmentsIndex, s.Segment, 0)
		e.Ref(subsegmentsOffsets, offsets)
	})
}

func (e *encoder) plan(p *Plan) fb.Offset {
	name := e.CreateString(p.Name)
	var meta fb.Offset
	if p.InputTree != "" || p.OutTree != "" {
		in, out := e.OptionalString(p.InputTree), e.OptionalString(p.OutTree)
		meta = e.Table(containerFields, func() {
			e.Ref(containerInput, in)
			e.Ref(containerOutput, out)
		})
	}
	values := e.Offsets(each(len(p.Values), func(i int) fb.Offset { return e.value(&p.Values[i]) }))
	inputs, outputs := e.Int32s(p.Inputs), e.Int32s(p.Outputs)
	chains := e.Offsets(each(len(p.Chains), func(i int) fb.Offset { return e.chain(&p.Chains[i]) }))
	operators := e.Offsets(each(len(p.Operators), func(i int) fb.Offset {
		name, overload := e.CreateString(p.Operators[i].Name), e.CreateString(p.Operators[i].Overload)
		return e.Table(operatorFields, func() {
			e.Ref(operatorName, name)
			e.Ref(operatorOverload, overload)
		})
	}))
	delegates := e.Offsets(each(len(p.Delegates), func(i int) fb.Offset { return e.delegate(&p.Delegates[i]) }))
	sizes := e.Int64s(p.BufferSizes)
	devices := e.OptionalOffsets(each(len(p.BufferDevices), func(i int) fb.Offset {
		d := p.BufferDevices[i]
		return e.Table(bufferDeviceFields, func() {
			e.PrependInt32Slot(bufferDeviceIndex, d.Buffer, 0)
			e.PrependInt8Slot(bufferDeviceType, int8(d.Device.Type), 0)
			e.PrependInt8Slot(bufferDeviceNumber, d.Device.Index, 0)
		})
	}))
	return e.Table(planFields, func() {
		e.Ref(planName, name)
		e.Ref(planContainerMetaType, meta)
		e.Ref(planValues, values)
		e.Ref(planInputs, inputs)
		e.Ref(planOutputs, outputs)
		e.Ref(planChains, chains)
		e.Ref(planOperators, operators)
		e.Ref(planDelegates, delegates)
		e.Ref(planNonConstBufferSizes, sizes)
		e.Ref(planNonConstBufferDevice, devices)
	})
}

func (e *encoder) delegate(d *Delegate) fb.Offset {
	id := e.CreateString(d.ID)
	location, index := d.Location, d.Index
	if i, ok := e.payloads[d]; ok {
		location, index = DataSegment, i
	}
	processed := e.Table(referenceFields, func() {
		e.PrependInt8Slot(referenceLocation, int8(location), 0)
		e.PrependUint32Slot(referenceIndex, index, 0)
	})
	specs := e.OptionalOffsets(each(len(d.Specs), func(i int) fb.Offset {
		key, value := e.CreateString(d.Specs[i].Key), e.AlignedBytes(d.Specs[i].Value, 1)
		return e.Table(specFields, func() {
			e.Ref(specKey, key)
			e.Ref(specValue, value)
		})
	}))
	return e.Table(delegateFields, func() {
		e.Ref(delegateID, id)
		e.Ref(delegateProcessed, processed)
		e.Ref(delegateCompileSpecs, specs)
	})
}

// union builds a table around a member of a union.
func (e *encoder) union(kind uint8, member fb.Offset) fb.Offset {
	return e.Table(unionFields, func() {
		e.PrependUint8Slot(unionKind, kind, 0)
		e.Ref(unionMember, member)
	})
}

func (e *encoder) value(v *Value) fb.Offset {
	var member fb.Offset
	ref := func(o fb.Offset) fb.Offset { return e.Table(itemFields, func() { e.Ref(itemValue, o) }) }
	switch v.Kind {
	case KindNull:
		member = e.Table(0, func() {})
	case KindInt:
		member = e.Table(itemFields, func() { e.PrependInt64Slot(itemValue, v.Int, 0) })
	case KindBool:
		member = e.Table(itemFields, func() { e.PrependBoolSlot(itemValue, v.Bool, false) })
	case KindDouble:
		// A slot would drop -0, which equals the default.
		member = e.Table(itemFields, func() {
			e.PrependFloat64(v.Double)
			e.Slot(itemValue)
		})
	case KindTensor:
		member = e.tensor(v.Tensor)
	case KindString:
		member = ref(e.CreateString(v.String))
	case KindIntList:
		long := make([]int64, len(v.Items))
		for i, item := range v.Items {
			long[i] = int64(item)
		}
		member = ref(e.Int64s(long))
	case KindDoubleList:
		member = ref(e.Float64s(v.Doubles))
	case KindBoolList:
		member = ref(e.Bools(v.Bools))
	case KindTensorList, KindOptionalTensorList:
		member = ref(e.Int32s(v.Items))
	}
	return e.union(uint8(v.Kind), member)
}

func (e *encoder) tensor(t *Tensor) fb.Offset {
	sizes, order := e.Int32s(t.Sizes), e.AlignedBytes(t.DimOrder, 1)
	buffer := t.DataBuffer
	if i, ok := e.buffers[t]; ok {
		buffer = i
	}
	var allocation, extra fb.Offset
	if a := t.Allocation; a != nil {
		allocation = e.Table(allocationFields, func() {
			e.PrependUint32Slot(allocationMemoryID, a.MemoryID, 0)
			e.PrependUint32Slot(allocationOffsetLow, uint32(a.Offset), 0)
			e.PrependUint32Slot(allocationOffsetHigh, uint32(a.Offset>>32), 0)
		})
	}
	if t.Name != "" || t.Location != LocationSegment || t.MutableSegment != 0 || t.Device != (Device{}) {
		name := e.OptionalString(t.Name)
		extra = e.Table(extraFields, func() {
			e.PrependUint64Slot(extraMutableDataSegment, t.MutableSegment, 0)
			e.Ref(extraName, name)
			e.PrependInt8Slot(extraLocation, int8(t.Location), 0)
			e.PrependInt8Slot(extraDeviceType, int8(t.Device.Type), 0)
			e.PrependInt8Slot(extraDeviceIndex, t.Device.Index, 0)
		})
	}
	return e.Table(tensorFields, func() {
		e.Ref(tensorSizes, sizes)
		e.Ref(tensorDimOrder, order)
		e.PrependUint32Slot(tensorDataBufferIdx, buffer, 0)
		e.Ref(tensorAllocationInfo, allocation)
		e.Ref(tensorExtraTensorInfo, extra)
		e.PrependInt8Slot(tensorScalarType, int8(t.Type), 0)
		e.PrependBoolSlot(tensorRequiresGrad, t.RequiresGrad, false)
		e.PrependInt8Slot(tensorShapeDynamism, int8(t.Dynamism), 0)
	})
}

func (e *encoder) chain(c *Chain) fb.Offset {
	inputs, outputs := e.Int32s(c.Inputs), e.Int32s(c.Outputs)
	instructions := e.Offsets(each(len(c.Instructions), func(i int) fb.Offset { return e.instruction(&c.Instructions[i]) }))
	trace := e.OptionalOffsets(each(len(c.Stacktrace), func(i int) fb.Offset {
		frames := e.Offsets(each(len(c.Stacktrace[i]), func(j int) fb.Offset { return e.frame(&c.Stacktrace[i][j]) }))
		return e.Table(itemFields, func() { e.Ref(itemValue, frames) })
	}))
	return e.Table(chainFields, func() {
		e.Ref(chainInputs, inputs)
		e.Ref(chainOutputs, outputs)
		e.Ref(chainInstructions, instructions)
		e.Ref(chainStacktrace, trace)
	})
}

func (e *encoder) instruction(in *Instruction) fb.Offset {
	var args fb.Offset
	if in.Kind == KernelCall || in.Kind == DelegateCall {
		args = e.Int32s(in.Args)
	}
	return e.union(uint8(in.Kind), e.Table(callFields, func() {
		e.PrependInt32Slot(callIndex, in.Index, 0)
		switch in.Kind {
		case KernelCall, DelegateCall:
			e.Ref(callArgs, args)
		case MoveCall, JumpFalseCall:
			e.PrependInt32Slot(callTo, in.To, 0)
		}
	}))
}

func (e *encoder) frame(f *Frame) fb.Offset {
	file, name, context := e.CreateString(f.File), e.CreateString(f.Name), e.CreateString(f.Context)
	return e.Table(frameFields, func() {
		e.Ref(frameFile, file)
		e.PrependInt32Slot(frameLine, f.Line, 0)
		e.Ref(frameName, name)
		e.Ref(frameContext, context)
	})
}
