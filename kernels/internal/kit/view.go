package kit

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// ViewShape returns the shape that a view of t has: sizes, of which one may be
// -1 and is then what the others leave over.
func ViewShape(t *tensor.Tensor, sizes []int64) (s Shape, err error) {
	if len(sizes) > tensor.MaxRank {
		return s, errs.InvalidArgument.Errorf("a view of %d dimensions is above the limit of %d", len(sizes), tensor.MaxRank)
	}
	inferred, rest, empty := -1, t.Numel(), false
	for d, size := range sizes {
		switch {
		case size == -1 && inferred < 0:
			inferred = d
			size = 1
		case size < 0 || size > math.MaxInt:
			return s, errs.InvalidArgument.Errorf("no view of %v has the sizes %v", t, sizes)
		case size == 0:
			empty = true
		case rest%int(size) != 0:
			return s, errs.InvalidArgument.Errorf("no view of %v has the sizes %v", t, sizes)
		default:
			rest /= int(size)
		}
		s.Append(int(size))
	}
	switch {
	case inferred >= 0 && !empty:
		s.dims[inferred] = rest
	case inferred >= 0, empty && t.Numel() != 0, !empty && rest != 1:
		return s, errs.InvalidArgument.Errorf("no view of %v has the sizes %v", t, sizes)
	}
	return s, nil
}

// order is how a dense tensor's memory runs through its elements: loops, from
// the outermost to the innermost, with the distance of neighbours in the
// row-major numbering of the elements.
type order struct {
	rank  int
	loops [tensor.MaxRank]struct{ size, step int }
}

func (o *order) of(t *tensor.Tensor) {
	var steps [tensor.MaxRank]int
	step := 1
	for d := t.Rank() - 1; d >= 0; d-- {
		steps[d] = step
		step *= t.Shape()[d]
	}
	o.rank = 0
	for _, d := range t.DimOrder() {
		size, step := t.Shape()[d], steps[d]
		if size == 1 {
			continue
		}
		if o.rank > 0 {
			if last := &o.loops[o.rank-1]; last.step == step*size {
				last.size, last.step = last.size*size, step
				continue
			}
		}
		o.loops[o.rank].size, o.loops[o.rank].step = size, step
		o.rank++
	}
}

// SameOrder reports whether a and b, of equal numbers of elements, have their
// elements in memory in the same order by row-major number, whatever their
// shapes.
func SameOrder(a, b *tensor.Tensor) bool {
	if a.Numel() == 0 || a.IsContiguous() && b.IsContiguous() {
		return true
	}
	var x, y order
	x.of(a)
	y.of(b)
	if x.rank != y.rank {
		return false
	}
	for i, l := range x.loops[:x.rank] {
		if l != y.loops[i] {
			return false
		}
	}
	return true
}

// Reshape copies src, of any shape with as many elements, to dst: the elements
// keep their row-major numbers. c is the loop body.
func Reshape(ctx *runtime.KernelRuntimeContext, c *Copy, dst, src *tensor.Tensor) error {
	if dst.Numel() != src.Numel() || dst.DType() != src.DType() {
		return errs.InvalidArgument.Errorf("%v cannot take the elements of %v", dst, src)
	}
	c.Begin(dst, src)
	switch {
	case SameOrder(dst, src):
		c.Dim(src.Numel(), 1, 1)
	case dst.IsContiguous():
		c.fromShape(src)
	case src.IsContiguous():
		c.toShape(dst)
	default:
		return reshapeTwice(ctx, c, dst, src)
	}
	return c.Do(ctx)
}

// fromShape adds src's dimensions, to a destination in row-major order.
func (c *Copy) fromShape(src *tensor.Tensor) {
	step := 1
	for d := src.Rank() - 1; d >= 0; d-- {
		c.Dim(src.Shape()[d], step, src.Strides()[d])
		step *= src.Shape()[d]
	}
}

// toShape adds dst's dimensions, from a source in row-major order.
func (c *Copy) toShape(dst *tensor.Tensor) {
	step := 1
	for d := dst.Rank() - 1; d >= 0; d-- {
		c.Dim(dst.Shape()[d], dst.Strides()[d], step)
		step *= dst.Shape()[d]
	}
}

// reshapeTwice goes through memory in row-major order.
func reshapeTwice(ctx *runtime.KernelRuntimeContext, c *Copy, dst, src *tensor.Tensor) error {
	mid, err := c.rowMajor(ctx, src)
	if err != nil {
		return err
	}
	c.Begin(mid, src)
	c.fromShape(src)
	if err := c.Do(ctx); err != nil {
		return err
	}
	c.Begin(dst, mid)
	c.toShape(dst)
	return c.Do(ctx)
}

// rowMajor returns a flat tensor of t's type and number of elements over scratch
// memory, the same tensor at each call.
func (c *Copy) rowMajor(ctx *runtime.KernelRuntimeContext, t *tensor.Tensor) (*tensor.Tensor, error) {
	if c.mid == nil || c.mid.DType() != t.DType() {
		mid, err := tensor.NewUnbound(t.DType(), []int{0}, tensor.WithDynamism(tensor.DynamicUnbound))
		if err != nil {
			return nil, err
		}
		c.mid = mid
	}
	b, err := ctx.AllocateTemp(t.NBytes(), 0)
	if err != nil {
		return nil, err
	}
	c.mid.ClearBytes() // of the last call
	if err := c.mid.Resize([]int{t.Numel()}); err != nil {
		return nil, err
	}
	return c.mid, c.mid.SetBytes(b)
}
