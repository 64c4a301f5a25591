package program

import (
	"errors"
	"fmt"
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/schema"
	"github.com/etgo-ml/etgo/schema/internal/fb"
)

// checkSet returns an error for the first of the fields that t lacks.
func checkSet(t fb.Table, fields ...field) error {
	for _, f := range fields {
		if !t.Has(f.id) {
			return fmt.Errorf("field %s is missing", f.name)
		}
	}
	return nil
}

type field struct {
	id   int
	name string
}

func (d *decoder) decodePlan(t fb.Table, p *Plan) error {
	p.Name = t.Name(planName)
	meta := t.Table(planContainerMetaType)
	p.InputTree, p.OutTree = meta.String(containerInput), meta.String(containerOutput)
	p.Inputs = t.Int32s(planInputs)
	p.Outputs = t.Int32s(planOutputs)
	p.BufferSizes = t.Int64s(planNonConstBufferSizes)
	err := checkSet(t, field{planName, "name"}, field{planValues, "values"}, field{planInputs, "inputs"}, field{planOutputs, "outputs"},
		field{planChains, "chains"}, field{planDelegates, "delegates"}, field{planNonConstBufferSizes, "non_const_buffer_sizes"})
	if ferr := d.fb.Err(); ferr != nil {
		return ferr
	}
	if err != nil {
		return err
	}
	for id, size := range p.BufferSizes {
		if size < 0 && id > 0 {
			return fmt.Errorf("planned memory %d has the negative size %d", id, size)
		}
	}
	for _, part := range []func(fb.Table, *Plan) error{
		d.decodeBufferDevices, d.decodeValues, d.decodeOperators, d.decodeDelegates, d.decodeChains,
	} {
		if err := part(t, p); err != nil {
			return err
		}
	}
	for _, list := range []struct {
		name   string
		values []int32
	}{{"input", p.Inputs}, {"output", p.Outputs}} {
		if err := checkIndices(p, list.name, list.values); err != nil {
			return err
		}
	}
	if err := d.fb.Err(); err != nil {
		return err
	}
	return checkInstructions(p)
}

// checkIndex returns an error unless v is the index of a value.
func checkIndex(p *Plan, v int32) error {
	if v < 0 || int(v) >= len(p.Values) {
		return fmt.Errorf("value %d of %d", v, len(p.Values))
	}
	return nil
}

func checkIndices(p *Plan, name string, values []int32) error {
	for i, v := range values {
		if err := checkIndex(p, v); err != nil {
			return fmt.Errorf("%s %d is %w", name, i, err)
		}
	}
	return nil
}

func (d *decoder) decodeBufferDevices(t fb.Table, p *Plan) error {
	v := t.Tables(planNonConstBufferDevice)
	p.BufferDevices = fb.Make[BufferDevice](d.fb, v.Len())
	for i := range p.BufferDevices {
		e := v.At(i)
		b := BufferDevice{
			Buffer: e.Int32(bufferDeviceIndex),
			Device: Device{Type: DeviceType(e.Int8(bufferDeviceType)), Index: e.Int8(bufferDeviceNumber)},
		}
		if err := d.fb.Err(); err != nil {
			return fmt.Errorf("device %d: %w", i, err)
		}
		if b.Buffer < 0 || int(b.Buffer) >= len(p.BufferSizes) {
			return fmt.Errorf("device %d is that of planned memory %d of %d", i, b.Buffer, len(p.BufferSizes))
		}
		p.BufferDevices[i] = b
	}
	return nil
}

func (d *decoder) decodeOperators(t fb.Table, p *Plan) error {
	v := t.Tables(planOperators)
	p.Operators = fb.Make[Operator](d.fb, v.Len())
	for i := range p.Operators {
		e := v.At(i)
		p.Operators[i] = Operator{Name: e.Name(operatorName), Overload: e.Name(operatorOverload)}
		if err := d.fb.Err(); err != nil {
			return fmt.Errorf("operator %d: %w", i, err)
		}
		if !e.Has(operatorName) {
			return fmt.Errorf("operator %d has no name", i)
		}
	}
	return nil
}

