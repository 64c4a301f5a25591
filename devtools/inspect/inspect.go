// Package inspect describes ExecuTorch's files, programs, bundled programs and
// data files, without loading anything of them. What it returns can be printed
// as JSON.
package inspect

import (
	"github.com/etgo-ml/etgo/devtools/bundle"
	"github.com/etgo-ml/etgo/devtools/valuefmt"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/schema"
	"github.com/etgo-ml/etgo/schema/flattensor"
	"github.com/etgo-ml/etgo/schema/program"
	"github.com/etgo-ml/etgo/tensor"
)

// Kind tells what a file is.
type Kind string

// The kinds of files.
const (
	Program Kind = "program" // .pte
	Bundle  Kind = "bundle"  // .bpte
	Data    Kind = "data"    // .ptd
)

// File describes a file.
type File struct {
	Kind   Kind  `json:"kind"`
	NBytes int64 `json:"nbytes"`
	// SchemaVersion is that of the program, or of the data file.
	SchemaVersion uint32 `json:"schema_version"`

	// Of a program, also one in a bundle.

	Methods []Method `json:"methods"`
	// ConstantBytes, DelegateBytes and NamedBytes are the sizes of the constants, the
	// payloads of delegates and the named data in the file.
	ConstantBytes int64 `json:"constant_bytes"`
	DelegateBytes int64 `json:"delegate_bytes"`
	NamedBytes    int64 `json:"named_bytes"`

	// TestSets are those of a bundle.
	TestSets []TestSets `json:"testsets,omitempty"`
	// Data is the named data of the program or data file.
	Data []NamedData `json:"data,omitempty"`
}

// Method describes a method.
type Method struct {
	Name       string  `json:"name"`
	Inputs     []Value `json:"inputs"`
	Outputs    []Value `json:"outputs"`
	Attributes []Value `json:"attributes"`
	// Operators and Backends are what the method calls.
	Operators []Calls `json:"operators"`
	Backends  []Calls `json:"backends"`
	// Instructions counts calls and all else.
	Instructions int `json:"instructions"`
	// PlannedSizes are the bytes of the planned arenas by memory id; entry 0 is reserved.
	PlannedSizes []int64 `json:"planned_sizes"`
	// External are the names of tensors whose data is in a data file.
	External []string `json:"external,omitempty"`
}

// Value describes an input, an output or a mutable buffer.
type Value struct {
	Name string `json:"name,omitempty"`
	Kind string `json:"kind"`
	// Value is the constant that a number or string must equal.
	Value any `json:"value,omitempty"`
	*Tensor
	text string
}

// String formats v as in "float32[1,3]".
func (v Value) String() string { return v.text }

// Tensor describes a tensor at its largest shape.
type Tensor struct {
	DType         string `json:"dtype"`
	Sizes         []int  `json:"sizes"`
	DimOrder      []int  `json:"dim_order"`
	Dynamism      string `json:"dynamism"` // "static", "dynamic" or "unbound"
	MemoryPlanned bool   `json:"memory_planned"`
	NBytes        int64  `json:"nbytes"`
}

// Calls counts the calls of an operator or backend.
type Calls struct {
	Name  string `json:"name"`
	Calls int    `json:"calls"`
}

// TestSets counts the test sets of a method.
type TestSets struct {
	Method string `json:"method"`
	Count  int    `json:"count"`
}

// NamedData is an entry of the named data; what is no tensor has no type.
type NamedData struct {
	Key      string `json:"key"`
	DType    string `json:"dtype,omitempty"`
	Sizes    []int  `json:"sizes,omitzero"`
	DimOrder []int  `json:"dim_order,omitzero"`
	NBytes   int64  `json:"nbytes"`
}

// Describe describes a file of any of the kinds. The error is that of the
// decoder; a file that is none of them gives the one for programs, which says
// what it is instead.
func Describe(file []byte) (*File, error) {
	switch schema.Sniff(file, int64(len(file))).Kind {
	case schema.FormatBundle:
		return describeBundle(file)
	case schema.FormatData:
		return describeData(file)
	}
	return describeProgram(file)
}

func describeBundle(file []byte) (*File, error) {
	b, err := bundle.Decode(file)
	if err != nil {
		return nil, err
	}
	f, err := describeProgram(b.Program())
	if err != nil {
		return nil, err
	}
	f.Kind, f.NBytes = Bundle, int64(len(file))
	for _, s := range b.Suites() {
		f.TestSets = append(f.TestSets, TestSets{s.Method, s.TestSets})
	}
	return f, nil
}

