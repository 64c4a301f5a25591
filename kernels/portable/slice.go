package portable

import (
	"slices"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// SliceCopy is aten::slice_copy: self[start:end:step] along a dimension, with
// Python's rules for start and end.
var SliceCopy = runtime.Kernels{
	{Schema: "aten::slice_copy.Tensor_out(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1, *, Tensor(a!) out) -> Tensor(a!)", Run: sliceCopyOut},
}

// NarrowCopy is aten::narrow_copy: length elements from start on along a
// dimension; a negative start counts from the end.
var NarrowCopy = runtime.Kernels{
	{Schema: "aten::narrow_copy.out(Tensor self, int dim, SymInt start, SymInt length, *, Tensor(a!) out) -> Tensor(a!)", Run: narrowCopyOut},
}

// SelectCopy is aten::select_copy: the slice of self at one index of a dimension,
// without that dimension.
var SelectCopy = runtime.Kernels{
	{Schema: "aten::select_copy.int_out(Tensor self, int dim, SymInt index, *, Tensor(a!) out) -> Tensor(a!)", Run: selectCopyOut},
}

// SliceScatter is aten::slice_scatter: self with src, converted to self's type, in
// place of self[start:end:step].
var SliceScatter = runtime.Kernels{
	{Schema: "aten::slice_scatter.out(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1, *, Tensor(a!) out) -> Tensor(a!)", Run: sliceScatterOut},
}

// SelectScatter is aten::select_scatter: self with src, converted to self's type,
// at one index of a dimension.
var SelectScatter = runtime.Kernels{
	{Schema: "aten::select_scatter.out(Tensor self, Tensor src, int dim, SymInt index, *, Tensor(a!) out) -> Tensor(a!)", Run: selectScatterOut},
}

// dimOf is kit.Dim for operators that a scalar has no dimension for.
func dimOf(t *tensor.Tensor, dim int) (int, error) {
	if t.Rank() == 0 {
		return 0, errs.InvalidArgument.Errorf("a scalar has no dimension %d", dim)
	}
	return kit.Dim(dim, t.Rank())
}

func sliceCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, out := args.Tensor(0), args.Tensor(5)
	dim, err := dimOf(self, args.Int(1))
	if err != nil {
		return err
	}
	start, n, err := sliceRange(args, 2, self.Shape()[dim])
	if err != nil {
		return err
	}
	if err := checkType("out", out, self.DType()); err != nil {
		return err
	}
	return slice(ctx, out, self, dim, start, n, args.Int(4))
}

// sliceRange returns the first index and the number of indices of the slice that
// the arguments first to first+2, start, end and step, make of size elements.
func sliceRange(args runtime.Args, first, size int) (start, n int, err error) {
	start, _ = args.OptInt(first)
	end, ok := args.OptInt(first + 1)
	if !ok {
		end = size
	}
	step := args.Int(first + 2)
	if step <= 0 {
		return 0, 0, errs.InvalidArgument.Errorf("step %d is not above 0", step)
	}
	start, end = sliceBound(start, size), sliceBound(end, size)
	if start >= end {
		return start, 0, nil
	}
	return start, (end-1-start)/step + 1, nil
}

// sliceBound counts a negative bound from the end and brings it into [0, size].
func sliceBound(i, size int) int {
	if i < 0 {
		i += size
	}
	return min(max(i, 0), size)
}

// slice resizes out to n elements along dim and copies those of self from start
// on, step apart, converted to out's type.
func slice(ctx *runtime.KernelRuntimeContext, out, self *tensor.Tensor, dim, start, n, step int) error {
	shape := kit.ShapeOf(self.Shape())
	shape.Dims()[dim] = n
	if err := kit.Resize(out, shape.Dims()); err != nil {
		return err
	}
	c := runtime.State[kit.Copy](ctx)
	c.Begin(out, self)
	c.Offset(0, start*self.Strides()[dim])
	for d, size := range shape.Dims() {
		stride := self.Strides()[d]
		if d == dim {
			stride *= step
		}
		c.Dim(size, out.Strides()[d], stride)
	}
	return c.Do(ctx)
}

func narrowCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, start, n, out := args.Tensor(0), args.Int(2), args.Int(3), args.Tensor(4)
	dim, err := dimOf(self, args.Int(1))
	if err != nil {
		return err
	}
	size := self.Shape()[dim]
	if start < 0 && start >= -size {
		start += size
	}
	if start < 0 || start > size || n < 0 || n > size-start {
		return errs.InvalidArgument.Errorf("dimension %d of %v has no %d elements from %d on", dim, self, n, args.Int(2))
	}
	if err := checkType("out", out, self.DType()); err != nil {
		return err
	}
	return slice(ctx, out, self, dim, start, n, 1)
}

func selectCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, out := args.Tensor(0), args.Tensor(3)
	dim, err := dimOf(self, args.Int(1))
	if err != nil {
		return err
	}
	index, err := indexOf(self, dim, args.Int(2))
	if err != nil {
		return err
	}
	if err := checkType("out", out, self.DType()); err != nil {
		return err
	}
	return selectAt(ctx, out, self, dim, index)
}

// indexOf returns an index into dimension dim; a negative one counts from the end.
func indexOf(t *tensor.Tensor, dim, index int) (int, error) {
	size := t.Shape()[dim]
	if index < -size || index >= size {
		return 0, errs.InvalidArgument.Errorf("index %d is out of range [%d, %d) in dimension %d of %v", index, -size, size, dim, t)
	}
	if index < 0 {
		index += size
	}
	return index, nil
}

// selectAt resizes out and copies the slice of self at an index of dimension dim,
// converted to out's type.
func selectAt(ctx *runtime.KernelRuntimeContext, out, self *tensor.Tensor, dim, index int) error {
	shape := removed(self, dim)
	if err := kit.Resize(out, shape.Dims()); err != nil {
		return err
	}
	c := runtime.State[kit.Copy](ctx)
	c.Begin(out, self)
	c.Offset(0, index*self.Strides()[dim])
	for d, size := range out.Shape() {
		s := d
		if d >= dim {
			s++
		}
		c.Dim(size, out.Strides()[d], self.Strides()[s])
	}
	return c.Do(ctx)
}

func sliceScatterOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, src, out := args.Tensor(0), args.Tensor(1), args.Tensor(6)
	dim, err := dimOf(self, args.Int(2))
	if err != nil {
		return err
	}
	start, n, err := sliceRange(args, 3, self.Shape()[dim])
	if err != nil {
		return err
	}
	if !fits(src, self, dim) || src.Shape()[dim] != n {
		return errs.InvalidArgument.Errorf("src %v does not fit the %d slices of dimension %d of %v", src, n, dim, self)
	}
	if err := duplicate(ctx, out, self); err != nil {
		return err
	}
	c := runtime.State[kit.Copy](ctx)
	c.Begin(out, src)
	c.Offset(start*out.Strides()[dim], 0)
	for d, size := range src.Shape() {
		stride := out.Strides()[d]
		if d == dim {
			stride *= args.Int(5)
		}
		c.Dim(size, stride, src.Strides()[d])
	}
	return c.Do(ctx)
}

func selectScatterOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, src, out := args.Tensor(0), args.Tensor(1), args.Tensor(4)
	dim, err := dimOf(self, args.Int(2))
	if err != nil {
		return err
	}
	index, err := indexOf(self, dim, args.Int(3))
	if err != nil {
		return err
	}
	if shape := removed(self, dim); !slices.Equal(src.Shape(), shape.Dims()) {
		return errs.InvalidArgument.Errorf("src %v does not fit a slice of dimension %d of %v", src, dim, self)
	}
	if err := duplicate(ctx, out, self); err != nil {
		return err
	}
	c := runtime.State[kit.Copy](ctx)
	c.Begin(out, src)
	c.Offset(index*out.Strides()[dim], 0)
	withoutDim(c, out, src, dim)
	return c.Do(ctx)
}