func (d *decoder) decodeDelegates(t fb.Table, p *Plan) error {
	v := t.Tables(planDelegates)
	p.Delegates = fb.Make[Delegate](d.fb, v.Len())
	for i := range p.Delegates {
		if err := d.decodeDelegate(v.At(i), &p.Delegates[i]); err != nil {
			return fmt.Errorf("delegate %d: %w", i, err)
		}
	}
	return nil
}

func (d *decoder) decodeDelegate(t fb.Table, del *Delegate) error {
	del.ID = t.Name(delegateID)
	ref := t.Table(delegateProcessed)
	del.Location, del.Index = DataLocation(ref.Int8(referenceLocation)), ref.Uint32(referenceIndex)
	if err := d.fb.Err(); err != nil {
		return err
	}
	if err := checkSet(t, field{delegateID, "id"}, field{delegateProcessed, "processed"}); err != nil {
		return err
	}
	list, what := d.program.DelegateData, "inline payload"
	switch del.Location {
	case DataInline:
	case DataSegment:
		list, what = d.program.Segments, "segment"
	default:
		return fmt.Errorf("payload has the unknown location %d", del.Location)
	}
	if int64(del.Index) >= int64(len(list)) {
		return errs.NotFound.Errorf("payload is %s %d of %d", what, del.Index, len(list))
	}
	del.Processed = list[del.Index]
	v := t.Tables(delegateCompileSpecs)
	del.Specs = fb.Make[CompileSpec](d.fb, v.Len())
	for i := range del.Specs {
		e := v.At(i)
		del.Specs[i] = CompileSpec{Key: e.Name(specKey), Value: e.Bytes(specValue)}
		if err := d.fb.Err(); err != nil {
			return fmt.Errorf("compile spec %d: %w", i, err)
		}
		if err := checkSet(e, field{specKey, "key"}, field{specValue, "value"}); err != nil {
			return fmt.Errorf("compile spec %d: %w", i, err)
		}
	}
	return nil
}

func (d *decoder) decodeValues(t fb.Table, p *Plan) error {
	v := t.Tables(planValues)
	p.Values = fb.Make[Value](d.fb, v.Len())
	for i := range p.Values {
		if err := d.decodeValue(v.At(i), p, &p.Values[i]); err != nil {
			return fmt.Errorf("value %d: %w", i, err)
		}
	}
	if err := d.fb.Err(); err != nil {
		return err
	}
	// Lists may refer to values behind them.
	for i := range p.Values {
		if err := checkList(p, &p.Values[i]); err != nil {
			return fmt.Errorf("value %d, %v: %w", i, p.Values[i].Kind, err)
		}
	}
	return nil
}

func (d *decoder) decodeValue(t fb.Table, p *Plan, v *Value) error {
	kind, m := t.Union(unionKind)
	if err := d.fb.Err(); err != nil {
		return err
	}
	v.Kind = ValueKind(kind)
	switch v.Kind {
	case KindNone:
		return errors.New("it holds nothing, not even None")
	case KindNull:
		return nil
	}
	if v.Kind > KindOptionalTensorList {
		return fmt.Errorf("it is of unknown kind %d, known are 1 to %d", kind, KindOptionalTensorList)
	}
	if !m.Present() {
		return fmt.Errorf("%v has no content", v.Kind)
	}
	switch v.Kind {
	case KindInt:
		v.Int = m.Int64(itemValue)
	case KindBool:
		v.Bool = m.Bool(itemValue)
	case KindDouble:
		v.Double = m.Float64(itemValue)
	case KindTensor:
		v.Tensor = fb.New[Tensor](d.fb)
		if v.Tensor == nil {
			return d.fb.Err()
		}
		return d.decodeTensor(m, p, v.Tensor)
	case KindString:
		v.String = m.String(itemValue)
	case KindIntList:
		long := m.Int64s(itemValue)
		v.Items = fb.Make[int32](d.fb, len(long))
		for j := range v.Items {
			if long[j] < 0 || long[j] > math.MaxInt32 {
				return fmt.Errorf("%v: item %d is value %d of %d", v.Kind, j, long[j], len(p.Values))
			}
			v.Items[j] = int32(long[j])
		}
	case KindTensorList, KindOptionalTensorList:
		v.Items = m.Int32s(itemValue)
	case KindDoubleList:
		v.Doubles = m.Float64s(itemValue)
	case KindBoolList:
		v.Bools = m.Bools(itemValue)
	}
	if err := d.fb.Err(); err != nil {
		return err
	}
	if v.Kind >= KindString && !m.Has(itemValue) {
		return fmt.Errorf("%v has no content", v.Kind)
	}
	return nil
}

