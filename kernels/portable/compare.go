package portable

import (
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Comparisons take every real type and bool, with a tensor or a scalar, and give
// 0 or 1 in any real type or bool. The operands are compared in the type they
// promote to; different types of which one is a float are compared as F32, as in
// ExecuTorch.

// Eq is aten::eq: self == other.
var Eq = runtime.Kernels{
	{Schema: "aten::eq.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Run: eqOut},
	{Schema: "aten::eq.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Run: eqOut},
}

// Ne is aten::ne: self != other.
var Ne = runtime.Kernels{
	{Schema: "aten::ne.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Run: neOut},
	{Schema: "aten::ne.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Run: neOut},
}

// Lt is aten::lt: self < other.
var Lt = runtime.Kernels{
	{Schema: "aten::lt.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Run: ltOut},
	{Schema: "aten::lt.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Run: ltOut},
}

// Le is aten::le: self <= other.
var Le = runtime.Kernels{
	{Schema: "aten::le.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Run: leOut},
	{Schema: "aten::le.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Run: leOut},
}

// Gt is aten::gt: self > other.
var Gt = runtime.Kernels{
	{Schema: "aten::gt.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Run: gtOut},
	{Schema: "aten::gt.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Run: gtOut},
}

// Ge is aten::ge: self >= other.
var Ge = runtime.Kernels{
	{Schema: "aten::ge.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Run: geOut},
	{Schema: "aten::ge.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Run: geOut},
}

func eqOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return compare(ctx, args, &eqTypes)
}

func neOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return compare(ctx, args, &neTypes)
}

func ltOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return compare(ctx, args, &ltTypes)
}

func leOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return compare(ctx, args, &leTypes)
}

func gtOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return compare(ctx, args, &gtTypes)
}

func geOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return compare(ctx, args, &geTypes)
}

// compare runs a comparison of (self, other, out).
func compare(ctx *runtime.KernelRuntimeContext, args runtime.Args, types *typedKernels) error {
	a, b, out := args.Tensor(0), args.Tensor(1), args.Tensor(2)
	d := noType
	if b == nil {
		d = promoteScalar(a.DType(), args.Scalar(1))
	} else if d = promote(a.DType(), b.DType()); d.IsFloat() && a.DType() != b.DType() {
		d = tensor.F32
	}
	// The results, bools, go to every type.
	if err := checkInputs(out); err != nil {
		return err
	}
	if err := resizeOperands(a, b, out); err != nil {
		return err
	}
	return types.run(ctx, args, computeType(d))
}

var eqTypes = typedKernels{
	u8: eqAs[uint8], i8: eqAs[int8], i16: eqAs[int16], i32: eqAs[int32], i64: eqAs[int64],
	f32: eqAs[float32], f64: eqAs[float64], boolean: eqAs[uint8],
}

var neTypes = typedKernels{
	u8: neAs[uint8], i8: neAs[int8], i16: neAs[int16], i32: neAs[int32], i64: neAs[int64],
	f32: neAs[float32], f64: neAs[float64], boolean: neAs[uint8],
}

var ltTypes = typedKernels{
	u8: ltAs[uint8], i8: ltAs[int8], i16: ltAs[int16], i32: ltAs[int32], i64: ltAs[int64],
	f32: ltAs[float32], f64: ltAs[float64], boolean: ltAs[uint8],
}

var leTypes = typedKernels{
	u8: leAs[uint8], i8: leAs[int8], i16: leAs[int16], i32: leAs[int32], i64: leAs[int64],
	f32: leAs[float32], f64: leAs[float64], boolean: leAs[uint8],
}

var gtTypes = typedKernels{
	u8: gtAs[uint8], i8: gtAs[int8], i16: gtAs[int16], i32: gtAs[int32], i64: gtAs[int64],
	f32: gtAs[float32], f64: gtAs[float64], boolean: gtAs[uint8],
}

var geTypes = typedKernels{
	u8: geAs[uint8], i8: geAs[int8], i16: geAs[int16], i32: geAs[int32], i64: geAs[int64],
	f32: geAs[float32], f64: geAs[float64], boolean: geAs[uint8],
}

func eqAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return comparison(ctx, args, d, eqOp[C]{})
}

func neAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return comparison(ctx, args, d, neOp[C]{})
}

func ltAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return comparison(ctx, args, d, ltOp[C]{})
}

func leAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return comparison(ctx, args, d, leOp[C]{})
}

func gtAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return comparison(ctx, args, d, gtOp[C]{})
}

func geAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return comparison(ctx, args, d, geOp[C]{})
}

// comparison runs a comparison in type d, which C stands for.
func comparison[C kit.Number, Op binaryOp[C, uint8]](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType, op Op) error {
	a, b := number[C](args.Tensor(0), d), numberOrConstant[C](args, 1, d)
	return binary(ctx, a, b, result[uint8](args.Tensor(2), tensor.Bool), grainArith, op)
}

type eqOp[C kit.Number] struct{}

func (eqOp[C]) vv(dst []uint8, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		dst[i] = truth(v == b[i])
	}
}

func (eqOp[C]) vs(dst []uint8, a []C, b C) {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = truth(v == b)
	}
}

func (eqOp[C]) sv(dst []uint8, a C, b []C) { eqOp[C]{}.vs(dst, b, a) }

type neOp[C kit.Number] struct{}

func (neOp[C]) vv(dst []uint8, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		dst[i] = truth(v != b[i])
	}
}

func (neOp[C]) vs(dst []uint8, a []C, b C) {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = truth(v != b)
	}
}

func (neOp[C]) sv(dst []uint8, a C, b []C) { neOp[C]{}.vs(dst, b, a) }

type ltOp[C kit.Number] struct{}

func (ltOp[C]) vv(dst []uint8, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		dst[i] = truth(v < b[i])
	}
}

func (ltOp[C]) vs(dst []uint8, a []C, b C) {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = truth(v < b)
	}
}

func (ltOp[C]) sv(dst []uint8, a C, b []C) { gtOp[C]{}.vs(dst, b, a) }

type leOp[C kit.Number] struct{}

func (leOp[C]) vv(dst []uint8, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		dst[i] = truth(v <= b[i])
	}
}

func (leOp[C]) vs(dst []uint8, a []C, b C) {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = truth(v <= b)
	}
}

func (leOp[C]) sv(dst []uint8, a C, b []C) { geOp[C]{}.vs(dst, b, a) }

type gtOp[C kit.Number] struct{}

func (gtOp[C]) vv(dst []uint8, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		dst[i] = truth(v > b[i])
	}
}

func (gtOp[C]) vs(dst []uint8, a []C, b C) {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = truth(v > b)
	}
}

func (gtOp[C]) sv(dst []uint8, a C, b []C) { ltOp[C]{}.vs(dst, b, a) }

type geOp[C kit.Number] struct{}

func (geOp[C]) vv(dst []uint8, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		dst[i] = truth(v >= b[i])
	}
}

func (geOp[C]) vs(dst []uint8, a []C, b C) {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = truth(v >= b)
	}
}

func (geOp[C]) sv(dst []uint8, a C, b []C) { leOp[C]{}.vs(dst, b, a) }
