package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Var is aten::var: the variance over the listed dimensions, over all for None
// or an empty list, in the output's type: the sum of the squared distances from
// the mean by the number of elements less the correction (1 if not given). It is
// NaN where that is not positive. Input and output are floating-point; half
// types are rounded after each operation.
var Var = runtime.Kernels{
	{Schema: "aten::var.correction_out(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False, Tensor(a!) out) -> Tensor(a!)", Run: varCorrectionOut},
	{Schema: "aten::var.out(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Run: varOut},
}

// VarMean is aten::var_mean: variance and mean; see Var. The mean is NaN where
// the variance is.
var VarMean = runtime.Kernels{
	{Schema: "aten::var_mean.correction_out(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))", Run: varMeanCorrectionOut},
}

func varOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	correction := 0.0
	if args.Bool(2) {
		correction = 1
	}
	return variance(ctx, "var", args, args.Bool(3), correction, args.Tensor(4), nil)
}

func varCorrectionOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return variance(ctx, "var", args, args.Bool(3), correctionOf(args), args.Tensor(4), nil)
}

func varMeanCorrectionOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return variance(ctx, "var_mean", args, args.Bool(3), correctionOf(args), args.Tensor(4), args.Tensor(5))
}

func correctionOf(args runtime.Args) float64 {
	if args.IsNone(2) {
		return 1
	}
	return args.Scalar(2).Double()
}

// variance computes the variance, and the mean if that is not nil, of argument 0
// over the dimensions in argument 1.
func variance(ctx *runtime.KernelRuntimeContext, name string, args runtime.Args, keepDim bool, correction float64, out, mean *tensor.Tensor) error {
	in := args.Tensor(0)
	if !in.DType().IsFloat() || !out.DType().IsFloat() {
		return errs.InvalidArgument.Errorf("%s: want floating-point types, input is %v, output %v", name, in.DType(), out.DType())
	}
	ax, err := reduceDims(in, args.Ints(1), keepDim)
	if err != nil {
		return err
	}
	if err := ax.resize(in, out); err != nil {
		return err
	}
	if mean != nil {
		if mean.DType() != out.DType() {
			return errs.InvalidArgument.Errorf("%s: the variance is %v, the mean %v", name, out.DType(), mean.DType())
		}
		if err := ax.resize(in, mean); err != nil {
			return err
		}
	}
	divisor, outs := float64(ax.count)-correction, [2]*tensor.Tensor{out, mean}
	switch out.DType() {
	case tensor.F16:
		return reduce(ctx, in, &ax, reduction[float32, moments[float32]]{
			fold: roundedMeanFold{round: roundF16}, again: roundedSquaresFold{round: roundF16}, divisor: divisor, outs: outs,
		})
	case tensor.BF16:
		return reduce(ctx, in, &ax, reduction[float32, moments[float32]]{
			fold: roundedMeanFold{round: roundBF16}, again: roundedSquaresFold{round: roundBF16}, divisor: divisor, outs: outs,
		})
	case tensor.F32:
		return reduce(ctx, in, &ax, reduction[float32, moments[float32]]{
			fold: meanMomentFold[float32]{}, again: squaresFold[float32]{}, divisor: divisor, outs: outs,
		})
	default:
		return reduce(ctx, in, &ax, reduction[float64, moments[float64]]{
			fold: meanMomentFold[float64]{}, again: squaresFold[float64]{}, divisor: divisor, outs: outs,
		})
	}
}

// moments accumulates a mean in the first walk and, in the second one, the
// squared distances from it.
type moments[C kit.Float] struct {
	mean, squares C
}

// momentsFold is what the folders of moments share.
type momentsFold[C kit.Float] struct{ numbers[C] }

func (momentsFold[C]) start() moments[C] { return moments[C]{} }

func (momentsFold[C]) finish([]moments[C], int) {}

func (momentsFold[C]) emit(t *reduceTask[C, moments[C]], off [2]int, acc []moments[C], buf []C) {
	if t.count == 0 || t.divisor <= 0 {
		fillSpan(acc, moments[C]{C(math.NaN()), C(math.NaN())})
	}
	for i := range acc {
		buf[i] = C(float64(acc[i].squares) / t.divisor)
	}
	kit.StoreStrided(t.outs[0], off[0], t.kept.Stride(1), buf)
	if t.outs[1] == nil {
		return
	}
	for i := range acc {
		buf[i] = acc[i].mean
	}
	kit.StoreStrided(t.outs[1], off[1], t.kept.Stride(2), buf)
}

// meanMomentFold finds the mean.
type meanMomentFold[C kit.Float] struct{ momentsFold[C] }

func (meanMomentFold[C]) row(acc moments[C], _ int, x []C) moments[C] {
	acc.mean = sumRow(acc.mean, x)
	return acc
}

func (meanMomentFold[C]) col(acc []moments[C], _ int, x []C) {
	acc = acc[:len(x)]
	for i, v := range x {
		acc[i].mean += v
	}
}

func (meanMomentFold[C]) finish(acc []moments[C], count int) {
	n := C(count)
	for i := range acc {
		acc[i].mean /= n
	}
}

// squaresFold adds up the squared distances from the mean.
type squaresFold[C kit.Float] struct{ momentsFold[C] }

func (squaresFold[C]) row(acc moments[C], _ int, x []C) moments[C] {
	acc.squares += squaredDistance(x, acc.mean)
	return acc
}

func (squaresFold[C]) col(acc []moments[C], _ int, x []C) {
	acc = acc[:len(x)]
	for i, v := range x {
		d := v - acc[i].mean
		acc[i].squares += d * d
	}
}

// squaredDistance returns the sum of (x[i] - mean)², added up in four
// interleaved parts.
func squaredDistance[C kit.Float](x []C, mean C) C {
	var s0, s1, s2, s3 C
	i := 0
	for ; i+4 <= len(x); i += 4 {
		x4 := x[i : i+4 : i+4]
		d0, d1, d2, d3 := x4[0]-mean, x4[1]-mean, x4[2]-mean, x4[3]-mean
		s0 += d0 * d0
		s1 += d1 * d1
		s2 += d2 * d2
		s3 += d3 * d3
	}
	for ; i < len(x); i++ {
		d := x[i] - mean
		s0 += d * d
	}
	return (s0 + s1) + (s2 + s3)
}

// roundedMeanFold finds the mean in a half type.
type roundedMeanFold struct {
	momentsFold[float32]
	round func(float32) float32
}

func (f roundedMeanFold) row(acc moments[float32], _ int, x []float32) moments[float32] {
	for _, v := range x {
		acc.mean = f.round(f.round(v) + acc.mean)
	}
	return acc
}

func (f roundedMeanFold) col(acc []moments[float32], pos int, x []float32) { eachCol(f, acc, pos, x) }

func (f roundedMeanFold) finish(acc []moments[float32], count int) {
	n := f.round(float32(count))
	for i := range acc {
		acc[i].mean = f.round(acc[i].mean / n)
	}
}

// roundedSquaresFold adds up the squared distances from the mean in a half type.
type roundedSquaresFold struct {
	momentsFold[float32]
	round func(float32) float32
}

func (f roundedSquaresFold) row(acc moments[float32], _ int, x []float32) moments[float32] {
	for _, v := range x {
		d := f.round(f.round(v) - acc.mean)
		acc.squares = f.round(f.round(d*d) + acc.squares)
	}
	return acc
}

func (f roundedSquaresFold) col(acc []moments[float32], pos int, x []float32) {
	eachCol(f, acc, pos, x)
}
