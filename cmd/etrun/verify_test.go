package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/schema/bundled"
)

func TestVerifyJSON(t *testing.T) {
	workDir(t, "prog_state_names.bpte")
	changeBundle(t, "prog_state_names.bpte", "wrong.bpte", func(f *bundled.File) {
		f.Suites[0].Cases[1].Outputs[1].Tensor.Data[0]++
	})
	stdout, stderr, code := etrun("verify", "--json", "prog_state_names.bpte", "wrong.bpte", "none.bpte")
	require.Equal(t, exitFailure, code)
	require.Contains(t, stderr, "etrun: error 0x20: wrong.bpte: ")
	var r verifyJSON
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.Equal(t, 3, r.Passed)
	require.Equal(t, 2, r.Failed)
	require.Len(t, r.Files, 3)
	require.Equal(t, "0x22", r.Files[2].Error.Code)
	bad := r.Files[1].TestSets[1]
	require.False(t, bad.OK)
	require.True(t, bad.Outputs[0].OK)
	require.Equal(t, 1, bad.Outputs[1].Mismatches)
	require.Equal(t, "2", bad.Outputs[1].FirstGot)
	require.Equal(t, "3", bad.Outputs[1].FirstWant)

	// Test set 0 is right; 1 is wrong also alone, in the state that 0 leaves.
	mustRun(t, "verify", "wrong.bpte", "--testset", "0")
	mustFail(t, exitFailure, "verify", "wrong.bpte", "--testset", "1")
	mustRun(t, "verify", "prog_state_names.bpte", "--testset", "1", "--method", "forward")
	mustFail(t, exitFailure, "verify", "prog_state_names.bpte", "--method", "backward")
}

func TestVerifyTolerance(t *testing.T) {
	workDir(t, "add__f32.bpte")
	changeBundle(t, "add__f32.bpte", "near.bpte", func(f *bundled.File) {
		f.Suites[0].Cases[0].Outputs[0].Tensor.Data[0] ^= 1 // the last bit
	})
	mustRun(t, "verify", "near.bpte")
	mustFail(t, exitFailure, "verify", "near.bpte", "--exact")
	mustFail(t, exitFailure, "verify", "near.bpte", "--rtol", "0", "--atol", "0")
	mustRun(t, "verify", "near.bpte", "--rtol", "0", "--atol", "1e-3")
	changeBundle(t, "add__f32.bpte", "empty.bpte", func(f *bundled.File) { f.Suites = nil })
	require.Contains(t, mustFail(t, exitFailure, "verify", "empty.bpte"), "no test sets")
}