func describeData(file []byte) (*File, error) {
	d, err := flattensor.Decode(file)
	if err != nil {
		return nil, err
	}
	f := &File{Kind: Data, NBytes: int64(len(file)), SchemaVersion: d.Version, Methods: []Method{}}
	for _, n := range d.Data {
		e := NamedData{Key: n.Key, NBytes: int64(len(n.Bytes))}
		if l := n.Layout; l != nil {
			e.DType, e.Sizes, e.DimOrder = l.Type.String(), tensor.IntShape(l.Sizes), ints(l.DimOrder)
		}
		f.NamedBytes += e.NBytes
		f.Data = append(f.Data, e)
	}
	return f, nil
}

func describeProgram(file []byte) (*File, error) {
	p, err := program.Decode(file)
	if err != nil {
		return nil, err
	}
	rp, err := runtime.NewProgram(file, nil)
	if err != nil {
		return nil, err
	}
	defer rp.Close()
	f := &File{Kind: Program, NBytes: int64(len(file)), SchemaVersion: p.Version, Methods: []Method{}}
	for _, b := range p.ConstantBuffers {
		f.ConstantBytes += int64(len(b))
	}
	if len(p.ConstantSegment.Offsets) > 0 {
		f.ConstantBytes += int64(len(p.Segments[p.ConstantSegment.Segment]))
	}
	for _, n := range p.NamedData {
		e := NamedData{Key: n.Key, NBytes: int64(len(p.Segments[n.Segment]))}
		f.NamedBytes += e.NBytes
		f.Data = append(f.Data, e)
	}
	payloads := map[*byte]bool{} // methods may share them
	for i := range p.Plans {
		for _, d := range p.Plans[i].Delegates {
			if len(d.Processed) > 0 && !payloads[&d.Processed[0]] {
				payloads[&d.Processed[0]] = true
				f.DelegateBytes += int64(len(d.Processed))
			}
		}
		meta, err := rp.MethodMeta(p.Plans[i].Name)
		if err != nil {
			return nil, err
		}
		m := newMethod(meta)
		for k := range p.Plans[i].Values {
			if v := &p.Plans[i].Values[k]; v.Kind == program.KindTensor && v.Tensor.Location == program.LocationExternal {
				m.External = append(m.External, v.Tensor.Name)
			}
		}
		f.Methods = append(f.Methods, m)
	}
	return f, nil
}

func newMethod(meta *runtime.MethodMeta) Method {
	m := Method{
		Name: meta.Name, Inputs: newValues(meta.Inputs), Outputs: newValues(meta.Outputs), Attributes: newValues(meta.Attributes),
		Operators: make([]Calls, len(meta.Operators)), Backends: make([]Calls, len(meta.Backends)),
		Instructions: meta.Instructions, PlannedSizes: append([]int64{}, meta.PlannedSizes...),
	}
	for i, c := range meta.Operators {
		m.Operators[i] = Calls(c)
	}
	for i, c := range meta.Backends {
		m.Backends[i] = Calls(c)
	}
	return m
}

func newValues(list []runtime.ValueInfo) []Value {
	values := make([]Value, len(list))
	for i := range list {
		in := &list[i]
		v := Value{Name: in.Name, Kind: valuefmt.Kind(in.Kind), text: in.String()}
		switch in.Kind {
		case runtime.KindInt:
			v.Value = in.Value.Int()
		case runtime.KindBool:
			v.Value = in.Value.Bool()
		case runtime.KindDouble:
			v.Value = valuefmt.Float(in.Value.Double())
		case runtime.KindString:
			v.Value = in.Value.Str()
		case runtime.KindTensor:
			v.Tensor = &Tensor{
				DType: in.DType.String(), Sizes: append([]int{}, in.Sizes...), DimOrder: ints(in.DimOrder),
				Dynamism: in.Dynamism.String(), MemoryPlanned: in.MemoryPlanned, NBytes: in.NBytes,
			}
		}
		values[i] = v
	}
	return values
}

func ints(order []uint8) []int {
	list := make([]int, len(order))
	for i, d := range order {
		list[i] = int(d)
	}
	return list
}
