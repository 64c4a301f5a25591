package runtime

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgo-ml/etgo/schema/program"
	"github.com/etgo-ml/etgo/tensor"
)

// MethodMeta describes a method without loading it.
type MethodMeta struct {
	Name    string
	Inputs  []ValueInfo
	Outputs []ValueInfo
	// Attributes are the named mutable buffers.
	Attributes []ValueInfo
	// Operators are the full names of the operators that the method calls, sorted,
	// with the number of calls.
	Operators []CallCount
	// Backends are the ids of the backends that the method calls, sorted, with the
	// number of calls.
	Backends []CallCount
	// Instructions is the number of instructions of all kinds.
	Instructions int
	// PlannedSizes are the bytes of the planned arenas by memory id; entry 0 is reserved.
	PlannedSizes []int64
}

// CallCount is how often a method's instructions call an operator or backend.
type CallCount struct {
	Name  string
	Calls int
}

// ValueInfo describes an input, an output or an attribute.
type ValueInfo struct {
	// Name is the fully qualified name where the program has one.
	Name string
	Kind Kind
	// Value is the constant that a scalar input must equal, or a scalar output's
	// value before the method has run.
	Value EValue

	// The rest describes a tensor. Sizes are the upper bound of a dynamic shape.
	DType         tensor.DType
	Sizes         []int
	DimOrder      tensor.DimOrder
	Dynamism      tensor.Dynamism
	MemoryPlanned bool
	NBytes        int64
}

// String formats v as in "float32[1,3,224,224]".
func (v ValueInfo) String() string {
	if v.Kind != KindTensor {
		if v.Value.IsScalar() || v.Kind == KindString {
			return fmt.Sprintf("%v %v", v.Kind, v.Value)
		}
		return v.Kind.String()
	}
	s := tensor.Describe(v.DType, v.Sizes)
	if !v.DimOrder.IsContiguous() {
		s += " dim order " + v.DimOrder.String()
	}
	if v.Dynamism != tensor.Static {
		s += " " + v.Dynamism.String()
	}
	return s
}

// MethodMeta describes a method; ErrMethodNotFound if the program has none of
// that name.
func (p *Program) MethodMeta(name string) (*MethodMeta, error) {
	plan, err := p.plan(name)
	if err != nil {
		return nil, err
	}
	m := &MethodMeta{Name: name, PlannedSizes: slices.Clone(plan.BufferSizes)}
	for _, i := range plan.Inputs {
		m.Inputs = append(m.Inputs, valueInfo(&plan.Values[i]))
	}
	for _, i := range plan.Outputs {
		m.Outputs = append(m.Outputs, valueInfo(&plan.Values[i]))
	}
	for i := range plan.Values {
		if v := &plan.Values[i]; isAttribute(v) {
			m.Attributes = append(m.Attributes, valueInfo(v))
		}
	}
	ops, backends := map[string]int{}, map[string]int{}
	for c := range plan.Chains {
		for i := range plan.Chains[c].Instructions {
			m.Instructions++
			switch in := &plan.Chains[c].Instructions[i]; in.Kind {
			case program.KernelCall:
				ops[plan.Operators[in.Index].FullName()]++
			case program.DelegateCall:
				backends[plan.Delegates[in.Index].ID]++
			}
		}
	}
	m.Operators, m.Backends = counts(ops), counts(backends)
	return m, nil
}

func counts(m map[string]int) []CallCount {
	var list []CallCount
	for name, n := range m {
		list = append(list, CallCount{name, n})
	}
	slices.SortFunc(list, func(a, b CallCount) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// isAttribute reports whether v is a named mutable buffer.
func isAttribute(v *program.Value) bool {
	return v.Kind == program.KindTensor && v.Tensor.Name != "" && v.Tensor.Allocation != nil
}

func valueInfo(v *program.Value) ValueInfo {
	switch v.Kind {
	case program.KindInt:
		return ValueInfo{Kind: KindInt, Value: Int(v.Int)}
	case program.KindBool:
		return ValueInfo{Kind: KindBool, Value: Bool(v.Bool)}
	case program.KindDouble:
		return ValueInfo{Kind: KindDouble, Value: Double(v.Double)}
	case program.KindString:
		return ValueInfo{Kind: KindString, Value: String(v.String)}
	case program.KindIntList:
		return ValueInfo{Kind: KindIntList}
	case program.KindDoubleList:
		return ValueInfo{Kind: KindDoubleList}
	case program.KindBoolList:
		return ValueInfo{Kind: KindBoolList}
	case program.KindTensorList:
		return ValueInfo{Kind: KindTensorList}
	case program.KindOptionalTensorList:
		return ValueInfo{Kind: KindOptionalTensorList}
	case program.KindTensor:
		t := v.Tensor
		return ValueInfo{
			Kind: KindTensor, Name: t.Name, DType: tensor.DType(t.Type), Sizes: tensor.IntShape(t.Sizes),
			DimOrder: slices.Clone(tensor.DimOrder(t.DimOrder)), Dynamism: tensor.Dynamism(t.Dynamism),
			// A constant counts as planned, as in ExecuTorch: its memory is there.
			MemoryPlanned: t.Allocation != nil || t.DataBuffer != 0,
			NBytes:        t.NBytes,
		}
	}
	return ValueInfo{Kind: KindNone}
}
