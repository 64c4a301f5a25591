package module_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/memory"
	"github.com/etgo-ml/etgo/module"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/schema"
	"github.com/etgo-ml/etgo/schema/flattensor"
	"github.com/etgo-ml/etgo/schema/program"
	"github.com/etgo-ml/etgo/tensor"
)

// accumulate is t::accumulate: it adds x to state.
var accumulate = runtime.Kernels{{
	Schema: "t::accumulate(Tensor(a!) state, Tensor x) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		state, x := tensor.Raw[float32](args.Tensor(0)), tensor.Raw[float32](args.Tensor(1))
		for i := range state {
			state[i] += x[i]
		}
		if g := gate; g != nil {
			g <- struct{}{}
			<-g
		}
		return nil
	},
}}

// gate, when set, lets a test hold a running kernel.
var gate chan struct{}

func registry(t testing.TB) *runtime.Registry {
	reg := runtime.NewRegistry()
	require.NoError(t, reg.Register(accumulate))
	return reg
}

// sumProgram has a method forward that adds its input to the buffer "sum", and a
// method other that does the same with a buffer of its own.
func sumProgram(t testing.TB) []byte {
	planned := func(offset uint64) *program.Tensor {
		return &program.Tensor{Type: schema.Float, Sizes: []int32{2}, DimOrder: []uint8{0}, Allocation: &program.Allocation{MemoryID: 1, Offset: offset}}
	}
	plan := func(name string) program.Plan {
		state := planned(16)
		state.Name = "sum"
		return program.Plan{
			Name:   name,
			Values: []program.Value{{Kind: program.KindTensor, Tensor: planned(0)}, {Kind: program.KindTensor, Tensor: state}},
			Inputs: []int32{0}, Outputs: []int32{1},
			Operators:   []program.Operator{{Name: "t::accumulate"}},
			Chains:      []program.Chain{{Instructions: []program.Instruction{{Kind: program.KernelCall, Args: []int32{1, 0, 1}}}}},
			BufferSizes: []int64{0, 32},
		}
	}
	b, err := program.Encode(&program.Program{Plans: []program.Plan{plan("forward"), plan("other")}})
	require.NoError(t, err)
	return b
}

func forward(t testing.TB, m *module.Module, x ...float32) []float32 {
	out, err := m.Forward(context.Background(), tensor.Of(x))
	require.NoError(t, err)
	v, err := tensor.Data[float32](out[0])
	require.NoError(t, err)
	return v
}

func write(t testing.TB, name string, b []byte) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

// All constructors take the same options and give the same module.
func TestConstructors(t *testing.T) {
	file := sumProgram(t)
	path := write(t, "sum.pte", file)
	p, err := runtime.NewProgram(file, nil)
	require.NoError(t, err)
	reg := registry(t)
	for name, open := range map[string]func(...module.Option) (*module.Module, error){
		"Open": func(o ...module.Option) (*module.Module, error) { return module.Open(path, reg, o...) },
		"New":  func(o ...module.Option) (*module.Module, error) { return module.New(file, reg, o...) },
		"NewReaderAt": func(o ...module.Option) (*module.Module, error) {
			return module.NewReaderAt(bytes.NewReader(file), int64(len(file)), reg, o...)
		},
		"OpenFS": func(o ...module.Option) (*module.Module, error) {
			return module.OpenFS(fstest.MapFS{"a/sum.pte": {Data: file}}, "a/sum.pte", reg, o...)
		},
		"FromProgram": func(o ...module.Option) (*module.Module, error) { return module.FromProgram(p, reg, o...) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, mode := range []module.LoadMode{module.LoadMmap, module.LoadRead} {
				alloc := memory.NewCaching(memory.Heap{})
				m, err := open(module.WithLoadMode(mode), module.WithMethodAllocator(alloc), module.WithTempAllocator(alloc), module.WithThreads(1))
				require.NoError(t, err)
				assert.Equal(t, []float32{1, 2}, forward(t, m, 1, 2))
				assert.Equal(t, []float32{2, 4}, forward(t, m, 1, 2))
				assert.Positive(t, alloc.Stats().InUseBytes)
				require.NoError(t, m.Close())
				require.NoError(t, m.Close())
				assert.Zero(t, alloc.Stats().InUseBytes)
				_, err = m.Forward(context.Background(), tensor.Of([]float32{1, 2}))
				assert.ErrorIs(t, err, runtime.ErrClosed)
			}
		})
	}
	require.NoError(t, p.Close())
	_, err = module.FromProgram(p, reg)
	assert.ErrorIs(t, err, runtime.ErrClosed)
}

