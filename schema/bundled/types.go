package bundled

import "github.com/etgo-ml/etgo/schema"

// File is the decoded and verified content of a .bpte file: a program and
// test cases for its methods. Byte slices alias the file.
type File struct {
	Version uint32
	Suites  []Suite
	// Program is the .pte inside the bundle, not decoded.
	Program []byte
}

// Suite is the test cases of one method.
type Suite struct {
	Method string
	Cases  []Case
}

// Case is one call: its inputs and the outputs expected of it. A bundle made
// without expected outputs has none.
type Case struct {
	Inputs  []Value
	Outputs []Value
}

// ValueKind tells what a Value holds.
type ValueKind uint8

// The members of the schema's ValueUnion, with its numbers. KindNone is an
// absent value.
const (
	KindNone ValueKind = iota
	KindTensor
	KindInt
	KindBool
	KindDouble
)

// Value is an input or an expected output.
type Value struct {
	Kind   ValueKind
	Int    int64
	Bool   bool
	Double float64
	Tensor Tensor
}

// Tensor is a tensor with its data, laid out as DimOrder says.
type Tensor struct {
	Type     schema.ScalarType
	Sizes    []int32
	DimOrder []uint8 // 0..n-1 where the file has none
	Data     []byte  // exactly the bytes that Type and Sizes ask for
}
