// Package etgo runs ExecuTorch programs (.pte files) in pure Go, with all of
// etgo's operators and backends linked.
//
//	m, err := etgo.Open("model.pte")
//	if err != nil {
//		return err
//	}
//	defer m.Close()
//	outputs, err := m.Forward(ctx, tensor.Of(pixels, 1, 3, 224, 224))
//	if err != nil {
//		return err
//	}
//	scores, err := tensor.Data[float32](outputs[0])
//
// The functions here return a [module.Module], whose documentation tells what it
// can do, and take the options of package module. An application that wants fewer
// operators in its binary, or operators of its own, gives package module a
// registry of its own choice instead: [Registry] is the one used here.
package etgo

//go:generate go run ./docs/gen

import (
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/etgo-ml/etgo/kernels/llm"
	"github.com/etgo-ml/etgo/kernels/portable"
	"github.com/etgo-ml/etgo/kernels/prim"
	"github.com/etgo-ml/etgo/kernels/quantized"
	"github.com/etgo-ml/etgo/module"
	"github.com/etgo-ml/etgo/runtime"
)

// families are the operators and backends that are linked.
var families = []func(*runtime.Registry) error{prim.Register, portable.Register, quantized.Register, llm.Register}

// Registry returns a new registry of all operators and backends of etgo, to
// which the caller may add.
func Registry() *runtime.Registry {
	reg, _ := newRegistry() // Open and its kin report the error, which a test rules out
	return reg
}

func newRegistry() (*runtime.Registry, error) {
	reg := runtime.NewRegistry()
	var err error
	for _, register := range families {
		err = errors.Join(err, register(reg))
	}
	return reg, err
}

// shared is the registry of the modules made here. Nobody adds to it, so that
// they may use it side by side.
var shared = sync.OnceValues(newRegistry)

// Open opens a .pte file.
func Open(path string, opts ...module.Option) (*module.Module, error) {
	reg, err := shared()
	if err != nil {
		return nil, err
	}
	return module.Open(path, reg, opts...)
}

// New makes a module of the bytes of a .pte file, which it uses without copying:
// they must stay unchanged until the module and its clones are closed.
func New(file []byte, opts ...module.Option) (*module.Module, error) {
	reg, err := shared()
	if err != nil {
		return nil, err
	}
	return module.New(file, reg, opts...)
}

// NewReaderAt makes a module of a .pte file of size bytes that r reads.
func NewReaderAt(r io.ReaderAt, size int64, opts ...module.Option) (*module.Module, error) {
	reg, err := shared()
	if err != nil {
		return nil, err
	}
	return module.NewReaderAt(r, size, reg, opts...)
}

// OpenFS opens a .pte file of a file system, such as one embedded in the
// application. Data files of module.WithData are still opened from the disk.
func OpenFS(fsys fs.FS, name string, opts ...module.Option) (*module.Module, error) {
	reg, err := shared()
	if err != nil {
		return nil, err
	}
	return module.OpenFS(fsys, name, reg, opts...)
}

// FromProgram makes a module of a program, which other modules may share. The
// caller's use of the program stays its own to close.
func FromProgram(p *runtime.Program, opts ...module.Option) (*module.Module, error) {
	reg, err := shared()
	if err != nil {
		return nil, err
	}
	return module.FromProgram(p, reg, opts...)
}
