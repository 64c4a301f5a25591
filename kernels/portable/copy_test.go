package portable

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// counting returns a tensor of the numbers 0, 1, 2, ...
func counting(shape ...int) *tensor.Tensor {
	n := 1
	for _, s := range shape {
		n *= s
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i)
	}
	return tensor.Of(v, shape...)
}

func ints(v ...int64) []int64 { return v }

// copyCalls has a call of each operator of the family, the outputs last.
var copyCalls = []struct {
	op   runtime.Kernels
	name string
	args []any
}{
	{ToCopy, "aten::_to_copy.out", []any{counting(2, 3, 4, 5), false, nil, kerneltest.Zeros(tensor.F16, 2, 3, 4, 5)}},
	{Clone, "aten::clone.out", []any{counting(2, 3, 4, 5), nil, kerneltest.Zeros(tensor.F32, 2, 3, 4, 5)}},
	{AliasCopy, "aten::alias_copy.out", []any{counting(2, 3, 4), kerneltest.Zeros(tensor.F32, 2, 3, 4)}},
	{DetachCopy, "aten::detach_copy.out", []any{counting(2, 3, 4), kerneltest.Zeros(tensor.F32, 2, 3, 4)}},
	{LiftFreshCopy, "aten::lift_fresh_copy.out", []any{counting(2, 3, 4), kerneltest.Zeros(tensor.F32, 2, 3, 4)}},
	{Copy, "aten::copy.out", []any{counting(2, 3, 4), counting(3, 1), false, kerneltest.Zeros(tensor.F32, 2, 3, 4)}},
	{Copy, "aten::copy_", []any{kerneltest.Zeros(tensor.I64, 2, 3, 4), counting(2, 1, 4), false}},
	{ToDimOrderCopy, "dim_order_ops::_to_dim_order_copy.out", []any{counting(2, 3, 4, 5), false, nil, kerneltest.Zeros(tensor.I32, 2, 3, 4, 5)}},
	{CloneDimOrder, "dim_order_ops::_clone_dim_order.out", []any{counting(2, 3, 4, 5), false, nil, kerneltest.Zeros(tensor.F32, 2, 3, 4, 5)}},
	{EmptyDimOrder, "dim_order_ops::_empty_dim_order.out", []any{ints(2, 3), nil, kerneltest.Zeros(tensor.F32, 2, 3)}},
	{ViewCopy, "aten::view_copy.out", []any{counting(2, 3, 4, 5), ints(6, -1, 2), kerneltest.Zeros(tensor.F32, 6, 10, 2)}},
	{SqueezeCopy, "aten::squeeze_copy.dim_out", []any{counting(2, 1, 3, 4), -3, kerneltest.Zeros(tensor.F32, 2, 3, 4)}},
	{SqueezeCopy, "aten::squeeze_copy.dims_out", []any{counting(1, 2, 1, 3), ints(0, 1, -2), kerneltest.Zeros(tensor.F32, 2, 3)}},
	{UnsqueezeCopy, "aten::unsqueeze_copy.out", []any{counting(2, 3, 4), -2, kerneltest.Zeros(tensor.F32, 2, 3, 1, 4)}},
	{ExpandCopy, "aten::expand_copy.out", []any{counting(3, 1, 4), ints(2, -1, 5, 4), false, kerneltest.Zeros(tensor.F32, 2, 3, 5, 4)}},
	{PermuteCopy, "aten::permute_copy.out", []any{counting(2, 3, 4, 5), ints(2, 0, -1, 1), kerneltest.Zeros(tensor.F32, 4, 2, 5, 3)}},
	{TransposeCopy, "aten::transpose_copy.int_out", []any{counting(2, 3, 4, 5), 1, -1, kerneltest.Zeros(tensor.F32, 2, 5, 4, 3)}},
	{TCopy, "aten::t_copy.out", []any{counting(3, 5), kerneltest.Zeros(tensor.F32, 5, 3)}},
	{DiagonalCopy, "aten::diagonal_copy.out", []any{counting(3, 4, 5), -1, 2, 0, kerneltest.Zeros(tensor.F32, 4, 3)}},
	{DiagonalCopy, "aten::diagonal_copy.out", []any{counting(3, 4, 5), 7, 0, 1, kerneltest.Zeros(tensor.F32, 5, 0)}},
	{UnfoldCopy, "aten::unfold_copy.out", []any{counting(2, 9, 3), 1, 4, 2, kerneltest.Zeros(tensor.F32, 2, 3, 3, 4)}},
	{ViewAsRealCopy, "aten::view_as_real_copy.out", []any{tensor.Of([]complex64{1 + 2i, 3 + 4i, 5 + 6i, 7 + 8i, 9 + 10i, 11 + 12i}, 2, 3), kerneltest.Zeros(tensor.F32, 2, 3, 2)}},
	{PixelShuffle, "aten::pixel_shuffle.out", []any{counting(2, 8, 2, 3), 2, kerneltest.Zeros(tensor.F32, 2, 2, 4, 6)}},
	{PixelUnshuffle, "aten::pixel_unshuffle.out", []any{counting(2, 2, 4, 6), 2, kerneltest.Zeros(tensor.F32, 2, 8, 2, 3)}},
	{Flip, "aten::flip.out", []any{counting(2, 3, 4, 5), ints(1, -1), kerneltest.Zeros(tensor.F32, 2, 3, 4, 5)}},
	{Roll, "aten::roll.out", []any{counting(2, 3, 4, 5), ints(1, -7, 10), ints(1, -1, 2), kerneltest.Zeros(tensor.F32, 2, 3, 4, 5)}},
	{Repeat, "aten::repeat.out", []any{counting(2, 3), ints(2, 1, 3), kerneltest.Zeros(tensor.F32, 2, 2, 9)}},
	{Tril, "aten::tril.out", []any{counting(2, 4, 5), 1, kerneltest.Zeros(tensor.F32, 2, 4, 5)}},
	{Tril, "aten::tril.out", []any{counting(2, 5, 3), -2, kerneltest.Zeros(tensor.F32, 2, 5, 3)}},
	{Cat, "aten::cat.out", []any{[]*tensor.Tensor{counting(2, 3, 4), counting(2, 1, 4), counting(2, 2, 4)}, 1, kerneltest.Zeros(tensor.F64, 2, 6, 4)}},
	{Stack, "aten::stack.out", []any{[]*tensor.Tensor{counting(2, 3, 4), counting(2, 3, 4)}, 2, kerneltest.Zeros(tensor.F32, 2, 3, 2, 4)}},
	{SplitCopy, "aten::split_copy.Tensor_out", []any{counting(2, 5, 3), 2, 1, []*tensor.Tensor{
		kerneltest.Zeros(tensor.F32, 2, 2, 3), kerneltest.Zeros(tensor.F32, 2, 2, 3), kerneltest.Zeros(tensor.F32, 2, 1, 3)}}},
	{SplitWithSizesCopy, "aten::split_with_sizes_copy.out", []any{counting(2, 5, 3), ints(1, 4), 1, []*tensor.Tensor{
		kerneltest.Zeros(tensor.F32, 2, 1, 3), kerneltest.Zeros(tensor.F32, 2, 4, 3)}}},
	{UnbindCopy, "aten::unbind_copy.int_out", []any{counting(3, 2, 4), 1, []*tensor.Tensor{
		kerneltest.Zeros(tensor.F32, 3, 4), kerneltest.Zeros(tensor.F32, 3, 4)}}},
	{SliceCopy, "aten::slice_copy.Tensor_out", []any{counting(2, 7, 3, 2), 1, -6, math.MaxInt64, 2, kerneltest.Zeros(tensor.F32, 2, 3, 3, 2)}},
	{NarrowCopy, "aten::narrow_copy.out", []any{counting(2, 7, 3), 1, 2, 4, kerneltest.Zeros(tensor.F32, 2, 4, 3)}},
	{SelectCopy, "aten::select_copy.int_out", []any{counting(2, 3, 4, 5), 1, -1, kerneltest.Zeros(tensor.F32, 2, 4, 5)}},
	{SliceScatter, "aten::slice_scatter.out", []any{counting(2, 7, 3), counting(2, 3, 3), 1, 1, 6, 2, kerneltest.Zeros(tensor.F32, 2, 7, 3)}},
	{SelectScatter, "aten::select_scatter.out", []any{counting(2, 3, 4), counting(2, 4), 1, -2, kerneltest.Zeros(tensor.F32, 2, 3, 4)}},
	{ConstantPadNd, "aten::constant_pad_nd.out", []any{counting(2, 3, 4), ints(1, 2, -1, 1), 2.5, kerneltest.Zeros(tensor.F32, 2, 3, 7)}},
	{ReflectionPad1d, "aten::reflection_pad1d.out", []any{counting(2, 3, 4), ints(3, 2), kerneltest.Zeros(tensor.F32, 2, 3, 9)}},
	{ReflectionPad2d, "aten::reflection_pad2d.out", []any{counting(2, 3, 4, 5), ints(3, 2, 1, 3), kerneltest.Zeros(tensor.F32, 2, 3, 8, 10)}},
	{ReflectionPad3d, "aten::reflection_pad3d.out", []any{counting(2, 3, 4, 2), ints(1, 0, -1, 3, 2, 1), kerneltest.Zeros(tensor.F32, 2, 6, 6, 3)}},
	{ReplicationPad1d, "aten::replication_pad1d.out", []any{counting(3, 4), ints(5, 6), kerneltest.Zeros(tensor.F32, 3, 15)}},
	{ReplicationPad2d, "aten::replication_pad2d.out", []any{counting(2, 3, 4, 5), ints(3, 2, 1, -2), kerneltest.Zeros(tensor.F32, 2, 3, 3, 10)}},
	{ReplicationPad3d, "aten::replication_pad3d.out", []any{counting(2, 3, 4, 2), ints(1, 0, 1, 3, 2, 1), kerneltest.Zeros(tensor.F32, 2, 6, 8, 3)}},

	{Embedding, "aten::embedding.out", []any{counting(5, 3), tensor.Of([]int64{4, 0, 2, 2, 1, 3}, 2, 3), -1, false, false, kerneltest.Zeros(tensor.F32, 2, 3, 3)}},
	{IndexSelect, "aten::index_select.out", []any{counting(2, 5, 3, 2), 1, tensor.Of([]int32{4, 0, 2, 2}), kerneltest.Zeros(tensor.F32, 2, 4, 3, 2)}},
	{Index, "aten::index.Tensor_out", []any{counting(4, 3, 5), []*tensor.Tensor{nil, tensor.Of([]int64{2, -3, 1, 0}, 2, 2), tensor.Of([]int64{4, -1}, 2, 1)}, kerneltest.Zeros(tensor.F32, 4, 2, 2)}},
	{Index, "aten::index.Tensor_out", []any{counting(4, 3, 5), []*tensor.Tensor{tensor.Of([]int32{3, -4, 1}), nil, tensor.Of([]int64{4, 0, 2})}, kerneltest.Zeros(tensor.F32, 3, 3)}},
	{Index, "aten::index.Tensor_out", []any{counting(2, 3, 5), []*tensor.Tensor{tensor.Of([]bool{true, false, true, false, true, true}, 2, 3)}, kerneltest.Zeros(tensor.F32, 4, 5)}},
	{Index, "aten::index.Tensor_out", []any{counting(2, 3, 5), []*tensor.Tensor{nil, tensor.Of([]bool{false, true, true}), tensor.Of([]int64{4, 2})}, kerneltest.Zeros(tensor.F32, 2, 2)}},
	{Index, "aten::index.Tensor_out", []any{counting(2, 3), []*tensor.Tensor{nil, nil}, kerneltest.Zeros(tensor.F32, 2, 3)}},
	{IndexPut, "aten::index_put.out", []any{counting(4, 3, 5), []*tensor.Tensor{nil, tensor.Of([]int64{2, -3, 2, 0}, 2, 2)}, counting(4, 2, 2, 5), false, kerneltest.Zeros(tensor.F32, 4, 3, 5)}},
	{IndexPut, "aten::index_put.out", []any{counting(4, 3, 5), []*tensor.Tensor{tensor.Of([]int64{1, 1, 3}), nil, tensor.Of([]int64{2, 2, 0})}, counting(3, 1), true, kerneltest.Zeros(tensor.F32, 4, 3, 5)}},
	{IndexPut, "aten::index_put_", []any{counting(4, 3, 5), []*tensor.Tensor{nil, nil, tensor.Of([]bool{true, false, false, true, true})}, counting(3, 3), true}},
	{IndexPut, "aten::index_put_", []any{counting(2, 3), []*tensor.Tensor{nil, nil}, counting(3), true}},
	{Gather, "aten::gather.out", []any{counting(3, 4, 2), 1, tensor.Of([]int64{3, 0, 2, 2, 1, 1, 0, 3}, 2, 4, 1), false, kerneltest.Zeros(tensor.F32, 2, 4, 1)}},
	{Scatter, "aten::scatter.src_out", []any{counting(3, 4, 2), 1, tensor.Of([]int64{3, 0, 3, 2, 1, 1, 0, 3}, 2, 4, 1), counting(2, 4, 2), kerneltest.Zeros(tensor.F32, 3, 4, 2)}},
	{Scatter, "aten::scatter.value_out", []any{counting(3, 4), 0, tensor.Of([]int64{2, 0, 2, 2, 1, 1}, 2, 3), -1, kerneltest.Zeros(tensor.F32, 3, 4)}},
	{ScatterAdd, "aten::scatter_add.out", []any{counting(3, 4, 2), -2, tensor.Of([]int64{3, 3, 3, 2, 1, 1, 0, 3}, 2, 4, 1), counting(3, 4, 2), kerneltest.Zeros(tensor.F32, 3, 4, 2)}},
	{MaskedSelect, "aten::masked_select.out", []any{counting(2, 3, 4), tensor.Of([]bool{true, false, true}, 3, 1), kerneltest.Zeros(tensor.F32, 16)}},
	{MaskedSelect, "aten::masked_select.out", []any{counting(2, 3), tensor.Of([]bool{true, false, true, true, false, true}, 2, 3), kerneltest.Zeros(tensor.F32, 4)}},
	{MaskedScatter, "aten::masked_scatter.out", []any{counting(2, 3, 4), tensor.Of([]bool{true, false, true}, 3, 1), counting(3, 2, 3), kerneltest.Zeros(tensor.F32, 2, 3, 4)}},
	{Nonzero, "aten::nonzero.out", []any{tensor.Of([]float32{0, 1, float32(math.NaN()), 0, 0, 2, 3, 0}, 2, 2, 2), kerneltest.Zeros(tensor.I64, 4, 3)}},
	{RepeatInterleave, "aten::repeat_interleave.Tensor_out", []any{tensor.Of([]int32{2, 0, 3}), nil, kerneltest.Zeros(tensor.I32, 5)}},
	{Topk, "aten::topk.values", []any{tensor.Of([]float32{3, 1, 2, 5, 5, 0, 9, 8, 7, 1, 1, 1}, 2, 3, 2), 2, 1, true, true, kerneltest.Zeros(tensor.F32, 2, 2, 2), kerneltest.Zeros(tensor.I64, 2, 2, 2)}},
}

