package etgo_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo"
	"github.com/etgo-ml/etgo/module"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// addFile is a program that adds two tensors float32[1].
const addFile = "testdata/cli/add.pte"

func Example() {
	m, err := etgo.Open(addFile)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	outputs, err := m.Forward(context.Background(), tensor.Of([]float32{1}), tensor.Of([]float32{2}))
	if err != nil {
		log.Fatal(err)
	}
	sum, err := tensor.Data[float32](outputs[0])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum)
	// Output: [3]
}

func TestConstructors(t *testing.T) {
	file, err := os.ReadFile(addFile)
	require.NoError(t, err)
	program, err := runtime.NewProgram(file, nil)
	require.NoError(t, err)
	defer program.Close()
	for name, open := range map[string]func(...module.Option) (*module.Module, error){
		"Open": func(o ...module.Option) (*module.Module, error) { return etgo.Open(addFile, o...) },
		"New":  func(o ...module.Option) (*module.Module, error) { return etgo.New(file, o...) },
		"OpenFS": func(o ...module.Option) (*module.Module, error) {
			return etgo.OpenFS(os.DirFS("testdata"), "cli/add.pte", o...)
		},
		"FromProgram": func(o ...module.Option) (*module.Module, error) { return etgo.FromProgram(program, o...) },
		"NewReaderAt": func(o ...module.Option) (*module.Module, error) {
			return etgo.NewReaderAt(bytes.NewReader(file), int64(len(file)), o...)
		},
	} {
		m, err := open(module.WithThreads(1))
		require.NoError(t, err, name)
		out, err := m.Forward(context.Background(), tensor.Of([]float32{1}), tensor.Of([]float32{2}))
		require.NoError(t, err, name)
		require.Equal(t, []float32{3}, tensor.Raw[float32](out[0]), name)
		require.NoError(t, m.Close(), name)
	}
}

func TestOpenErrors(t *testing.T) {
	_, err := etgo.Open("testdata/cli/no_such_file.pte")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = etgo.New([]byte("hello, world"))
	require.ErrorContains(t, err, "a text file")
}

// Each registry is the caller's own.
func TestRegistry(t *testing.T) {
	reg := etgo.Registry()
	require.NotNil(t, reg.Kernel("aten::add.out"))
	kernels := runtime.Kernels{{
		Schema: "test::op.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    func(*runtime.KernelRuntimeContext, runtime.Args) error { return nil },
	}}
	require.NoError(t, reg.Register(kernels))
	require.NoError(t, etgo.Registry().Register(kernels))
	require.Nil(t, etgo.Registry().Kernel("test::op.out"))
}
