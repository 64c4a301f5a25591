package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/etgo-ml/etgo/cmd/etrun/internal/valuefile"
	"github.com/etgo-ml/etgo/devtools/valuefmt"
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/runtime"
)

type runFlags struct {
	modelFlags
	method   string
	input    []string
	inputs   string
	outputs  string
	calls    string
	stateOut string
	loadOnly bool
}

func newRun() *cobra.Command {
	var f runFlags
	c := command(&cobra.Command{
		Use:   "run MODEL",
		Short: "Run a method of a program",
		Long: `Run runs a method of a program (.pte), or of the program in a bundle (.bpte).

Inputs and outputs are NumPy files: NAME.npz with arr_0, arr_1, ... and beside it
NAME.json, which lists the values in order where they are not all arrays:
{"values": [{"kind": "tensor", "array": "arr_0", "dtype": "float32", "sizes": [1, 8]}, {"kind": "none"},
{"kind": "int", "value": 5}]}. Without inputs, a method gets tensors of ones.
Without --outputs a summary of the outputs is printed.

--calls makes several calls on the loaded model, whose state carries over:
{"calls": [{"method": "forward", "inputs": "a.npz", "outputs": "b.npz"}, ...]}
Paths in it are relative to the current directory.`,
		Example: `  etrun run model.pte
  etrun run model.pte --inputs in.npz --outputs out.npz
  etrun run model.pte --input image.npy --threads 4
  etrun run model.pte --data weights.ptd --calls calls.json --state-out state.npz`,
		Args: wantArgs(1, 1, "one MODEL"),
	}, func(c *cobra.Command, args []string) error {
		err := cmp.Or(
			notEmpty(c, "method", "inputs", "outputs", "calls", "state-out"),
			distinct(f.outputs, f.stateOut, args[0], f.calls),
			exclusive(c, "input", "inputs"),
			exclusive(c, "calls", "load-only", "input", "inputs", "outputs"),
			exclusive(c, "load-only", "input", "inputs", "outputs"),
		)
		if err != nil {
			return err
		}
		if c.Flags().Changed("method") && f.method == "" {
			return usagef("--method: an empty name")
		}
		return f.run(c.Context(), c.OutOrStdout(), args[0])
	})
	f.modelFlags.add(c)
	c.Flags().StringVar(&f.method, "method", "", "`name` of the method; default forward, or the first")
	c.Flags().StringArrayVar(&f.input, "input", nil, "`file` (.npy or .npz) with the next inputs; may be repeated")
	c.Flags().StringVar(&f.inputs, "inputs", "", "`file` (.npz) with all inputs")
	c.Flags().StringVar(&f.outputs, "outputs", "", "`file` (.npz) to write the outputs to")
	c.Flags().StringVar(&f.calls, "calls", "", "`file` (.json) that lists calls to make")
	c.Flags().BoolVar(&f.loadOnly, "load-only", false, "load the method, or all methods, and run nothing")
	c.Flags().StringVar(&f.stateOut, "state-out", "", "`file` (.npz) to write the mutable buffers to after the last call")
	return c
}

// call is one execution of a method.
type call struct {
	Method  string   `json:"method"`
	Inputs  string   `json:"inputs"`
	Outputs string   `json:"outputs"`
	files   []string // instead of Inputs
}

func (f *runFlags) run(ctx context.Context, w io.Writer, path string) error {
	opts, err := f.options()
	if err != nil {
		return err
	}
	calls := []call{{Method: f.method, Outputs: f.outputs, files: f.input}}
	if f.inputs != "" {
		calls[0].files = []string{f.inputs}
	}
	if f.calls != "" {
		if calls, err = readCalls(f.calls); err != nil {
			return err
		}
	}
	m, err := openModel(path, opts...)
	if err != nil {
		return err
	}
	defer m.Close()
	r := runner{model: m, w: w}
	if f.loadOnly {
		err = r.load(f.method)
	} else {
		err = r.run(ctx, calls, f.method)
	}
	if err != nil {
		return err
	}
	if f.stateOut != "" {
		return r.writeState(f.stateOut)
	}
	return nil
}