// shuffled returns t laid out in a random dim order; an output is only laid out
// anew, other tensors are copied.
func shuffled(t *tensor.Tensor, r *rand.Rand) *tensor.Tensor {
	order := slices.Clone(t.DimOrder())
	r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return t.WithOrder(order)
}

// TestDimOrders calls every operator with all its tensors in row-major order and
// then in random dim orders, which must make no difference.
func TestDimOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i, call := range copyCalls {
		t.Run(fmt.Sprintf("%d %s", i, call.name), func(t *testing.T) {
			var want []*tensor.Tensor
			for range 20 {
				args := slices.Clone(call.args)
				var got []*tensor.Tensor
				for k, a := range args {
					switch a := a.(type) {
					case *tensor.Tensor:
						x := a.Clone()
						if want != nil {
							x = shuffled(a, r)
						}
						args[k] = x
						got = append(got, x)
					case []*tensor.Tensor:
						list := slices.Clone(a)
						for j, x := range list {
							if x == nil {
								continue
							}
							list[j] = x.Clone()
							if want != nil {
								list[j] = shuffled(x, r)
							}
							got = append(got, list[j])
						}
						args[k] = list
					}
				}
				kerneltest.Run(t, call.op, call.name, args...)
				if want == nil {
					want = got
				}
				for k := range got {
					kerneltest.Equal(t, want[k], got[k])
				}
			}
		})
	}
}

