package flattensor

import "github.com/etgo-ml/etgo/schema"

// File is the decoded and verified content of a .ptd file: named data, most of
// it tensors. Byte slices alias the file.
type File struct {
	Version uint32
	Header  Header
	Data    []NamedData
}

// Header is the extended header "FH01" behind the file identifier.
type Header struct {
	Length            uint32
	FlatbufferOffset  uint64
	FlatbufferSize    uint64
	SegmentBaseOffset uint64
	SegmentDataSize   uint64
}

// NamedData is one named piece of data.
type NamedData struct {
	Key   string
	Bytes []byte
	// Layout describes the tensor in Bytes, or is nil where they are not one.
	Layout *TensorLayout
}

// TensorLayout is a tensor's type and shape.
type TensorLayout struct {
	Type     schema.ScalarType
	Sizes    []int32
	DimOrder []uint8
}
