package bundled

import (
	"fmt"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/schema/internal/fb"
)

const (
	dataAlignment    = 16
	programAlignment = 32
)

// Encode writes f as a .bpte file. It does not check that f is one that Decode
// accepts.
func Encode(f *File) ([]byte, error) {
	buf, err := fb.Build(Identifier, func(b fb.Builder) (fb.Offset, error) {
		e := encoder{b}
		program := e.AlignedBytes(f.Program, programAlignment)
		suites := make([]fb.Offset, len(f.Suites))
		for i := range suites {
			var err error
			if suites[i], err = e.suite(&f.Suites[i]); err != nil {
				return 0, fmt.Errorf("test suite %q: %w", f.Suites[i].Method, err)
			}
		}
		list := e.Offsets(suites)
		return e.Table(bundleFields, func() {
			e.PrependUint32Slot(bundleVersion, f.Version, 0)
			e.Ref(bundleSuites, list)
			e.Ref(bundleProgram, program)
		}), nil
	})
	if err != nil {
		return nil, errs.InvalidArgument.Wrap(err)
	}
	return buf, nil
}

type encoder struct{ fb.Builder }

func (e *encoder) suite(s *Suite) (fb.Offset, error) {
	method := e.CreateString(s.Method)
	cases := make([]fb.Offset, len(s.Cases))
	for i := range cases {
		inputs, err := e.values(s.Cases[i].Inputs)
		if err != nil {
			return 0, fmt.Errorf("case %d: input %w", i, err)
		}
		outputs, err := e.values(s.Cases[i].Outputs)
		if err != nil {
			return 0, fmt.Errorf("case %d: output %w", i, err)
		}
		cases[i] = e.Table(caseFields, func() {
			e.Ref(caseInputs, inputs)
			e.Ref(caseOutputs, outputs)
		})
	}
	list := e.Offsets(cases)
	return e.Table(suiteFields, func() {
		e.Ref(suiteMethod, method)
		e.Ref(suiteCases, list)
	}), nil
}

func (e *encoder) values(values []Value) (fb.Offset, error) {
	list := make([]fb.Offset, len(values))
	for i := range list {
		v := &values[i]
		var member fb.Offset
		switch v.Kind {
		case KindNone:
		case KindTensor:
			member = e.tensor(&v.Tensor)
		case KindInt:
			member = e.Table(scalarFields, func() { e.PrependInt64Slot(scalarValue, v.Int, 0) })
		case KindBool:
			member = e.Table(scalarFields, func() { e.PrependBoolSlot(scalarValue, v.Bool, false) })
		case KindDouble:
			// A slot would drop -0, which equals the default.
			member = e.Table(scalarFields, func() {
				e.PrependFloat64(v.Double)
				e.Slot(scalarValue)
			})
		default:
			return 0, fmt.Errorf("%d is of unknown kind %d", i, v.Kind)
		}
		list[i] = e.Table(unionFields, func() {
			e.PrependUint8Slot(unionKind, uint8(v.Kind), 0)
			e.Ref(unionMember, member)
		})
	}
	return e.Offsets(list), nil
}

func (e *encoder) tensor(t *Tensor) fb.Offset {
	sizes, order, data := e.Int32s(t.Sizes), e.AlignedBytes(t.DimOrder, 1), e.AlignedBytes(t.Data, dataAlignment)
	return e.Table(tensorFields, func() {
		e.Ref(tensorSizes, sizes)
		e.Ref(tensorData, data)
		e.Ref(tensorDimOrder, order)
		e.PrependInt8Slot(tensorScalarType, int8(t.Type), 0)
	})
}
