package main

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/etgo-ml/etgo/devtools/bundle"
	"github.com/etgo-ml/etgo/devtools/valuefmt"
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/module"
	"github.com/etgo-ml/etgo/runtime"
)

type verifyFlags struct {
	modelFlags
	bundle.Options
	json bool
}

func newVerify() *cobra.Command {
	f := verifyFlags{Options: bundle.Options{Tolerance: bundle.DefaultTolerance}}
	c := command(&cobra.Command{
		Use:   "verify FILE.bpte...",
		Short: "Run the test sets of bundled programs and compare the outputs",
		Long: `Verify runs the test sets of bundled programs (.bpte files) and compares the
outputs with those in the file. The test sets of a method run in order on one
loaded method, so state carries over. Each file is loaded afresh.

An element a is as expected if |a-b| <= atol + rtol*|b|; NaN equals NaN.
Integers and bools must be equal. The exit status is 0 only if all are as expected.`,
		Example: `  etrun verify model.bpte
  etrun verify --rtol 1e-3 --atol 1e-3 a.bpte b.bpte
  etrun verify model.bpte --method forward --testset 0 --exact`,
		Args: wantArgs(1, math.MaxInt, "at least one FILE.bpte"),
	}, func(c *cobra.Command, args []string) error {
		if !(f.Tolerance.RTol >= 0) || !(f.Tolerance.ATol >= 0) {
			return usagef("tolerances are at least 0")
		}
		f.Only = c.Flags().Changed("testset")
		return f.run(c.Context(), c.OutOrStdout(), args)
	})
	f.modelFlags.add(c)
	c.Flags().StringVar(&f.Method, "method", "", "`name` of the method to verify; default all")
	c.Flags().IntVar(&f.TestSet, "testset", 0, "`number` of the test set to verify, after running those before it; default all")
	c.Flags().Float64Var(&f.Tolerance.RTol, "rtol", f.Tolerance.RTol, "relative tolerance")
	c.Flags().Float64Var(&f.Tolerance.ATol, "atol", f.Tolerance.ATol, "absolute tolerance")
	c.Flags().BoolVar(&f.Tolerance.Exact, "exact", false, "ask for the same bits, apart from those of NaNs")
	c.Flags().BoolVar(&f.json, "json", false, "print the report as JSON")
	return c
}

// fileReport is the outcome of a file.
type fileReport struct {
	file    string
	err     error
	results []bundle.Result
}