func TestOpenErrors(t *testing.T) {
	reg := registry(t)
	_, err := module.Open(filepath.Join(t.TempDir(), "none.pte"), reg)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorIs(t, err, runtime.ErrAccessFailed)
	_, err = module.Open(t.TempDir(), reg)
	assert.ErrorIs(t, err, runtime.ErrAccessFailed)
	_, err = module.Open(write(t, "x.pte", []byte("PK\x03\x04 and so on, which is a zip file")), reg)
	assert.ErrorContains(t, err, "zip")
	file := sumProgram(t)
	_, err = module.NewReaderAt(bytes.NewReader(file), int64(len(file))+1, reg)
	assert.ErrorIs(t, err, runtime.ErrAccessFailed)
	_, err = module.New(file, nil)
	assert.ErrorIs(t, err, runtime.ErrInvalidArgument)
	_, err = module.Open(write(t, "sum.pte", file), reg, module.WithData("none.ptd"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func TestCloneHasStateOfItsOwn(t *testing.T) {
	m, err := module.New(sumProgram(t), registry(t))
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 1}, forward(t, m, 1, 1))
	c, err := m.Clone()
	require.NoError(t, err)
	require.NoError(t, m.Close())
	assert.Equal(t, []float32{5, 5}, forward(t, c, 5, 5))
	require.NoError(t, c.Close())
	_, err = c.Clone()
	assert.ErrorIs(t, err, runtime.ErrClosed)
}

func TestMethodsAndState(t *testing.T) {
	m, err := module.New(sumProgram(t), registry(t))
	require.NoError(t, err)
	defer m.Close()
	assert.Equal(t, []string{"forward", "other"}, m.MethodNames())
	meta, err := m.Meta("other")
	require.NoError(t, err)
	assert.Equal(t, "float32[2]", meta.Inputs[0].String())
	assert.Equal(t, "sum", meta.Attributes[0].Name)
	_, err = m.Meta("backward")
	assert.ErrorIs(t, err, runtime.ErrMethodNotFound)

	assert.False(t, m.IsLoaded("forward"))
	require.NoError(t, m.Load("forward"))
	assert.True(t, m.IsLoaded("forward"))
	forward(t, m, 1, 2)
	names, err := m.Attributes("forward")
	require.NoError(t, err)
	assert.Equal(t, []string{"sum"}, names)
	require.NoError(t, m.SetAttribute("forward", "sum", tensor.Of([]float32{10, 10})))
	assert.Equal(t, []float32{11, 12}, forward(t, m, 1, 2))
	require.NoError(t, m.Reset())
	assert.Equal(t, []float32{1, 2}, forward(t, m, 1, 2))
	sum, err := m.Attribute("forward", "sum")
	require.NoError(t, err)
	v, err := tensor.Data[float32](sum)
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 2}, v)
	require.NoError(t, m.Unload("forward"))
	assert.Equal(t, []float32{1, 2}, forward(t, m, 1, 2), "loaded anew")
	require.NoError(t, m.Unload("never loaded"))
}

func TestSharedArenas(t *testing.T) {
	m, err := module.New(sumProgram(t), registry(t), module.WithSharedArenas())
	require.NoError(t, err)
	defer m.Close()
	assert.Equal(t, []float32{1, 2}, forward(t, m, 1, 2))
	out, err := m.Execute(context.Background(), "other", runtime.TensorValue(tensor.Of([]float32{1, 1})))
	require.NoError(t, err)
	v, err := tensor.Data[float32](out[0].Tensor())
	require.NoError(t, err)
	assert.Equal(t, []float32{2, 3}, v)
}

