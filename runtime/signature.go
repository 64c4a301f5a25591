package runtime

import (
	"fmt"
	"strings"
)

// ArgType is the type of an operator's argument.
type ArgType uint8

// The argument types, after PyTorch's schema language. SymInt is ArgInt;
// ScalarType, MemoryFormat, Layout and Device are what the exporter makes of
// them, an int or None.
const (
	ArgTensor ArgType = iota
	ArgInt
	ArgFloat
	ArgBool
	ArgScalar
	ArgString
	ArgIntList
	ArgFloatList
	ArgBoolList
	ArgTensorList
	ArgOptionalTensorList
	// ArgAny is the slot of a result that the operator itself fills with a value.
	ArgAny
)

var argTypeNames = [...]string{
	"Tensor", "int", "float", "bool", "Scalar", "str", "int[]", "float[]", "bool[]", "Tensor[]", "Tensor?[]", "any",
}

func (t ArgType) String() string { return argTypeNames[t] }

// accepts reports whether a value of kind k may be passed for t.
func (t ArgType) accepts(k Kind) bool {
	switch t {
	case ArgTensor:
		return k == KindTensor
	case ArgInt:
		return k == KindInt
	case ArgFloat:
		return k == KindDouble || k == KindInt
	case ArgBool:
		return k == KindBool
	case ArgScalar:
		return k == KindInt || k == KindBool || k == KindDouble
	case ArgString:
		return k == KindString
	case ArgIntList:
		return k == KindIntList
	case ArgFloatList:
		return k == KindDoubleList
	case ArgBoolList:
		return k == KindBoolList
	case ArgTensorList:
		return k == KindTensorList
	case ArgOptionalTensorList:
		return k == KindOptionalTensorList || k == KindTensorList
	}
	return true
}

// Param is one argument in an operator's schema.
type Param struct {
	Name string
	Type ArgType
	// Optional arguments may be None.
	Optional bool
	// Written arguments are changed by the operator: outputs, mutated inputs and
	// the slots of results.
	Written bool
}

// Signature is an operator's parsed schema.
type Signature struct {
	// Name is the full name with the overload, as in "aten::add.out".
	Name string
	// Params are the arguments in the order of a kernel call. Results that alias no
	// argument are slots at the end, of type ArgAny.
	Params []Param
	// repeats tells that callers may repeat the outputs behind Params: ExecuTorch's
	// exporter does for every result that aliases an argument.
	repeats bool
}

// ParseSignature parses an operator schema in PyTorch's notation with its
// namespace, for instance
//
//	aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
//	executorch_prim::add.Scalar(Scalar a, Scalar b) -> Scalar
//
// A "!" in an alias annotation marks an argument that the operator writes. Results
// that alias an argument are repeated by callers behind the arguments, others
// are slots that the operator fills.
func ParseSignature(schema string) (*Signature, error) {
	open := strings.IndexByte(schema, '(')
	arrow := strings.LastIndex(schema, "->")
	if open <= 0 || arrow < open {
		return nil, fmt.Errorf("schema %q: want name(arguments) -> results", schema)
	}
	name := strings.TrimSpace(schema[:open])
	if !strings.Contains(name, "::") {
		return nil, fmt.Errorf("schema %q: the name has no namespace", schema)
	}
	body := strings.TrimSpace(schema[open:arrow])
	if !strings.HasSuffix(body, ")") {
		return nil, fmt.Errorf("schema %q: arguments not closed", schema)
	}
	s := &Signature{Name: name}
	for _, arg := range splitTop(body[1 : len(body)-1]) {
		if arg == "*" {
			continue
		}
		p, err := parseParam(arg)
		if err != nil {
			return nil, fmt.Errorf("schema %q: %w", schema, err)
		}
		s.Params = append(s.Params, p)
	}
	results := strings.TrimSpace(schema[arrow+2:])
	if strings.HasPrefix(results, "(") && strings.HasSuffix(results, ")") {
		results = results[1 : len(results)-1]
	}
	for i, r := range splitTop(results) {
		if strings.Contains(r, "!") {
			s.repeats = true
			continue
		}
		s.Params = append(s.Params, Param{Name: fmt.Sprintf("result%d", i), Type: ArgAny, Written: true})
	}
	for _, p := range s.Params {
		// unbind, split and their like return () and yet have their list repeated.
		if p.Written && p.Type == ArgTensorList {
			s.repeats = true
		}
	}
	return s, nil
}