// checkList checks the values that a list refers to. Elements of int lists are
// values that instructions may fill, so whether they are ints shows later.
func checkList(p *Plan, v *Value) error {
	for j, item := range v.Items {
		if item == -1 && v.Kind == KindOptionalTensorList {
			continue
		}
		if err := checkIndex(p, item); err != nil {
			return fmt.Errorf("item %d is %w", j, err)
		}
		kind := p.Values[item].Kind
		ok := false
		switch v.Kind {
		case KindIntList:
			ok = !kind.isList() && kind != KindDoubleList && kind != KindBoolList
		case KindTensorList:
			ok = kind == KindTensor
		case KindOptionalTensorList:
			ok = kind == KindTensor || kind == KindNull
		}
		if !ok {
			return fmt.Errorf("item %d is value %d, which is %v", j, item, kind)
		}
	}
	return nil
}

func (d *decoder) decodeTensor(m fb.Table, p *Plan, t *Tensor) error {
	*t = Tensor{
		Type: schema.ScalarType(m.Int8(tensorScalarType)), Sizes: m.Int32s(tensorSizes), DimOrder: m.CopyBytes(tensorDimOrder),
		Dynamism: Dynamism(m.Int8(tensorShapeDynamism)), DataBuffer: m.Uint32(tensorDataBufferIdx), RequiresGrad: m.Bool(tensorRequiresGrad),
	}
	if t.Dynamism < Static || t.Dynamism > DynamicUnbound {
		t.Dynamism = DynamicBound
	}
	if a := m.Table(tensorAllocationInfo); a.Present() {
		t.Allocation = &Allocation{
			MemoryID: a.Uint32(allocationMemoryID),
			Offset:   uint64(a.Uint32(allocationOffsetHigh))<<32 | uint64(a.Uint32(allocationOffsetLow)),
		}
	}
	x := m.Table(tensorExtraTensorInfo)
	t.Name, t.Location, t.MutableSegment = x.Name(extraName), Location(x.Int8(extraLocation)), x.Uint64(extraMutableDataSegment)
	t.Device = Device{Type: DeviceType(x.Int8(extraDeviceType)), Index: x.Int8(extraDeviceIndex)}
	storageOffset := m.Int32(tensorStorageOffset)
	if err := d.fb.Err(); err != nil {
		return err
	}
	if err := checkSet(m, field{tensorSizes, "sizes"}, field{tensorDimOrder, "dim_order"}); err != nil {
		return err
	}
	var err error
	if t.NBytes, err = nbytesOf(t); err != nil {
		return err
	}
	if storageOffset != 0 {
		return errs.NotSupported.Errorf("storage offset is %d, only 0 is supported", storageOffset)
	}
	if len(t.DimOrder) != len(t.Sizes) {
		return fmt.Errorf("dim order has %d entries for %d dimensions", len(t.DimOrder), len(t.Sizes))
	}
	if err := schema.CheckDimOrder(t.DimOrder, len(t.Sizes)); err != nil {
		return errs.Internal.Wrap(err) // the number that ExecuTorch gives it
	}
	if t.Dynamism == DynamicUnbound && (t.Allocation != nil || t.DataBuffer != 0) {
		return errs.NotSupported.Errorf("tensor of unbounded shape has data or planned memory")
	}
	if a := t.Allocation; a != nil {
		if err := checkAllocation(p, a, uint64(t.NBytes)); err != nil {
			return err
		}
	}
	return d.resolveData(t)
}

