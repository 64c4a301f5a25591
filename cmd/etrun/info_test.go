package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInfoJSON(t *testing.T) {
	workDir(t, "add__f32.bpte")
	var r infoJSON
	require.NoError(t, json.Unmarshal([]byte(mustRun(t, "info", "--json")), &r))
	require.Contains(t, r.Operators, "aten::add.out")
	require.Contains(t, r.Operators, "executorch_prim::et_view.default")
	require.NotNil(t, r.Backends)
	require.Nil(t, r.Model)
	require.Contains(t, mustRun(t, "info"), "\n  aten::add.out\n")

	require.NoError(t, json.Unmarshal([]byte(mustRun(t, "info", "add__f32.bpte", "--json")), &r))
	require.Empty(t, r.Model.Missing.Operators)
	require.Equal(t, "aten::add.out", r.Model.Methods[0].Operators[0].Name)

	changeProgram(t, "add__f32.bpte", "missing.pte", renameOperators)
	stdout, stderr, code := etrun("info", "missing.pte", "--json")
	require.Equal(t, exitFailure, code)
	require.Contains(t, stderr, "error 0x14: missing.pte: missing operators test::missing0.out")
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.Equal(t, []string{"test::missing0.out"}, r.Model.Missing.Operators)
}
