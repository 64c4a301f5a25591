package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/etgo-ml/etgo/devtools/inspect"
	"github.com/etgo-ml/etgo/internal/mmapfile"
)

func newInspect() *cobra.Command {
	var asJSON bool
	c := command(&cobra.Command{
		Use:   "inspect FILE",
		Short: "Describe a program, a bundled program or a data file",
		Long: `Inspect describes a program (.pte) or the program in a bundle (.bpte): its
methods with their inputs, outputs, mutable buffers, operators, delegates and
planned memory. Of a data file (.ptd) it lists the tensors. Nothing is loaded or
run, so that the operators need not be there.`,
		Example: `  etrun inspect model.pte
  etrun inspect model.pte --json | jq '.methods[].inputs'
  etrun inspect weights.ptd`,
		Args: wantArgs(1, 1, "one FILE"),
	}, func(c *cobra.Command, args []string) error {
		f, err := describeFile(args[0])
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(c.OutOrStdout(), f)
		}
		printFile(c.OutOrStdout(), args[0], f)
		return nil
	})
	c.Flags().BoolVar(&asJSON, "json", false, "print the description as JSON")
	return c
}

func describeFile(path string) (*inspect.File, error) {
	file, err := mmapfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f, err := inspect.Describe(file.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

var kindTexts = map[inspect.Kind]string{
	inspect.Program: "ExecuTorch program",
	inspect.Bundle:  "ExecuTorch program with test sets",
	inspect.Data:    "ExecuTorch data file",
}

func printFile(w io.Writer, path string, f *inspect.File) {
	fmt.Fprintf(w, "%s: %s, %s, schema version %d\n", path, kindTexts[f.Kind], bytesText(f.NBytes), f.SchemaVersion)
	if f.Kind != inspect.Data {
		fmt.Fprintf(w, "constants %s, delegates %s, named data %s\n",
			bytesText(f.ConstantBytes), bytesText(f.DelegateBytes), bytesText(f.NamedBytes))
	}
	for i := range f.Methods {
		printMethod(w, &f.Methods[i])
	}
	if len(f.TestSets) > 0 {
		fmt.Fprintln(w, "\ntest sets")
	}
	for _, s := range f.TestSets {
		fmt.Fprintf(w, "  %s: %d\n", s.Method, s.Count)
	}
	if len(f.Data) > 0 {
		fmt.Fprintln(w, "\nnamed data")
	}
	for _, d := range f.Data {
		what := "bytes"
		if d.DType != "" {
			what = fmt.Sprintf("%s%v", d.DType, d.Sizes)
		}
		fmt.Fprintf(w, "  %s: %s, %s\n", d.Key, what, bytesText(d.NBytes))
	}
}

func printMethod(w io.Writer, m *inspect.Method) {
	fmt.Fprintf(w, "\nmethod %s: %d instructions, %.0f %% of calls delegated\n", m.Name, m.Instructions, 100*m.Delegated())
	printValues(w, "inputs", m.Inputs)
	printValues(w, "outputs", m.Outputs)
	printValues(w, "mutable buffers", m.Attributes)
	printCalls(w, "operators", m.Operators)
	printCalls(w, "delegates", m.Backends)
	for id, n := range m.PlannedSizes {
		if id > 0 {
			fmt.Fprintf(w, "  planned memory %d: %s\n", id, bytesText(n))
		}
	}
	if len(m.External) > 0 {
		fmt.Fprintf(w, "  external tensors: %d, to be given with --data\n", len(m.External))
	}
}

func printValues(w io.Writer, title string, values []inspect.Value) {
	if len(values) == 0 {
		return
	}
	fmt.Fprintf(w, "  %s\n", title)
	for i, v := range values {
		fmt.Fprintf(w, "    %d: %v", i, v)
		if v.Tensor != nil {
			fmt.Fprintf(w, ", %s", bytesText(v.NBytes))
		}
		if v.Name != "" {
			fmt.Fprintf(w, ", %s", v.Name)
		}
		fmt.Fprintln(w)
	}
}

func printCalls(w io.Writer, title string, calls []inspect.Calls) {
	if len(calls) == 0 {
		return
	}
	fmt.Fprintf(w, "  %s\n", title)
	for _, c := range calls {
		fmt.Fprintf(w, "    %4d  %s\n", c.Calls, c.Name)
	}
}

// bytesText formats a number of bytes, exactly below 10 kB.
func bytesText(n int64) string {
	if n < 10_000 {
		return fmt.Sprintf("%d bytes", n)
	}
	v, unit := float64(n)/1e3, "kB"
	for _, next := range []string{"MB", "GB", "TB"} {
		if v < 1000 {
			break
		}
		v, unit = v/1e3, next
	}
	return fmt.Sprintf("%.3g %s", v, unit)
}
