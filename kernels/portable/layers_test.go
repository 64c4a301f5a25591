package portable

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// layerCalls are calls of the products, convolutions, poolings and resizings.
// Written tensors are the last ones, as many as outputs.
var layerCalls = []struct {
	kernels runtime.Kernels
	name    string
	args    []any
	outputs int
}{
	{Mm, "aten::mm.out", []any{f32(5, 7), f32(7, 9), f32(5, 9)}, 1},
	{Mm, "aten::mm.out", []any{f32(1, 7), f32(7, 9), f32(1, 9)}, 1},
	{Mm, "aten::mm.out", []any{f32(40, 7), f32(7, 2), f32(40, 2)}, 1},
	{Bmm, "aten::bmm.out", []any{f32(3, 5, 4), f32(3, 4, 6), f32(3, 5, 6)}, 1},
	{Addmm, "aten::addmm.out", []any{f32(6), f32(5, 4), f32(4, 6), 1, 1, f32(5, 6)}, 1},
	{Addmm, "aten::addmm.out", []any{f32(5, 1), f32(5, 4), f32(4, 6), 0.5, 1, f32(5, 6)}, 1},
	{Addmm, "aten::addmm.out", []any{f32(5, 6), f32(5, 4), f32(4, 6), 0.5, 2.0, f32(5, 6)}, 1},
	{Addmm, "aten::addmm.out", []any{f32(), f32(5, 4), f32(4, 6), 1, -1, f32(5, 6)}, 1},
	{Linear, "aten::linear.out", []any{f32(2, 3, 4, 5), f32(6, 5), f32(6), f32(2, 3, 4, 6)}, 1},
	{Linear, "aten::linear.out", []any{f32(5), f32(6, 5), f32(1), f32(6)}, 1},
	{Linear, "aten::linear.out", []any{f32(9, 5), f32(6, 5), nil, f32(9, 6)}, 1},
	{Convolution, "aten::convolution.out", []any{f32(2, 4, 7, 6), f32(6, 4, 3, 3), f32(6), []int{1}, []int{1}, []int{1}, false, []int{0}, 1, f32(2, 6, 7, 6)}, 1},
	{Convolution, "aten::convolution.out", []any{f32(2, 4, 7, 6), f32(6, 2, 3, 2), nil, []int{2, 1}, []int{1, 0}, []int{1, 2}, false, []int{0}, 2, f32(2, 6, 4, 4)}, 1},
	{Convolution, "aten::convolution.out", []any{f32(2, 4, 7, 6), f32(4, 1, 3, 3), f32(4), []int{2}, []int{1}, []int{1}, false, []int{0}, 4, f32(2, 4, 4, 3)}, 1},
	{Convolution, "aten::convolution.out", []any{f32(2, 4, 7, 6), f32(8, 1, 3, 3), f32(8), []int{1}, []int{1}, []int{1}, false, []int{0}, 4, f32(2, 8, 7, 6)}, 1},
	{Convolution, "aten::convolution.out", []any{f32(2, 4, 5, 6), f32(9, 4, 1, 1), f32(9), []int{1}, []int{0}, []int{1}, false, []int{0}, 1, f32(2, 9, 5, 6)}, 1},
	{Convolution, "aten::convolution.out", []any{f32(3, 4, 1, 1), f32(9, 4, 1, 1), f32(9), []int{1}, []int{0}, []int{1}, false, []int{0}, 1, f32(3, 9, 1, 1)}, 1},
	{Convolution, "aten::convolution.out", []any{f32(2, 4, 9), f32(6, 4, 3), f32(6), []int{2}, []int{1}, []int{1}, false, []int{0}, 1, f32(2, 6, 5)}, 1},
	{Convolution, "aten::convolution.out", []any{f32(1, 2, 4, 5, 6), f32(3, 2, 2, 3, 3), f32(3), []int{1}, []int{0, 1, 1}, []int{1}, false, []int{0}, 1, f32(1, 3, 3, 5, 6)}, 1},
	{Convolution, "aten::convolution.out", []any{f32(2, 4, 3, 5), f32(4, 3, 3, 2), f32(3), []int{2, 1}, []int{1, 0}, []int{1}, true, []int{1, 0}, 1, f32(2, 3, 6, 6)}, 1},
	{Convolution, "aten::convolution.out", []any{f32(2, 4, 3, 5), f32(4, 3, 2, 2), f32(6), []int{2}, []int{0}, []int{1}, true, []int{0}, 2, f32(2, 6, 6, 10)}, 1},
	{Convolution, "aten::convolution.out", []any{f32(2, 4, 3, 5), f32(4, 1, 3, 3), nil, []int{2}, []int{1}, []int{2}, true, []int{1}, 4, f32(2, 4, 8, 12)}, 1},
	{ConvolutionBackward, "aten::convolution_backward.out", []any{f32(2, 6, 4, 4), f32(2, 4, 7, 6), f32(6, 2, 3, 2), []int{6}, []int{2, 1}, []int{1, 0}, []int{1, 2}, false, []int{0}, 2, []bool{true, true, true}, f32(2, 4, 7, 6), f32(6, 2, 3, 2), f32(6)}, 3},
	{ConvolutionBackward, "aten::convolution_backward.out", []any{f32(2, 4, 7, 6), f32(2, 4, 7, 6), f32(4, 1, 3, 3), nil, []int{1}, []int{1}, []int{1}, false, []int{0}, 4, []bool{true, true, true}, f32(2, 4, 7, 6), f32(4, 1, 3, 3), f32(4)}, 3},
	{AvgPool2d, "aten::avg_pool2d.out", []any{f32(2, 3, 7, 8), []int{3}, []int{2}, []int{1}, true, true, nil, f32(2, 3, 4, 5)}, 1},
	{AvgPool2d, "aten::avg_pool2d.out", []any{f32(2, 3, 7, 8), []int{3, 2}, []int{}, []int{1, 0}, false, false, nil, f32(2, 3, 3, 4)}, 1},
	{AvgPool2d, "aten::avg_pool2d.out", []any{f32(3, 7, 8), []int{2}, []int{1}, []int{0}, false, true, 3, f32(3, 6, 7)}, 1},
	{AdaptiveAvgPool2d, "aten::_adaptive_avg_pool2d.out", []any{f32(2, 3, 7, 8), []int{3, 5}, f32(2, 3, 3, 5)}, 1},
	{MaxPool2dWithIndices, "aten::max_pool2d_with_indices.out", []any{f32(2, 3, 7, 8), []int{3}, []int{2}, []int{1}, []int{1}, true, f32(2, 3, 4, 5), kerneltest.Zeros(tensor.I64, 2, 3, 4, 5)}, 2},
	{MaxPool2dWithIndices, "aten::max_pool2d_with_indices.out", []any{f32(3, 7, 8), []int{2, 3}, []int{}, []int{0, 1}, []int{2, 1}, false, f32(3, 3, 3), kerneltest.Zeros(tensor.I64, 3, 3, 3)}, 2},
	{MaxPool2dWithIndicesBackward, "aten::max_pool2d_with_indices_backward.grad_input", []any{f32(2, 3, 2, 2), f32(2, 3, 4, 4), []int{2}, []int{2}, []int{0}, []int{1}, false, indices(2, 3, 2, 2), f32(2, 3, 4, 4)}, 1},
	{UpsampleNearest2d, "aten::upsample_nearest2d.vec_out", []any{f32(2, 3, 4, 5), []int{7, 3}, nil, f32(2, 3, 7, 3)}, 1},
	{UpsampleBilinear2d, "aten::upsample_bilinear2d.vec_out", []any{f32(2, 3, 4, 5), nil, false, []float64{1.5, 2}, f32(2, 3, 6, 10)}, 1},
	{UpsampleBilinear2d, "aten::upsample_bilinear2d.vec_out", []any{f32(2, 3, 4, 5), []int{2, 9}, true, nil, f32(2, 3, 2, 9)}, 1},
	{UpsampleBilinear2dAA, "aten::_upsample_bilinear2d_aa.out", []any{f32(2, 3, 8, 5), []int{3, 7}, false, nil, nil, f32(2, 3, 3, 7)}, 1},
	{GridSampler2d, "aten::grid_sampler_2d.out", []any{f32(2, 3, 4, 5), f32(2, 3, 2, 2), 0, 0, false, f32(2, 3, 3, 2)}, 1},
	{GridSampler2d, "aten::grid_sampler_2d.out", []any{f32(2, 3, 4, 5), f32(2, 3, 2, 2), 1, 1, true, f32(2, 3, 3, 2)}, 1},
	{GridSampler2d, "aten::grid_sampler_2d.out", []any{f32(2, 3, 4, 5), f32(2, 3, 2, 2), 2, 2, false, f32(2, 3, 3, 2)}, 1},
}