// TestThreads runs copies that are large enough for several threads: kerneltest
// compares the results.
func TestThreads(t *testing.T) {
	x := counting(64, 40, 100)
	index := make([]int64, 64*40*100)
	for i := range index {
		index[i] = int64(i*7919) % 40
	}
	run := func(op runtime.Kernels, name string, args ...any) {
		t.Helper()
		kerneltest.Run(t, op, name, args...)
	}
	run(Clone, "aten::clone.out", x, nil, kerneltest.Zeros(tensor.F32, 64, 40, 100))
	run(ToCopy, "aten::_to_copy.out", x, false, nil, kerneltest.Zeros(tensor.BF16, 64, 40, 100))
	run(PermuteCopy, "aten::permute_copy.out", x, ints(2, 0, 1), kerneltest.Zeros(tensor.F32, 100, 64, 40))
	run(SliceCopy, "aten::slice_copy.Tensor_out", x, 1, 3, nil, 1, kerneltest.Zeros(tensor.F32, 64, 37, 100))
	run(Cat, "aten::cat.out", []*tensor.Tensor{x, x}, 1, kerneltest.Zeros(tensor.F32, 64, 80, 100))
	run(ConstantPadNd, "aten::constant_pad_nd.out", x, ints(1, 1, 2, 2), 1.5, kerneltest.Zeros(tensor.F32, 64, 44, 102))
	run(IndexSelect, "aten::index_select.out", x, 1, tensor.Of(index[:80]), kerneltest.Zeros(tensor.F32, 64, 80, 100))
	run(Index, "aten::index.Tensor_out", x, []*tensor.Tensor{nil, tensor.Of(index[:80])}, kerneltest.Zeros(tensor.F32, 64, 80, 100))
	run(IndexPut, "aten::index_put.out", x, []*tensor.Tensor{nil, tensor.Of(index[:80])}, counting(64, 80, 100), true, kerneltest.Zeros(tensor.F32, 64, 40, 100))
	run(Gather, "aten::gather.out", x, 1, tensor.Of(index, 64, 40, 100), false, kerneltest.Zeros(tensor.F32, 64, 40, 100))
	run(Topk, "aten::topk.values", x, 5, 1, false, true, kerneltest.Zeros(tensor.F32, 64, 5, 100), kerneltest.Zeros(tensor.I64, 64, 5, 100))
}

