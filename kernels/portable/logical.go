package portable

import (
	endian "encoding/binary"

	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Logical operators take and give every real type and bool: every number but
// zero is true, NaN too, and results are 0 and 1.

// LogicalAnd is aten::logical_and.
var LogicalAnd = runtime.Kernels{{
	Schema: "aten::logical_and.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return logical(ctx, args, logicalAnd)
	},
}}

// LogicalOr is aten::logical_or.
var LogicalOr = runtime.Kernels{{
	Schema: "aten::logical_or.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return logical(ctx, args, logicalOr)
	},
}}

// LogicalXor is aten::logical_xor.
var LogicalXor = runtime.Kernels{{
	Schema: "aten::logical_xor.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		return logical(ctx, args, logicalXor)
	},
}}

// LogicalNot is aten::logical_not.
var LogicalNot = runtime.Kernels{{
	Schema: "aten::logical_not.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		in, out := args.Tensor(0), args.Tensor(1)
		if err := checkInputs(in, out); err != nil {
			return err
		}
		if err := kit.Resize(out, in.Shape()); err != nil {
			return err
		}
		return notTruth(ctx, in, out)
	},
}}

func logical(ctx *runtime.KernelRuntimeContext, args runtime.Args, op binaryFunc[uint8, uint8]) error {
	a, b, out := args.Tensor(0), args.Tensor(1), args.Tensor(2)
	if err := checkInputs(a, b, out); err != nil {
		return err
	}
	if err := kit.ResizeBroadcast(out, a, b); err != nil {
		return err
	}
	return truthBinary(ctx, args, op)
}

// truthBinary computes out, the last argument, from whether arguments 0 and 1, a
// tensor and a tensor or scalar, differ from zero.
func truthBinary(ctx *runtime.KernelRuntimeContext, args runtime.Args, op binaryFunc[uint8, uint8]) error {
	out := result[uint8](args.Tensor(len(args)-1), tensor.Bool)
	return binary(ctx, truthOf(args.Tensor(0)), truthOrConstant(args, 1), out, grainArith, op)
}

// truthOrConstant returns whether argument i, a Tensor or a Scalar, differs from
// zero.
func truthOrConstant(args runtime.Args, i int) input[uint8] {
	if t := args.Tensor(i); t != nil {
		return truthOf(t)
	}
	return constant(truth(args.Bool(i)))
}

// notTruth sets out to where in is zero.
func notTruth(ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor) error {
	return unary(ctx, truthOf(in), result[uint8](out, tensor.Bool), grainArith, unaryFunc[uint8, uint8](logicalNot))
}

// The loops over bytes take eight at a time.

// truths returns 1 in each byte of x that is not zero, and 0 in the others.
func truths(x uint64) uint64 {
	const low7 = 0x7f7f7f7f7f7f7f7f
	return (x&low7 + low7 | x) >> 7 & ones
}

const ones = 0x0101010101010101

func logicalAnd(dst, a, b []uint8) {
	n := len(a) &^ 7
	for i := 0; i < n; i += 8 {
		putWord(dst[i:], truths(word(a[i:]))&truths(word(b[i:])))
	}
	for i := n; i < len(a); i++ {
		dst[i] = truth(a[i] != 0) & truth(b[i] != 0)
	}
}

func logicalOr(dst, a, b []uint8) {
	n := len(a) &^ 7
	for i := 0; i < n; i += 8 {
		putWord(dst[i:], truths(word(a[i:])|word(b[i:])))
	}
	for i := n; i < len(a); i++ {
		dst[i] = truth(a[i]|b[i] != 0)
	}
}

func logicalXor(dst, a, b []uint8) {
	n := len(a) &^ 7
	for i := 0; i < n; i += 8 {
		putWord(dst[i:], truths(word(a[i:]))^truths(word(b[i:])))
	}
	for i := n; i < len(a); i++ {
		dst[i] = truth(a[i] != 0) ^ truth(b[i] != 0)
	}
}

func logicalNot(dst, src []uint8) {
	n := len(src) &^ 7
	for i := 0; i < n; i += 8 {
		putWord(dst[i:], truths(word(src[i:]))^ones)
	}
	for i := n; i < len(src); i++ {
		dst[i] = truth(src[i] == 0)
	}
}

func word(b []uint8) uint64 { return endian.LittleEndian.Uint64(b) }

func putWord(b []uint8, v uint64) { endian.LittleEndian.PutUint64(b, v) }
