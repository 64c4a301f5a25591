package portable

import (
	"math"

	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Scatter is aten::scatter: self, where each element of src, or one value, is
// written at its place but for dimension dim, where index says at which. The last
// of several elements for one place stays.
var Scatter = runtime.Kernels{
	{Schema: "aten::scatter.src_out(Tensor self, int dim, Tensor index, Tensor src, *, Tensor(a!) out) -> Tensor(a!)", Run: scatterSrcOut},
	{Schema: "aten::scatter.value_out(Tensor self, int dim, Tensor index, Scalar value, *, Tensor(a!) out) -> Tensor(a!)", Run: scatterValueOut},
}

// ScatterAdd is Scatter with src that adds to self, in order.
var ScatterAdd = runtime.Kernels{
	{Schema: "aten::scatter_add.out(Tensor self, int dim, Tensor index, Tensor src, *, Tensor(a!) out) -> Tensor(a!)", Run: scatterAddOut},
}

// scatterState is the state of the scatters.
type scatterState struct {
	copy  kit.Copy
	loop  elementwiseIndex
	value *tensor.Tensor // a scalar of the output's type
}

func scatterSrcOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return scatter(ctx, args, false)
}

func scatterAddOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return scatter(ctx, args, true)
}

func scatter(ctx *runtime.KernelRuntimeContext, args runtime.Args, add bool) error {
	self, index, src, out := args.Tensor(0), args.Tensor(2), args.Tensor(3), args.Tensor(4)
	if err := checkType("src", src, self.DType()); err != nil {
		return err
	}
	st := runtime.State[scatterState](ctx)
	if err := st.begin(ctx, self, args.Int(1), index, out); err != nil {
		return err
	}
	if err := checkInside(index, src, -1); err != nil {
		return err
	}
	st.loop.src, st.loop.add = src, add
	return st.loop.do(ctx, index, src.Strides(), oneThread)
}

func scatterValueOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, index, out := args.Tensor(0), args.Tensor(2), args.Tensor(4)
	st := runtime.State[scatterState](ctx)
	if err := setScalar(&st.value, args.Scalar(3), self.DType()); err != nil {
		return err
	}
	if err := st.begin(ctx, self, args.Int(1), index, out); err != nil {
		return err
	}
	st.loop.src = st.value
	return st.loop.do(ctx, index, nil, oneThread)
}

// oneThread is the grain of loops in which several elements may have one place,
// and the order counts.
const oneThread = math.MaxInt

// begin copies self to out, which is then written by the loop.
func (st *scatterState) begin(ctx *runtime.KernelRuntimeContext, self *tensor.Tensor, dim int, index, out *tensor.Tensor) error {
	if err := checkType("out", out, self.DType()); err != nil {
		return err
	}
	if err := kit.Resize(out, self.Shape()); err != nil {
		return err
	}
	if err := st.loop.begin(out, dim, index); err != nil {
		return err
	}
	st.loop.dst, st.loop.scatters = out, true
	return kit.CopyTensor(ctx, &st.copy, out, self)
}