// f32 returns a tensor of different numbers.
func f32(shape ...int) *tensor.Tensor {
	n := 1
	for _, size := range shape {
		n *= size
	}
	if len(shape) == 0 {
		return tensor.Scalar(float32(-1.25))
	}
	return tensor.Of(ramp(n), shape...)
}

// indices returns small numbers.
func indices(shape ...int) *tensor.Tensor {
	t := kerneltest.Zeros(tensor.I64, shape...)
	for i := range tensor.Raw[int64](t) {
		tensor.Raw[int64](t)[i] = int64(i*5%16 - 1)
	}
	return t
}

func layerOutputs(args []any, n int) (out []*tensor.Tensor) {
	for _, a := range args[len(args)-n:] {
		out = append(out, a.(*tensor.Tensor))
	}
	return out
}

// TestLayerDimOrders calls every operator with all its tensors in row-major order
// and then in random dim orders, which must make no difference.
func TestLayerDimOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i, call := range layerCalls {
		t.Run(fmt.Sprintf("%d %s", i, call.name), func(t *testing.T) {
			want := slices.Clone(call.args)
			for j, a := range want {
				if x, ok := a.(*tensor.Tensor); ok {
					want[j] = x.Clone()
				}
			}
			kerneltest.Run(t, call.kernels, call.name, want...)
			for range 12 {
				args := slices.Clone(call.args)
				for j, a := range args {
					if x, ok := a.(*tensor.Tensor); ok {
						args[j] = shuffled(x, r)
					}
				}
				kerneltest.Run(t, call.kernels, call.name, args...)
				for j, out := range layerOutputs(args, call.outputs) {
					kerneltest.Close(t, layerOutputs(want, call.outputs)[j], out, 1e-5, 1e-5)
				}
			}
		})
	}
}

