package program

import (
	"fmt"

	"github.com/etgo-ml/etgo/schema"
)

// Program is the decoded and verified content of a .pte file. Everything in it
// has been checked: a segment lies inside the file, an index inside its table,
// a union member is one this version knows. Byte slices alias the file.
type Program struct {
	Version uint32
	// Header is the extended header, or nil where the file has none.
	Header *Header
	Plans  []Plan
	// ConstantBuffers are the constants that older files store inline; buffer 0
	// is reserved for "no data". Empty where ConstantSegment is used.
	ConstantBuffers [][]byte
	// DelegateData holds the payloads of delegates stored inline.
	DelegateData [][]byte
	// Segments holds the bytes of each data segment behind the flatbuffer.
	Segments [][]byte
	// ConstantSegment locates the constants of newer files.
	ConstantSegment Subsegments
	// MutableSegments locates the initial values of mutable tensors.
	MutableSegments []Subsegments
	NamedData       []NamedData
}

// Header is the extended header "eh00" behind the file identifier.
type Header struct {
	// Length is the header's own size in bytes: 24, 32 or more.
	Length            uint32
	ProgramSize       uint64
	SegmentBaseOffset uint64
	// SegmentDataSize is zero in files whose header does not have the field.
	SegmentDataSize uint64
}

// Subsegments lists where pieces of data start inside one segment.
type Subsegments struct {
	Segment uint32
	Offsets []uint64
}

// NamedData gives a segment a name, by which delegates and tensors find it.
type NamedData struct {
	Key     string
	Segment uint32
}

// Plan is one method: its values, its operators and delegates, its instructions.
type Plan struct {
	Name      string
	InputTree string // pytree encoding of the inputs, empty if absent
	OutTree   string // pytree encoding of the outputs, empty if absent
	Values    []Value
	Inputs    []int32 // indices into Values
	Outputs   []int32 // indices into Values
	Chains    []Chain
	Operators []Operator
	Delegates []Delegate
	// BufferSizes are the sizes in bytes of the planned memory arenas by memory
	// id; entry 0 is reserved and may hold anything.
	BufferSizes []int64
	// BufferDevices names the arenas that are not on the CPU.
	BufferDevices []BufferDevice
}

// Operator names a kernel: Name "aten::add", Overload "out".
type Operator struct {
	Name     string
	Overload string
}

// FullName returns the name a registry knows the operator by, as in
// "aten::add.out"; without an overload just the name.
func (o Operator) FullName() string {
	if o.Overload == "" {
		return o.Name
	}
	return o.Name + "." + o.Overload
}

// Delegate is one call site's backend with its payload.
type Delegate struct {
	ID string
	// Processed is the payload: DelegateData[Index] or Segments[Index], as
	// Location says.
	Processed []byte
	Location  DataLocation
	Index     uint32
	Specs     []CompileSpec
}

// DataLocation tells where a delegate's payload is stored.
type DataLocation int8

// The data locations of the schema.
const (
	DataInline  DataLocation = 0
	DataSegment DataLocation = 1
)

// CompileSpec is a key and value handed to a backend as it stands.
type CompileSpec struct {
	Key   string
	Value []byte
}

// BufferDevice maps a planned arena to a device.
type BufferDevice struct {
	Buffer int32
	Device Device
}

// Device is a kind of device and its index.
type Device struct {
	Type  DeviceType
	Index int8
}

// DeviceType is where a tensor or arena lives.
type DeviceType int8

// The device types of the schema.
const (
	DeviceCPU  DeviceType = 0
	DeviceCUDA DeviceType = 1
)

// ValueKind tells which member of the KernelTypes union a Value holds.
type ValueKind uint8

// The members of KernelTypes, with the schema's numbers. KindNone is the
// union's empty member, which no valid value has; KindNull is the value None.
const (
	KindNone ValueKind = iota
	KindNull
	KindInt
	KindBool
	KindDouble
	KindTensor
	KindString
	KindIntList
	KindDoubleList
	KindBoolList
	KindTensorList
	KindOptionalTensorList
)

var kindNames = [...]string{
	"nothing", "None", "int", "bool", "double", "tensor", "string", "int list", "double list", "bool list",
	"tensor list", "optional tensor list",
}

func (k ValueKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("ValueKind(%d)", uint8(k))
}

// isList reports whether a value of kind k refers to other values.
func (k ValueKind) isList() bool {
	return k == KindIntList || k == KindTensorList || k == KindOptionalTensorList
}

// Value is one entry of a plan's value table; the field that Kind names is set.
type Value struct {
	Kind    ValueKind
	Bool    bool
	Int     int64
	Double  float64
	String  string
	Tensor  *Tensor
	Items   []int32 // IntList, TensorList, OptionalTensorList: indices into Values, -1 for None in the last
	Doubles []float64
	Bools   []bool
}

// Dynamism tells how a tensor's shape may change. Decode takes a number that the
// schema does not define for DynamicBound.
type Dynamism int8

// The kinds of dynamism of the schema.
const (
	Static         Dynamism = 0
	DynamicBound   Dynamism = 1
	DynamicUnbound Dynamism = 2
)

// Location tells where a tensor's data is stored.
type Location int8

// The locations of the schema.
const (
	LocationSegment  Location = 0
	LocationExternal Location = 1
)

// Tensor describes one tensor value.
type Tensor struct {
	Type     schema.ScalarType
	Sizes    []int32
	DimOrder []uint8
	Dynamism Dynamism
	// DataBuffer is the index of the constant or initial data, 0 for none.
	DataBuffer uint32
	// Allocation is the place in planned memory, or nil.
	Allocation *Allocation
	// Data is the constant's bytes (DataBuffer > 0 and no Allocation), or a
	// mutable tensor's initial value (DataBuffer > 0 and an Allocation), else nil.
	Data []byte
	// NBytes is the size of the tensor at the sizes of the file. It is math.MaxInt64
	// where that is more, which only a tensor without data and planned memory can be.
	NBytes int64

	Name     string // fully qualified name, empty if absent
	Location Location
	// MutableSegment is the entry of Program.MutableSegments that locates a mutable
	// tensor's initial value. Where there is no such entry, entry 0 does: ExecuTorch
	// ignores the field.
	MutableSegment uint64
	Device         Device
	RequiresGrad   bool
}

// Allocation is a place in planned memory.
type Allocation struct {
	MemoryID uint32
	Offset   uint64
}

// Chain is a sequence of instructions. All programs of today have one.
type Chain struct {
	Inputs       []int32
	Outputs      []int32
	Instructions []Instruction
	// Stacktrace holds the frames of instructions where the exporter kept them. It
	// may have fewer entries than there are instructions, or more.
	Stacktrace [][]Frame
}

// Frame is one line of an instruction's stack trace in the exported model.
type Frame struct {
	File    string
	Line    int32
	Name    string
	Context string
}

// InstructionKind tells which member of the InstructionArguments union is set.
type InstructionKind uint8

// The members of InstructionArguments, with the schema's numbers.
const (
	KernelCall    InstructionKind = 1
	DelegateCall  InstructionKind = 2
	MoveCall      InstructionKind = 3
	JumpFalseCall InstructionKind = 4
	FreeCall      InstructionKind = 5
)

// Instruction is one step of a chain.
type Instruction struct {
	Kind InstructionKind
	// Index is the operator of a KernelCall, the delegate of a DelegateCall, the
	// source of a MoveCall, the condition of a JumpFalseCall, the value of a FreeCall.
	Index int32
	// To is the destination value of a MoveCall, the target of a JumpFalseCall.
	To int32
	// Args are the values of a KernelCall or DelegateCall.
	Args []int32
}
