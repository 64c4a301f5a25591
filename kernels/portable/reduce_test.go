package portable

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

// ramp returns n different numbers of both signs in no order.
func ramp(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i*37%n)/float32(n)*4 - 2.25
	}
	return x
}

// as returns t's elements converted to type d.
func as(t *testing.T, d tensor.DType, x *tensor.Tensor) *tensor.Tensor {
	out := kerneltest.Zeros(d, x.Shape()...)
	values, err := tensor.Data[float32](x)
	require.NoError(t, err)
	kit.Store(out, 0, values)
	return out
}

// like returns an output of type d with the size 1 in the dimensions dims of x.
func like(x *tensor.Tensor, d tensor.DType, dims ...int) *tensor.Tensor {
	shape := append([]int{}, x.Shape()...)
	for _, d := range dims {
		shape[d] = 1
	}
	return kerneltest.Zeros(d, shape...)
}

// layoutCases are calls with rank-4 operands in which any of them may have any
// dim order.
var layoutCases = []struct {
	name    string
	kernels runtime.Kernels
	args    func(x *tensor.Tensor) []any
}{
	{"aten::sum.IntList_out", Sum, func(x *tensor.Tensor) []any {
		return []any{x, []int{2, 3}, true, nil, like(x, tensor.F32, 2, 3)}
	}},
	{"aten::sum.IntList_out", Sum, func(x *tensor.Tensor) []any { return []any{x, []int{1}, true, nil, like(x, tensor.F32, 1)} }},
	{"aten::sum.IntList_out", Sum, func(x *tensor.Tensor) []any {
		return []any{x, []int{0, 2}, true, tensor.F64, like(x, tensor.F64, 0, 2)}
	}},
	{"aten::mean.out", Mean, func(x *tensor.Tensor) []any {
		return []any{x, []int{-1, 1}, true, nil, like(x, tensor.F32, 1, 3)}
	}},
	{"aten::prod.int_out", Prod, func(x *tensor.Tensor) []any { return []any{x, -2, true, nil, like(x, tensor.F32, 2)} }},
	{"aten::amax.out", Amax, func(x *tensor.Tensor) []any { return []any{x, []int{0, 3}, true, like(x, tensor.F32, 0, 3)} }},
	{"aten::amin.out", Amin, func(x *tensor.Tensor) []any { return []any{x, []int{}, true, like(x, tensor.F32, 0, 1, 2, 3)} }},
	{"aten::max.dim_max", Max, func(x *tensor.Tensor) []any {
		return []any{x, 1, true, like(x, tensor.F32, 1), like(x, tensor.I64, 1)}
	}},
	{"aten::min.dim_min", Min, func(x *tensor.Tensor) []any {
		return []any{x, 3, true, like(x, tensor.F32, 3), like(x, tensor.I64, 3)}
	}},
	{"aten::argmax.out", Argmax, func(x *tensor.Tensor) []any { return []any{x, 2, true, like(x, tensor.I64, 2)} }},
	{"aten::argmin.out", Argmin, func(x *tensor.Tensor) []any { return []any{x, nil, true, like(x, tensor.I64, 0, 1, 2, 3)} }},
	{"aten::any.dims_out", Any, func(x *tensor.Tensor) []any { return []any{x, []int{0, 2}, true, like(x, tensor.Bool, 0, 2)} }},
	{"aten::any.dims_out", Any, func(x *tensor.Tensor) []any { return []any{x, []int{}, true, like(x, tensor.Bool)} }},
	{"aten::var.out", Var, func(x *tensor.Tensor) []any {
		return []any{x, []int{1, 2}, true, true, like(x, tensor.F32, 1, 2)}
	}},
	{"aten::var_mean.correction_out", VarMean, func(x *tensor.Tensor) []any {
		return []any{x, []int{0}, 0.5, true, like(x, tensor.F32, 0), like(x, tensor.F32, 0)}
	}},
	{"aten::cumsum.out", Cumsum, func(x *tensor.Tensor) []any { return []any{x, 1, nil, like(x, tensor.F32)} }},
	{"aten::cumsum.out", Cumsum, func(x *tensor.Tensor) []any { return []any{x, 3, tensor.F64, like(x, tensor.F64)} }},
	{"aten::_softmax.out", Softmax, func(x *tensor.Tensor) []any { return []any{x, 1, false, like(x, tensor.F32)} }},
	{"aten::_softmax.out", Softmax, func(x *tensor.Tensor) []any { return []any{x, -1, false, like(x, tensor.F32)} }},
	{"aten::_log_softmax.out", LogSoftmax, func(x *tensor.Tensor) []any { return []any{x, 0, false, like(x, tensor.F32)} }},
	{"aten::native_layer_norm.out", NativeLayerNorm, func(x *tensor.Tensor) []any {
		return []any{x, []int{3, 5}, tensor.Of(ramp(15), 3, 5), nil, 1e-5, like(x, tensor.F32), like(x, tensor.F32, 2, 3), like(x, tensor.F32, 2, 3)}
	}},
	{"aten::native_group_norm.out", NativeGroupNorm, func(x *tensor.Tensor) []any {
		return []any{x, nil, tensor.Of(ramp(4)), 2, 4, 15, 2, 1e-5, like(x, tensor.F32), kerneltest.Zeros(tensor.F32, 2, 2), kerneltest.Zeros(tensor.F32, 2, 2)}
	}},
	{"aten::_native_batch_norm_legit_no_training.out", NativeBatchNormLegitNoTraining, func(x *tensor.Tensor) []any {
		return []any{x, tensor.Of(ramp(4)), nil, tensor.Of(ramp(4)), tensor.Of([]float32{1, 2, 3, 4}), 0.1, 1e-5, like(x, tensor.F32), kerneltest.Zeros(tensor.F32, 0), kerneltest.Zeros(tensor.F32, 0)}
	}},
	{"aten::_native_batch_norm_legit.no_stats_out", NativeBatchNormLegit, func(x *tensor.Tensor) []any {
		return []any{x, nil, tensor.Of(ramp(4)), true, 0.1, 1e-5, like(x, tensor.F32), kerneltest.Zeros(tensor.F32, 4), kerneltest.Zeros(tensor.F32, 4)}
	}},
	{"aten::_cdist_forward.out", CdistForward, func(x *tensor.Tensor) []any {
		return []any{x, tensor.Of(ramp(10), 1, 1, 2, 5), 2.0, nil, kerneltest.Zeros(tensor.F32, 2, 4, 3, 2)}
	}},
	{"aten::_fft_r2c.out", FFTR2C, func(x *tensor.Tensor) []any {
		return []any{x, []int{1, 3}, 0, true, kerneltest.Zeros(tensor.C64, 2, 4, 3, 3)}
	}},
}

