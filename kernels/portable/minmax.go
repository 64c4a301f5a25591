package portable

import (
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Amax is aten::amax: the largest element along the listed dimensions, along
// all for an empty list. A NaN wins. It takes all number types and bool.
var Amax = runtime.Kernels{
	{Schema: "aten::amax.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Run: amaxOut},
}

// Amin is aten::amin: the smallest element; see Amax.
var Amin = runtime.Kernels{
	{Schema: "aten::amin.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Run: aminOut},
}

// Max is aten::max: the largest of all elements, in the output's type, or the
// largest along one dimension with its int64 index there. The first one of
// equals wins, and a NaN before all. The largest of no elements is the type's
// smallest number; along an empty dimension it is an error.
var Max = runtime.Kernels{
	{Schema: "aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)", Run: maxDimMax},
	{Schema: "aten::max.unary_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Run: maxUnaryOut},
}

// Min is aten::min: the smallest element; see Max.
var Min = runtime.Kernels{
	{Schema: "aten::min.dim_min(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) min, Tensor(b!) min_indices) -> (Tensor(a!) values, Tensor(b!) indices)", Run: minDimMin},
	{Schema: "aten::min.unary_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Run: minUnaryOut},
}

// Argmax is aten::argmax: the int64 index of the largest element along one
// dimension, or among all in row-major order. The first one of equals wins, and a
// NaN before all. It takes all number types and bool.
var Argmax = runtime.Kernels{
	{Schema: "aten::argmax.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Run: argmaxOut},
}

// Argmin is aten::argmin: the index of the smallest element; see Argmax.
var Argmin = runtime.Kernels{
	{Schema: "aten::argmin.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Run: argminOut},
}

func amaxOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return extremeDims(ctx, "amax", args, false)
}

func aminOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return extremeDims(ctx, "amin", args, true)
}

func extremeDims(ctx *runtime.KernelRuntimeContext, name string, args runtime.Args, lowest bool) error {
	in, out := args.Tensor(0), args.Tensor(3)
	if in.DType() != out.DType() {
		return errs.InvalidArgument.Errorf("%s: input is %v, output %v", name, in.DType(), out.DType())
	}
	ax, err := reduceDims(in, args.Ints(1), args.Bool(2))
	if err != nil {
		return err
	}
	if err := ax.resize(in, out); err != nil {
		return err
	}
	if err := ax.notEmpty(name, in, out); err != nil {
		return err
	}
	return extreme(ctx, name, in, out, &ax, lowest)
}

func maxUnaryOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return extremeUnary(ctx, "max", args, false)
}

func minUnaryOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return extremeUnary(ctx, "min", args, true)
}

func extremeUnary(ctx *runtime.KernelRuntimeContext, name string, args runtime.Args, lowest bool) error {
	in, out := args.Tensor(0), args.Tensor(1)
	ax := reduceAll(in, false)
	if err := ax.resize(in, out); err != nil {
		return err
	}
	from, to := in.DType(), out.DType()
	if from.IsFloat() && !to.IsFloat() || from != tensor.Bool && to == tensor.Bool {
		return errs.InvalidArgument.Errorf("%s: the result of %v cannot be given as %v", name, from, to)
	}
	return extreme(ctx, name, in, out, &ax, lowest)
}

// extreme computes a maximum or minimum in out's type.
func extreme(ctx *runtime.KernelRuntimeContext, name string, in, out *tensor.Tensor, ax *axes, lowest bool) error {
	if !isRealOrBool(in.DType()) {
		return kit.Unsupported(name, in)
	}
	switch out.DType() {
	case tensor.F32, tensor.F16, tensor.BF16:
		return extremeAs[float32](ctx, in, out, ax, lowest)
	case tensor.F64:
		return extremeAs[float64](ctx, in, out, ax, lowest)
	case tensor.I64:
		return extremeAs[int64](ctx, in, out, ax, lowest)
	case tensor.I32:
		return extremeAs[int32](ctx, in, out, ax, lowest)
	case tensor.I16:
		return extremeAs[int16](ctx, in, out, ax, lowest)
	case tensor.I8:
		return extremeAs[int8](ctx, in, out, ax, lowest)
	case tensor.U8, tensor.Bool:
		return extremeAs[uint8](ctx, in, out, ax, lowest)
	}
	return kit.Unsupported(name, out)
}

func extremeAs[C kit.Number](ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor, ax *axes, lowest bool) error {
	r := reduction[C, C]{fold: maxFold[C]{}, outs: [2]*tensor.Tensor{out}}
	if lowest {
		r.fold = minFold[C]{}
	}
	return reduce(ctx, in, ax, r)
}

type maxFold[C kit.Number] struct{ values[C] }

func (maxFold[C]) start() C {
	least, _ := limits[C]()
	return least
}
func (maxFold[C]) row(acc C, _ int, x []C) C { return maxRow(acc, x) }
func (maxFold[C]) col(acc []C, _ int, x []C) { maxCol(acc, x) }

type minFold[C kit.Number] struct{ values[C] }

func (minFold[C]) start() C {
	_, greatest := limits[C]()
	return greatest
}
func (minFold[C]) row(acc C, _ int, x []C) C { return minRow(acc, x) }
func (minFold[C]) col(acc []C, _ int, x []C) { minCol(acc, x) }

// maxRow returns the largest of acc and x, the first NaN if there is one.
func maxRow[C kit.Number](acc C, x []C) C {
	if at := maxIndex(acc, x); at >= 0 {
		return x[at]
	}
	return acc
}

// maxIndex returns which of x comes first of those that are larger than acc and all of
// x, or not a number; -1 if acc is as good.
func maxIndex[C kit.Number](acc C, x []C) int {
	at := -1
	if acc != acc {
		return at
	}
	i := 0
	for ; i+4 <= len(x); i += 4 {
		x4 := x[i : i+4 : i+4]
		if x4[0] <= acc && x4[1] <= acc && x4[2] <= acc && x4[3] <= acc {
			continue
		}
		for k, v := range x4 {
			if !(v <= acc) {
				acc, at = v, i+k
				if v != v {
					return at
				}
			}
		}
	}
	for ; i < len(x); i++ {
		if v := x[i]; !(v <= acc) {
			acc, at = v, i
			if v != v {
				return at
			}
		}
	}
	return at
}

func maxCol[C kit.Number](acc []C, x []C) {
	acc = acc[:len(x)]
	for i, v := range x {
		if a := acc[i]; !(v <= a) && a == a {
			acc[i] = v
		}
	}
}

// minRow returns the smallest of acc and x, the first NaN if there is one.
func minRow[C kit.Number](acc C, x []C) C {
	if at := minIndex(acc, x); at >= 0 {
		return x[at]
	}
	return acc
}

// minIndex returns which of x comes first of those that are smaller than acc and all of
// x, or not a number; -1 if acc is as good.
func minIndex[C kit.Number](acc C, x []C) int {
	at := -1
	if acc != acc {
		return at
	}
	i := 0
	for ; i+4 <= len(x); i += 4 {
		x4 := x[i : i+4 : i+4]
		if x4[0] >= acc && x4[1] >= acc && x4[2] >= acc && x4[3] >= acc {
			continue
		}
		for k, v := range x4 {
			if !(v >= acc) {
				acc, at = v, i+k
				if v != v {
					return at
				}
			}
		}
	}
	for ; i < len(x); i++ {
		if v := x[i]; !(v >= acc) {
			acc, at = v, i
			if v != v {
				return at
			}
		}
	}
	return at
}

func minCol[C kit.Number](acc []C, x []C) {
	acc = acc[:len(x)]
	for i, v := range x {
		if a := acc[i]; !(v >= a) && a == a {
			acc[i] = v
		}
	}
}

func maxDimMax(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return extremeDim(ctx, "max", args, false)
}

func minDimMin(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return extremeDim(ctx, "min", args, true)
}

func extremeDim(ctx *runtime.KernelRuntimeContext, name string, args runtime.Args, lowest bool) error {
	in, values, indices := args.Tensor(0), args.Tensor(3), args.Tensor(4)
	if in.DType() != values.DType() {
		return errs.InvalidArgument.Errorf("%s: input is %v, values are %v", name, in.DType(), values.DType())
	}
	ax, err := reduceDim(in, args.Int(1), args.Bool(2))
	if err != nil {
		return err
	}
	if err := ax.resize(in, values); err != nil {
		return err
	}
	return argExtreme(ctx, name, in, values, indices, &ax, lowest)
}

func argmaxOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return argExtremeOut(ctx, "argmax", args, false)
}

func argminOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return argExtremeOut(ctx, "argmin", args, true)
}

func argExtremeOut(ctx *runtime.KernelRuntimeContext, name string, args runtime.Args, lowest bool) error {
	in := args.Tensor(0)
	ax := reduceAll(in, args.Bool(2))
	if dim, given := args.OptInt(1); given {
		var err error
		if ax, err = reduceDim(in, dim, args.Bool(2)); err != nil {
			return err
		}
	}
	return argExtreme(ctx, name, in, nil, args.Tensor(3), &ax, lowest)
}

// argExtreme computes where the largest or smallest element is and, if values is
// not nil, which one it is.
func argExtreme(ctx *runtime.KernelRuntimeContext, name string, in, values, indices *tensor.Tensor, ax *axes, lowest bool) error {
	if d := indices.DType(); d != tensor.I64 {
		return errs.InvalidArgument.Errorf("%s: indices are %v, want int64", name, d)
	}
	if err := ax.resize(in, indices); err != nil {
		return err
	}
	if err := ax.notEmpty(name, in, indices); err != nil {
		return err
	}
	outs := [2]*tensor.Tensor{indices, values}
	switch in.DType() {
	case tensor.F32, tensor.F16, tensor.BF16:
		return argExtremeAs[float32](ctx, in, outs, ax, lowest)
	case tensor.F64:
		return argExtremeAs[float64](ctx, in, outs, ax, lowest)
	case tensor.I64:
		return argExtremeAs[int64](ctx, in, outs, ax, lowest)
	case tensor.I32:
		return argExtremeAs[int32](ctx, in, outs, ax, lowest)
	case tensor.I16:
		return argExtremeAs[int16](ctx, in, outs, ax, lowest)
	case tensor.I8:
		return argExtremeAs[int8](ctx, in, outs, ax, lowest)
	case tensor.U8, tensor.Bool:
		return argExtremeAs[uint8](ctx, in, outs, ax, lowest)
	}
	return kit.Unsupported(name, in)
}

// indexed is an element and its number among those reduced with it.
type indexed[C kit.Number] struct {
	value C
	index int64
}

func argExtremeAs[C kit.Number](ctx *runtime.KernelRuntimeContext, in *tensor.Tensor, outs [2]*tensor.Tensor, ax *axes, lowest bool) error {
	r := reduction[C, indexed[C]]{fold: argmaxFold[C]{}, outs: outs, inOrder: true}
	if lowest {
		r.fold = argminFold[C]{}
	}
	return reduce(ctx, in, ax, r)
}

// indexedFold is what the folders of indexed elements share.
type indexedFold[C kit.Number] struct{ numbers[C] }

func (indexedFold[C]) finish([]indexed[C], int) {}

// emit stores indices and, if they are asked for, values.
func (indexedFold[C]) emit(t *reduceTask[C, indexed[C]], off [2]int, acc []indexed[C], buf []C) {
	dst, to := tensor.Raw[int64](t.outs[0]), off[0]
	for i := range acc {
		dst[to] = acc[i].index
		to += t.kept.Stride(1)
	}
	if t.outs[1] == nil {
		return
	}
	for i := range acc {
		buf[i] = acc[i].value
	}
	kit.StoreStrided(t.outs[1], off[1], t.kept.Stride(2), buf)
}

type argmaxFold[C kit.Number] struct{ indexedFold[C] }

func (argmaxFold[C]) start() indexed[C] { return indexed[C]{value: maxFold[C]{}.start()} }

func (argmaxFold[C]) row(acc indexed[C], pos int, x []C) indexed[C] {
	if at := maxIndex(acc.value, x); at >= 0 {
		return indexed[C]{x[at], int64(pos + at)}
	}
	return acc
}

func (argmaxFold[C]) col(acc []indexed[C], pos int, x []C) {
	acc = acc[:len(x)]
	for i, v := range x {
		if a := acc[i].value; !(v <= a) && a == a {
			acc[i] = indexed[C]{v, int64(pos)}
		}
	}
}

type argminFold[C kit.Number] struct{ indexedFold[C] }

func (argminFold[C]) start() indexed[C] { return indexed[C]{value: minFold[C]{}.start()} }

func (argminFold[C]) row(acc indexed[C], pos int, x []C) indexed[C] {
	if at := minIndex(acc.value, x); at >= 0 {
		return indexed[C]{x[at], int64(pos + at)}
	}
	return acc
}

func (argminFold[C]) col(acc []indexed[C], pos int, x []C) {
	acc = acc[:len(x)]
	for i, v := range x {
		if a := acc[i].value; !(v >= a) && a == a {
			acc[i] = indexed[C]{v, int64(pos)}
		}
	}
}
