// Command extop brings an operator of its own: it is written against etgo's
// public packages alone, takes scratch from the context and runs a parallel loop.
// It builds a program that calls the operator, runs it and prints the result.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/etgo-ml/etgo/memory"
	"github.com/etgo-ml/etgo/module"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/schema"
	"github.com/etgo-ml/etgo/schema/program"
	"github.com/etgo-ml/etgo/tensor"
)

// rowSum is my::row_sum: the sum of each row of a float32 matrix.
var rowSum = runtime.Kernels{{
	Schema: "my::row_sum.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		self, out := args.Tensor(0), args.Tensor(1)
		if self.DType() != tensor.F32 || out.DType() != tensor.F32 || self.Rank() != 2 || !self.IsContiguous() {
			return fmt.Errorf("row_sum: %w: want a contiguous float32 matrix, got %v", runtime.ErrInvalidArgument, self)
		}
		rows, cols := self.Size(0), self.Size(1)
		if err := out.Resize([]int{rows}); err != nil {
			return err
		}
		scratch, err := runtime.Temp[float64](ctx, ctx.Threads())
		if err != nil {
			return err
		}
		t := runtime.State[rowSumTask](ctx)
		*t = rowSumTask{in: tensor.Raw[float32](self), out: tensor.Raw[float32](out), cols: cols, acc: scratch}
		ctx.Parallel(rows, 1, t)
		return nil
	},
}}

// rowSumTask sums rows lo to hi, each in the worker's own accumulator.
type rowSumTask struct {
	in, out []float32
	cols    int
	acc     []float64
}

func (t *rowSumTask) Run(worker, lo, hi int) {
	for r := lo; r < hi; r++ {
		t.acc[worker] = 0
		for _, v := range t.in[r*t.cols : (r+1)*t.cols] {
			t.acc[worker] += float64(v)
		}
		t.out[r] = float32(t.acc[worker])
	}
}

// model returns a .pte file whose method forward calls my::row_sum.
func model(rows, cols int32) ([]byte, error) {
	matrix := &program.Tensor{Type: schema.Float, Sizes: []int32{rows, cols}, DimOrder: []uint8{0, 1},
		Allocation: &program.Allocation{MemoryID: 1}}
	sums := &program.Tensor{Type: schema.Float, Sizes: []int32{rows}, DimOrder: []uint8{0},
		Allocation: &program.Allocation{MemoryID: 1, Offset: uint64(4 * rows * cols)}}
	return program.Encode(&program.Program{Plans: []program.Plan{{
		Name: "forward",
		Values: []program.Value{
			{Kind: program.KindTensor, Tensor: matrix},
			{Kind: program.KindTensor, Tensor: sums},
		},
		Inputs: []int32{0}, Outputs: []int32{1},
		Operators: []program.Operator{{Name: "my::row_sum", Overload: "out"}},
		Chains: []program.Chain{{Instructions: []program.Instruction{
			{Kind: program.KernelCall, Index: 0, Args: []int32{0, 1, 1}},
		}}},
		BufferSizes: []int64{0, int64(4*rows*cols + 4*rows)},
	}}})
}

func run() error {
	file, err := model(3, 4)
	if err != nil {
		return err
	}
	reg := runtime.NewRegistry()
	if err := reg.Register(rowSum); err != nil {
		return err
	}
	m, err := module.New(file, reg, module.WithThreads(2), module.WithTempAllocator(memory.NewCaching(memory.Heap{})))
	if err != nil {
		return err
	}
	defer m.Close()
	out, err := m.Forward(context.Background(), tensor.Of([]float32{1, 2, 3, 4, 10, 20, 30, 40, -1, 0, 0, 1}, 3, 4))
	if err != nil {
		return err
	}
	sums, err := tensor.Data[float32](out[0])
	if err != nil {
		return err
	}
	fmt.Println(sums)
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