func (f *verifyFlags) run(ctx context.Context, w io.Writer, paths []string) error {
	opts, err := f.options()
	if err != nil {
		return err
	}
	var reports []fileReport
	var sum summary
	for _, path := range paths {
		r := fileReport{file: path}
		r.results, r.err = f.verify(ctx, path, opts)
		sum.count(&r)
		reports = append(reports, r)
		if !f.json {
			r.print(w, f.Tolerance.Exact)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if f.json {
		if err := writeJSON(w, jsonReport(reports, &sum)); err != nil {
			return err
		}
	} else if len(paths) > 1 || sum.passed+sum.failed != 1 {
		fmt.Fprintf(w, "%d of %d test sets as expected\n", sum.passed, sum.passed+sum.failed)
	}
	return sum.err
}

func (f *verifyFlags) verify(ctx context.Context, path string, opts []module.Option) ([]bundle.Result, error) {
	m, err := openModel(path, opts...)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if m.bundle == nil {
		return nil, errs.InvalidArgument.Errorf("%s: a program without test sets; verify takes bundled programs (.bpte)", path)
	}
	results, err := bundle.Verify(ctx, m.Module, m.bundle, f.Options)
	if err == nil && len(results) == 0 {
		err = errs.InvalidArgument.Errorf("the bundle has no test sets")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return results, err
}

// summary counts test sets; a file that cannot be opened counts as one. err is
// that of the first failure.
type summary struct {
	passed, failed int
	err            error
}

func (s *summary) count(r *fileReport) {
	if r.err != nil {
		s.fail(r.err)
	}
	for i := range r.results {
		res := &r.results[i]
		switch {
		case res.OK():
			s.passed++
		case res.Err != nil:
			s.fail(fmt.Errorf("%s: test set %d: %w", r.file, res.TestSet, res.Err))
		default:
			s.fail(errs.NotFound.Errorf("%s: method %s: test set %d: %s", r.file, res.Method, res.TestSet, firstProblem(res)))
		}
	}
}

func (s *summary) fail(err error) {
	if s.failed++; s.err == nil {
		s.err = err
	}
}

// firstProblem describes the first output that is not as expected.
func firstProblem(r *bundle.Result) string {
	for i := range r.Outputs {
		if !r.Outputs[i].OK() {
			return fmt.Sprintf("output %d: %v", i, &r.Outputs[i])
		}
	}
	return ""
}

// print writes a line for each test set.
func (r *fileReport) print(w io.Writer, exact bool) {
	if r.err != nil {
		fmt.Fprintf(w, "FAIL %s\n", oneLine(r.err.Error()))
	}
	for i := range r.results {
		res := &r.results[i]
		where := fmt.Sprintf("%s %s/%d", r.file, res.Method, res.TestSet)
		switch {
		case res.Err != nil:
			fmt.Fprintf(w, "FAIL %s: error 0x%02x: %s\n", where, uint32(runtime.Code(res.Err)), oneLine(res.Err.Error()))
		case !res.OK():
			fmt.Fprintf(w, "FAIL %s: %s\n", where, firstProblem(res))
		default:
			var t bundle.Diff // all outputs together
			for k := range res.Outputs {
				d := &res.Outputs[k]
				t.MaxAbs, t.MaxRel = max(t.MaxAbs, d.MaxAbs), max(t.MaxRel, d.MaxRel)
				t.Differing += d.Differing
				t.Elements += d.Elements
			}
			fmt.Fprintf(w, "ok   %s: %d outputs, max abs %.3g rel %.3g, %d of %d elements differ\n",
				where, len(res.Outputs), t.MaxAbs, t.MaxRel, t.Differing, t.Elements)
		}
	}
}

// The report as JSON.
type (
	verifyJSON struct {
		Files  []verifyFileJSON `json:"files"`
		Passed int              `json:"passed"`
		Failed int              `json:"failed"`
	}
	verifyFileJSON struct {
		File     string          `json:"file"`
		Error    *errorJSON      `json:"error,omitempty"`
		TestSets []verifySetJSON `json:"testsets"`
	}
	verifySetJSON struct {
		Method  string             `json:"method"`
		TestSet int                `json:"testset"`
		OK      bool               `json:"ok"`
		Error   *errorJSON         `json:"error,omitempty"`
		Outputs []verifyOutputJSON `json:"outputs"`
	}
	verifyOutputJSON struct {
		OK         bool           `json:"ok"`
		Got        string         `json:"got"`
		Want       string         `json:"want"`
		Problem    string         `json:"problem,omitempty"`
		Elements   int            `json:"elements"`
		Differing  int            `json:"differing"`
		Mismatches int            `json:"mismatches"`
		MaxAbs     valuefmt.Float `json:"max_abs"`
		MaxRel     valuefmt.Float `json:"max_rel"`
		First      []int          `json:"first,omitzero"`
		FirstGot   string         `json:"first_got,omitempty"`
		FirstWant  string         `json:"first_want,omitempty"`
	}
)

func jsonReport(reports []fileReport, sum *summary) verifyJSON {
	out := verifyJSON{Files: make([]verifyFileJSON, len(reports)), Passed: sum.passed, Failed: sum.failed}
	for i := range reports {
		r := &reports[i]
		file := verifyFileJSON{File: r.file, Error: newErrorJSON(r.err), TestSets: make([]verifySetJSON, len(r.results))}
		for k := range r.results {
			res := &r.results[k]
			set := verifySetJSON{
				Method: res.Method, TestSet: res.TestSet, OK: res.OK(), Error: newErrorJSON(res.Err),
				Outputs: make([]verifyOutputJSON, len(res.Outputs)),
			}
			for n := range res.Outputs {
				d := &res.Outputs[n]
				set.Outputs[n] = verifyOutputJSON{
					OK: d.OK(), Got: d.Got, Want: d.Want, Problem: d.Problem,
					Elements: d.Elements, Differing: d.Differing, Mismatches: d.Mismatches,
					MaxAbs: valuefmt.Float(d.MaxAbs), MaxRel: valuefmt.Float(d.MaxRel),
					First: d.First, FirstGot: d.FirstGot, FirstWant: d.FirstWant,
				}
			}
			file.TestSets[k] = set
		}
		out.Files[i] = file
	}
	return out
}