// nbytesOf returns the size of a tensor, saturated where that is bearable: the
// sizes of a tensor that gets its memory from outside are no more than a bound.
func nbytesOf(t *Tensor) (int64, error) {
	n, err := schema.NBytes(t.Type, t.Sizes)
	if errors.Is(err, schema.ErrTooLarge) && t.Dynamism != Static && t.Allocation == nil && t.DataBuffer == 0 {
		return math.MaxInt64, nil
	}
	return n, err
}

func checkAllocation(p *Plan, a *Allocation, n uint64) error {
	if a.MemoryID == 0 || int64(a.MemoryID) >= int64(len(p.BufferSizes)) {
		return errs.InvalidArgument.Errorf("planned memory %d: the method has 1 to %d", a.MemoryID, len(p.BufferSizes)-1)
	}
	if a.Offset+n < n {
		return errs.InvalidArgument.Errorf("planned memory %d: %d bytes at %d overflow 64 bits", a.MemoryID, n, a.Offset)
	}
	if size := p.BufferSizes[a.MemoryID]; a.Offset+n > uint64(size) {
		return errs.MemoryAllocationFailed.Errorf("planned memory %d: %d bytes at %d do not fit into %d", a.MemoryID, n, a.Offset, size)
	}
	return nil
}

// resolveData finds a tensor's constant data or initial value.
func (d *decoder) resolveData(t *Tensor) error {
	switch t.Location {
	case LocationSegment:
	case LocationExternal:
		if t.Name == "" {
			return errs.InvalidExternalData.Errorf("tensor with external data has no name to find it by")
		}
		return nil // and a data buffer index would be ignored
	default:
		return fmt.Errorf("tensor has its data at the unknown location %d", t.Location)
	}
	if t.DataBuffer == 0 {
		return nil
	}
	var err error
	if t.Allocation == nil {
		t.Data, err = d.constant(t)
	} else {
		t.Data, err = d.initialValue(t)
	}
	return err
}

func (d *decoder) constant(t *Tensor) ([]byte, error) {
	p := d.program
	if n := len(p.ConstantSegment.Offsets); n > 1 {
		if int64(t.DataBuffer) >= int64(n) {
			return nil, errs.InvalidArgument.Errorf("data is constant %d of %d", t.DataBuffer, n)
		}
		return piece(p.Segments[p.ConstantSegment.Segment], p.ConstantSegment.Offsets[t.DataBuffer], t, "constant")
	}
	if len(p.ConstantBuffers) == 0 {
		return nil, fmt.Errorf("data is constant %d, and the program has no constants", t.DataBuffer)
	}
	if int64(t.DataBuffer) >= int64(len(p.ConstantBuffers)) {
		return nil, errs.InvalidArgument.Errorf("data is constant %d of %d", t.DataBuffer, len(p.ConstantBuffers))
	}
	return piece(p.ConstantBuffers[t.DataBuffer], 0, t, "constant")
}

func (d *decoder) initialValue(t *Tensor) ([]byte, error) {
	list := d.program.MutableSegments
	if len(list) == 0 {
		return nil, errs.NotFound.Errorf("initial value is %d, and the program has none", t.DataBuffer)
	}
	s := list[0]
	if t.MutableSegment < uint64(len(list)) {
		s = list[t.MutableSegment]
	}
	if int64(t.DataBuffer) >= int64(len(s.Offsets)) {
		return nil, errs.NotFound.Errorf("initial value is %d of %d", t.DataBuffer, len(s.Offsets))
	}
	return piece(d.program.Segments[s.Segment], s.Offsets[t.DataBuffer], t, "initial value")
}

// piece returns the bytes of t, which begin at an offset of b.
func piece(b []byte, offset uint64, t *Tensor, what string) ([]byte, error) {
	if size := uint64(len(b)); offset > size || uint64(t.NBytes) > size-offset {
		return nil, errs.InvalidArgument.Errorf("%s %d has %d bytes at most, %v%v needs %d",
			what, t.DataBuffer, size-min(offset, size), t.Type, t.Sizes, t.NBytes)
	}
	return slice(b, offset, uint64(t.NBytes)), nil
}