// splitTop splits at commas outside brackets and drops empty parts.
func splitTop(s string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == ',' && depth == 0 {
			if p := strings.TrimSpace(s[start:i]); p != "" {
				parts = append(parts, p)
			}
			start = i + 1
			continue
		}
		switch s[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		}
	}
	return parts
}

func parseParam(arg string) (Param, error) {
	if eq := strings.IndexByte(arg, '='); eq >= 0 {
		arg = arg[:eq]
	}
	sp := strings.LastIndexByte(arg, ' ')
	if sp < 0 {
		return Param{}, fmt.Errorf("argument %q: want a type and a name", arg)
	}
	typ, name := strings.TrimSpace(arg[:sp]), arg[sp+1:]
	p := Param{Name: name}
	if i := strings.IndexByte(typ, '('); i >= 0 {
		j := strings.IndexByte(typ, ')')
		if j < i {
			return Param{}, fmt.Errorf("argument %q: alias annotation not closed", arg)
		}
		p.Written = strings.Contains(typ[i:j], "!")
		typ = typ[:i] + typ[j+1:]
	}
	if strings.HasSuffix(typ, "?") {
		p.Optional = true
		typ = typ[:len(typ)-1]
	}
	elem, isList := typ, false
	if i := strings.IndexByte(typ, '['); i >= 0 {
		elem, isList = typ[:i], true
	}
	switch elem {
	case "Tensor", "Tensor?":
		p.Type = ArgTensor
		if isList {
			p.Type = ArgTensorList
			if elem == "Tensor?" {
				p.Type = ArgOptionalTensorList
			}
		}
	case "int", "SymInt", "ScalarType", "MemoryFormat", "Layout", "Device", "DeviceIndex":
		p.Type = ArgInt
		if isList {
			p.Type = ArgIntList
		}
	case "float":
		p.Type = ArgFloat
		if isList {
			p.Type = ArgFloatList
		}
	case "bool":
		p.Type = ArgBool
		if isList {
			p.Type = ArgBoolList
		}
	case "Scalar":
		if isList {
			return Param{}, fmt.Errorf("argument %q: lists of Scalar are not in the file format", arg)
		}
		p.Type = ArgScalar
	case "str":
		p.Type = ArgString
	case "Generator":
		p.Type, p.Optional = ArgInt, true
	default:
		return Param{}, fmt.Errorf("argument %q: unknown type %q", arg, typ)
	}
	return p, nil
}

// checkCount returns an error unless a call may have n arguments.
func (s *Signature) checkCount(n int) error {
	want := len(s.Params)
	if n == want || s.repeats && n == want+1 {
		return nil
	}
	if s.repeats {
		return fmt.Errorf("takes %d arguments and the outputs once more, the call has %d", want, n)
	}
	return fmt.Errorf("takes %d arguments, the call has %d", want, n)
}

// check returns an error unless v may be passed for p.
func (p *Param) check(v *EValue) error {
	if p.Type == ArgAny || p.Type.accepts(v.kind) || p.Optional && v.kind == KindNone {
		return nil
	}
	opt := ""
	if p.Optional {
		opt = " or None"
	}
	return fmt.Errorf("argument %s takes %s%s, the call gives %s", p.Name, p.Type, opt, v.kind)
}

// Check returns an error unless a call with the given arguments fits the
// schema in number and kinds.
func (s *Signature) Check(args Args) error {
	if err := s.checkCount(len(args)); err != nil {
		return err
	}
	for i := range s.Params {
		if err := s.Params[i].check(args[i]); err != nil {
			return err
		}
	}
	return nil
}
