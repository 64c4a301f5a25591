package etgo_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etgo-ml/etgo"
	"github.com/etgo-ml/etgo/devtools/bundle"
	"github.com/etgo-ml/etgo/memory"
	"github.com/etgo-ml/etgo/module"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// FuzzProgram loads and runs whatever bytes it is given: an error or results may
// come of it, but no panic, no hang and no more memory than allowed.
func FuzzProgram(f *testing.F) {
	// One small program per operator, so that every kernel is within reach.
	a := openArchive(f, "ops.zip")
	seen := map[string]bool{}
	for _, c := range rows[goldenCase](f, a.read(f, "cases.jsonl")) {
		key := strings.Join(c.Op, " ")
		if seen[key] {
			continue
		}
		seen[key] = true
		b, err := bundle.Decode(a.read(f, c.File))
		if err != nil {
			f.Fatal(err)
		}
		if p := b.Program(); len(p) < 8<<10 {
			f.Add(slices.Clone(p))
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := etgo.New(file, module.WithThreads(1), module.WithMaxInstructions(1000),
			module.WithMemoryLimit(memory.Limits{MaxBytes: 64 << 20}))
		if err != nil {
			noPanic(t, err)
			return
		}
		defer m.Close()
		for _, name := range m.MethodNames() {
			runOnes(t, m, name)
		}
	})
}

// runOnes runs a method twice on inputs of ones.
func runOnes(t *testing.T, m *module.Module, method string) {
	meta, err := m.Meta(method)
	if err != nil {
		noPanic(t, err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var inputs []runtime.EValue
	for _, in := range meta.Inputs {
		if in.Kind != runtime.KindTensor {
			inputs = append(inputs, in.Value)
			continue
		}
		if in.NBytes > 1<<20 {
			return
		}
		x, err := tensor.New(in.DType, in.Sizes, tensor.WithDimOrder(in.DimOrder))
		if err != nil {
			noPanic(t, err)
			return
		}
		for i := range x.Bytes() {
			x.Bytes()[i] = 1
		}
		inputs = append(inputs, runtime.TensorValue(x))
	}
	for range 2 {
		if _, err := m.Execute(ctx, method, inputs...); err != nil {
			noPanic(t, err)
			return
		}
	}
}

func noPanic(t *testing.T, err error) {
	if runtime.IsPanic(err) {
		t.Fatal(err)
	}
}
