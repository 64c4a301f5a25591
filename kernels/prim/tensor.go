package prim

import (
	"math"
	"slices"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// LocalScalarDense is the first element of a real or bool tensor as a number.
var LocalScalarDense = runtime.Kernels{
	{Schema: "aten::_local_scalar_dense(Tensor self) -> Scalar", Run: localScalarDense},
}

// SymSize is the size of a tensor's dimension.
var SymSize = runtime.Kernels{
	{Schema: "aten::sym_size.int(Tensor self, int dim) -> SymInt", Run: symSize},
}

// SymNumel is the number of a tensor's elements.
var SymNumel = runtime.Kernels{
	{Schema: "aten::sym_numel(Tensor self) -> SymInt", Run: symNumel},
}

// View makes the tensor in the last argument a view of self: of the given size,
// where -1 stands for what is left, with self's memory. Elements keep their
// logical order; where the two layouts do not allow that in one memory, the view
// is a copy.
var View = runtime.Kernels{
	{Schema: "executorch_prim::et_view.default(Tensor self, SymInt[] size) -> Tensor", Run: view, Impure: true},
}

// CopyIndex copies copy_from to copy_to[index] and makes copy_to's first
// dimension end there: a loop with index 0, 1, ... stacks its results.
var CopyIndex = runtime.Kernels{
	{Schema: "executorch_prim::et_copy_index.tensor(Tensor(a!) copy_to, Tensor copy_from, SymInt index) -> Tensor(a!)", Run: copyIndex, Impure: true},
}

func localScalarDense(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	t := args.Tensor(0)
	if t.Numel() == 0 {
		return errs.InvalidArgument.Errorf("%v has no element", t)
	}
	switch d := t.DType(); {
	case d == tensor.Bool:
		args.Set(1, runtime.Bool(t.Bytes()[0] != 0))
	case d.IsInt():
		var v [1]int64
		kit.Load(v[:], t, 0)
		args.Set(1, runtime.Int(v[0]))
	case d.IsFloat():
		var v [1]float64
		kit.Load(v[:], t, 0)
		args.Set(1, runtime.Double(v[0]))
	default:
		return kit.Unsupported("_local_scalar_dense", t)
	}
	return nil
}

func symSize(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	t := args.Tensor(0)
	d, err := kit.Dim(args.Int(1), t.Rank())
	if err != nil {
		return err
	}
	if t.Rank() == 0 {
		return errs.InvalidArgument.Errorf("a scalar has no dimension %d", d)
	}
	args.Set(2, runtime.Int(int64(t.Shape()[d])))
	return nil
}

func symNumel(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	args.Set(1, runtime.Int(int64(args.Tensor(0).Numel())))
	return nil
}

// viewState is the state of a View that has to copy.
type viewState struct {
	copy  kit.Copy
	dense []byte
}

func view(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, out := args.Tensor(0), args.Tensor(2)
	switch {
	case out == nil:
		return errs.InvalidType.Errorf("et_view: the result is %v, not a tensor", args[2].Kind())
	case self.DType() != out.DType():
		return errs.InvalidArgument.Errorf("et_view: self is %v, the result is %v", self.DType(), out.DType())
	}
	shape, err := kit.ViewShape(self, args.Ints(1))
	if err != nil {
		return err
	}
	// The memory of the last call, if it was smaller, must not be taken for the
	// bound.
	out.ClearBytes()
	if err := out.Resize(shape.Dims()); err != nil {
		return errs.InvalidArgument.Wrap(err)
	}
	if kit.SameOrder(self, out) {
		return out.BindFrom(self)
	}
	return copyView(ctx, self, out)
}

// copyView gives out memory of the step with self's elements in logical order.
func copyView(ctx *runtime.KernelRuntimeContext, self, out *tensor.Tensor) error {
	st := runtime.State[viewState](ctx)
	if n := out.NBytes(); n > len(st.dense) {
		if err := ctx.Charge(int64(n-len(st.dense)), "view that must be copied"); err != nil {
			return err
		}
		b, err := tensor.New(out.DType(), []int{out.Numel()})
		if err != nil {
			return err
		}
		st.dense = b.Bytes()
	}
	if err := out.SetBytes(st.dense); err != nil {
		return err
	}
	out.SetReadOnly(false)
	return kit.Reshape(ctx, &st.copy, out, self)
}

func copyIndex(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	to, from, index := args.Tensor(0), args.Tensor(1), args.Int(2)
	switch {
	case index < 0 || index == math.MaxInt:
		return errs.InvalidArgument.Errorf("et_copy_index: index %d", index)
	case to.Rank() != from.Rank()+1 || !slices.Equal(to.Shape()[1:], from.Shape()) || to.DType() != from.DType():
		return errs.InvalidArgument.Errorf("et_copy_index: %v cannot take %v as an element", to, from)
	case to.DimOrder()[0] != 0 && !to.IsContiguous():
		// Its elements would move when it grows.
		return errs.NotSupported.Errorf("et_copy_index: the first dimension of %v is not the outermost", to)
	}
	shape := kit.ShapeOf(to.Shape())
	shape.Dims()[0] = index + 1
	old := to.Bytes()
	if err := to.Resize(shape.Dims()); err != nil {
		return errs.InvalidState.Wrap(err)
	}
	if !to.HasData() {
		return errs.InvalidState.Errorf("et_copy_index: %v has no memory", to)
	}
	if b := to.Bytes(); len(old) > 0 && len(b) > 0 && &b[0] != &old[0] {
		copy(b, old) // an unbound tensor that has moved
	}

	c := runtime.State[kit.Copy](ctx)
	c.Begin(to, from)
	c.Offset(index*to.Strides()[0], 0)
	for d, size := range from.Shape() {
		c.Dim(size, to.Strides()[d+1], from.Strides()[d])
	}
	return c.Do(ctx)
}
