package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// The copies of this file and of view.go, cat.go, slice.go and pad.go are boxes
// for kit.Copy: an operator says which dimensions are copied and with which
// strides. Tensors may have any dim order, each its own; elements go where their
// index says. All element types are copied, packed and quantised ones too, as
// long as source and destination have the same; where ExecuTorch converts, real,
// bool and complex types are converted.

func copyKernels() []runtime.Kernels {
	return []runtime.Kernels{
		ToCopy, Clone, AliasCopy, DetachCopy, LiftFreshCopy, Copy,
		ToDimOrderCopy, CloneDimOrder, EmptyDimOrder, DeviceCopy,
		ViewCopy, SqueezeCopy, UnsqueezeCopy, ExpandCopy, PermuteCopy, TransposeCopy, TCopy,
		AsStridedCopy, DiagonalCopy, UnfoldCopy, ViewAsRealCopy, PixelShuffle, PixelUnshuffle,
		Flip, Roll, Repeat, Tril,
		Cat, Stack, SplitCopy, SplitWithSizesCopy, UnbindCopy,
		SliceCopy, NarrowCopy, SelectCopy, SliceScatter, SelectScatter,
		ConstantPadNd, ReflectionPad1d, ReflectionPad2d, ReflectionPad3d,
		ReplicationPad1d, ReplicationPad2d, ReplicationPad3d,
	}
}

// ToCopy is aten::_to_copy: self converted to out's type. A complex number loses
// its imaginary part where out is real.
var ToCopy = runtime.Kernels{
	{Schema: "aten::_to_copy.out(Tensor self, *, bool non_blocking=False, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)", Run: toCopyOut},
}

// Clone is aten::clone: a copy of self.
var Clone = runtime.Kernels{
	{Schema: "aten::clone.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)", Run: cloneOut},
}

// AliasCopy is aten::alias_copy: a copy of self.
var AliasCopy = runtime.Kernels{
	{Schema: "aten::alias_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Run: duplicateOut},
}

// DetachCopy is aten::detach_copy: a copy of self.
var DetachCopy = runtime.Kernels{
	{Schema: "aten::detach_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Run: duplicateOut},
}

// LiftFreshCopy is aten::lift_fresh_copy: a copy of self.
var LiftFreshCopy = runtime.Kernels{
	{Schema: "aten::lift_fresh_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Run: duplicateOut},
}

// Copy is aten::copy: src broadcast to self's shape and converted to its type;
// copy_ writes that to self.
var Copy = runtime.Kernels{
	{Schema: "aten::copy.out(Tensor self, Tensor src, bool non_blocking=False, *, Tensor(a!) out) -> Tensor(a!)", Run: copyOut},
	{Schema: "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", Run: copyInPlace},
}

// ToDimOrderCopy is dim_order_ops::_to_dim_order_copy: self converted to out's
// type and laid out as out is.
var ToDimOrderCopy = runtime.Kernels{
	{Schema: "dim_order_ops::_to_dim_order_copy.out(Tensor self, *, bool non_blocking=False, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)", Run: toDimOrderCopyOut},
}

// CloneDimOrder is dim_order_ops::_clone_dim_order: a copy of self, laid out as
// out is.
var CloneDimOrder = runtime.Kernels{
	{Schema: "dim_order_ops::_clone_dim_order.out(Tensor self, *, bool non_blocking=False, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)", Run: cloneDimOrderOut},
}

// EmptyDimOrder is dim_order_ops::_empty_dim_order; as in Empty the elements are zero.
var EmptyDimOrder = runtime.Kernels{
	{Schema: "dim_order_ops::_empty_dim_order.out(int[] size, *, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)", Run: emptyDimOrderOut},
}

// DeviceCopy are the copies between the memories of the CPU and of another
// device. There is no other device here, which is an error.
var DeviceCopy = runtime.Kernels{
	{Schema: "et_copy::_h2d_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Run: deviceCopyOut},
	{Schema: "et_copy::_d2h_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Run: deviceCopyOut},
}

func toCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return convertTo(ctx, args.Tensor(3), args.Tensor(0))
}

func cloneOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return duplicate(ctx, args.Tensor(2), args.Tensor(0))
}

func duplicateOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return duplicate(ctx, args.Tensor(1), args.Tensor(0))
}

// The dim order that is asked for is out's, or the exporter has made a mistake
// that out's own layout sets right.

func toDimOrderCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return convertTo(ctx, args.Tensor(3), args.Tensor(0))
}

func cloneDimOrderOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return duplicate(ctx, args.Tensor(3), args.Tensor(0))
}

// duplicate resizes out to self's shape and copies self, which has the same type.
func duplicate(ctx *runtime.KernelRuntimeContext, out, self *tensor.Tensor) error {
	if err := checkType("out", out, self.DType()); err != nil {
		return err
	}
	return convertTo(ctx, out, self)
}

// convertTo resizes out to self's shape and copies self, converted to out's type.
func convertTo(ctx *runtime.KernelRuntimeContext, out, self *tensor.Tensor) error {
	if err := kit.Resize(out, self.Shape()); err != nil {
		return err
	}
	return kit.CopyTensor(ctx, runtime.State[kit.Copy](ctx), out, self)
}

func copyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, src, out := args.Tensor(0), args.Tensor(1), args.Tensor(3)
	if err := checkType("out", out, self.DType()); err != nil {
		return err
	}
	if err := kit.Resize(out, self.Shape()); err != nil {
		return err
	}
	return kit.CopyTensor(ctx, runtime.State[kit.Copy](ctx), out, src)
}

func copyInPlace(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return kit.CopyTensor(ctx, runtime.State[kit.Copy](ctx), args.Tensor(0), args.Tensor(1))
}

func emptyDimOrderOut(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	shape, err := shapeOf(args.Ints(0))
	if err != nil {
		return err
	}
	if err := kit.Resize(args.Tensor(2), shape.Dims()); err != nil {
		return err
	}
	clear(args.Tensor(2).Bytes())
	return nil
}

func deviceCopyOut(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	return errs.InvalidArgument.Errorf("%v is in the memory of the CPU: there is no other device", args.Tensor(0))
}

// shapeOf makes sizes a shape. Whoever resizes to it finds negative sizes.
func shapeOf(sizes []int64) (s kit.Shape, err error) {
	if len(sizes) > tensor.MaxRank {
		return s, errs.InvalidArgument.Errorf("%d dimensions are above the limit of %d", len(sizes), tensor.MaxRank)
	}
	for _, size := range sizes {
		if size > math.MaxInt {
			return s, errs.InvalidArgument.Errorf("size %d is too large", size)
		}
		s.Append(int(size))
	}
	return s, nil
}
