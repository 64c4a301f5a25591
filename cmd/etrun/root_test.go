package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
)

func TestHelp(t *testing.T) {
	require.Contains(t, mustRun(t), "Available Commands")
	require.Regexp(t, `^etrun version .+\n$`, mustRun(t, "--version"))
	// Every command says what it does and gives an example.
	for _, c := range newRoot().Commands() {
		if c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		help := mustRun(t, c.Name(), "--help")
		require.Contains(t, help, "Examples:\n  etrun "+c.Name(), c.Name())
		require.True(t, strings.HasPrefix(help, c.Long), c.Name())
		require.NotEmpty(t, c.Short, c.Name())
	}
}

func TestReport(t *testing.T) {
	line := func(err error) string {
		var b strings.Builder
		report(&b, err)
		return b.String()
	}
	require.Equal(t, "etrun: error 0x14: no such operator\n", line(errs.OperatorMissing.Errorf("no such operator")))
	require.Equal(t, "etrun: error 0x01: a cause without a number\n", line(errors.New("a cause without a number")))
	require.Equal(t, "etrun: error 0x12: first; second\n", line(errors.Join(errs.InvalidArgument.Errorf("first\n"), errors.New(" second"))))
}

// A failing command is not taken for a wrong use of it, and the other way round.
func TestExitCodes(t *testing.T) {
	run := func(err error) error {
		c := command(&cobra.Command{}, func(*cobra.Command, []string) error { return err })
		return c.RunE(c, nil)
	}
	var f *failure
	require.NoError(t, run(nil))
	require.ErrorAs(t, run(errors.New("a")), &f)
	require.False(t, errors.As(run(usagef("b")), &f))
	require.Contains(t, mustFail(t, exitFailure, "run", "no_such_file.pte"), "error 0x22: ")
}
