package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// The keys that other programs rely on.
func TestInspectJSON(t *testing.T) {
	workDir(t, "prog_state_names.bpte", "prog_in_int.bpte", "prog_stateinit_ptd.ptd")
	var f struct {
		Methods []struct {
			Name                        string
			Inputs, Outputs, Attributes []map[string]any
		}
	}
	require.NoError(t, json.Unmarshal([]byte(mustRun(t, "inspect", "prog_state_names.bpte", "--json")), &f))
	require.Len(t, f.Methods, 1)
	m := f.Methods[0]
	require.Equal(t, "forward", m.Name)
	require.Equal(t, []map[string]any{{
		"kind": "tensor", "dtype": "float32", "sizes": []any{3.0}, "dim_order": []any{0.0},
		"dynamism": "static", "memory_planned": true, "nbytes": 12.0,
	}}, m.Inputs)
	require.Len(t, m.Outputs, 2)
	require.Equal(t, []any{}, m.Outputs[1]["sizes"])
	require.Len(t, m.Attributes, 2)
	require.Equal(t, "s", m.Attributes[0]["name"])

	require.NoError(t, json.Unmarshal([]byte(mustRun(t, "inspect", "prog_in_int.bpte", "--json")), &f))
	require.Equal(t, map[string]any{"kind": "int", "value": 3.0}, f.Methods[0].Inputs[1])
	require.Equal(t, []map[string]any{}, f.Methods[0].Attributes)

	require.NoError(t, json.Unmarshal([]byte(mustRun(t, "inspect", "prog_stateinit_ptd.ptd", "--json")), &f))
	require.Empty(t, f.Methods)
}

func TestBytesText(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 9999: "9999 bytes", 10_000: "10 kB", 123_456: "123 kB", 1_500_000: "1.5 MB", 2e9: "2 GB", 3e12: "3 TB", 4e15: "4e+03 TB",
	} {
		require.Equal(t, want, bytesText(n))
	}
}