func (d *decoder) decodeChains(t fb.Table, p *Plan) error {
	v := t.Tables(planChains)
	p.Chains = fb.Make[Chain](d.fb, v.Len())
	if err := d.fb.Err(); err != nil {
		return err
	}
	if len(p.Chains) == 0 {
		return errors.New("there are no chains of instructions")
	}
	for i := range p.Chains {
		if err := d.decodeChain(v.At(i), p, &p.Chains[i]); err != nil {
			return fmt.Errorf("chain %d: %w", i, err)
		}
	}
	return nil
}

func (d *decoder) decodeChain(t fb.Table, p *Plan, c *Chain) error {
	c.Inputs, c.Outputs = t.Int32s(chainInputs), t.Int32s(chainOutputs)
	v := t.Tables(chainInstructions)
	if err := d.fb.Err(); err != nil {
		return err
	}
	if err := checkSet(t, field{chainInstructions, "instructions"}); err != nil {
		return err
	}
	if err := checkIndices(p, "input", c.Inputs); err != nil {
		return err
	}
	if err := checkIndices(p, "output", c.Outputs); err != nil {
		return err
	}
	c.Instructions = fb.Make[Instruction](d.fb, v.Len())
	for i := range c.Instructions {
		if err := d.decodeInstruction(v.At(i), p, len(c.Instructions), &c.Instructions[i]); err != nil {
			return fmt.Errorf("instruction %d: %w", i, err)
		}
	}
	traces := t.Tables(chainStacktrace)
	c.Stacktrace = fb.Make[[]Frame](d.fb, traces.Len())
	for i := range c.Stacktrace {
		frames := traces.At(i).Tables(itemValue)
		c.Stacktrace[i] = fb.Make[Frame](d.fb, frames.Len())
		for j := range c.Stacktrace[i] {
			f := frames.At(j)
			c.Stacktrace[i][j] = Frame{
				File: f.String(frameFile), Line: f.Int32(frameLine), Name: f.String(frameName), Context: f.String(frameContext),
			}
		}
	}
	return d.fb.Err()
}

func (d *decoder) decodeInstruction(t fb.Table, p *Plan, count int, in *Instruction) error {
	kind, m := t.Union(unionKind)
	in.Kind, in.Index = InstructionKind(kind), m.Int32(callIndex)
	switch in.Kind {
	case KernelCall, DelegateCall:
		in.Args = m.Int32s(callArgs)
	case MoveCall, JumpFalseCall:
		in.To = m.Int32(callTo)
	}
	if err := d.fb.Err(); err != nil {
		return err
	}
	if kind < uint8(KernelCall) || kind > uint8(FreeCall) {
		return fmt.Errorf("it is of unknown kind %d, known are %d to %d", kind, KernelCall, FreeCall)
	}
	if !m.Present() {
		return errors.New("it has no content")
	}
	switch in.Kind {
	case KernelCall:
		if in.Index < 0 || int(in.Index) >= len(p.Operators) {
			return fmt.Errorf("it calls operator %d of %d", in.Index, len(p.Operators))
		}
	case DelegateCall:
		if in.Index < 0 || int(in.Index) >= len(p.Delegates) {
			return fmt.Errorf("it calls delegate %d of %d", in.Index, len(p.Delegates))
		}
	case MoveCall, JumpFalseCall, FreeCall:
		if err := checkIndex(p, in.Index); err != nil {
			return fmt.Errorf("it names %w", err)
		}
	}
	switch in.Kind {
	case KernelCall, DelegateCall:
		if err := checkSet(m, field{callArgs, "args"}); err != nil {
			return err
		}
		return checkIndices(p, "argument", in.Args)
	case MoveCall:
		if err := checkIndex(p, in.To); err != nil {
			return fmt.Errorf("it moves to %w", err)
		}
	case JumpFalseCall:
		if in.To < 0 || int(in.To) > count {
			return fmt.Errorf("it jumps to instruction %d of %d", in.To, count)
		}
	}
	return nil
}