func TestSetInputRunSetOutput(t *testing.T) {
	m, err := module.New(sumProgram(t), registry(t), module.WithBorrowedOutputs())
	require.NoError(t, err)
	defer m.Close()
	ctx := context.Background()
	_, err = m.Run(ctx, "forward")
	assert.ErrorIs(t, err, runtime.ErrInvalidArgument)
	mine := make([]float32, 2)
	require.NoError(t, m.SetOutput("forward", 0, tensor.Of(mine)))
	require.NoError(t, m.SetInput("forward", 0, runtime.TensorValue(tensor.Of([]float32{3, 4}))))
	first, err := m.Run(ctx, "forward")
	require.NoError(t, err)
	assert.Equal(t, []float32{3, 4}, mine)
	_, err = m.Run(ctx, "forward")
	require.NoError(t, err)
	v, err := tensor.Data[float32](first[0].Tensor())
	require.NoError(t, err)
	assert.Equal(t, []float32{6, 8}, v, "a borrowed output is the method's memory")
}

func TestMemoryLimit(t *testing.T) {
	m, err := module.New(sumProgram(t), registry(t), module.WithMemoryLimit(memory.Limits{MaxBytes: 31}))
	require.NoError(t, err)
	defer m.Close()
	e, err := m.MemoryEstimate("forward")
	require.NoError(t, err)
	assert.Equal(t, int64(32), e.Total())
	assert.ErrorIs(t, m.Load("forward"), runtime.ErrLimitExceeded)
}

// A second goroutine gets ErrBusy, Close waits.
func TestBusyAndClose(t *testing.T) {
	m, err := module.New(sumProgram(t), registry(t))
	require.NoError(t, err)
	require.NoError(t, m.Load("forward"))
	gate = make(chan struct{})
	defer func() { gate = nil }()
	var group sync.WaitGroup
	group.Go(func() {
		_, err := m.Forward(context.Background(), tensor.Of([]float32{1, 1}))
		assert.NoError(t, err)
	})
	<-gate // the kernel runs
	_, err = m.Forward(context.Background(), tensor.Of([]float32{1, 1}))
	assert.ErrorIs(t, err, runtime.ErrBusy)
	assert.ErrorIs(t, m.Load("other"), runtime.ErrBusy)
	closed := make(chan error, 1)
	go func() { closed <- m.Close() }()
	select {
	case <-closed:
		t.Error("Close did not wait for the run")
	case <-time.After(20 * time.Millisecond):
	}
	gate <- struct{}{}
	group.Wait()
	assert.NoError(t, <-closed)
}

func TestDataFiles(t *testing.T) {
	weight := &program.Tensor{Type: schema.Float, Sizes: []int32{2}, DimOrder: []uint8{0}, Location: program.LocationExternal, Name: "w"}
	file, err := program.Encode(&program.Program{Plans: []program.Plan{{
		Name: "forward", Values: []program.Value{{Kind: program.KindTensor, Tensor: weight}}, Outputs: []int32{0},
		Chains: []program.Chain{{}}, BufferSizes: []int64{0},
	}}})
	require.NoError(t, err)
	data, err := flattensor.Encode(&flattensor.File{Data: []flattensor.NamedData{{
		Key: "w", Bytes: tensor.Of([]float32{7, 8}).Bytes(), Layout: &flattensor.TensorLayout{Type: schema.Float, Sizes: []int32{2}, DimOrder: []uint8{0}},
	}}})
	require.NoError(t, err)
	reg := registry(t)

	m, err := module.New(file, reg)
	require.NoError(t, err)
	assert.ErrorContains(t, m.Load("forward"), `"w"`)
	require.NoError(t, m.Close())

	path := write(t, "w.ptd", data)
	m, err = module.New(file, reg, module.WithData(path))
	require.NoError(t, err)
	out, err := m.Forward(context.Background())
	require.NoError(t, err)
	require.NoError(t, m.Close())
	v, err := tensor.Data[float32](out[0])
	require.NoError(t, err)
	assert.Equal(t, []float32{7, 8}, v, "outputs outlive the data file's mapping")

	_, err = module.New(file, reg, module.WithData(path, path))
	assert.ErrorIs(t, err, runtime.ErrInvalidArgument)
}

func ExampleNew() {
	// The registry decides which operators a program may use.
	reg := runtime.NewRegistry()
	if err := reg.Register(accumulate); err != nil {
		fmt.Println(err)
		return
	}
	m, err := module.OpenFS(os.DirFS("."), "module.go", reg, module.WithThreads(2))
	if err != nil {
		fmt.Println("refused:", errors.Is(err, fs.ErrNotExist))
		return
	}
	defer m.Close()
	fmt.Println(m.MethodNames())
	// Output: refused: false
}
