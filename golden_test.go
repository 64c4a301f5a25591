package etgo_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo"
	"github.com/etgo-ml/etgo/devtools/bundle"
	"github.com/etgo-ml/etgo/module"
	"github.com/etgo-ml/etgo/runtime"
)

// goldenCase is a row of a golden archive's cases.jsonl.
type goldenCase struct {
	File         string   `json:"file"`
	Name         string   `json:"name"`
	Group        string   `json:"group"`
	Op           []string `json:"op"`
	Rtol         float64  `json:"rtol"`
	Atol         float64  `json:"atol"`
	EagerDiffers bool     `json:"eager_differs"`
	ShapeOnly    bool     `json:"shape_only"`
	PTD          bool     `json:"ptd"`
}

// archive is a zip file of golden cases, with names below its one folder.
type archive map[string]*zip.File

func openArchive(t testing.TB, name string) archive {
	z, err := zip.OpenReader(filepath.Join("testdata", "golden", name))
	require.NoError(t, err)
	t.Cleanup(func() { z.Close() })
	a := archive{}
	for _, f := range z.File {
		a[path.Base(f.Name)] = f
	}
	return a
}

func (a archive) read(t testing.TB, name string) []byte {
	f := a[name]
	require.NotNil(t, f, name)
	r, err := f.Open()
	require.NoError(t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return b
}

// rows decodes a file of JSON lines.
func rows[T any](t testing.TB, file []byte) []T {
	var list []T
	s := bufio.NewScanner(bytes.NewReader(file))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var row T
		require.NoError(t, json.Unmarshal(s.Bytes(), &row))
		list = append(list, row)
	}
	require.NoError(t, s.Err())
	require.NotEmpty(t, list)
	return list
}

func readJSON[T any](t testing.TB, name string) T {
	var v T
	b, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &v))
	return v
}

// deviations maps cases in which etgo's result is meant to differ from
// ExecuTorch's to the reason.
func deviations(t testing.TB) map[string]string {
	m := map[string]string{}
	for _, d := range readJSON[[]struct{ Name, Reason string }](t, "deviations.json") {
		require.NotEmpty(t, d.Reason, d.Name)
		m[d.Name] = d.Reason
	}
	return m
}

