package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/cmd/etrun/internal/valuefile"
	"github.com/etgo-ml/etgo/devtools/valuefmt"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

func writeValues(t *testing.T, path string, values ...runtime.EValue) {
	t.Helper()
	list := make([]valuefile.Value, len(values))
	for i, v := range values {
		list[i].EValue = v
	}
	require.NoError(t, valuefile.WriteFile(path, list))
}

func readValues(t *testing.T, path string) []runtime.EValue {
	t.Helper()
	values, err := valuefile.ReadFile(path)
	require.NoError(t, err)
	return values
}

// sequence returns a tensor in the given layout whose elements are 0, 1, 2, ...
// in logical order.
func sequence(t *testing.T, order tensor.DimOrder, shape ...int) runtime.EValue {
	n, err := tensor.Numel(shape)
	require.NoError(t, err)
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(i)
	}
	x := tensor.Of(data, shape...).WithOrder(order)
	require.NoError(t, x.Err())
	return runtime.TensorValue(x)
}

func TestRunInputs(t *testing.T) {
	workDir(t, "add__channels_last.bpte")
	cl, contiguous := tensor.ChannelsLast(4), tensor.Contiguous(4)
	writeValues(t, "a.npz", sequence(t, cl, 2, 3, 4, 2))
	writeValues(t, "b.npz", sequence(t, contiguous, 2, 3, 4, 2))
	writeValues(t, "both.npz", sequence(t, contiguous, 2, 3, 4, 2), sequence(t, cl, 2, 3, 4, 2))
	for _, args := range [][]string{
		{"--inputs", "both.npz"},
		{"--input", "both.npz"},
		{"--input", "a.npz", "--input", "b.npz"},
	} {
		require.Empty(t, mustRun(t, append(args, "run", "add__channels_last.bpte", "--outputs", "out.npz")...))
		out := readValues(t, "out.npz")
		require.Len(t, out, 1)
		require.Equal(t, "float32[2,3,4,2] dim order [0 2 3 1]", out[0].String())
		values, err := tensor.Data[float32](out[0].Tensor())
		require.NoError(t, err)
		for i, v := range values {
			require.Equal(t, float32(2*i), v)
		}
	}
	require.Contains(t, mustFail(t, exitFailure, "run", "add__channels_last.bpte", "--input", "a.npz"), "method forward wants 2 inputs")
	require.Contains(t, mustFail(t, exitFailure, "run", "add__channels_last.bpte", "--input", "c.npz"), "error 0x22: ")
}

func TestRunScalars(t *testing.T) {
	workDir(t, "prog_in_int.bpte", "prog_in_none.bpte", "prog_out_prims.bpte")
	x := sequence(t, nil, 2, 4)
	writeValues(t, "in.npz", x, runtime.Int(3))
	mustRun(t, "run", "prog_in_int.bpte", "--inputs", "in.npz", "--outputs", "out.npz")
	require.Equal(t, []float32{1, 4, 7, 10, 13, 16, 19, 22}, tensor.Raw[float32](readValues(t, "out.npz")[0].Tensor()))
	writeValues(t, "in.npz", x, runtime.Int(4))
	require.Contains(t, mustFail(t, exitFailure, "run", "prog_in_int.bpte", "--inputs", "in.npz"), "error 0x12: ")
	writeValues(t, "in.npz", x, runtime.None(), x)
	mustRun(t, "run", "prog_in_none.bpte", "--inputs", "in.npz")
	mustRun(t, "run", "prog_out_prims.bpte", "--outputs", "out.npz")
	require.Equal(t, "[float32[3] 3 2.5 true None]", fmt.Sprint(readValues(t, "out.npz")))
}

func TestRunCalls(t *testing.T) {
	workDir(t, "prog_state_names.bpte")
	writeValues(t, "in.npz", sequence(t, nil, 3))
	require.NoError(t, os.WriteFile("calls.json", []byte(`{"calls": [
		{"method": "forward", "inputs": "in.npz", "outputs": "a.npz"},
		{"method": "forward", "inputs": "in.npz", "outputs": "b.npz"}]}`), 0o666))
	require.Empty(t, mustRun(t, "run", "prog_state_names.bpte", "--calls", "calls.json", "--state-out", "state.npz"))
	// The second output counts the calls.
	for path, want := range map[string]int64{"a.npz": 1, "b.npz": 2} {
		n, err := tensor.Data[int64](readValues(t, path)[1].Tensor())
		require.NoError(t, err)
		require.Equal(t, []int64{want}, n)
	}

	require.Equal(t, "[float32[3] int64[]]", fmt.Sprint(readValues(t, "state.npz")))
	text, err := os.ReadFile("state.json")
	require.NoError(t, err)
	var sidecar struct {
		Values []struct{ Name, Method string }
	}
	require.NoError(t, json.Unmarshal(text, &sidecar))
	require.Equal(t, []struct{ Name, Method string }{{"s", "forward"}, {"n", "forward"}}, sidecar.Values)

	require.NoError(t, os.WriteFile("calls.json", []byte(`{"calls": [{}, {"method": "backward"}]}`), 0o666))
	require.Contains(t, mustFail(t, exitFailure, "run", "prog_state_names.bpte", "--calls", "calls.json"), "call 1: ")
	require.NoError(t, os.WriteFile("calls.json", []byte(`{}`), 0o666))
	require.Contains(t, mustFail(t, exitFailure, "run", "prog_state_names.bpte", "--calls", "calls.json"), `no "calls"`)
}

