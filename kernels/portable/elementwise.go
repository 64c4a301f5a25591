package portable

import (
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// elementwiseKernels lists the operators that compute each element of the output
// from the elements at the same place in the inputs, and those that make tensors.
func elementwiseKernels() []runtime.Kernels {
	return []runtime.Kernels{
		Abs, Acos, Acosh, Asin, Asinh, Atan, Atanh, Ceil, Cos, Cosh, Erf, Exp, Expm1, Floor, IsInf, IsNaN,
		Log, Log10, Log1p, Log2, Neg, Reciprocal, Round, Rsqrt, Sign, Sin, Sinh, Sqrt, Tan, Tanh, Trunc,
		Add, Atan2, Div, FloorDivide, Fmod, Maximum, Minimum, Mul, Remainder, Rsub, Sub,
		Eq, Ge, Gt, Le, Lt, Ne,
		BitwiseAnd, BitwiseLeftShift, BitwiseNot, BitwiseOr, BitwiseRightShift, BitwiseXor,
		LogicalAnd, LogicalNot, LogicalOr, LogicalXor,
		Pow, Clamp, Hardtanh, MaskedFill, Where,
		Elu, Gelu, Glu, LeakyRelu, Logit, Relu, Sigmoid,
		ConjPhysical,
		Arange, Empty, Fill, Full, FullLike, Ones, ScalarTensor, Zeros,
		NativeDropout, Rand, Randn,
	}
}

// The elementwise engine. An operator is a type with a method that computes a run
// of elements from runs of its inputs, all of one compute type and side by side in
// memory. The engine walks output and inputs together in the output's memory
// order, in runs as long as their layouts allow. An input whose elements lie side
// by side and have the compute type is handed to the operator as it is; any other
// is first converted or gathered, blockLen elements at a time, into scratch
// memory. Outputs of another type than the operator's go through scratch memory
// likewise.
//
// Operators are types rather than functions because a function value of a generic
// function is allocated wherever a generic function makes it.

// blockLen is the longest run of an input or output that goes through scratch
// memory. The blocks of a call fit the first-level cache together.
const blockLen = 1024

// How many elements a thread should get at least, for operators that take about
// a nanosecond for an element and for those that take several.
const (
	grainArith = 32 << 10
	grainMath  = 4 << 10
)

// input is an input of an elementwise loop: a tensor whose elements are taken as
// numbers of type C, or one number for all places.
type input[C tensor.Element] struct {
	t *tensor.Tensor
	// raw holds t's elements in memory order if they can be taken as they are, else
	// conv converts them.
	raw  []C
	conv loader[C]
	base int // is added to the walk's offsets

	uniform bool
	value   [1]C // if uniform; an array because conv wants a slice

	// period is the number of elements if they repeat over the output's memory, as
	// a bias for each channel does where channels are innermost, and are few: runs
	// of that length would be too short to be fast. Such an input is no operand of
	// the nest.
	period int

	op     int // operand number in the nest
	stride int // in the nest's innermost run
	buf    []C // blockLen elements for each thread, or what is repeated
}

// loader converts elements of src, stride apart from element off on.
type loader[C tensor.Element] interface {
	load(dst []C, src *tensor.Tensor, off, stride int)
}

type numberLoader[C kit.Number] struct{}

func (numberLoader[C]) load(dst []C, src *tensor.Tensor, off, stride int) {
	kit.LoadStrided(dst, src, off, stride)
}

type truthLoader struct{}

func (truthLoader) load(dst []uint8, src *tensor.Tensor, off, stride int) {
	kit.LoadTruth(dst, src, off, stride)
}

// number returns the elements of t converted to C, which stands for type d.
func number[C kit.Number](t *tensor.Tensor, d tensor.DType) input[C] {
	in := input[C]{t: t, conv: numberLoader[C]{}}
	// The bytes of a bool tensor need not be 0 and 1.
	if t.DType() == d && d != tensor.Bool {
		in.raw = tensor.Raw[C](t)
	}
	return in
}

// truthOf returns whether the elements of t differ from zero, as bytes that are
// zero or not.
func truthOf(t *tensor.Tensor) input[uint8] {
	in := input[uint8]{t: t, conv: truthLoader{}}
	if t.DType() == tensor.Bool || t.DType() == tensor.U8 {
		in.raw = tensor.Raw[uint8](t)
	}
	return in
}

// elementBits returns the elements of t, which have the size of C, as they are.
func elementBits[C tensor.Element](t *tensor.Tensor) input[C] {
	return input[C]{t: t, raw: tensor.Cast[C](t.Bytes())}
}

// constant returns v for all places.
func constant[C tensor.Element](v C) input[C] {
	return input[C]{uniform: true, value: [1]C{v}}
}

// numberOrConstant returns argument i, a Tensor or a Scalar, as numbers of type
// C, which stands for type d.
func numberOrConstant[C kit.Number](args runtime.Args, i int, d tensor.DType) input[C] {
	if t := args.Tensor(i); t != nil {
		return number[C](t, d)
	}
	return constant(scalarAs[C](args.Scalar(i), d))
}

// prepare readies in for walking it as operand op of the nest. direct tells that
// where all elements of a run are one, the operator takes that one by itself.
func (in *input[C]) prepare(ctx *runtime.KernelRuntimeContext, nest *kit.Nest, op int, direct bool) error {
	in.op = op
	switch {
	case in.period > 0:
		return in.repeat(ctx)
	case in.uniform:
		in.stride = 0
	case in.t.Numel() == 1:
		in.value[0] = in.at(0, [kit.MaxOperands]int{})
		in.uniform = true
		in.stride = 0
	default:
		in.stride = nest.Stride(op)
	}
	size := blockLen * ctx.Threads()
	switch {
	case in.stride == 0 && direct && (in.uniform || in.raw != nil), in.raw != nil && in.stride == 1:
		return nil
	case in.uniform:
		size = min(blockLen, nest.Numel())
	}
	var err error
	if in.buf, err = runtime.Temp[C](ctx, size); err != nil {
		return err
	}
	if in.uniform {
		for i := range in.buf {
			in.buf[i] = in.value[0]
		}
	}
	return nil
}

// repeat fills buf so that a block can start anywhere in a period.
func (in *input[C]) repeat(ctx *runtime.KernelRuntimeContext) (err error) {
	if in.buf, err = runtime.Temp[C](ctx, in.period+blockLen); err != nil {
		return err
	}
	if in.raw != nil {
		copy(in.buf, in.raw)
	} else {
		in.conv.load(in.buf[:in.period], in.t, 0, 1)
	}
	in.stride = 1
	for n := in.period; n < len(in.buf); n *= 2 {
		copy(in.buf[n:], in.buf[:n])
	}
	return nil
}

// run returns n elements from the walk's place on.
func (in *input[C]) run(worker, n int, off [kit.MaxOperands]int) []C {
	switch {
	case in.uniform:
		return in.buf[:n]
	case in.period > 0:
		return in.buf[off[0]%in.period:][:n]
	}
	from := in.base + off[in.op]
	if in.raw != nil && in.stride == 1 {
		return in.raw[from:][:n]
	}
	dst := in.buf[worker*blockLen:][:n]
	if in.raw == nil {
		in.conv.load(dst, in.t, from, in.stride)
		return dst
	}
	for i := range dst {
		dst[i] = in.raw[from]
		from += in.stride
	}
	return dst
}

// repeats finds and sets the period of in over out's memory; it reports whether
// there is one.
func (in *input[C]) repeats(out *tensor.Tensor) bool {
	const longest = 256 // runs of this length are fast as they are
	n := in.t.Numel()
	if n == 1 || n > longest || n == out.Numel() {
		return false
	}
	shape, strides, order := in.t.Shape(), in.t.Strides(), out.DimOrder()
	covered := 1
	for i := len(order) - 1; covered < n; i-- {
		d := int(order[i])
		size := out.Shape()[d]
		if size == 1 {
			continue
		}
		k := d - (out.Rank() - in.t.Rank())
		if k < 0 || shape[k] != size || strides[k] != covered {
			return false
		}
		covered *= size
	}
	in.period = n
	return true
}

// at returns the element at the walk's place.
func (in *input[C]) at(worker int, off [kit.MaxOperands]int) C {
	switch {
	case in.uniform:
		return in.value[0]
	case in.raw != nil:
		return in.raw[in.base+off[in.op]]
	case in.buf == nil: // before the walk
		in.conv.load(in.value[:], in.t, 0, 1)
		return in.value[0]
	}
	return in.run(worker, 1, off)[0]
}

// output is the output of an elementwise loop, operand 0 of the nest, in whose
// memory order the nest walks.
type output[O tensor.Element] struct {
	t *tensor.Tensor
	// raw holds t's elements if they are of type O, else conv converts them.
	raw  []O
	conv storer[O]
	buf  []O // blockLen elements for each thread
}

// storer converts src to elements of dst from element off on.
type storer[O tensor.Element] interface {
	store(dst *tensor.Tensor, off int, src []O)
}

type numberStorer[O kit.Number] struct{}

func (numberStorer[O]) store(dst *tensor.Tensor, off int, src []O) { kit.Store(dst, off, src) }

// result returns the elements of t, which has its shape already, as the place for
// results of type O, which stands for type d.
func result[O kit.Number](t *tensor.Tensor, d tensor.DType) output[O] {
	out := output[O]{t: t, conv: numberStorer[O]{}}
	if t.DType() == d {
		out.raw = tensor.Raw[O](t)
	}
	return out
}

func (out *output[O]) prepare(ctx *runtime.KernelRuntimeContext) (err error) {
	if out.raw == nil {
		out.buf, err = runtime.Temp[O](ctx, blockLen*ctx.Threads())
	}
	return err
}

// run returns the place for the n results from the walk's place on; done stores
// them there.
func (out *output[O]) run(worker, n int, off [kit.MaxOperands]int) []O {
	if out.raw != nil {
		return out.raw[off[0]:][:n]
	}
	return out.buf[worker*blockLen:][:n]
}

func (out *output[O]) done(worker, n int, off [kit.MaxOperands]int) {
	if out.raw == nil {
		out.conv.store(out.t, off[0], out.buf[worker*blockLen:][:n])
	}
}

// spanner computes the n elements from the walk's offsets on.
type spanner interface {
	span(worker, n int, off [kit.MaxOperands]int)
}

// loop walks a nest and hands its runs to body. It is a runtime.Task.
type loop struct {
	nest  kit.Nest
	limit int // of a run
	body  spanner
}

// start runs the loop over the whole nest, in runs of at most blockLen if there
// are buffers.
func (l *loop) start(ctx *runtime.KernelRuntimeContext, body spanner, buffered bool, grain int) {
	l.body = body
	l.limit = l.nest.Numel()
	if buffered {
		l.limit = blockLen
	}
	ctx.Parallel(l.nest.Numel(), grain, l)
}

// Run implements runtime.Task.
func (l *loop) Run(worker, lo, hi int) {
	var c kit.Cursor
	l.nest.Seek(&c, lo)
	for lo < hi {
		n := l.nest.Run(&c, min(hi-lo, l.limit))
		l.body.span(worker, n, c.Off)
		l.nest.Advance(&c, n)
		lo += n
	}
}

// unaryOp is an operator on one input.
type unaryOp[C, O any] interface {
	// v sets dst[i] to the function of src[i]; both are equally long.
	v(dst []O, src []C)
}

// unaryFunc is a unaryOp that one function is.
type unaryFunc[C, O any] func(dst []O, src []C)

func (f unaryFunc[C, O]) v(dst []O, src []C) { f(dst, src) }

// eachFunc is a unaryOp by elements, for a type that deserves no loop of its own.
type eachFunc func(float64) float64

func (f eachFunc) v(dst, src []float64) {
	for i, v := range src {
		dst[i] = f(v)
	}
}

type unaryLoop[C, O tensor.Element, Op unaryOp[C, O]] struct {
	loop
	in  input[C]
	out output[O]
	op  Op
}

// unary computes out, which has in's shape, with op.
func unary[C, O tensor.Element, Op unaryOp[C, O]](ctx *runtime.KernelRuntimeContext, in input[C], out output[O], grain int, op Op) error {
	if out.t.Numel() == 0 {
		return nil
	}
	l := runtime.State[unaryLoop[C, O, Op]](ctx)
	l.in, l.out, l.op = in, out, op
	l.nest.Elementwise(out.t, in.t)
	if err := l.in.prepare(ctx, &l.nest, 1, false); err != nil {
		return err
	}
	if err := l.out.prepare(ctx); err != nil {
		return err
	}
	l.start(ctx, l, l.in.buf != nil || l.out.buf != nil, grain)
	return nil
}

func (l *unaryLoop[C, O, Op]) span(worker, n int, off [kit.MaxOperands]int) {
	l.op.v(l.out.run(worker, n, off), l.in.run(worker, n, off))
	l.out.done(worker, n, off)
}

// binaryOp is an operator on two inputs. Those that can take one number for all
// elements of an input have the methods of rightScalarOp and leftScalarOp as well.
type binaryOp[C, O any] interface {
	// vv sets dst[i] to the function of a[i] and b[i]; all are equally long.
	vv(dst []O, a, b []C)
}

// rightScalarOp is a binaryOp that takes one b.
type rightScalarOp[C, O any] interface{ vs(dst []O, a []C, b C) }

// leftScalarOp is a binaryOp that takes one a.
type leftScalarOp[C, O any] interface{ sv(dst []O, a C, b []C) }

// binaryFunc is a binaryOp that one function is.
type binaryFunc[C, O any] func(dst []O, a, b []C)

func (f binaryFunc[C, O]) vv(dst []O, a, b []C) { f(dst, a, b) }

type binaryLoop[C, O tensor.Element, Op binaryOp[C, O]] struct {
	loop
	a, b input[C]
	out  output[O]
	op   Op
	vs   rightScalarOp[C, O] // op, or nil
	sv   leftScalarOp[C, O]
}

// binary computes out, which has the shape that a and b broadcast to, with op.
// One of a and b may be a constant.
func binary[C, O tensor.Element, Op binaryOp[C, O]](ctx *runtime.KernelRuntimeContext, a, b input[C], out output[O], grain int, op Op) error {
	if out.t.Numel() == 0 {
		return nil
	}
	l := runtime.State[binaryLoop[C, O, Op]](ctx)
	l.a, l.b, l.out, l.op = a, b, out, op
	opB := 2
	switch {
	case b.t == nil:
		l.nest.Elementwise(out.t, a.t)
	case a.t == nil:
		l.nest.Elementwise(out.t, b.t)
		opB = 1
	case l.b.repeats(out.t):
		l.nest.Elementwise(out.t, a.t)
	case l.a.repeats(out.t):
		l.nest.Elementwise(out.t, b.t)
		opB = 1
	default:
		l.nest.Elementwise(out.t, a.t, b.t)
	}
	return l.run(ctx, opB, grain)
}

// run walks the nest, in which a is operand 1 and b opB.
func (l *binaryLoop[C, O, Op]) run(ctx *runtime.KernelRuntimeContext, opB, grain int) error {
	l.vs, _ = any(&l.op).(rightScalarOp[C, O])
	l.sv, _ = any(&l.op).(leftScalarOp[C, O])
	if err := l.b.prepare(ctx, &l.nest, opB, l.vs != nil); err != nil {
		return err
	}
	if l.vs != nil && l.b.stride == 0 {
		l.sv = nil
	}
	if err := l.a.prepare(ctx, &l.nest, 1, l.sv != nil); err != nil {
		return err
	}
	if err := l.out.prepare(ctx); err != nil {
		return err
	}
	l.start(ctx, l, l.a.buf != nil || l.b.buf != nil || l.out.buf != nil, grain)
	return nil
}

func (l *binaryLoop[C, O, Op]) span(worker, n int, off [kit.MaxOperands]int) {
	dst := l.out.run(worker, n, off)
	switch {
	case l.vs != nil && l.b.stride == 0:
		l.vs.vs(dst, l.a.run(worker, n, off), l.b.at(worker, off))
	case l.sv != nil && l.a.stride == 0:
		l.sv.sv(dst, l.a.at(worker, off), l.b.run(worker, n, off))
	default:
		l.op.vv(dst, l.a.run(worker, n, off), l.b.run(worker, n, off))
	}
	l.out.done(worker, n, off)
}

// typedKernel computes a call whose output has its shape already in type d.
type typedKernel func(ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error

// typedKernels is an operator for each type that it computes in, in most cases
// one generic function made for each; nil where the operator has none.
type typedKernels struct {
	u8, i8, i16, i32, i64, f32, f64, boolean typedKernel
}

// run computes the call in type d.
func (k *typedKernels) run(ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	var f typedKernel
	switch d {
	case tensor.U8:
		f = k.u8
	case tensor.I8:
		f = k.i8
	case tensor.I16:
		f = k.i16
	case tensor.I32:
		f = k.i32
	case tensor.I64:
		f = k.i64
	case tensor.F32:
		f = k.f32
	case tensor.F64:
		f = k.f64
	case tensor.Bool:
		f = k.boolean
	}
	if f == nil {
		return unsupported(d)
	}
	return f(ctx, args, d)
}

// checkInputs returns an error unless all tensors are real or bool, what the
// engine converts between.
func checkInputs(ts ...*tensor.Tensor) error {
	for _, t := range ts {
		if !isRealOrBool(t.DType()) {
			return unsupported(t.DType())
		}
	}
	return nil
}
