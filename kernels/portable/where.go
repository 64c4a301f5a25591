package portable

import (
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Where is aten::where: self where condition is true, else other, for every real
// type and bool. condition is bool or uint8, out has the type that self and other
// promote to.
var Where = runtime.Kernels{{
	Schema: "aten::where.self_out(Tensor condition, Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		cond, a, b, out := args.Tensor(0), args.Tensor(1), args.Tensor(2), args.Tensor(3)
		if cond.DType() != tensor.Bool && cond.DType() != tensor.U8 {
			return errs.InvalidArgument.Errorf("condition is %v, want bool or uint8", cond.DType())
		}
		d := promote(a.DType(), b.DType())
		if err := checkCast(d, out); err != nil {
			return err
		}
		if err := checkType("out", out, d); err != nil {
			return err
		}
		if err := kit.ResizeBroadcast(out, cond, a, b); err != nil {
			return err
		}
		if a.DType() == b.DType() {
			return selectBits(ctx, cond, a, b, 0, out)
		}
		return whereTypes.run(ctx, args, computeType(d))
	},
}}

var whereTypes = typedKernels{
	i8: whereAs[int8], u8: whereAs[uint8], i16: whereAs[int16], i32: whereAs[int32], i64: whereAs[int64], f32: whereAs[float32], f64: whereAs[float64],
}

// whereAs selects among numbers of different types.
func whereAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	a, b := number[C](args.Tensor(1), d), number[C](args.Tensor(2), d)
	return selectOn(ctx, truthOf(args.Tensor(0)), a, b, result[C](args.Tensor(3), d))
}

// MaskedFill is aten::masked_fill: value, converted to self's type, where the bool
// tensor mask is true, else self, for every real type and bool.
var MaskedFill = runtime.Kernels{{
	Schema: "aten::masked_fill.Scalar_out(Tensor self, Tensor mask, Scalar value, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		in, mask, out := args.Tensor(0), args.Tensor(1), args.Tensor(3)
		if err := checkType("mask", mask, tensor.Bool); err != nil {
			return err
		}
		if err := checkInputs(in); err != nil {
			return err
		}
		if err := checkType("out", out, in.DType()); err != nil {
			return err
		}
		if err := kit.ResizeBroadcast(out, in, mask); err != nil {
			return err
		}
		return selectBits(ctx, mask, nil, in, scalarBits(args.Scalar(2), in.DType()), out)
	},
}}

// selectBits sets out to a where cond is true, else to b, all of one type:
// elements are moved as they are. One of a and b may be nil, which stands for a
// tensor of elements with the bits of value.
func selectBits(ctx *runtime.KernelRuntimeContext, cond, a, b *tensor.Tensor, value uint64, out *tensor.Tensor) error {
	switch out.DType().Size() {
	case 1:
		return selectAs(ctx, cond, a, b, uint8(value), out)
	case 2:
		return selectAs(ctx, cond, a, b, uint16(value), out)
	case 4:
		return selectAs(ctx, cond, a, b, uint32(value), out)
	default:
		return selectAs(ctx, cond, a, b, value, out)
	}
}

func selectAs[C tensor.Element](ctx *runtime.KernelRuntimeContext, cond, a, b *tensor.Tensor, value C, out *tensor.Tensor) error {
	return selectOn(ctx, truthOf(cond), bitsOrConstant(a, value), bitsOrConstant(b, value), output[C]{t: out, raw: tensor.Cast[C](out.Bytes())})
}

// bitsOrConstant returns elementBits of t, or value for a nil t.
func bitsOrConstant[C tensor.Element](t *tensor.Tensor, value C) input[C] {
	if t == nil {
		return constant(value)
	}
	return elementBits[C](t)
}

type selectLoop[C tensor.Element] struct {
	loop
	cond input[uint8]
	a, b input[C]
	out  output[C]
}

func selectOn[C tensor.Element](ctx *runtime.KernelRuntimeContext, cond input[uint8], a, b input[C], out output[C]) error {
	if out.t.Numel() == 0 {
		return nil
	}
	l := runtime.State[selectLoop[C]](ctx)
	l.cond, l.a, l.b, l.out = cond, a, b, out
	opB := 3
	switch {
	case a.t == nil:
		l.nest.Elementwise(out.t, cond.t, b.t)
		opB = 2
	case b.t == nil:
		l.nest.Elementwise(out.t, cond.t, a.t)
	default:
		l.nest.Elementwise(out.t, cond.t, a.t, b.t)
	}
	if err := l.cond.prepare(ctx, &l.nest, 1, false); err != nil {
		return err
	}
	if err := l.a.prepare(ctx, &l.nest, 2, false); err != nil {
		return err
	}
	if err := l.b.prepare(ctx, &l.nest, opB, false); err != nil {
		return err
	}
	if err := l.out.prepare(ctx); err != nil {
		return err
	}
	l.start(ctx, l, l.cond.buf != nil || l.a.buf != nil || l.b.buf != nil || l.out.buf != nil, grainArith)
	return nil
}

func (l *selectLoop[C]) span(worker, n int, off [kit.MaxOperands]int) {
	dst, cond := l.out.run(worker, n, off), l.cond.run(worker, n, off)
	a, b := l.a.run(worker, n, off), l.b.run(worker, n, off)
	for i, c := range cond {
		v := b[i]
		if c != 0 {
			v = a[i]
		}
		dst[i] = v
	}
	l.out.done(worker, n, off)
}
