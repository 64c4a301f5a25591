package portable

import (
	"slices"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Cat is aten::cat: the tensors one after the other along a dimension, converted
// to out's type. Empty tensors take no part, whatever their shape.
var Cat = runtime.Kernels{
	{Schema: "aten::cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)", Run: catOut},
}

// Stack is aten::stack: tensors of one shape along a new dimension, converted to
// out's type.
var Stack = runtime.Kernels{
	{Schema: "aten::stack.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)", Run: stackOut},
}

// SplitCopy is aten::split_copy: pieces of self of the given size along a
// dimension, the last one smaller where that does not work out.
var SplitCopy = runtime.Kernels{
	{Schema: "aten::split_copy.Tensor_out(Tensor self, SymInt split_size, int dim=0, *, Tensor(a!)[] out) -> ()", Run: splitCopyOut},
}

// SplitWithSizesCopy is aten::split_with_sizes_copy: pieces of self of the given
// sizes along a dimension.
var SplitWithSizesCopy = runtime.Kernels{
	{Schema: "aten::split_with_sizes_copy.out(Tensor self, SymInt[] split_sizes, int dim=0, *, Tensor(a!)[] out) -> ()", Run: splitWithSizesCopyOut},
}

// UnbindCopy is aten::unbind_copy: the slices of self at each index of a
// dimension, without that dimension.
var UnbindCopy = runtime.Kernels{
	{Schema: "aten::unbind_copy.int_out(Tensor self, int dim=0, *, Tensor(a!)[] out) -> ()", Run: unbindCopyOut},
}

// checkList returns an error unless there are tensors and each may be cast to
// out's type.
func checkList(tensors []*tensor.Tensor, out *tensor.Tensor) error {
	if len(tensors) == 0 {
		return errs.InvalidArgument.Errorf("no tensors given")
	}
	for _, t := range tensors {
		if err := checkCast(t.DType(), out); err != nil {
			return err
		}
	}
	return nil
}

func catOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	tensors, out := args.Tensors(0), args.Tensor(2)
	if err := checkList(tensors, out); err != nil {
		return err
	}
	ref := catReference(tensors)
	dim, err := kit.Dim(args.Int(1), ref.Rank())
	if err != nil {
		return err
	}
	if ref.Rank() == 0 {
		return errs.InvalidArgument.Errorf("scalars have no dimension to concatenate")
	}
	shape := kit.ShapeOf(ref.Shape())
	shape.Dims()[dim] = 0
	for _, t := range tensors {
		switch {
		case fits(t, ref, dim):
			shape.Dims()[dim] += t.Shape()[dim]
		case t.Numel() > 0:
			return errs.InvalidArgument.Errorf("%v and %v differ in more than dimension %d", t, ref, dim)
		}
	}
	if err := kit.Resize(out, shape.Dims()); err != nil {
		return err
	}
	c := runtime.State[kit.Copy](ctx)
	at := 0
	for _, t := range tensors {
		if t.Numel() == 0 {
			continue
		}
		if err := copyPart(ctx, c, out, t, dim, at); err != nil {
			return err
		}
		at += t.Shape()[dim]
	}
	return nil
}

// catReference returns the tensor that tells the shape of a concatenation: one
// with elements, or else one that is not just a placeholder of shape [0].
func catReference(tensors []*tensor.Tensor) *tensor.Tensor {
	ref := tensors[0]
	for _, t := range tensors {
		if t.Numel() > 0 {
			return t
		}
		if t.Rank() != 1 {
			ref = t
		}
	}
	return ref
}

// fits reports whether t has ref's shape but for dimension dim.
func fits(t, ref *tensor.Tensor, dim int) bool {
	if t.Rank() != ref.Rank() {
		return false
	}
	for d, size := range t.Shape() {
		if d != dim && size != ref.Shape()[d] {
			return false
		}
	}
	return true
}

// copyPart copies t to the part of out that begins at index at of dimension dim.
func copyPart(ctx *runtime.KernelRuntimeContext, c *kit.Copy, out, t *tensor.Tensor, dim, at int) error {
	c.Begin(out, t)
	c.Offset(at*out.Strides()[dim], 0)
	for d, size := range t.Shape() {
		c.Dim(size, out.Strides()[d], t.Strides()[d])
	}
	return c.Do(ctx)
}

func stackOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	tensors, out := args.Tensors(0), args.Tensor(2)
	if err := checkList(tensors, out); err != nil {
		return err
	}
	rank := tensors[0].Rank()
	dim, err := kit.Dim(args.Int(1), rank+1)
	if err != nil {
		return err
	}
	shape, err := inserted(tensors[0], dim, len(tensors))
	if err != nil {
		return err
	}
	for _, t := range tensors {
		if !slices.Equal(t.Shape(), tensors[0].Shape()) {
			return errs.InvalidArgument.Errorf("%v and %v differ in shape", t, tensors[0])
		}
	}
	if err := kit.Resize(out, shape.Dims()); err != nil {
		return err
	}
	c := runtime.State[kit.Copy](ctx)
	for i, t := range tensors {
		c.Begin(out, t)
		c.Offset(i*out.Strides()[dim], 0)
		withoutDim(c, out, t, dim)
		if err := c.Do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// inserted returns t's shape with a dimension more, which becomes number dim.
func inserted(t *tensor.Tensor, dim, size int) (s kit.Shape, err error) {
	if t.Rank() == tensor.MaxRank {
		return s, errs.InvalidArgument.Errorf("%v has as many dimensions as there can be", t)
	}
	for _, n := range t.Shape()[:dim] {
		s.Append(n)
	}
	s.Append(size)
	for _, n := range t.Shape()[dim:] {
		s.Append(n)
	}
	return s, nil
}

// removed returns t's shape without dimension dim.
func removed(t *tensor.Tensor, dim int) (s kit.Shape) {
	for d, n := range t.Shape() {
		if d != dim {
			s.Append(n)
		}
	}
	return s
}

// withoutDim adds to a copy into large the dimensions that large, but for its
// dimension dim, and small have in common.
func withoutDim(c *kit.Copy, large, small *tensor.Tensor, dim int) {
	for d, size := range small.Shape() {
		l := d
		if d >= dim {
			l++
		}
		c.Dim(size, large.Strides()[l], small.Strides()[d])
	}
}

func splitCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, size, outs := args.Tensor(0), args.Int(1), args.Tensors(3)
	dim, err := dimOf(self, args.Int(2))
	if err != nil {
		return err
	}
	whole := self.Shape()[dim]
	if size < 0 || size == 0 && whole != 0 {
		return errs.InvalidArgument.Errorf("%v cannot be split by %d", self, size)
	}
	pieces := 1
	if size < whole {
		pieces = (whole-1)/size + 1
	}
	if len(outs) != pieces {
		return errs.InvalidArgument.Errorf("%v split by %d along dimension %d are %d tensors, %d given", self, size, dim, pieces, len(outs))
	}
	at := 0
	for _, out := range outs {
		n := min(size, whole-at)
		if err := slice(ctx, out, self, dim, at, n, 1); err != nil {
			return err
		}
		at += n
	}
	return nil
}

func splitWithSizesCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, sizes, outs := args.Tensor(0), args.Ints(1), args.Tensors(3)
	dim, err := dimOf(self, args.Int(2))
	if err != nil {
		return err
	}
	left := int64(self.Shape()[dim])
	for _, n := range sizes {
		if n < 0 || n > left {
			return errs.InvalidArgument.Errorf("dimension %d of %v cannot be split into %v", dim, self, sizes)
		}
		left -= n
	}
	if left != 0 || len(outs) != len(sizes) {
		return errs.InvalidArgument.Errorf("dimension %d of %v split into %v for %d tensors", dim, self, sizes, len(outs))
	}
	at := 0
	for i, out := range outs {
		if err := slice(ctx, out, self, dim, at, int(sizes[i]), 1); err != nil {
			return err
		}
		at += int(sizes[i])
	}
	return nil
}

func unbindCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, outs := args.Tensor(0), args.Tensors(2)
	dim, err := dimOf(self, args.Int(1))
	if err != nil {
		return err
	}
	if len(outs) != self.Shape()[dim] {
		return errs.InvalidArgument.Errorf("dimension %d of %v is unbound into %d tensors", dim, self, len(outs))
	}
	for i, out := range outs {
		if err := selectAt(ctx, out, self, dim, i); err != nil {
			return err
		}
	}
	return nil
}