// TestLayouts runs calls with the operands in all kinds of dim orders and wants
// what the contiguous ones give.
func TestLayouts(t *testing.T) {
	orders := []tensor.DimOrder{{0, 2, 3, 1}, {3, 2, 1, 0}, {1, 0, 3, 2}}
	for i, c := range layoutCases {
		want := c.args(tensor.Of(ramp(2*4*3*5), 2, 4, 3, 5))
		kerneltest.Run(t, c.kernels, c.name, want...)
		for _, in := range append(orders, nil) {
			for _, out := range append(orders, nil) {
				t.Run(fmt.Sprint(c.name, i, in, out), func(t *testing.T) {
					args := c.args(tensor.Of(ramp(2*4*3*5), 2, 4, 3, 5))
					for j, a := range args {
						order := out
						if j == 0 {
							order = in
						}
						if x, ok := a.(*tensor.Tensor); ok && x.Rank() == 4 && order != nil {
							args[j] = x.WithOrder(order)
						}
					}
					kerneltest.Run(t, c.kernels, c.name, args...)
					for j, a := range args {
						if x, ok := a.(*tensor.Tensor); ok {
							kerneltest.Close(t, want[j].(*tensor.Tensor), x, 1e-5, 2e-6)
						}
					}
				})
			}
		}
	}
}

// TestReduceAllocs wants no allocation in a call that is repeated.
func TestReduceAllocs(t *testing.T) {
	for i, c := range layoutCases {
		for _, order := range []tensor.DimOrder{{0, 1, 2, 3}, {0, 2, 3, 1}} {
			args := c.args(tensor.Of(ramp(2*4*3*5), 2, 4, 3, 5).WithOrder(order))
			n, err := kerneltest.Allocs(c.kernels, c.name, args...)
			require.NoError(t, err)
			require.Zero(t, n, "%s case %d dim order %v", c.name, i, order)
		}
	}
}

