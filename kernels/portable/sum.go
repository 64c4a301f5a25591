package portable

import (
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Sum is aten::sum: the sum over the listed dimensions, over all for None or an
// empty list, in the output's type (half types in float32). It takes all number
// types, bool, and complex types with an output of the same type.
var Sum = runtime.Kernels{
	{Schema: "aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Run: sumIntListOut},
}

// Mean is aten::mean: the mean over the listed dimensions in the output's type,
// which is a floating-point one (half types in float32). The mean of no elements
// is NaN.
var Mean = runtime.Kernels{
	{Schema: "aten::mean.dtype_out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Run: meanDTypeOut},
	{Schema: "aten::mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Run: meanOut},
}

// Prod is aten::prod: the product over one dimension or all, in the output's
// type. Half types are rounded after each multiplication.
var Prod = runtime.Kernels{
	{Schema: "aten::prod.int_out(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Run: prodIntOut},
	{Schema: "aten::prod.out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Run: prodOut},
}

func sumIntListOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, out := args.Tensor(0), args.Tensor(4)
	if err := checkDType("sum", args, 3, out); err != nil {
		return err
	}
	dims := args.Ints(1)
	ax, err := reduceDims(in, dims, args.Bool(2))
	if err != nil {
		return err
	}
	if err := ax.resize(in, out); err != nil {
		return err
	}
	if in.DType().IsComplex() || out.DType().IsComplex() {
		return sumComplex(ctx, in, out, &ax)
	}
	if in.DType() == tensor.F64 && out.DType() == tensor.F64 && len(dims) == 1 {
		return reduce(ctx, in, &ax, reduction[float64, float32]{fold: floatSumFold{}, outs: [2]*tensor.Tensor{out}})
	}
	return sum(ctx, "sum", in, out, &ax, false)
}

func meanDTypeOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, out := args.Tensor(0), args.Tensor(2)
	if err := checkDType("mean", args, 1, out); err != nil {
		return err
	}
	_, given := args.DType(1)
	return mean(ctx, in, out, reduceAll(in, false), given)
}

func meanOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, out := args.Tensor(0), args.Tensor(4)
	if err := checkDType("mean", args, 3, out); err != nil {
		return err
	}
	ax, err := reduceDims(in, args.Ints(1), args.Bool(2))
	if err != nil {
		return err
	}
	_, given := args.DType(3)
	return mean(ctx, in, out, ax, given)
}

// mean computes a mean; anyType tells that the input may have a type that is not
// a floating-point one.
func mean(ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor, ax axes, anyType bool) error {
	if !out.DType().IsFloat() || !anyType && !in.DType().IsFloat() {
		return errs.InvalidArgument.Errorf("mean: the output must have a floating-point type, and without dtype the input too: input is %v, output %v", in.DType(), out.DType())
	}
	if err := ax.resize(in, out); err != nil {
		return err
	}
	return sum(ctx, "mean", in, out, &ax, true)
}

// sum adds up in out's type and, for a mean, divides by the number of elements.
func sum(ctx *runtime.KernelRuntimeContext, name string, in, out *tensor.Tensor, ax *axes, mean bool) error {
	if !isRealOrBool(in.DType()) {
		return kit.Unsupported(name, in)
	}
	switch out.DType() {
	case tensor.F32, tensor.F16, tensor.BF16:
		return sumAs[float32](ctx, in, out, ax, mean)
	case tensor.F64:
		return sumAs[float64](ctx, in, out, ax, mean)
	case tensor.I64:
		return sumAs[int64](ctx, in, out, ax, mean)
	case tensor.I32:
		return sumAs[int32](ctx, in, out, ax, mean)
	case tensor.I16:
		return sumAs[int16](ctx, in, out, ax, mean)
	case tensor.I8:
		return sumAs[int8](ctx, in, out, ax, mean)
	case tensor.U8:
		return sumAs[uint8](ctx, in, out, ax, mean)
	case tensor.Bool:
		return anyReduce(ctx, name, in, out, ax)
	}
	return kit.Unsupported(name, out)
}

func sumAs[C kit.Number](ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor, ax *axes, mean bool) error {
	r := reduction[C, C]{fold: sumFold[C]{}, outs: [2]*tensor.Tensor{out}}
	if mean {
		r.fold = meanFold[C]{}
	}
	return reduce(ctx, in, ax, r)
}

// sumFold adds up.
type sumFold[C kit.Number] struct{ values[C] }

func (sumFold[C]) start() C                  { return 0 }
func (sumFold[C]) row(acc C, _ int, x []C) C { return sumRow(acc, x) }
func (sumFold[C]) col(acc []C, _ int, x []C) { sumCol(acc, x) }

func (sumFold[C]) col4(acc []C, x0, x1, x2, x3 []C) {
	n := len(acc)
	x0, x1, x2, x3 = x0[:n], x1[:n], x2[:n], x3[:n]
	for i, v := range x0 {
		acc[i] += (v + x1[i]) + (x2[i] + x3[i])
	}
}

// meanFold adds up and divides by the number of elements.
type meanFold[C kit.Number] struct{ sumFold[C] }

func (meanFold[C]) finish(acc []C, count int) {
	n := C(count)
	for i := range acc {
		acc[i] /= n
	}
}

// sumRow adds up x in eight interleaved parts.
func sumRow[C scalar](acc C, x []C) C {
	var s0, s1, s2, s3, s4, s5, s6, s7 C
	for len(x) >= 8 {
		s0 += x[0]
		s1 += x[1]
		s2 += x[2]
		s3 += x[3]
		s4 += x[4]
		s5 += x[5]
		s6 += x[6]
		s7 += x[7]
		x = x[8:]
	}
	acc += ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
	for _, v := range x {
		acc += v
	}
	return acc
}

// sumCol adds x to acc.
func sumCol[C scalar](acc []C, x []C) {
	acc = acc[:len(x)]
	for i, v := range x {
		acc[i] += v
	}
}

// floatSumFold adds up float64 in float32, as ExecuTorch does along one dimension:
// a row in eight lanes, which are added up before the rest.
type floatSumFold struct{ numbers[float64] }

func (floatSumFold) start() float32 { return 0 }

func (floatSumFold) row(_ float32, _ int, x []float64) float32 {
	var lanes [8]float32
	for len(x) >= len(lanes) {
		for i := range lanes {
			lanes[i] += float32(x[i])
		}
		x = x[len(lanes):]
	}
	acc := lanes[0]
	for _, v := range lanes[1:] {
		acc += v
	}
	for _, v := range x {
		acc += float32(v)
	}
	return acc
}

func (floatSumFold) col(acc []float32, _ int, x []float64) {
	acc = acc[:len(x)]
	for i, v := range x {
		acc[i] += float32(v)
	}
}

func (floatSumFold) finish([]float32, int) {}

func (floatSumFold) emit(t *reduceTask[float64, float32], off [2]int, acc []float32, _ []float64) {
	kit.StoreStrided(t.outs[0], off[0], t.kept.Stride(1), acc)
}

func sumComplex(ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor, ax *axes) error {
	if in.DType() != out.DType() {
		return errs.InvalidArgument.Errorf("sum: a complex sum has its input's type: input is %v, output %v", in.DType(), out.DType())
	}
	outs := [2]*tensor.Tensor{out}
	switch in.DType() {
	case tensor.C64:
		return reduce(ctx, in, ax, reduction[complex64, complex64]{fold: complexFold[complex64]{}, outs: outs})
	case tensor.C128:
		return reduce(ctx, in, ax, reduction[complex128, complex128]{fold: complexFold[complex128]{}, outs: outs})
	default:
		return reduce(ctx, in, ax, reduction[complex64, complex64]{fold: halfComplexFold{}, outs: outs})
	}
}

// complexFold adds up complex numbers.
type complexFold[C complex64 | complex128] struct{}

func (complexFold[C]) start() C                           { return 0 }
func (complexFold[C]) row(acc C, _ int, x []C) C          { return sumRow(acc, x) }
func (complexFold[C]) col(acc []C, _ int, x []C)          { sumCol(acc, x) }
func (complexFold[C]) finish([]C, int)                    {}
func (complexFold[C]) load([]C, *tensor.Tensor, int, int) {}

func (complexFold[C]) emit(t *reduceTask[C, C], off [2]int, acc []C, _ []C) {
	dst, to := tensor.Raw[C](t.outs[0]), off[0]
	for _, v := range acc {
		dst[to] = v
		to += t.kept.Stride(1)
	}
}

// halfComplexFold adds up complex numbers of two halves in complex64.
type halfComplexFold struct{ complexFold[complex64] }

func (halfComplexFold) load(dst []complex64, src *tensor.Tensor, off, stride int) {
	s := tensor.Raw[tensor.Complex32](src)
	for i := range dst {
		dst[i] = complex(s[off].Real.Float32(), s[off].Imag.Float32())
		off += stride
	}
}

func (halfComplexFold) emit(t *reduceTask[complex64, complex64], off [2]int, acc []complex64, _ []complex64) {
	dst, to := tensor.Raw[tensor.Complex32](t.outs[0]), off[0]
	for _, v := range acc {
		dst[to] = tensor.Complex32{Real: tensor.ToFloat16(real(v)), Imag: tensor.ToFloat16(imag(v))}
		to += t.kept.Stride(1)
	}
}

func prodIntOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, out := args.Tensor(0), args.Tensor(4)
	if err := checkDType("prod", args, 3, out); err != nil {
		return err
	}
	ax, err := reduceDim(in, args.Int(1), args.Bool(2))
	if err != nil {
		return err
	}
	return prod(ctx, in, out, &ax)
}

func prodOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, out := args.Tensor(0), args.Tensor(2)
	want, given := args.DType(1)
	switch {
	case given:
	case in.DType().IsIntegral(true):
		want = tensor.I64
	default:
		want = in.DType()
	}
	if out.DType() != want {
		return errs.InvalidArgument.Errorf("prod: output is %v, want %v", out.DType(), want)
	}
	ax := reduceAll(in, false)
	return prod(ctx, in, out, &ax)
}

func prod(ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor, ax *axes) error {
	if err := ax.resize(in, out); err != nil {
		return err
	}
	if !isRealOrBool(in.DType()) {
		return kit.Unsupported("prod", in)
	}
	outs := [2]*tensor.Tensor{out}
	switch out.DType() {
	case tensor.F32:
		return reduce(ctx, in, ax, reduction[float32, float32]{fold: prodFold[float32]{}, outs: outs})
	case tensor.F16:
		return reduce(ctx, in, ax, reduction[float32, float32]{fold: roundedProdFold{round: roundF16}, outs: outs})
	case tensor.BF16:
		return reduce(ctx, in, ax, reduction[float32, float32]{fold: roundedProdFold{round: roundBF16}, outs: outs})
	case tensor.F64:
		return reduce(ctx, in, ax, reduction[float64, float64]{fold: prodFold[float64]{}, outs: outs})
	case tensor.I64:
		return reduce(ctx, in, ax, reduction[int64, int64]{fold: prodFold[int64]{}, outs: outs})
	case tensor.I32:
		return reduce(ctx, in, ax, reduction[int32, int32]{fold: prodFold[int32]{}, outs: outs})
	case tensor.I16:
		return reduce(ctx, in, ax, reduction[int16, int16]{fold: prodFold[int16]{}, outs: outs})
	case tensor.I8:
		return reduce(ctx, in, ax, reduction[int8, int8]{fold: prodFold[int8]{}, outs: outs})
	case tensor.U8:
		return reduce(ctx, in, ax, reduction[uint8, uint8]{fold: prodFold[uint8]{}, outs: outs})
	case tensor.Bool:
		return reduceRaw(ctx, in, nil, ax, reduction[uint8, uint8]{fold: allFold{}, outs: outs})
	}
	return kit.Unsupported("prod", out)
}

// prodFold multiplies in order: another one could overflow where this does not.
type prodFold[C kit.Number] struct{ values[C] }

func (prodFold[C]) start() C { return 1 }

func (prodFold[C]) row(acc C, _ int, x []C) C {
	for _, v := range x {
		acc *= v
	}
	return acc
}

func (prodFold[C]) col(acc []C, _ int, x []C) {
	acc = acc[:len(x)]
	for i, v := range x {
		acc[i] *= v
	}
}

// roundedProdFold multiplies and rounds to a half type each time.
type roundedProdFold struct {
	values[float32]
	round func(float32) float32
}

func (roundedProdFold) start() float32 { return 1 }

func (f roundedProdFold) row(acc float32, _ int, x []float32) float32 {
	for _, v := range x {
		acc = f.round(acc * f.round(v))
	}
	return acc
}

func (f roundedProdFold) col(acc []float32, pos int, x []float32) { eachCol(f, acc, pos, x) }

// allFold multiplies truth values.
type allFold struct{ prodFold[uint8] }

func (allFold) load(dst []uint8, src *tensor.Tensor, off, stride int) {
	kit.LoadTruth(dst, src, off, stride)
}