func readCalls(path string) ([]call, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, errs.AccessFailed.Wrap(err)
	}
	var list struct {
		Calls *[]call `json:"calls"`
	}
	// A misspelt key must not turn a call into one on default inputs.
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&list); err != nil {
		return nil, errs.InvalidArgument.Errorf("%s: %w", path, err)
	}
	if list.Calls == nil {
		return nil, errs.InvalidArgument.Errorf(`%s: no "calls"`, path)
	}
	for i := range *list.Calls {
		if c := &(*list.Calls)[i]; c.Inputs != "" {
			c.files = []string{c.Inputs}
		}
	}
	return *list.Calls, nil
}

// runner makes calls on a model.
type runner struct {
	*model
	w    io.Writer
	used []string // methods loaded, the one of the last call last
}

// load loads a method, or all of them if none is named.
func (r *runner) load(method string) error {
	methods := r.MethodNames()
	if method != "" {
		methods = []string{method}
	}
	for _, name := range methods {
		if err := r.Load(name); err != nil {
			return err
		}
	}
	r.used = methods
	return nil
}

// run makes the calls; method is that of a call which names none.
func (r *runner) run(ctx context.Context, calls []call, method string) error {
	for i, c := range calls {
		if c.Method == "" {
			c.Method = method
		}
		outputs, err := r.call(ctx, &c)
		if err != nil {
			if len(calls) > 1 {
				err = fmt.Errorf("call %d: %w", i, err)
			}
			return err
		}
		if c.Outputs != "" {
			continue
		}
		if len(calls) > 1 {
			fmt.Fprintf(r.w, "call %d\n", i)
		}
		printOutputs(r.w, outputs)
	}
	return nil
}

// call makes a call and writes the outputs to the file that it names, if any.
func (r *runner) call(ctx context.Context, c *call) ([]runtime.EValue, error) {
	method, err := pickMethod(r.MethodNames(), c.Method)
	if err != nil {
		return nil, err
	}
	meta, err := r.Meta(method)
	if err != nil {
		return nil, err
	}
	// Loading first: what is wrong with the program comes before what is wrong with
	// the inputs.
	if err := r.Load(method); err != nil {
		return nil, err
	}
	r.used = append(slices.DeleteFunc(r.used, func(s string) bool { return s == method }), method)
	inputs, err := readInputs(c.files, meta)
	if err != nil {
		return nil, err
	}
	outputs, err := r.Execute(ctx, method, inputs...)
	if err != nil || c.Outputs == "" {
		return outputs, err
	}
	values := make([]valuefile.Value, len(outputs))
	for i, v := range outputs {
		values[i].EValue = v
	}
	return outputs, valuefile.WriteFile(c.Outputs, values)
}

// readInputs reads the inputs of a call from files; without any they are ones.
func readInputs(files []string, meta *runtime.MethodMeta) ([]runtime.EValue, error) {
	if len(files) == 0 {
		return ones(meta)
	}
	var inputs []runtime.EValue
	for _, file := range files {
		values, err := valuefile.ReadFile(file)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, values...)
	}
	return inputs, nil
}

// writeState writes the mutable buffers of the methods used.
func (r *runner) writeState(path string) error {
	var values []valuefile.Value
	for _, method := range r.used {
		names, err := r.Attributes(method)
		if err != nil {
			return err
		}
		for _, name := range names {
			t, err := r.Attribute(method, name)
			if err != nil {
				return err
			}
			values = append(values, valuefile.Value{EValue: runtime.TensorValue(t), Name: name, Method: method})
		}
	}
	return valuefile.WriteFile(path, values)
}

// printOutputs prints a summary of outputs.
func printOutputs(w io.Writer, outputs []runtime.EValue) {
	for i := range outputs {
		v := &outputs[i]
		fmt.Fprintf(w, "output %d: %v\n", i, v)
		switch v.Kind() {
		case runtime.KindTensor:
			valuefmt.Summarize(w, "  ", v.Tensor())
		case runtime.KindTensorList, runtime.KindOptionalTensorList:
			for k, t := range v.Tensors() {
				if t != nil {
					fmt.Fprintf(w, "  item %d: %v\n", k, t)
					valuefmt.Summarize(w, "    ", t)
				}
			}
		}
	}
}
