package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/runtime"
)

// The exit codes. Whatever fails, the last line on stderr tells why.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// doMain runs the tool with the given arguments and returns its exit code.
func doMain(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := newRoot()
	root.SetArgs(append([]string{}, args...)) // nil would stand for those of the process
	root.SetIn(stdin)
	out := bufio.NewWriter(stdout)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if ferr := out.Flush(); err == nil && ferr != nil {
		err = &failure{errs.AccessFailed.Errorf("writing the results: %w", ferr)}
	}
	if err == nil {
		return exitOK
	}
	var failed *failure
	if !errors.As(err, &failed) {
		// It comes of the parsing of the command line.
		report(stderr, errs.InvalidArgument.Errorf("%w; see etrun --help", err))
		return exitUsage
	}
	report(stderr, failed.err)
	return exitFailure
}

// failure is an error of a command, as opposed to one of its usage.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }

// command makes run the work of a command.
func command(c *cobra.Command, run func(c *cobra.Command, args []string) error) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		err := run(c, args)
		if err == nil {
			return nil
		}
		if _, ok := err.(*usageError); ok {
			return err
		}
		return &failure{err}
	}
	return c
}

// usageError is a wrong combination of arguments.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// wantArgs checks the number of arguments beside flags.
func wantArgs(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usagef("%s takes %s, got %d arguments", c.Name(), what, len(args))
		}
		return nil
	}
}

// exclusive returns an error if a flag is given together with one of others.
func exclusive(c *cobra.Command, flag string, others ...string) error {
	for _, other := range others {
		if c.Flags().Changed(flag) && c.Flags().Changed(other) {
			return usagef("--%s and --%s exclude each other", flag, other)
		}
	}
	return nil
}

// notEmpty returns an error if a flag is given an empty value, as by a shell
// variable that is not set.
func notEmpty(c *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if f := c.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return usagef("--%s: an empty value", name)
		}
	}
	return nil
}

// distinct returns an error if a file that is to be written is one of the others.
func distinct(outputs, stateOut string, read ...string) error {
	if outputs != "" && outputs == stateOut {
		return usagef("--outputs and --state-out name the same file")
	}
	for _, w := range []string{outputs, stateOut} {
		if w != "" && slices.Contains(read, w) {
			return usagef("%s is read and would be overwritten", w)
		}
	}
	return nil
}

// report prints an error as one line.
func report(w io.Writer, err error) {
	text := err.Error()
	if runtime.IsPanic(err) && os.Getenv("ETRUN_DEBUG") == "" {
		// The rest is the stack of goroutines, which is for etgo's developers.
		text, _, _ = strings.Cut(text, "\n")
		text += "; ETRUN_DEBUG=1 shows the stack"
	}
	if !runtime.IsPanic(err) {
		text = oneLine(text)
	}
	fmt.Fprintf(w, "etrun: error 0x%02x: %s\n", uint32(runtime.Code(err)), text)
}

// oneLine joins the lines of a text.
func oneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "etrun",
		Short: "Run, inspect and verify ExecuTorch programs",
		Long: `etrun runs ExecuTorch programs (.pte files) without ExecuTorch.

Results go to stdout, all else to stderr. The exit status is 0 only on success;
otherwise one line on stderr tells why, with ExecuTorch's number for the error.`,
		Example: `  etrun run model.pte --inputs in.npz --outputs out.npz
  etrun verify model.bpte
  etrun inspect model.pte`,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.AddCommand(newRun(), newVerify(), newInspect(), newBench(), newInfo())
	return root
}

// version returns the version that the go command stamped into the binary.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return fmt.Sprintf("%s (%s)", info.Main.Version, info.GoVersion)
}
