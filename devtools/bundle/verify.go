package bundle

import (
	"context"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/module"
	"github.com/etgo-ml/etgo/runtime"
)

// Options tells what Verify runs and how it compares.
type Options struct {
	Tolerance Tolerance
	// Method is the method whose test sets are verified; empty for those of all methods.
	Method string
	// Only verifies the test set with the number TestSet. Those before it still run,
	// as they make the state that it starts from.
	Only    bool
	TestSet int
}

// Result is the outcome of one test set.
type Result struct {
	Method  string
	TestSet int
	// Err tells why the test set could not be run or compared.
	Err error
	// Outputs has an entry for each output.
	Outputs []Diff
}

// OK reports whether all outputs are as expected.
func (r *Result) OK() bool {
	if r.Err != nil {
		return false
	}
	for i := range r.Outputs {
		if !r.Outputs[i].OK() {
			return false
		}
	}
	return true
}

// Verify runs the test sets of a bundle on a module made of its program, those
// of a method in order, and compares the outputs with the expected ones. As the
// outputs may depend on the state that the test sets before have left, m should
// be in its initial state; a test set that fails does not end the others.
func Verify(ctx context.Context, m *module.Module, b *Bundle, opts Options) ([]Result, error) {
	var results []Result
	found := false
	for _, s := range b.Suites() {
		if opts.Method != "" && s.Method != opts.Method {
			continue
		}
		found = true
		first, end := 0, s.TestSets
		if opts.Only {
			first, end = opts.TestSet, opts.TestSet+1
			if first < 0 || end > s.TestSets {
				return nil, errs.InvalidArgument.Errorf("method %s has %d test sets, there is no %d", s.Method, s.TestSets, opts.TestSet)
			}
		}
		for i := range end {
			r := run(ctx, m, b, s.Method, i, opts.Tolerance)
			if i >= first {
				results = append(results, r)
			}
			if err := ctx.Err(); err != nil {
				return results, err
			}
		}
	}
	if opts.Method != "" && !found {
		return nil, errs.MethodNotFound.Errorf("the bundle has no test sets for a method %q", opts.Method)
	}
	return results, nil
}

func run(ctx context.Context, m *module.Module, b *Bundle, method string, testSet int, tol Tolerance) Result {
	r := Result{Method: method, TestSet: testSet}
	var inputs, want, got []runtime.EValue
	if inputs, r.Err = b.Inputs(method, testSet); r.Err != nil {
		return r
	}
	if want, r.Err = b.Expected(method, testSet); r.Err != nil {
		return r
	}
	if got, r.Err = m.Execute(ctx, method, inputs...); r.Err != nil {
		return r
	}
	switch {
	case len(want) == 0 && len(got) > 0:
		r.Err = errs.NotSupported.Errorf("the bundle has no expected outputs for method %s", method)
	case len(want) != len(got):
		r.Err = errs.InvalidArgument.Errorf("method %s gave %d outputs, the bundle expects %d", method, len(got), len(want))
	default:
		r.Outputs = make([]Diff, len(got))
		for i := range got {
			r.Outputs[i] = Compare(got[i], want[i], tol)
		}
	}
	return r
}
