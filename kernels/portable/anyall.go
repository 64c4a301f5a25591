package portable

import (
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Any is aten::any: whether an element is true (not zero; NaN is true) among
// all, along one dimension or several. An empty list of dimensions reduces
// nothing and gives the truth of each element. It takes all number types and
// bool; the output is bool or uint8.
var Any = runtime.Kernels{
	{Schema: "aten::any.all_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Run: anyAllOut},
	{Schema: "aten::any.dims_out(Tensor self, int[]? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Run: anyDimsOut},
	{Schema: "aten::any.out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Run: anyOut},
}

func anyAllOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in := args.Tensor(0)
	return anyAxes(ctx, in, args.Tensor(1), reduceAll(in, false))
}

func anyDimsOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, out := args.Tensor(0), args.Tensor(3)
	dims := args.Ints(1)
	if len(dims) == 0 && !args.IsNone(1) {
		return anyAxes(ctx, in, out, axes{count: 1})
	}
	ax, err := reduceDims(in, dims, args.Bool(2))
	if err != nil {
		return err
	}
	return anyAxes(ctx, in, out, ax)
}

func anyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in := args.Tensor(0)
	ax, err := reduceDim(in, args.Int(1), args.Bool(2))
	if err != nil {
		return err
	}
	return anyAxes(ctx, in, args.Tensor(3), ax)
}

func anyAxes(ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor, ax axes) error {
	if d := out.DType(); d != tensor.Bool && d != tensor.U8 {
		return errs.InvalidArgument.Errorf("any: output is %v, want bool or uint8", d)
	}
	if err := ax.resize(in, out); err != nil {
		return err
	}
	return anyReduce(ctx, "any", in, out, &ax)
}

// anyReduce stores whether an element is true in an output of any type.
func anyReduce(ctx *runtime.KernelRuntimeContext, name string, in, out *tensor.Tensor, ax *axes) error {
	if !isRealOrBool(in.DType()) {
		return kit.Unsupported(name, in)
	}
	var raw []uint8
	if in.DType().Size() == 1 {
		raw = tensor.Cast[uint8](in.Bytes())
	}
	return reduceRaw(ctx, in, raw, ax, reduction[uint8, uint8]{fold: anyFold{}, outs: [2]*tensor.Tensor{out}})
}

// anyFold is 1 if an element is not zero.
type anyFold struct{ values[uint8] }

func (anyFold) start() uint8 { return 0 }

func (anyFold) row(acc uint8, _ int, x []uint8) uint8 {
	if acc != 0 {
		return acc
	}
	for _, v := range x {
		if v != 0 {
			return 1
		}
	}
	return 0
}

func (anyFold) col(acc []uint8, _ int, x []uint8) {
	acc = acc[:len(x)]
	for i, v := range x {
		if v != 0 {
			acc[i] = 1
		}
	}
}

func (anyFold) load(dst []uint8, src *tensor.Tensor, off, stride int) {
	kit.LoadTruth(dst, src, off, stride)
}