func TestGoldenOperators(t *testing.T) {
	known := deviations(t)
	archives, err := filepath.Glob("testdata/golden/*.zip")
	require.NoError(t, err)
	total, deviating, delegated := 0, 0, 0
	for _, name := range archives {
		a := openArchive(t, filepath.Base(name))
		if a["cases.jsonl"] == nil {
			continue
		}
		for _, c := range rows[goldenCase](t, a.read(t, "cases.jsonl")) {
			total++
			err := verifyCase(t, a, c)
			if errors.Is(err, runtime.ErrBackendUnavailable) {
				delegated++
				continue
			}
			if reason, ok := known[c.Name]; ok {
				deviating++
				if err == nil {
					t.Errorf("%s agrees with ExecuTorch, yet is listed as a deviation: %s", c.Name, reason)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
	t.Logf("%d cases; %d deviate as documented, %d need a backend that is not there", total, deviating, delegated)
}

// verifyCase runs a case, then once more after Reset, and on a clone.
func verifyCase(t *testing.T, a archive, c goldenCase) error {
	b, err := bundle.Decode(a.read(t, c.File))
	if err != nil {
		return err
	}
	var opts []module.Option
	if c.PTD {
		f, err := runtime.NewDataFile(a.read(t, strings.TrimSuffix(c.File, ".bpte")+".ptd"))
		if err != nil {
			return err
		}
		opts = append(opts, module.WithDataFiles(f))
	}
	m, err := etgo.New(b.Program(), opts...)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := verify(m, b, c); err != nil {
		return err
	}
	if err := m.Reset(); err != nil {
		return err
	}
	if err := verify(m, b, c); err != nil {
		return fmt.Errorf("after Reset: %w", err)
	}
	clone, err := m.Clone()
	if err != nil {
		return err
	}
	defer clone.Close()
	if err := verify(clone, b, c); err != nil {
		return fmt.Errorf("clone: %w", err)
	}
	return nil
}

func verify(m *module.Module, b *bundle.Bundle, c goldenCase) error {
	results, err := bundle.Verify(context.Background(), m, b, bundle.Options{Tolerance: bundle.Tolerance{RTol: c.Rtol, ATol: c.Atol}})
	if err != nil {
		return err
	}
	if len(results) == 0 {
		return fmt.Errorf("no test sets")
	}
	for i := range results {
		r := &results[i]
		if r.Err != nil {
			return fmt.Errorf("%s, test set %d: %w", r.Method, r.TestSet, r.Err)
		}
		for k := range r.Outputs {
			if d := &r.Outputs[k]; !d.OK() && (d.Problem != "" || !c.ShapeOnly) {
				return fmt.Errorf("%s, test set %d, output %d: %v", r.Method, r.TestSet, k, d)
			}
		}
	}
	return nil
}

// Calls that ExecuTorch refuses give an error or a right answer, never a panic.
func TestGoldenRejected(t *testing.T) {
	a := openArchive(t, "rejected.zip")
	for _, c := range rows[goldenCase](t, a.read(t, "index.jsonl")) {
		b, err := bundle.Decode(a.read(t, c.File))
		require.NoError(t, err, c.Name)
		m, err := etgo.New(b.Program())
		if err != nil {
			assert.False(t, runtime.IsPanic(err), "%s: %v", c.Name, err)
			continue
		}
		for _, s := range b.Suites() {
			for i := range s.TestSets {
				inputs, err := b.Inputs(s.Method, i)
				require.NoError(t, err, c.Name)
				_, err = m.Execute(context.Background(), s.Method, inputs...)
				assert.False(t, runtime.IsPanic(err), "%s: %v", c.Name, err)
			}
		}
		require.NoError(t, m.Close())
	}
}

type badCase struct {
	File, Base, Method, What, Want string
}

// Damaged programs are refused where ExecuTorch's loader refuses them, run where
// it runs them with the same result, and never cause a panic or a hang.
func TestGoldenBad(t *testing.T) {
	a := openArchive(t, "bad.zip")
	for _, c := range rows[badCase](t, a.read(t, "index.jsonl")) {
		err := runBad(t, a, c)
		if errors.Is(err, runtime.ErrBackendUnavailable) && c.Want != "error" {
			continue // the original needs the backend too
		}
		if runtime.IsPanic(err) || c.Want == "error" && err == nil || c.Want == "runs" && err != nil {
			t.Errorf("%s: want %s, got %v", c.File, c.Want, err)
		}
	}
}

func runBad(t *testing.T, a archive, c badCase) error {
	base, err := bundle.Decode(a.read(t, "base_"+c.Base+".bpte"))
	require.NoError(t, err)
	opts := []module.Option{module.WithMaxInstructions(100_000)}
	if a["base_"+c.Base+".ptd"] != nil {
		f, err := runtime.NewDataFile(a.read(t, "base_"+c.Base+".ptd"))
		require.NoError(t, err)
		opts = append(opts, module.WithDataFiles(f))
	}
	m, err := etgo.New(a.read(t, c.File), opts...)
	if err != nil {
		return err
	}
	defer m.Close()
	original, err := etgo.New(base.Program(), opts...)
	require.NoError(t, err)
	defer original.Close()
	for _, s := range base.Suites() {
		if s.Method != c.Method {
			continue
		}
		for i := range s.TestSets {
			inputs, err := base.Inputs(s.Method, i)
			require.NoError(t, err)
			got, err := m.Execute(context.Background(), s.Method, inputs...)
			if err != nil {
				return err
			}
			if c.Want != "runs" {
				continue
			}
			want, err := original.Execute(context.Background(), s.Method, inputs...)
			require.NoError(t, err)
			if len(got) != len(want) {
				return fmt.Errorf("%d outputs, want %d", len(got), len(want))
			}
			for k := range got {
				if d := bundle.Compare(got[k], want[k], bundle.DefaultTolerance); !d.OK() {
					return fmt.Errorf("output %d: %v", k, &d)
				}
			}
		}
		return nil
	}
	return m.Load(c.Method)
}

type modelCase struct {
	File, Model, Recipe, Expect string
	Rtol, Atol                  float64
}

func models(t testing.TB) []modelCase {
	return readJSON[[]modelCase](t, "models/index.json")
}

func openModel(t testing.TB, c modelCase, opts ...module.Option) (*module.Module, *bundle.Bundle) {
	file, err := os.ReadFile(filepath.Join("testdata", "models", c.File))
	require.NoError(t, err)
	b, err := bundle.Decode(file)
	require.NoError(t, err, c.File)
	m, err := etgo.New(b.Program(), opts...)
	require.NoError(t, err, c.File)
	t.Cleanup(func() { m.Close() })
	return m, b
}

// Each model is verified three times in a row on the same module.
func TestGoldenModels(t *testing.T) {
	for _, c := range models(t) {
		t.Run(c.Model+"_"+c.Recipe, func(t *testing.T) {
			m, b := openModel(t, c)
			for range 3 {
				require.NoError(t, verify(m, b, goldenCase{Rtol: c.Rtol, Atol: c.Atol}))
				require.NoError(t, m.Reset())
			}
		})
	}
}

// Clones run side by side and give what one module gives.
func TestClonesRunConcurrently(t *testing.T) {
	for _, c := range models(t) {
		if !slices.Contains([]string{"kws_dscnn", "sdpa", "lstm", "shapes", "llama_kv"}, c.Model) {
			continue
		}
		t.Run(c.Model+"_"+c.Recipe, func(t *testing.T) {
			m, b := openModel(t, c)
			var group sync.WaitGroup
			for range 8 {
				clone, err := m.Clone()
				require.NoError(t, err)
				group.Go(func() {
					defer clone.Close()
					for range 3 {
						assert.NoError(t, verify(clone, b, goldenCase{Rtol: c.Rtol, Atol: c.Atol}))
						assert.NoError(t, clone.Reset())
					}
				})
			}
			group.Wait()
		})
	}
}

// The steady state allocates nothing.
func TestExecuteIntoAllocatesNothing(t *testing.T) {
	for _, c := range models(t) {
		if c.Model != "mv2" && c.Model != "kws_dscnn" {
			continue
		}
		t.Run(c.Model+"_"+c.Recipe, func(t *testing.T) {
			m, b := openModel(t, c)
			meta, err := m.Meta("forward")
			require.NoError(t, err)
			outputs := make([]runtime.EValue, len(meta.Outputs))
			// The test sets have different shapes.
			var sets [][]runtime.EValue
			for i := range b.Suites()[0].TestSets {
				inputs, err := b.Inputs("forward", i)
				require.NoError(t, err)
				sets = append(sets, inputs)
			}
			require.Greater(t, len(sets), 1)
			ctx := context.Background()
			allocs := testing.AllocsPerRun(3, func() {
				for _, inputs := range sets {
					if err := m.ExecuteInto(ctx, "forward", outputs, inputs...); err != nil {
						t.Error(err)
					}
				}
			})
			assert.Zero(t, allocs)
		})
	}
}

type realCase struct {
	File, Expect, Needs string
	Code                string `json:"etgo_code"`
}

// Files that other people published run, or are refused with the number that
// tells why.
func TestGoldenReal(t *testing.T) {
	for _, c := range readJSON[[]realCase](t, "real/index.json") {
		if c.Needs != "" || strings.HasSuffix(c.File, ".ptd") {
			continue
		}
		path := filepath.Join("testdata", "real", c.File)
		file, err := os.ReadFile(path)
		require.NoError(t, err)
		if bundle.Is(file) {
			b, err := bundle.Decode(file)
			require.NoError(t, err, c.File)
			m, err := etgo.New(b.Program())
			require.NoError(t, err, c.File)
			assert.NoError(t, verify(m, b, goldenCase{Rtol: 1e-4, Atol: 1e-5}), c.File)
			require.NoError(t, m.Close())
			continue
		}
		m, err := etgo.Open(path)
		if err == nil {
			for _, name := range m.MethodNames() {
				err = errors.Join(err, m.Load(name))
			}
			require.NoError(t, m.Close())
		}
		switch c.Expect {
		case "runs-old", "loads":
			assert.NoError(t, err, c.File)
		case "error":
			assert.Equal(t, c.Code, runtime.Code(err).String(), "%s: %v", c.File, err)
		default: // not a program, or one that needs its data file
			assert.Error(t, err, c.File)
			assert.False(t, runtime.IsPanic(err), "%s: %v", c.File, err)
		}
	}
}
