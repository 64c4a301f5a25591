package kit

import (
	"github.com/etgo-ml/etgo/internal/compute/gemm"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Scratch is scratch memory of one call of a kernel, for computations that come
// one after the other.
type Scratch[T tensor.Element] struct{ elements []T }

// Take returns n elements of undefined content. Those of the last time are not
// valid any more.
func (s *Scratch[T]) Take(ctx *runtime.KernelRuntimeContext, n int) ([]T, error) {
	if n > len(s.elements) {
		e, err := runtime.Temp[T](ctx, n)
		if err != nil {
			return nil, err
		}
		s.elements = e
	}
	return s.elements[:n], nil
}

// Multiply computes p, which lives in the step's state, with ctx's threads.
func Multiply[T gemm.Number](ctx *runtime.KernelRuntimeContext, p *gemm.Product[T], s *Scratch[T]) error {
	if p.M == 0 || p.N == 0 || p.Batches == 0 || p.Repeats == 0 {
		return nil
	}
	scratch, err := s.Take(ctx, p.Plan(ctx.Threads()))
	if err != nil {
		return err
	}
	p.SetScratch(scratch)
	n, grain := p.Packing()
	ctx.Parallel(n, grain, p.Packer())
	n, grain = p.Multiplying()
	ctx.Parallel(n, grain, p)
	return nil
}

// Flatten returns t's elements in row-major order, as a tensor of one dimension
// in scratch memory that belongs to c.
func Flatten(ctx *runtime.KernelRuntimeContext, c *Copy, t *tensor.Tensor) (*tensor.Tensor, error) {
	flat, err := c.rowMajor(ctx, t)
	if err != nil {
		return nil, err
	}
	c.Begin(flat, t)
	c.fromShape(t)
	return flat, c.Do(ctx)
}

// FlatScratch returns a tensor in which to compute what t's elements are to be, in
// row-major order. Unflatten then copies them to t.
func FlatScratch(ctx *runtime.KernelRuntimeContext, c *Copy, t *tensor.Tensor) (*tensor.Tensor, error) {
	return c.rowMajor(ctx, t)
}

// Unflatten copies the elements of the tensor that FlatScratch returned to t.
func Unflatten(ctx *runtime.KernelRuntimeContext, c *Copy, t *tensor.Tensor) error {
	c.Begin(t, c.mid)
	c.toShape(t)
	return c.Do(ctx)
}

// Real is a type that products and convolutions of real numbers are computed in.
type Real interface{ float32 | float64 | int64 }

// Elements are a tensor's elements converted one by one: as Load does when a
// product reads them, and as Store does when its result goes to them.
type Elements[C Real] struct{ Tensor *tensor.Tensor }

// Load implements gemm.Source.
func (e *Elements[C]) Load(dst []C, off, stride int) { LoadStrided(dst, e.Tensor, off, stride) }

// LoadAll returns all elements of t in memory order: its own if they are of type
// C, else converted in scratch memory. body is the loop body of the conversion.
func LoadAll[C Real](ctx *runtime.KernelRuntimeContext, body *Conversion[C], t *tensor.Tensor) ([]C, error) {
	if t.DType() == tensor.DTypeOf[C]() {
		return tensor.Raw[C](t), nil
	}
	c, err := runtime.Temp[C](ctx, t.Numel())
	if err != nil {
		return nil, err
	}
	*body = Conversion[C]{t: t, elements: c}
	ctx.Parallel(len(c), conversionGrain, body)
	return c, nil
}

// Target returns where to compute the elements of t in memory order: t's own
// memory if they are of type C, else scratch memory that StoreAll converts from.
func Target[C Real](ctx *runtime.KernelRuntimeContext, t *tensor.Tensor) ([]C, error) {
	if t.DType() == tensor.DTypeOf[C]() {
		return tensor.Raw[C](t), nil
	}
	return runtime.Temp[C](ctx, t.Numel())
}

// StoreAll stores what has been computed in Target's memory.
func StoreAll[C Real](ctx *runtime.KernelRuntimeContext, body *Conversion[C], t *tensor.Tensor, c []C) {
	if t.DType() == tensor.DTypeOf[C]() {
		return
	}
	*body = Conversion[C]{t: t, elements: c, store: true}
	ctx.Parallel(len(c), conversionGrain, body)
}

const conversionGrain = 16 << 10

// Conversion is the loop body of LoadAll and StoreAll.
type Conversion[C Real] struct {
	t        *tensor.Tensor
	elements []C
	store    bool
}

// Run converts elements lo to hi.
func (c *Conversion[C]) Run(_, lo, hi int) {
	if c.store {
		Store(c.t, lo, c.elements[lo:hi])
	} else {
		Load(c.elements[lo:hi], c.t, lo)
	}
}