// TestLayerTypes compares the other types with float32.
func TestLayerTypes(t *testing.T) {
	tolerance := map[tensor.DType]float64{tensor.F64: 1e-5, tensor.F16: 4e-3, tensor.BF16: 0.03, tensor.I32: 0, tensor.I8: 0}
	for i, call := range layerCalls {
		for d, tol := range tolerance {
			if d.IsInt() && !wholeInWhole(call.args, call.name) {
				continue
			}
			t.Run(fmt.Sprintf("%d %s %v", i, call.name, d), func(t *testing.T) {
				want, args := slices.Clone(call.args), slices.Clone(call.args)
				for j, a := range args {
					if x, ok := a.(*tensor.Tensor); ok && x.DType() == tensor.F32 {
						args[j] = converted(x, d)
						want[j] = converted(args[j].(*tensor.Tensor), tensor.F32)
					} else if ok {
						args[j], want[j] = x.Clone(), x.Clone()
					}
				}
				kerneltest.Run(t, call.kernels, call.name, want...)
				kerneltest.Run(t, call.kernels, call.name, args...)
				for j, out := range layerOutputs(args, call.outputs) {
					w := layerOutputs(want, call.outputs)[j]
					if strings.Contains(call.name, "grid_sampler") && d.IsReducedFloat() {
						continue // its coordinates are rounded
					}
					kerneltest.Close(t, converted(w, out.DType()), out, tol, tol)
				}
			})
		}
	}
}

// wholeInWhole reports whether whole numbers give whole numbers in a call.
func wholeInWhole(args []any, name string) bool {
	for _, a := range args {
		if f, ok := a.(float64); ok && f != math.Trunc(f) {
			return false
		}
	}
	for _, fraction := range []string{"avg_pool", "bilinear", "grid_sampler", "backward"} {
		if strings.Contains(name, fraction) {
			return false
		}
	}
	return true
}

func converted(x *tensor.Tensor, d tensor.DType) *tensor.Tensor {
	y := kerneltest.Zeros(d, x.Shape()...)
	v := make([]float64, x.Numel())
	kit.Load(v, x, 0)
	kit.Store(y, 0, v)
	return y
}

