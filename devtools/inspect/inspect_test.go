package inspect

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/schema"
	"github.com/etgo-ml/etgo/schema/bundled"
	"github.com/etgo-ml/etgo/schema/flattensor"
	"github.com/etgo-ml/etgo/schema/program"
)

// twoCalls is a program that calls an operator and a delegate.
func twoCalls(t *testing.T) []byte {
	f, err := program.Encode(&program.Program{
		Plans: []program.Plan{{
			Name: "forward",
			Values: []program.Value{
				{Kind: program.KindTensor, Tensor: &program.Tensor{Type: schema.Float, Sizes: []int32{2, 3}, DimOrder: []uint8{0, 1}}},
				{Kind: program.KindDouble, Double: 1.5},
				{Kind: program.KindTensor, Tensor: &program.Tensor{
					Type: schema.Half, Sizes: []int32{4}, DimOrder: []uint8{0}, Dynamism: program.DynamicBound,
					Allocation: &program.Allocation{MemoryID: 1}, Name: "cache",
				}},
				{Kind: program.KindNull},
			},
			Inputs:    []int32{0, 1, 3},
			Outputs:   []int32{2},
			Operators: []program.Operator{{Name: "test::op", Overload: "out"}, {Name: "executorch_prim::et_view", Overload: "default"}},
			Delegates: []program.Delegate{{ID: "TestBackend", Processed: []byte("payload")}},
			Chains: []program.Chain{{Instructions: []program.Instruction{
				{Kind: program.KernelCall, Index: 0, Args: []int32{0, 2}},
				{Kind: program.KernelCall, Index: 1, Args: []int32{0, 2}},
				{Kind: program.DelegateCall, Index: 0, Args: []int32{0, 2}},
				{Kind: program.DelegateCall, Index: 0, Args: []int32{0, 2}},
				{Kind: program.DelegateCall, Index: 0, Args: []int32{0, 2}},
			}}},
			BufferSizes: []int64{0, 64},
		}},
	})
	require.NoError(t, err)
	return f
}

func TestDescribeProgram(t *testing.T) {
	f, err := Describe(twoCalls(t))
	require.NoError(t, err)
	require.Equal(t, Program, f.Kind)
	require.Equal(t, int64(7), f.DelegateBytes)
	require.Len(t, f.Methods, 1)
	m := f.Methods[0]
	require.Equal(t, "[float32[2,3] float 1.5 None]", text(m.Inputs))
	require.Equal(t, "[float16[4] dynamic]", text(m.Outputs))
	require.Equal(t, "cache", m.Attributes[0].Name)
	require.Equal(t, []Calls{{"executorch_prim::et_view.default", 1}, {"test::op.out", 1}}, m.Operators)
	require.Equal(t, []Calls{{"TestBackend", 3}}, m.Backends)
	require.Equal(t, 5, m.Instructions)
	require.Equal(t, []int64{0, 64}, m.PlannedSizes)
	require.Equal(t, 0.75, m.Delegated())

	b, err := json.Marshal(m.Inputs)
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"kind": "tensor", "dtype": "float32", "sizes": [2, 3], "dim_order": [0, 1], "dynamism": "static", "memory_planned": false, "nbytes": 24},
		{"kind": "float", "value": 1.5},
		{"kind": "none"}]`, string(b))
}

func text(values []Value) string {
	s := "["
	for i, v := range values {
		if i > 0 {
			s += " "
		}
		s += v.String()
	}
	return s + "]"
}

func TestDescribeBundle(t *testing.T) {
	file, err := bundled.Encode(&bundled.File{Program: twoCalls(t), Suites: []bundled.Suite{{Method: "forward", Cases: make([]bundled.Case, 2)}}})
	require.NoError(t, err)
	f, err := Describe(file)
	require.NoError(t, err)
	require.Equal(t, Bundle, f.Kind)
	require.Equal(t, int64(len(file)), f.NBytes)
	require.Equal(t, []TestSets{{"forward", 2}}, f.TestSets)
}

func TestDescribeData(t *testing.T) {
	file, err := flattensor.Encode(&flattensor.File{Data: []flattensor.NamedData{
		{Key: "w", Bytes: make([]byte, 8), Layout: &flattensor.TensorLayout{Type: schema.Float, Sizes: []int32{2}, DimOrder: []uint8{0}}},
		{Key: "blob", Bytes: []byte("abc")},
	}})
	require.NoError(t, err)
	f, err := Describe(file)
	require.NoError(t, err)
	require.Equal(t, Data, f.Kind)
	require.Equal(t, int64(11), f.NamedBytes)
	require.ElementsMatch(t, []NamedData{
		{Key: "w", DType: "float32", Sizes: []int{2}, DimOrder: []int{0}, NBytes: 8}, {Key: "blob", NBytes: 3},
	}, f.Data)
}

func TestDescribeErrors(t *testing.T) {
	for _, file := range []string{"", "hello, world", "xxxxBP08xxxxxxxx", "xxxxFT01xxxxxxxx", "xxxxET12xxxxxxxx"} {
		_, err := Describe([]byte(file))
		require.Error(t, err, file)
		require.False(t, runtime.IsPanic(err))
	}
}

func TestMissing(t *testing.T) {
	f, err := Describe(twoCalls(t))
	require.NoError(t, err)
	reg := runtime.NewRegistry()
	missing := f.Missing(reg)
	require.True(t, missing.Any())
	require.Equal(t, Missing{Operators: []string{"executorch_prim::et_view.default", "test::op.out"}, Backends: []string{"TestBackend"}}, missing)
	require.NoError(t, reg.Register(runtime.Kernels{{
		Schema: "test::op.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    func(*runtime.KernelRuntimeContext, runtime.Args) error { return nil },
	}}))
	missing = f.Missing(reg)
	require.Equal(t, []string{"executorch_prim::et_view.default"}, missing.Operators)
	none := Method{}
	require.Zero(t, none.Delegated())
}
