// Command selective runs a program with a registry of two operators: the linker
// leaves out all others. Its argument is a .pte file.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/etgo-ml/etgo/kernels/portable"
	"github.com/etgo-ml/etgo/module"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

func run(path string) error {
	reg := runtime.NewRegistry()
	if err := reg.Register(portable.Add, portable.Mul); err != nil {
		return err
	}
	m, err := module.Open(path, reg)
	if err != nil {
		return err
	}
	defer m.Close()
	out, err := m.Forward(context.Background(), tensor.Scalar(float32(1)), tensor.Scalar(float32(2)))
	if err != nil {
		return err
	}
	fmt.Println(out)
	return nil
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
