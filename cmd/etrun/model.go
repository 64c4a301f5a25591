package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/etgo-ml/etgo"
	"github.com/etgo-ml/etgo/devtools/bundle"
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/internal/mmapfile"
	"github.com/etgo-ml/etgo/memory"
	"github.com/etgo-ml/etgo/module"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// modelFlags are the flags of all commands that load a model.
type modelFlags struct {
	data         []string
	threads      int
	sharedArenas bool
}

func (f *modelFlags) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.data, "data", nil, "data `file` (.ptd) with weights that the program lacks; may be repeated")
	c.Flags().IntVar(&f.threads, "threads", 0, "`number` of threads; 0 for one per core")
	c.Flags().BoolVar(&f.sharedArenas, "share-arenas", false, "let methods share planned memory, as programs exported with shared mutable state need")
}

func (f *modelFlags) options() ([]module.Option, error) {
	if f.threads < 0 {
		return nil, usagef("--threads %d: not a number of threads", f.threads)
	}
	opts := []module.Option{module.WithData(f.data...), module.WithThreads(f.threads)}
	if f.sharedArenas {
		opts = append(opts, module.WithSharedArenas())
	}
	return opts, nil
}

// model is a module of a program file or of the program in a bundle.
type model struct {
	*module.Module
	bundle *bundle.Bundle // nil for a program file
	file   *mmapfile.File
}

func openModel(path string, opts ...module.Option) (*model, error) {
	file, err := mmapfile.Open(path)
	if err != nil {
		return nil, err
	}
	m := &model{file: file}
	code := file.Bytes()
	if bundle.Is(code) {
		if m.bundle, err = bundle.Decode(code); err == nil {
			code = m.bundle.Program()
		}
	}
	if err == nil {
		m.Module, err = etgo.New(code, opts...)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return m, nil
}

func (m *model) Close() error { return errors.Join(m.Module.Close(), m.file.Close()) }

// pickMethod returns the method to use if the user names none: forward, or the
// first, as ExecuTorch's executor_runner does.
func pickMethod(names []string, want string) (string, error) {
	switch {
	case want != "":
		return want, nil
	case slices.Contains(names, "forward"):
		return "forward", nil
	case len(names) > 0:
		return names[0], nil
	}
	return "", errs.InvalidArgument.Errorf("the program has no methods")
}

// ones returns the inputs that ExecuTorch's executor_runner gives a method:
// tensors of ones at the largest shape, and the constants it was exported with.
func ones(meta *runtime.MethodMeta) ([]runtime.EValue, error) {
	inputs := make([]runtime.EValue, len(meta.Inputs))
	for i := range meta.Inputs {
		in := &meta.Inputs[i]
		if in.Kind != runtime.KindTensor {
			inputs[i] = in.Value
			continue
		}
		t, err := tensor.NewUnbound(in.DType, in.Sizes, tensor.WithDimOrder(in.DimOrder))
		if err != nil {
			return nil, err
		}
		b, err := memory.Heap{}.Allocate(t.NBytes(), memory.DefaultAlign)
		if err != nil {
			return nil, err
		}
		if err := t.SetBytes(b); err != nil {
			return nil, err
		}
		fillOnes(t)
		inputs[i] = runtime.TensorValue(t)
	}
	return inputs, nil
}

// oneBits are the bytes of the number one in the types where they are not those
// of the integer.
var oneBits = map[tensor.DType][]byte{
	tensor.F16: {0x00, 0x3c}, tensor.BF16: {0x80, 0x3f}, tensor.F32: {2: 0x80, 3: 0x3f}, tensor.F64: {6: 0xf0, 7: 0x3f},
	tensor.C32: {1: 0x3c, 3: 0}, tensor.C64: {2: 0x80, 3: 0x3f, 7: 0}, tensor.C128: {6: 0xf0, 7: 0x3f, 15: 0},
}

func fillOnes(t *tensor.Tensor) {
	b := t.Bytes()
	if len(b) == 0 {
		return
	}
	one := oneBits[t.DType()]
	if one == nil {
		one = make([]byte, t.DType().Size())
		one[0] = 1
	}
	// Each copy doubles what is there.
	for n := copy(b, one); n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}