func TestRunLoadOnly(t *testing.T) {
	workDir(t, "prog_stateinit_names.bpte")
	require.Empty(t, mustRun(t, "run", "prog_stateinit_names.bpte", "--load-only", "--state-out", "state.npz"))
	s, err := tensor.Data[float32](readValues(t, "state.npz")[0].Tensor())
	require.NoError(t, err)
	require.Equal(t, []float32{1, 2, 3}, s)
	changeProgram(t, "prog_stateinit_names.bpte", "missing.pte", renameOperators)
	require.Contains(t, mustFail(t, exitFailure, "run", "missing.pte", "--load-only"), "error 0x14: ")
}

func TestPickMethod(t *testing.T) {
	for _, tc := range []struct {
		names      []string
		want, pick string
	}{
		{[]string{"a", "forward"}, "", "forward"},
		{[]string{"a"}, "", "a"},
		{[]string{"a", "forward"}, "a", "a"},
		{[]string{"a"}, "b", "b"}, // for the program to refuse
	} {
		got, err := pickMethod(tc.names, tc.want)
		require.NoError(t, err)
		require.Equal(t, tc.pick, got)
	}
	got, err := pickMethod([]string{"a", "b"}, "")
	require.NoError(t, err)
	require.Equal(t, "a", got, "the first, as executor_runner does")
	_, err = pickMethod(nil, "")
	require.ErrorIs(t, err, runtime.ErrInvalidArgument)
}

func TestOnes(t *testing.T) {
	for d := tensor.DType(0); d.Valid(); d++ {
		x, err := tensor.New(d, []int{5})
		require.NoError(t, err)
		for i := range x.Bytes() {
			x.Bytes()[i] = 0xee
		}
		fillOnes(x)
		size := d.Size()
		for i := range 5 {
			require.Equal(t, complex(1, 0), valuefmt.Value(d, x.Bytes()[i*size:(i+1)*size]), d)
		}
	}
	meta := &runtime.MethodMeta{Inputs: []runtime.ValueInfo{
		{Kind: runtime.KindTensor, DType: tensor.U8, Sizes: []int{0, 3}},
		{Kind: runtime.KindInt, Value: runtime.Int(7)},
		{Kind: runtime.KindNone},
	}}
	inputs, err := ones(meta)
	require.NoError(t, err)
	require.Equal(t, "[uint8[0,3] 7 None]", fmt.Sprint(inputs))
	meta.Inputs[0].Sizes = []int{1 << 40, 1 << 10}
	_, err = ones(meta)
	require.ErrorIs(t, err, runtime.ErrMemoryAllocationFailed)
}

// Nothing that is read or belongs to somebody else is overwritten, and a mistyped
// flag or key does not become a run on ones.
func TestRunOverwritesNothing(t *testing.T) {
	workDir(t, "add__f32.bpte")
	model, err := os.ReadFile("add__f32.bpte")
	require.NoError(t, err)
	mustFail(t, exitUsage, "run", "add__f32.bpte", "--outputs", "add__f32.bpte")
	mustFail(t, exitFailure, "run", "add__f32.bpte", "--outputs", "out.npy")
	mustFail(t, exitUsage, "run", "add__f32.bpte", "--outputs", "a.npz", "--state-out", "a.npz")
	mustFail(t, exitUsage, "run", "add__f32.bpte", "--inputs", "")

	require.NoError(t, os.WriteFile("result.json", []byte(`{"mine": 1}`), 0o600))
	require.Contains(t, mustFail(t, exitFailure, "run", "add__f32.bpte", "--outputs", "result.npz"), "result.json")
	text, err := os.ReadFile("result.json")
	require.NoError(t, err)
	require.Equal(t, `{"mine": 1}`, string(text))

	require.NoError(t, os.WriteFile("calls.json", []byte(`{"calls":[{"input":"in.npz"}]}`), 0o600))
	require.Contains(t, mustFail(t, exitFailure, "run", "add__f32.bpte", "--calls", "calls.json"), `"input"`)

	// Outputs may be replaced, and a link named like one that leads to the model is
	// replaced itself.
	require.NoError(t, os.Link("add__f32.bpte", "link.npz"))
	mustRun(t, "run", "add__f32.bpte", "--outputs", "link.npz")
	mustRun(t, "run", "add__f32.bpte", "--outputs", "link.npz")
	after, err := os.ReadFile("add__f32.bpte")
	require.NoError(t, err)
	require.Equal(t, model, after)
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestResultsThatCannotBeWritten(t *testing.T) {
	workDir(t, "add__f32.bpte")
	for _, args := range [][]string{{"run", "add__f32.bpte"}, {"info"}, {"inspect", "add__f32.bpte"}, {"verify", "add__f32.bpte"}} {
		var stderr bytes.Buffer
		require.Equal(t, exitFailure, doMain(args, strings.NewReader(""), fullDisk{}, &stderr), args)
		require.Contains(t, stderr.String(), "error 0x22: writing the results: no space left")
	}
}