func TestReduceRejects(t *testing.T) {
	x := kerneltest.Zeros(tensor.F32, 2, 3)
	out := func(d tensor.DType, shape ...int) *tensor.Tensor { return kerneltest.Zeros(d, shape...) }
	for _, c := range []struct {
		kernels runtime.Kernels
		name    string
		args    []any
	}{
		{Sum, "aten::sum.IntList_out", []any{x, []int{2}, false, nil, out(tensor.F32, 2)}},
		{Sum, "aten::sum.IntList_out", []any{x, []int{0, -2}, false, nil, out(tensor.F32, 3)}},
		{Sum, "aten::sum.IntList_out", []any{x, []int{0}, false, tensor.F64, out(tensor.F32, 3)}},
		{Sum, "aten::sum.IntList_out", []any{x, []int{0}, false, nil, out(tensor.F32, 4)}},
		{Sum, "aten::sum.IntList_out", []any{out(tensor.C64, 2), nil, false, nil, out(tensor.F32)}},
		{Sum, "aten::sum.IntList_out", []any{out(tensor.QInt8, 2), nil, false, nil, out(tensor.F32)}},
		{Mean, "aten::mean.out", []any{out(tensor.I32, 2), nil, false, nil, out(tensor.F32)}},
		{Mean, "aten::mean.dtype_out", []any{x, tensor.I64, out(tensor.I64)}},
		{Prod, "aten::prod.out", []any{out(tensor.I32, 2), nil, out(tensor.I32)}},
		{Amax, "aten::amax.out", []any{out(tensor.F32, 2, 0), []int{1}, false, out(tensor.F32, 2)}},
		{Amax, "aten::amax.out", []any{x, []int{1}, false, out(tensor.F64, 2)}},
		{Max, "aten::max.unary_out", []any{x, out(tensor.I32)}},
		{Max, "aten::max.dim_max", []any{x, 1, false, out(tensor.F32, 2), out(tensor.I32, 2)}},
		{Argmax, "aten::argmax.out", []any{out(tensor.F32, 0), nil, false, out(tensor.I64)}},
		{Any, "aten::any.all_out", []any{x, out(tensor.F32)}},
		{Var, "aten::var.out", []any{out(tensor.I32, 2), nil, true, false, out(tensor.F32)}},
		{VarMean, "aten::var_mean.correction_out", []any{x, nil, nil, false, out(tensor.F32), out(tensor.F64)}},
		{Cumsum, "aten::cumsum.out", []any{x, 2, nil, out(tensor.F32, 2, 3)}},
		{Softmax, "aten::_softmax.out", []any{x, 0, false, out(tensor.F64, 2, 3)}},
		{Softmax, "aten::_softmax.out", []any{out(tensor.I32, 2), 0, false, out(tensor.I32, 2)}},
	} {
		err := kerneltest.Fails(t, c.kernels, c.name, c.args...)
		require.True(t, errors.Is(err, errs.InvalidArgument), "%s: %v", c.name, err)
	}
}

// TestReduceIntoInput gives one tensor as input and output.
func TestReduceIntoInput(t *testing.T) {
	x := kerneltest.Dynamic(tensor.F32, 4, 5)
	kerneltest.Fails(t, Sum, "aten::sum.IntList_out", x, []int{1}, true, nil, x)
	kerneltest.Fails(t, NativeLayerNorm, "aten::native_layer_norm.out", x, []int{5}, nil, nil, 1e-5, kerneltest.Zeros(tensor.F32, 4, 5), x, kerneltest.Zeros(tensor.F32, 4, 1))
}

// TestReduceThreads has enough work for several threads, whose number must not
// change the result: Run compares.
func TestReduceThreads(t *testing.T) {
	for _, order := range []tensor.DimOrder{{0, 1, 2, 3}, {0, 2, 3, 1}} {
		x := tensor.Of(ramp(4*64*20*40), 4, 64, 20, 40).WithOrder(order)
		stats := func(shape ...int) *tensor.Tensor { return kerneltest.Zeros(tensor.F32, shape...) }
		for _, dims := range [][]int{{0}, {1}, {3}, {2, 3}, {0, 2, 3}} {
			kerneltest.Run(t, Sum, "aten::sum.IntList_out", x, dims, true, nil, like(x, tensor.F32, dims...))
			kerneltest.Run(t, Var, "aten::var.out", x, dims, true, true, like(x, tensor.F32, dims...))
		}
		for dim := range 4 {
			kerneltest.Run(t, Argmax, "aten::argmax.out", x, dim, true, like(x, tensor.I64, dim))
			kerneltest.Run(t, Cumsum, "aten::cumsum.out", x, dim, nil, like(x, tensor.F32))
			kerneltest.Run(t, Softmax, "aten::_softmax.out", x, dim, false, like(x, tensor.F32))
			kerneltest.Run(t, LogSoftmax, "aten::_log_softmax.out", x, dim, false, like(x, tensor.F32))
		}
		kerneltest.Run(t, NativeLayerNorm, "aten::native_layer_norm.out", x, []int{40}, nil, nil, 1e-5, like(x, tensor.F32), stats(4, 64, 20, 1), stats(4, 64, 20, 1))
		kerneltest.Run(t, NativeGroupNorm, "aten::native_group_norm.out", x, nil, nil, 4, 64, 800, 8, 1e-5, like(x, tensor.F32), stats(4, 8), stats(4, 8))
		kerneltest.Run(t, NativeBatchNormLegit, "aten::_native_batch_norm_legit.no_stats_out", x, nil, nil, true, 0.1, 1e-5, like(x, tensor.F32), stats(64), stats(64))
		kerneltest.Run(t, CdistForward, "aten::_cdist_forward.out", x, tensor.Of(ramp(400), 10, 40), 2.0, nil, kerneltest.Zeros(tensor.F32, 4, 64, 20, 10))
		kerneltest.Run(t, FFTR2C, "aten::_fft_r2c.out", x, []int{2, 3}, 0, true, kerneltest.Zeros(tensor.C64, 4, 64, 20, 21))
	}
}
