package portable

import (
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Bitwise operators take integers and bools, two tensors or a tensor and a
// scalar, and compute in the type they promote to.

// BitwiseAnd is aten::bitwise_and.
var BitwiseAnd = runtime.Kernels{
	{Schema: "aten::bitwise_and.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Run: bitwiseAndOut},
	{Schema: "aten::bitwise_and.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Run: bitwiseAndOut},
}

// BitwiseOr is aten::bitwise_or.
var BitwiseOr = runtime.Kernels{
	{Schema: "aten::bitwise_or.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Run: bitwiseOrOut},
	{Schema: "aten::bitwise_or.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Run: bitwiseOrOut},
}

// BitwiseXor is aten::bitwise_xor.
var BitwiseXor = runtime.Kernels{
	{Schema: "aten::bitwise_xor.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Run: bitwiseXorOut},
	{Schema: "aten::bitwise_xor.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Run: bitwiseXorOut},
}

// BitwiseLeftShift is aten::bitwise_left_shift. Shifts are made in 32 bits, or 64
// for I64, and count modulo that, as on x86.
var BitwiseLeftShift = runtime.Kernels{
	{Schema: "aten::bitwise_left_shift.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Run: leftShiftOut},
	{Schema: "aten::bitwise_left_shift.Tensor_Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Run: leftShiftOut},
}

// BitwiseRightShift is aten::bitwise_right_shift, which keeps the sign; see
// BitwiseLeftShift.
var BitwiseRightShift = runtime.Kernels{
	{Schema: "aten::bitwise_right_shift.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Run: rightShiftOut},
	{Schema: "aten::bitwise_right_shift.Tensor_Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Run: rightShiftOut},
}

func bitwiseAndOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return tensorBinary(ctx, args, &bitwiseAndTypes)
}

func bitwiseOrOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return tensorBinary(ctx, args, &bitwiseOrTypes)
}

func bitwiseXorOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return tensorBinary(ctx, args, &bitwiseXorTypes)
}

func leftShiftOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return tensorBinary(ctx, args, &leftShiftTypes)
}

func rightShiftOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return tensorBinary(ctx, args, &rightShiftTypes)
}

var bitwiseAndTypes = typedKernels{
	u8: bitwiseAndAs[uint8], i8: bitwiseAndAs[int8], i16: bitwiseAndAs[int16], i32: bitwiseAndAs[int32], i64: bitwiseAndAs[int64],
	boolean: andBool,
}

var bitwiseOrTypes = typedKernels{
	u8: bitwiseOrAs[uint8], i8: bitwiseOrAs[int8], i16: bitwiseOrAs[int16], i32: bitwiseOrAs[int32], i64: bitwiseOrAs[int64],
	boolean: orBool,
}

var bitwiseXorTypes = typedKernels{
	u8: bitwiseXorAs[uint8], i8: bitwiseXorAs[int8], i16: bitwiseXorAs[int16], i32: bitwiseXorAs[int32], i64: bitwiseXorAs[int64],
	boolean: xorBool,
}

var leftShiftTypes = typedKernels{
	u8: leftShiftAs[uint8], i8: leftShiftAs[int8], i16: leftShiftAs[int16], i32: leftShiftAs[int32], i64: leftShiftAs[int64],
	boolean: leftShiftBool,
}

var rightShiftTypes = typedKernels{
	u8: rightShiftAs[uint8], i8: rightShiftAs[int8], i16: rightShiftAs[int16], i32: rightShiftAs[int32], i64: rightShiftAs[int64],
	boolean: rightShiftBool,
}

func bitwiseAndAs[C kit.Integer](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return bitwise(ctx, args, d, bitwiseAndOp[C]{})
}

func bitwiseOrAs[C kit.Integer](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return bitwise(ctx, args, d, bitwiseOrOp[C]{})
}

func bitwiseXorAs[C kit.Integer](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return bitwise(ctx, args, d, bitwiseXorOp[C]{})
}

func leftShiftAs[C kit.Integer](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return bitwise(ctx, args, d, leftShiftOp[C]{})
}

func rightShiftAs[C kit.Integer](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return bitwise(ctx, args, d, rightShiftOp[C]{})
}

func bitwise[C kit.Integer, Op binaryOp[C, C]](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType, op Op) error {
	a, b := number[C](args.Tensor(0), d), numberOrConstant[C](args, 1, d)
	return binary(ctx, a, b, result[C](args.Tensor(2), d), grainArith, op)
}

func andBool(ctx *runtime.KernelRuntimeContext, args runtime.Args, _ tensor.DType) error {
	return truthBinary(ctx, args, logicalAnd)
}

func orBool(ctx *runtime.KernelRuntimeContext, args runtime.Args, _ tensor.DType) error {
	return truthBinary(ctx, args, logicalOr)
}

func xorBool(ctx *runtime.KernelRuntimeContext, args runtime.Args, _ tensor.DType) error {
	return truthBinary(ctx, args, logicalXor)
}

func leftShiftBool(ctx *runtime.KernelRuntimeContext, args runtime.Args, _ tensor.DType) error {
	return truthBinary(ctx, args, leftShiftTruth)
}

func rightShiftBool(ctx *runtime.KernelRuntimeContext, args runtime.Args, _ tensor.DType) error {
	return truthBinary(ctx, args, rightShiftTruth)
}

type bitwiseAndOp[C kit.Integer] struct{}

func (bitwiseAndOp[C]) vv(dst, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		dst[i] = v & b[i]
	}
}

type bitwiseOrOp[C kit.Integer] struct{}

func (bitwiseOrOp[C]) vv(dst, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		dst[i] = v | b[i]
	}
}

type bitwiseXorOp[C kit.Integer] struct{}

func (bitwiseXorOp[C]) vv(dst, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, v := range a {
		dst[i] = v ^ b[i]
	}
}

type leftShiftOp[C kit.Integer] struct{}

func (leftShiftOp[C]) vv(dst, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	mask := shiftMask[C]()
	for i, v := range a {
		dst[i] = C(int64(v) << (uint64(b[i]) & mask & 63))
	}
}

type rightShiftOp[C kit.Integer] struct{}

func (rightShiftOp[C]) vv(dst, a, b []C) {
	dst, b = dst[:len(a)], b[:len(a)]
	mask := shiftMask[C]()
	for i, v := range a {
		dst[i] = C(int64(v) >> (uint64(b[i]) & mask & 63))
	}
}

// shiftMask returns the bits that count in a shift of C, promoted to int if it is
// narrower. Users mask by 63 as well, which spares them a check of the count.
func shiftMask[C kit.Integer]() uint64 {
	var c C
	if _, ok := any(c).(int64); ok {
		return 63
	}
	return 31
}

// leftShiftTruth gives a, as a shift by 0 or 1 keeps a 1 in the int that it is
// made in.
func leftShiftTruth(dst, a, _ []uint8) {
	for i, v := range a {
		dst[i] = truth(v != 0)
	}
}

func rightShiftTruth(dst, a, b []uint8) {
	for i, v := range a {
		dst[i] = truth(v != 0) & truth(b[i] == 0)
	}
}

// BitwiseNot is aten::bitwise_not for one integer type, or "not" for bool.
var BitwiseNot = runtime.Kernels{{
	Schema: "aten::bitwise_not.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return sameUnary(ctx, args, &bitwiseNotTypes)
	},
}}

var bitwiseNotTypes = typedKernels{
	u8: bitwiseNotAs[uint8], i8: bitwiseNotAs[int8], i16: bitwiseNotAs[int16], i32: bitwiseNotAs[int32], i64: bitwiseNotAs[int64],
	boolean: notBool,
}

func bitwiseNotAs[C kit.Integer](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	return unary(ctx, number[C](args.Tensor(0), d), result[C](args.Tensor(1), d), grainArith, bitwiseNotOp[C]{})
}

func notBool(ctx *runtime.KernelRuntimeContext, args runtime.Args, _ tensor.DType) error {
	return notTruth(ctx, args.Tensor(0), args.Tensor(1))
}

type bitwiseNotOp[C kit.Integer] struct{}

func (bitwiseNotOp[C]) v(dst, src []C) {
	for i, v := range src {
		dst[i] = ^v
	}
}