func TestLayerAllocs(t *testing.T) {
	for i, call := range layerCalls {
		for _, d := range []tensor.DType{tensor.F32, tensor.F16} {
			args := slices.Clone(call.args)
			for j, a := range args {
				if x, ok := a.(*tensor.Tensor); ok && x.DType() == tensor.F32 {
					args[j] = converted(x, d)
				}
			}
			n, err := kerneltest.Allocs(call.kernels, call.name, args...)
			require.NoError(t, err)
			require.Zero(t, n, "case %d %s %v", i, call.name, d)
		}
	}
}

// TestLayersTakeAnything changes arguments of good calls to what a forged program
// might have: an error is fine, a panic is not.
func TestLayersTakeAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	reg := runtime.NewRegistry()
	for _, group := range [][]runtime.Kernels{matmulKernels(), convKernels(), poolKernels(), resampleKernels()} {
		require.NoError(t, reg.Register(group...))
	}
	succeeded := map[string]int{}
	for range 400 {
		for i, call := range layerCalls {
			args := slices.Clone(call.args)
			for range 1 + r.IntN(3) {
				j := r.IntN(len(args))
				args[j] = forgedArgument(r, args[j], j >= len(args)-call.outputs)
			}
			values := make([]runtime.EValue, len(args))
			ptrs := make(runtime.Args, len(args))
			for j, a := range args {
				values[j] = layerValue(t, a)
				ptrs[j] = &values[j]
			}
			k := reg.Kernel(call.name)
			if k.Signature().Check(ptrs) != nil {
				continue
			}
			err := callSafely(k, ptrs)
			require.NotErrorIs(t, err, errPanic, "case %d %s%v", i, call.name, ptrs)
			if err == nil {
				succeeded[call.name]++
			}
		}
	}
	for _, name := range reg.Operators() {
		require.NotZero(t, succeeded[name], "%s never succeeded", name)
	}
}

// layerValue is valuesOf for one argument, which may be a list of another type.
func layerValue(t *testing.T, a any) runtime.EValue {
	switch a := a.(type) {
	case []int:
		v := make([]int64, len(a))
		for i, x := range a {
			v[i] = int64(x)
		}
		return runtime.IntList(v...)
	case []float64:
		return runtime.DoubleList(a...)
	case []bool:
		return runtime.BoolList(a...)
	}
	return valuesOf(t, []any{a})[0]
}

// forgedArgument returns another argument of the same kind.
func forgedArgument(r *rand.Rand, a any, output bool) any {
	odd := []int{0, 1, -1, 2, 3, 300, math.MaxInt32, math.MaxInt64, math.MinInt64}[r.IntN(9)]
	switch a := a.(type) {
	case *tensor.Tensor:
		d := a.DType()
		if r.IntN(4) == 0 {
			d = tensor.DType(r.IntN(30))
		}
		shape := slices.Clone(a.Shape())
		for i := range shape {
			switch r.IntN(8) {
			case 0:
				shape[i] = r.IntN(6)
			case 1:
				shape[i] = []int{1, 64, 0, 2}[r.IntN(4)]
			}
		}
		if r.IntN(8) == 0 && len(shape) > 0 {
			shape = shape[1:]
		}
		dynamism := tensor.Static
		if output {
			dynamism = tensor.DynamicUnbound
		}
		x, err := tensor.New(d, shape, tensor.WithDimOrder(randomOrder(r, len(shape))), tensor.WithDynamism(dynamism))
		if err != nil {
			panic(err)
		}
		x.SetGrow(growable)
		for i := range x.Bytes() {
			x.Bytes()[i] = byte(r.Uint32())
		}
		return x
	case []int:
		v := slices.Clone(a)
		for i := range v {
			if r.IntN(2) == 0 {
				v[i] = odd
			}
		}
		if r.IntN(4) == 0 {
			v = append(v, odd)
		}
		return v
	case []float64:
		return []float64{math.Inf(1), float64(odd)}[:1+r.IntN(2)]
	case float64:
		return []float64{0, math.NaN(), math.Inf(-1), 1e-300, float64(odd)}[r.IntN(5)]
	case bool:
		return !a
	case int:
		return odd
	}
	return a
}
