package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etgo-ml/etgo"
	"github.com/etgo-ml/etgo/devtools/inspect"
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/runtime"
)

func newInfo() *cobra.Command {
	var asJSON bool
	c := command(&cobra.Command{
		Use:   "info [MODEL]",
		Short: "List the operators and backends built in, and what a model lacks",
		Long: `Info lists the operators and backends built in. For a program (.pte or .bpte) it
tells which operators and backends it uses, how much of it is delegated, and what
of it is missing here. The exit status is 0 only if nothing is missing.`,
		Example: `  etrun info
  etrun info --json | jq -r '.operators[]'
  etrun info model.pte`,
		Args: wantArgs(0, 1, "at most one MODEL"),
	}, func(c *cobra.Command, args []string) error {
		reg := etgo.Registry()
		if len(args) == 0 {
			return printRegistry(c.OutOrStdout(), reg, asJSON)
		}
		return printNeeds(c.OutOrStdout(), args[0], reg, asJSON)
	})
	c.Flags().BoolVar(&asJSON, "json", false, "print the lists as JSON")
	return c
}

// infoJSON is what info prints as JSON.
type infoJSON struct {
	Operators []string   `json:"operators"`
	Backends  []string   `json:"backends"`
	Model     *modelJSON `json:"model,omitempty"`
}

// modelJSON tells what a model uses and lacks.
type modelJSON struct {
	File    string          `json:"file"`
	Methods []needsJSON     `json:"methods"`
	Missing inspect.Missing `json:"missing"`
}

type needsJSON struct {
	Name      string          `json:"name"`
	Operators []inspect.Calls `json:"operators"`
	Backends  []inspect.Calls `json:"backends"`
	Delegated percent         `json:"delegated_percent"`
}

// percent is a share in percent with one decimal.
type percent float64

func (p percent) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "%.1f", float64(p)), nil }

func printRegistry(w io.Writer, reg *runtime.Registry, asJSON bool) error {
	if asJSON {
		return writeJSON(w, infoJSON{Operators: reg.Operators(), Backends: reg.Backends()})
	}
	fmt.Fprintf(w, "etrun %s\n", version())
	fmt.Fprintf(w, "%d backends\n", len(reg.Backends()))
	for _, name := range reg.Backends() {
		fmt.Fprintf(w, "  %s\n", name)
	}
	fmt.Fprintf(w, "%d operators\n", len(reg.Operators()))
	for _, name := range reg.Operators() {
		fmt.Fprintf(w, "  %s\n", name)
	}
	return nil
}

func printNeeds(w io.Writer, path string, reg *runtime.Registry, asJSON bool) error {
	f, err := describeFile(path)
	if err != nil {
		return err
	}
	if f.Kind == inspect.Data {
		return errs.InvalidArgument.Errorf("%s: a data file (.ptd), not a program", path)
	}
	missing := f.Missing(reg)
	if asJSON {
		m := &modelJSON{File: path, Methods: make([]needsJSON, len(f.Methods)), Missing: missing}
		for i := range f.Methods {
			meth := &f.Methods[i]
			m.Methods[i] = needsJSON{meth.Name, meth.Operators, meth.Backends, percent(100 * meth.Delegated())}
		}
		err = writeJSON(w, infoJSON{Operators: reg.Operators(), Backends: reg.Backends(), Model: m})
	} else {
		for i := range f.Methods {
			printMethodNeeds(w, &f.Methods[i], missing)
		}
	}
	if err != nil {
		return err
	}
	return missingError(path, missing)
}

func printMethodNeeds(w io.Writer, m *inspect.Method, missing inspect.Missing) {
	fmt.Fprintf(w, "method %s: %.0f %% of calls delegated\n", m.Name, 100*m.Delegated())
	print := func(calls []inspect.Calls, missing []string) {
		for _, c := range calls {
			mark := ""
			if slices.Contains(missing, c.Name) {
				mark = "  MISSING"
			}
			fmt.Fprintf(w, "  %4d  %s%s\n", c.Calls, c.Name, mark)
		}
	}
	print(m.Backends, missing.Backends)
	print(m.Operators, missing.Operators)
}

// missingError is the error for a model that cannot run here, or nil.
func missingError(path string, m inspect.Missing) error {
	var text []string
	if len(m.Backends) > 0 {
		text = append(text, "missing backends "+strings.Join(m.Backends, ", "))
	}
	if len(m.Operators) > 0 {
		text = append(text, "missing operators "+strings.Join(m.Operators, ", "))
	}
	switch {
	case len(m.Backends) > 0:
		return errs.BackendUnavailable.Errorf("%s: %s", path, strings.Join(text, "; "))
	case len(m.Operators) > 0:
		return errs.OperatorMissing.Errorf("%s: %s", path, strings.Join(text, "; "))
	}
	return nil
}
