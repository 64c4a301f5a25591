package program

// The fields of the tables in ExecuTorch's schema/program.fbs by number. New
// fields are only ever added behind the last, and none is removed.
const (
	programVersion = iota
	programExecutionPlan
	programConstantBuffer
	programBackendDelegateData
	programSegments
	programConstantSegment
	programMutableDataSegments
	programNamedData
	programFields
)

const (
	planName = iota
	planContainerMetaType
	planValues
	planInputs
	planOutputs
	planChains
	planOperators
	planDelegates
	planNonConstBufferSizes
	planNonConstBufferDevice
	planFields
)

const (
	containerInput = iota
	containerOutput
	containerFields
)

// EValue and Instruction are tables around a union: its member's number, then
// the member.
const (
	unionKind = iota
	unionMember
	unionFields
)

// itemValue is the only field of Int, Bool, Double and String, of the lists, and
// of Buffer, BackendDelegateInlineData and FrameList.
const (
	itemValue = iota
	itemFields
)

const (
	tensorScalarType = iota
	tensorStorageOffset
	tensorSizes
	tensorDimOrder
	tensorRequiresGrad
	tensorDataBufferIdx
	tensorAllocationInfo
	tensorLayout // unused
	tensorShapeDynamism
	tensorExtraTensorInfo
	tensorFields
)

const (
	allocationMemoryID = iota
	allocationOffsetLow
	allocationOffsetHigh
	allocationFields
)

const (
	extraMutableDataSegment = iota
	extraName
	extraLocation
	extraDeviceType
	extraDeviceIndex
	extraFields
)

const (
	operatorName = iota
	operatorOverload
	operatorFields
)

const (
	delegateID = iota
	delegateProcessed
	delegateCompileSpecs
	delegateFields
)

const (
	referenceLocation = iota
	referenceIndex
	referenceFields
)

const (
	specKey = iota
	specValue
	specFields
)

const (
	chainInputs = iota
	chainOutputs
	chainInstructions
	chainStacktrace
	chainFields
)

// All members of InstructionArguments have one or two fields: KernelCall and
// DelegateCall an index and arguments, MoveCall and JumpFalseCall two indices,
// FreeCall one.
const (
	callIndex = iota
	callArgs
	callFields
)

const callTo = callArgs

const (
	frameFile = iota
	frameLine
	frameName
	frameContext
	frameFields
)

const (
	bufferDeviceIndex = iota
	bufferDeviceType
	bufferDeviceNumber
	bufferDeviceFields
)

const (
	segmentOffset = iota
	segmentSize
	segmentFields
)

const (
	subsegmentsIndex = iota
	subsegmentsOffsets
	subsegmentsFields
)

const (
	namedKey = iota
	namedSegment
	namedFields
)