func TestNoAllocations(t *testing.T) {
	for _, call := range copyCalls {
		n, err := kerneltest.Allocs(call.op, call.name, call.args...)
		require.NoError(t, err, call.name)
		require.Zero(t, n, call.name)
	}
}

func TestEveryCopyIsTested(t *testing.T) {
	tested := map[string]bool{"et_copy::_h2d_copy.out": true, "et_copy::_d2h_copy.out": true, "aten::as_strided_copy.out": true}
	for _, c := range copyCalls {
		tested[c.name] = true
	}
	for _, group := range append(copyKernels(), indexKernels()...) {
		for _, k := range group {
			require.True(t, tested[k.Name()], k.Name())
		}
	}
}

// forged makes arguments as a forged program may have them.
type forged struct{ r *rand.Rand }

func (f *forged) int() int64 {
	switch f.r.IntN(8) {
	case 0:
		return []int64{math.MaxInt64, math.MinInt64, math.MaxInt32, math.MinInt32, 1 << 62, -1 << 40}[f.r.IntN(6)]
	default:
		return int64(f.r.IntN(9)) - 3
	}
}

func (f *forged) tensor() *tensor.Tensor {
	shape := make([]int, f.r.IntN(5))
	if f.r.IntN(20) == 0 {
		shape = make([]int, 16)
	}
	for i := range shape {
		shape[i] = f.r.IntN(4)
		if len(shape) > 5 {
			shape[i] = 1 + f.r.IntN(2)*f.r.IntN(2)
		}
	}
	dtype := tensor.DType(f.r.IntN(30))
	if f.r.IntN(2) == 0 {
		dtype = []tensor.DType{tensor.I64, tensor.F32, tensor.Bool, tensor.I32}[f.r.IntN(4)]
	}
	order := slices.Clone(tensor.Contiguous(len(shape)))
	if f.r.IntN(2) == 0 {
		f.r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	t, err := tensor.New(dtype, shape, tensor.WithDimOrder(order), tensor.WithDynamism(tensor.Dynamism(f.r.IntN(3))))
	if err != nil {
		panic(err)
	}
	if f.r.IntN(4) != 0 {
		for i := range t.Bytes() {
			t.Bytes()[i] = byte(f.r.IntN(3))
		}
		if t.DType() == tensor.I64 {
			for i := range tensor.Raw[int64](t) {
				tensor.Raw[int64](t)[i] = f.int()
			}
		}
	}
	if t.Dynamism() == tensor.DynamicUnbound {
		t.SetGrow(growable)
	}
	return t
}

func (f *forged) tensors() []*tensor.Tensor {
	list := make([]*tensor.Tensor, f.r.IntN(4))
	for i := range list {
		list[i] = f.tensor()
	}
	return list
}

func (f *forged) value(p *runtime.Param) runtime.EValue {
	if p.Optional && f.r.IntN(3) == 0 {
		return runtime.None()
	}
	switch p.Type {
	case runtime.ArgTensor:
		return runtime.TensorValue(f.tensor())
	case runtime.ArgInt:
		return runtime.Int(f.int())
	case runtime.ArgBool:
		return runtime.Bool(f.r.IntN(2) == 0)
	case runtime.ArgScalar:
		return []runtime.EValue{runtime.Int(f.int()), runtime.Double(math.NaN()), runtime.Double(1e300), runtime.Bool(true)}[f.r.IntN(4)]
	case runtime.ArgIntList:
		list := make([]int64, f.r.IntN(6))
		if f.r.IntN(20) == 0 {
			list = make([]int64, 20)
		}
		for i := range list {
			list[i] = f.int()
		}
		return runtime.IntList(list...)
	case runtime.ArgTensorList:
		return runtime.TensorList(f.tensors()...)
	case runtime.ArgOptionalTensorList:
		list := f.tensors()
		for i := range list {
			if f.r.IntN(3) == 0 {
				list[i] = nil
			}
		}
		return runtime.OptionalTensorList(list...)
	}
	return runtime.None()
}

// variant returns a copy of v with something changed, mostly a little.
func (f *forged) variant(p *runtime.Param, v *runtime.EValue) runtime.EValue {
	switch {
	case v.Kind() == runtime.KindTensor && f.r.IntN(4) != 0:
		return runtime.TensorValue(f.grown(v.Tensor()))
	case v.Kind() == runtime.KindTensorList && f.r.IntN(4) != 0:
		list := slices.Clone(v.Tensors())
		for i, t := range list {
			list[i] = f.grown(t)
		}
		return runtime.TensorList(list...)
	case v.Kind() == runtime.KindInt && f.r.IntN(4) != 0:
		return runtime.Int(v.Int() + int64(f.r.IntN(5)) - 2)
	case v.Kind() == runtime.KindIntList && len(v.Ints()) > 0 && f.r.IntN(4) != 0:
		list := slices.Clone(v.Ints())
		list[f.r.IntN(len(list))] = f.int()
		return runtime.IntList(list...)
	}
	return f.value(p)
}

// grown returns a tensor like t that has one size changed and takes any shape.
func (f *forged) grown(t *tensor.Tensor) *tensor.Tensor {
	shape := slices.Clone(t.Shape())
	if len(shape) > 0 {
		shape[f.r.IntN(len(shape))] = f.r.IntN(7)
	}
	g, err := tensor.New(t.DType(), shape, tensor.WithDimOrder(t.DimOrder()), tensor.WithDynamism(tensor.DynamicUnbound))
	if err != nil {
		panic(err)
	}
	copy(g.Bytes(), t.Bytes())
	g.SetGrow(growable)
	return g
}

// alias makes the last argument, an output, an input or gives it memory of one.
func (f *forged) alias(args runtime.Args) {
	last := len(args) - 1
	n := f.r.IntN(4 * len(args))
	if n >= last || args[n].Tensor() == nil || args[last].Tensor() == nil {
		return
	}
	if f.r.IntN(2) == 0 {
		args[last] = args[n]
		return
	}
	b := args[n].Tensor().Bytes()
	_ = args[last].Tensor().SetBytes(b[min(len(b), 8*f.r.IntN(3)):])
}

func growable(n int) ([]byte, error) {
	if n > 1<<20 {
		return nil, errs.MemoryAllocationFailed.Errorf("%d bytes", n)
	}
	return make([]byte, n), nil
}

func valuesOf(t *testing.T, args []any) []runtime.EValue {
	values := make([]runtime.EValue, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case nil:
		case *tensor.Tensor:
			values[i] = runtime.TensorValue(a)
		case []*tensor.Tensor:
			values[i] = runtime.OptionalTensorList(a...)
			if !slices.Contains(a, nil) {
				values[i] = runtime.TensorList(a...)
			}
		case int:
			values[i] = runtime.Int(int64(a))
		case bool:
			values[i] = runtime.Bool(a)
		case float64:
			values[i] = runtime.Double(a)
		case []int64:
			values[i] = runtime.IntList(a...)
		default:
			require.Failf(t, "no such argument", "%T", a)
		}
	}
	return values
}

// TestForgedArguments calls every operator with arguments of the right kinds that
// make no sense, and with sensible ones of which some are changed: it may return
// an error but not panic.
func TestForgedArguments(t *testing.T) {
	f := &forged{rand.New(rand.NewPCG(3, 23))}
	ctx := runtime.NewKernelRuntimeContext(context.Background(), runtime.ContextWithThreads(2))
	for _, call := range copyCalls {
		reg := runtime.NewRegistry()
		require.NoError(t, reg.Register(call.op))
		k := reg.Kernel(call.name)
		params := k.Signature().Params
		sensible := valuesOf(t, call.args)
		for i := range forgedRuns {
			args := make(runtime.Args, len(params))
			for n := range params {
				v := sensible[n]
				switch {
				case i%3 == 0:
					v = f.value(&params[n])
				case params[n].Written || f.r.IntN(3) == 0:
					v = f.variant(&params[n], &v)
				}
				args[n] = &v
			}
			f.alias(args)
			require.NotPanics(t, func() { _ = k.Run(ctx, args) }, "%s%v", call.name, args)
			ctx.Release()
		}
	}
}

const forgedRuns = 300
