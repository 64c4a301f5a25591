package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Clamp is aten::clamp: self limited to at least min and at most max, of which
// one may be None, for every real type and bool. max wins where min is above it,
// and NaN wins over all. A Scalar bound must be in the range of out's type, in
// which the operands are compared; tensors are compared in the type they promote
// to.
var Clamp = runtime.Kernels{
	{Schema: "aten::clamp.out(Tensor self, Scalar? min=None, Scalar? max=None, *, Tensor(a!) out) -> Tensor(a!)", Run: clampOut},
	{Schema: "aten::clamp.Tensor_out(Tensor self, Tensor? min=None, Tensor? max=None, *, Tensor(a!) out) -> Tensor(a!)", Run: clampTensorOut},
}

func clampOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, out := args.Tensor(0), args.Tensor(3)
	d := in.DType()
	for i := 1; i <= 2; i++ {
		if args.IsNone(i) {
			continue
		}
		d = promoteScalar(d, args.Scalar(i))
		if err := checkBound(args.Scalar(i), out.DType()); err != nil {
			return err
		}
	}
	if args.IsNone(1) && args.IsNone(2) {
		return errs.InvalidArgument.Errorf("neither min nor max is given")
	}
	if err := checkType("out", out, d); err != nil {
		return err
	}
	if err := kit.Resize(out, in.Shape()); err != nil {
		return err
	}
	return clampTypes.run(ctx, args, computeType(d))
}

// checkBound returns an error if a bound is outside the range of type d.
func checkBound(s *runtime.EValue, d tensor.DType) error {
	ok := true
	switch {
	case d.IsFloat():
		ok = inFloatRange(s.Double(), d)
	case d.IsInt():
		lo, hi := intRange(d)
		ok = s.Int() >= lo && s.Int() <= hi
	}
	if !ok {
		return errs.InvalidArgument.Errorf("bound %v is out of the range of %v", s, d)
	}
	return nil
}

var clampTypes = typedKernels{
	u8: clampAs[uint8], i8: clampAs[int8], i16: clampAs[int16], i32: clampAs[int32], i64: clampAs[int64],
	f32: clampAs[float32], f64: clampAs[float64], boolean: clampAs[uint8],
}

func clampAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	lo, hi := limits[C]()
	if !args.IsNone(1) {
		lo = scalarAs[C](args.Scalar(1), d)
	}
	if !args.IsNone(2) {
		hi = scalarAs[C](args.Scalar(2), d)
	}
	return unary(ctx, number[C](args.Tensor(0), d), result[C](args.Tensor(3), d), grainArith, clampOp[C]{lo, hi})
}

// limits returns the least and the greatest value of C, infinities for floats.
func limits[C kit.Number]() (lo, hi C) {
	d := tensor.DTypeOf[C]()
	if d.IsFloat() {
		return C(math.Inf(-1)), C(math.Inf(1))
	}
	l, h := intRange(d)
	return C(l), C(h)
}

// clampOp limits to at least lo, then to at most hi.
type clampOp[C kit.Number] struct{ lo, hi C }

func (op clampOp[C]) v(dst, src []C) {
	dst = dst[:len(src)]
	for i := kit.ClampSIMD(dst, src, op.lo, op.hi); i < len(src); i++ {
		dst[i] = min(max(src[i], op.lo), op.hi)
	}
}

func clampTensorOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, lo, hi, out := args.Tensor(0), args.Tensor(1), args.Tensor(2), args.Tensor(3)
	if lo == nil && hi == nil {
		return errs.InvalidArgument.Errorf("neither min nor max is given")
	}
	shape := kit.ShapeOf(in.Shape())
	d := in.DType()
	for _, t := range [...]*tensor.Tensor{lo, hi} {
		if t == nil {
			continue
		}
		d = promote(d, t.DType())
		if err := shape.Broadcast(t.Shape()); err != nil {
			return err
		}
	}
	if err := checkCast(d, out); err != nil {
		return err
	}
	if err := kit.Resize(out, shape.Dims()); err != nil {
		return err
	}
	return clampTensorTypes.run(ctx, args, computeType(d))
}

var clampTensorTypes = typedKernels{
	u8: clampTensorAs[uint8], i8: clampTensorAs[int8], i16: clampTensorAs[int16], i32: clampTensorAs[int32], i64: clampTensorAs[int64],
	f32: clampTensorAs[float32], f64: clampTensorAs[float64], boolean: clampTensorAs[uint8],
}

type clampLoop[C kit.Number] struct {
	loop
	in, lo, hi input[C]
	out        output[C]
}

func clampTensorAs[C kit.Number](ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	in, out := args.Tensor(0), args.Tensor(3)
	if out.Numel() == 0 {
		return nil
	}
	l := runtime.State[clampLoop[C]](ctx)
	lowest, highest := limits[C]()
	l.in, l.lo, l.hi, l.out = number[C](in, d), constant(lowest), constant(highest), result[C](out, d)
	// A bound that is not given takes self's place in the nest, which is not looked at.
	lo, hi := in, in
	if t := args.Tensor(1); t != nil {
		l.lo, lo = number[C](t, d), t
	}
	if t := args.Tensor(2); t != nil {
		l.hi, hi = number[C](t, d), t
	}
	l.nest.Elementwise(out, in, lo, hi)
	for op, v := range [...]*input[C]{&l.in, &l.lo, &l.hi} {
		if err := v.prepare(ctx, &l.nest, 1+op, false); err != nil {
			return err
		}
	}
	if err := l.out.prepare(ctx); err != nil {
		return err
	}
	l.start(ctx, l, l.in.buf != nil || l.lo.buf != nil || l.hi.buf != nil || l.out.buf != nil, grainArith)
	return nil
}

func (l *clampLoop[C]) span(worker, n int, off [kit.MaxOperands]int) {
	dst, src := l.out.run(worker, n, off), l.in.run(worker, n, off)
	lo, hi := l.lo.run(worker, n, off), l.hi.run(worker, n, off)
	for i, v := range src {
		dst[i] = min(max(v, lo[i]), hi[i])
	}
	l.out.done(worker, n, off)
}

// Hardtanh is aten::hardtanh: self limited to min_val and max_val, which must fit
// the type, for one real type.
var Hardtanh = runtime.Kernels{{
	Schema: "aten::hardtanh.out(Tensor self, Scalar min_val=-1, Scalar max_val=1, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		in, out := args.Tensor(0), args.Tensor(3)
		if !isReal(in.DType()) {
			return unsupported(in.DType())
		}
		for i := 1; i <= 2; i++ {
			if err := checkScalar(args.Scalar(i), in.DType()); err != nil {
				return err
			}
		}
		if err := resizeSame(in, out); err != nil {
			return err
		}
		return clampTypes.run(ctx, args, computeType(in.DType()))
	},
}}
