package bundled

import (
	"errors"
	"fmt"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/schema"
	"github.com/etgo-ml/etgo/schema/internal/fb"
)

const (
	// Identifier is the file identifier of the bundles that Decode reads.
	Identifier = schema.BundleID
	// Version is the latest schema version that Decode reads. Earlier ones differ in
	// nothing that a reader sees.
	Version = 2
)

// The fields of the tables in ExecuTorch's bundled_program_schema.fbs by number.
const (
	bundleVersion = iota
	bundleSuites
	bundleProgram
	bundleFields
)

const (
	suiteMethod = iota
	suiteCases
	suiteFields
)

const (
	caseInputs = iota
	caseOutputs
	caseFields
)

// Value is a table around a union: its member's number, then the member.
const (
	unionKind = iota
	unionMember
	unionFields
)

const (
	tensorScalarType = iota
	tensorSizes
	tensorData
	tensorDimOrder
	tensorFields
)

// scalarValue is the only field of Int, Bool and Double.
const (
	scalarValue = iota
	scalarFields
)

// Decode reads the bytes of a .bpte file and checks them. The program in it is
// not decoded. The result aliases file. Errors are errs.InvalidProgram; that of
// a file that is not a bundle is errs.NotSupported too and has its number, as in
// ExecuTorch.
func Decode(file []byte) (*File, error) {
	if err := schema.Expect(Identifier, file, int64(len(file))); err != nil {
		return nil, errs.NotSupported.Wrap(errs.InvalidProgram.Wrap(err))
	}
	f, err := decode(file)
	if err != nil {
		return nil, errs.InvalidProgram.Wrap(fmt.Errorf("bundled program: %w", err))
	}
	return f, nil
}

func decode(file []byte) (*File, error) {
	r := fb.NewReader(file)
	t := r.Root()
	f := &File{Version: t.Uint32(bundleVersion), Program: t.Bytes(bundleProgram)}
	suites := t.Tables(bundleSuites)
	if err := r.Err(); err != nil {
		return nil, err
	}
	if f.Version > Version {
		return nil, fmt.Errorf("schema version %d, only 0 to %d are known", f.Version, Version)
	}
	if len(f.Program) == 0 {
		return nil, errors.New("it has no program")
	}
	f.Suites = fb.Make[Suite](r, suites.Len())
	for i := range f.Suites {
		s := &f.Suites[i]
		st := suites.At(i)
		s.Method = st.Name(suiteMethod)
		cases := st.Tables(suiteCases)
		s.Cases = fb.Make[Case](r, cases.Len())
		if err := r.Err(); err != nil {
			return nil, fmt.Errorf("test suite %d: %w", i, err)
		}
		if !st.Has(suiteMethod) {
			return nil, fmt.Errorf("test suite %d names no method", i)
		}
		for j := range s.Cases {
			ct := cases.At(j)
			var err error
			if s.Cases[j].Inputs, err = decodeValues(r, ct.Tables(caseInputs)); err != nil {
				return nil, fmt.Errorf("test suite %d, %.64q: case %d: input %w", i, s.Method, j, err)
			}
			if s.Cases[j].Outputs, err = decodeValues(r, ct.Tables(caseOutputs)); err != nil {
				return nil, fmt.Errorf("test suite %d, %.64q: case %d: output %w", i, s.Method, j, err)
			}
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

func decodeValues(r *fb.Reader, v fb.Tables) ([]Value, error) {
	list := fb.Make[Value](r, v.Len())
	for i := range list {
		if err := decodeValue(r, v.At(i), &list[i]); err != nil {
			return nil, fmt.Errorf("%d: %w", i, err)
		}
	}
	return list, r.Err()
}

func decodeValue(r *fb.Reader, t fb.Table, v *Value) error {
	kind, m := t.Union(unionKind)
	if err := r.Err(); err != nil {
		return err
	}
	v.Kind = ValueKind(kind)
	if v.Kind > KindDouble {
		return fmt.Errorf("value is of unknown kind %d, known are 0 to %d", kind, KindDouble)
	}
	if v.Kind != KindNone && !m.Present() {
		return fmt.Errorf("value of kind %d has no content", kind)
	}
	switch v.Kind {
	case KindTensor:
		return decodeTensor(r, m, &v.Tensor)
	case KindInt:
		v.Int = m.Int64(scalarValue)
	case KindBool:
		v.Bool = m.Bool(scalarValue)
	case KindDouble:
		v.Double = m.Float64(scalarValue)
	}
	return r.Err()
}

func decodeTensor(r *fb.Reader, m fb.Table, t *Tensor) error {
	*t = Tensor{
		Type: schema.ScalarType(m.Int8(tensorScalarType)), Sizes: m.Int32s(tensorSizes),
		DimOrder: m.CopyBytes(tensorDimOrder), Data: m.Bytes(tensorData),
	}
	hasOrder := m.Has(tensorDimOrder)
	if err := r.Err(); err != nil {
		return err
	}
	n, err := schema.NBytes(t.Type, t.Sizes)
	if err != nil {
		return err
	}
	if !hasOrder {
		t.DimOrder = fb.Make[uint8](r, len(t.Sizes))
		for i := range t.DimOrder {
			t.DimOrder[i] = uint8(i)
		}
		if err := r.Err(); err != nil {
			return err
		}
	}
	if err := schema.CheckDimOrder(t.DimOrder, len(t.Sizes)); err != nil {
		return err
	}
	if int64(len(t.Data)) != n {
		return fmt.Errorf("%v%v has %d bytes of data, needs %d", t.Type, t.Sizes, len(t.Data), n)
	}
	return nil
}