// checkInstructions checks kinds of values as far as they can be told without
// knowing operators.
func checkInstructions(p *Plan) error {
	// A value that an instruction may replace can become of another kind.
	replaced := make([]bool, len(p.Values))
	for c := range p.Chains {
		for _, in := range p.Chains[c].Instructions {
			switch in.Kind {
			case KernelCall:
				for _, v := range in.Args {
					replaced[v] = true
				}
			case MoveCall:
				replaced[in.To] = true
			}
		}
	}
	frees := newFreeChecker(p)
	for c := range p.Chains {
		for i, in := range p.Chains[c].Instructions {
			var err error
			switch in.Kind {
			case MoveCall:
				err = checkMove(p.Values[in.Index].Kind, p.Values[in.To].Kind)
			case JumpFalseCall:
				if v := &p.Values[in.Index]; !replaced[in.Index] && !isCondition(v) {
					err = fmt.Errorf("it jumps on value %d, %v, which is no bool", in.Index, v.Kind)
				}
			case FreeCall:
				err = frees.check(in.Index, c, i)
			}
			if err != nil {
				return fmt.Errorf("chain %d: instruction %d: %w", c, i, err)
			}
		}
	}
	return nil
}

// freeChecker tells whether a FreeCall is one that an exporter emits: of a tensor
// that nothing uses afterwards. A tensor of unbounded shape may be used again,
// as it gets new memory when it is written.
type freeChecker struct {
	plan    *Plan
	input   []bool
	lastUse []position // by value
}

// position is that of an instruction, counted from 1 in each part so that the
// zero position is before all of them.
type position struct{ chain, instruction int }

func (a position) before(b position) bool {
	return a.chain < b.chain || a.chain == b.chain && a.instruction < b.instruction
}

// newFreeChecker returns nil where p frees nothing.
func newFreeChecker(p *Plan) *freeChecker {
	f := &freeChecker{plan: p}
	for c := range p.Chains {
		for _, in := range p.Chains[c].Instructions {
			if in.Kind == FreeCall {
				f.input, f.lastUse = make([]bool, len(p.Values)), make([]position, len(p.Values))
			}
		}
	}
	if f.input == nil {
		return nil
	}
	for _, v := range p.Inputs {
		f.input[v] = true
	}
	for c := range p.Chains {
		for i, in := range p.Chains[c].Instructions {
			at := position{c + 1, i + 1}
			switch in.Kind {
			case KernelCall, DelegateCall:
				for _, v := range in.Args {
					f.lastUse[v] = at
				}
			case MoveCall:
				f.lastUse[in.Index], f.lastUse[in.To] = at, at
			case JumpFalseCall:
				f.lastUse[in.Index] = at
			}
		}
	}
	for _, v := range p.Outputs {
		f.lastUse[v] = position{math.MaxInt, 0}
	}
	for i := range p.Values {
		for _, item := range p.Values[i].Items {
			if item >= 0 && f.lastUse[item].before(f.lastUse[i]) {
				f.lastUse[item] = f.lastUse[i]
			}
		}
	}
	return f
}

func (f *freeChecker) check(value int32, chain, instruction int) error {
	switch v := &f.plan.Values[value]; {
	case v.Kind != KindTensor:
		return errs.InvalidType.Errorf("it frees value %d, %v, which is no tensor", value, v.Kind)
	case f.input[value]:
		return fmt.Errorf("it frees value %d, which is an input", value)
	case v.Tensor.Dynamism != DynamicUnbound && (position{chain + 1, instruction + 1}).before(f.lastUse[value]):
		return fmt.Errorf("it frees value %d, which is used afterwards", value)
	}
	return nil
}

func isCondition(v *Value) bool {
	return v.Kind == KindBool || v.Kind == KindTensor && v.Tensor.Type == schema.Bool
}

// checkMove returns an error for a move that no exporter emits: branches of a
// program may turn None into anything and numbers into other numbers, but a
// tensor stays a tensor and a list the list it is.
func checkMove(from, to ValueKind) error {
	if from == to || from == KindNull || to == KindNull || isScalar(from) && isScalar(to) {
		return nil
	}
	return fmt.Errorf("it moves %v to %v", from, to)
}

func isScalar(k ValueKind) bool { return k == KindInt || k == KindBool || k == KindDouble }
