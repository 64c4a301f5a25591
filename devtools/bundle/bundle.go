// Package bundle runs the test cases of bundled programs (.bpte files): a
// program with inputs for its methods and the outputs that ExecuTorch expects of
// them. It works on a module.Module and links no kernel.
//
//	b, err := bundle.Decode(file)
//	if err != nil { ... }
//	m, err := etgo.New(b.Program())
//	if err != nil { ... }
//	defer m.Close()
//	results, err := bundle.Verify(ctx, m, b, bundle.Options{Tolerance: bundle.DefaultTolerance})
//	if err != nil { ... }
package bundle

import (
	"fmt"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/schema"
	"github.com/etgo-ml/etgo/schema/bundled"
	"github.com/etgo-ml/etgo/tensor"
)

// Is reports whether a file is a bundled program, of any version, by its identifier.
func Is(file []byte) bool {
	return schema.Sniff(file, int64(len(file))).Kind == schema.FormatBundle
}

// Bundle is a decoded .bpte file. It is immutable and aliases the file's bytes.
type Bundle struct {
	file *bundled.File
}

// Suite names a method and the number of its test sets.
type Suite struct {
	Method   string
	TestSets int
}

// Decode decodes and verifies the bytes of a .bpte file. The program inside is
// not looked at.
func Decode(file []byte) (*Bundle, error) {
	f, err := bundled.Decode(file)
	if err != nil {
		return nil, err
	}
	return &Bundle{file: f}, nil
}

// Program returns the bytes of the .pte file inside.
func (b *Bundle) Program() []byte { return b.file.Program }

// Suites returns the methods that have test sets, in the order of the file.
func (b *Bundle) Suites() []Suite {
	suites := make([]Suite, len(b.file.Suites))
	for i, s := range b.file.Suites {
		suites[i] = Suite{s.Method, len(s.Cases)}
	}
	return suites
}

// Inputs returns the inputs of a method's test set; ErrInvalidArgument if there
// is none. Tensors share the file's memory.
func (b *Bundle) Inputs(method string, testSet int) ([]runtime.EValue, error) {
	c, err := b.testCase(method, testSet)
	if err != nil {
		return nil, err
	}
	return values(c.Inputs, "input")
}

// Expected returns the outputs expected of a method's test set; none if the
// bundle was made without.
func (b *Bundle) Expected(method string, testSet int) ([]runtime.EValue, error) {
	c, err := b.testCase(method, testSet)
	if err != nil {
		return nil, err
	}
	return values(c.Outputs, "expected output")
}

func (b *Bundle) testCase(method string, testSet int) (*bundled.Case, error) {
	for i := range b.file.Suites {
		s := &b.file.Suites[i]
		if s.Method != method {
			continue
		}
		if testSet < 0 || testSet >= len(s.Cases) {
			return nil, errs.InvalidArgument.Errorf("method %s has %d test sets, there is no %d", method, len(s.Cases), testSet)
		}
		return &s.Cases[testSet], nil
	}
	return nil, errs.MethodNotFound.Errorf("the bundle has no test sets for a method %q", method)
}

func values(list []bundled.Value, what string) ([]runtime.EValue, error) {
	out := make([]runtime.EValue, len(list))
	for i := range list {
		var err error
		if out[i], err = value(&list[i]); err != nil {
			return nil, fmt.Errorf("%s %d: %w", what, i, err)
		}
	}
	return out, nil
}

func value(v *bundled.Value) (runtime.EValue, error) {
	switch v.Kind {
	case bundled.KindInt:
		return runtime.Int(v.Int), nil
	case bundled.KindBool:
		return runtime.Bool(v.Bool), nil
	case bundled.KindDouble:
		return runtime.Double(v.Double), nil
	case bundled.KindTensor:
		t, err := tensor.FromBytes(tensor.DType(v.Tensor.Type), v.Tensor.Data, tensor.IntShape(v.Tensor.Sizes),
			tensor.WithDimOrder(v.Tensor.DimOrder), tensor.WithReadOnly())
		return runtime.TensorValue(t), err
	}
	return runtime.None(), nil
}
