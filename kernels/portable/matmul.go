package portable

import (
	"github.com/etgo-ml/etgo/internal/compute/gemm"
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Mm is aten::mm: the product of the matrices self [m, k] and mat2 [k, n]. It
// takes numbers of any type; all tensors have the same. Halves are computed in
// float32, integers wrap.
var Mm = runtime.Kernels{
	{Schema: "aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)", Run: mmOut},
}

// Bmm is aten::bmm: Mm of each matrix of a batch, [b, m, k] by [b, k, n].
var Bmm = runtime.Kernels{
	{Schema: "aten::bmm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)", Run: bmmOut},
}

// Addmm is aten::addmm: beta * self + alpha * (mat1 by mat2), where self is
// broadcast. It takes real numbers; see Mm.
var Addmm = runtime.Kernels{
	{Schema: "aten::addmm.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)", Run: addmmOut},
}

// Linear is aten::linear: input [..., k] by the transpose of weight [n, k], plus
// bias [n] or [1]. Without a bias it takes numbers of any type, else real ones;
// see Mm.
var Linear = runtime.Kernels{
	{Schema: "aten::linear.out(Tensor input, Tensor weight, Tensor? bias=None, *, Tensor(a!) out) -> Tensor(a!)", Run: linearOut},
}

func matmulKernels() []runtime.Kernels {
	return []runtime.Kernels{Mm, Bmm, Addmm, Linear}
}

func mmOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	c := matmul{a: args.Tensor(0), b: args.Tensor(1), out: args.Tensor(2)}
	if err := c.setMatrices("mm"); err != nil {
		return err
	}
	return c.run(ctx)
}

func bmmOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	a, b, out := args.Tensor(0), args.Tensor(1), args.Tensor(2)
	if a.Rank() != 3 || b.Rank() != 3 || a.Size(0) != b.Size(0) || a.Size(2) != b.Size(1) {
		return errs.InvalidArgument.Errorf("bmm: %v by %v, want [b, m, k] by [b, k, n]", a, b)
	}
	shape := kit.ShapeOf(a.Shape())
	shape.Dims()[2] = b.Size(2)
	if err := kit.Resize(out, shape.Dims()); err != nil {
		return err
	}
	as, bs, os := a.Strides(), b.Strides(), out.Strides()
	c := matmul{
		a: a, b: b, out: out,
		m: a.Size(1), n: b.Size(2), k: a.Size(2), batches: a.Size(0),
		left:  lanes{batch: as[0], lane: as[1], step: as[2]},
		right: lanes{batch: bs[0], lane: bs[2], step: bs[1]},
		batch: os[0], row: os[1], col: os[2],
	}
	return c.run(ctx)
}

func addmmOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	c := matmul{
		a: args.Tensor(1), b: args.Tensor(2), out: args.Tensor(5),
		self: args.Tensor(0), beta: args.Scalar(3), alpha: args.Scalar(4),
	}
	if err := c.setMatrices("addmm"); err != nil {
		return err
	}
	if c.self.DType() != c.out.DType() || !kit.BroadcastableTo(c.self.Shape(), c.out.Shape()) {
		return errs.InvalidArgument.Errorf("addmm: self is %v, which is not of the product's dtype or cannot be broadcast to it: %v", c.self, c.out)
	}
	c.selfRow, c.selfCol = broadcastStride(c.self, 2), broadcastStride(c.self, 1)
	return c.run(ctx)
}

// broadcastStride returns how far apart neighbours along a dimension, counted
// from the end, are in t when it is broadcast.
func broadcastStride(t *tensor.Tensor, fromEnd int) int {
	d := t.Rank() - fromEnd
	if d < 0 || t.Shape()[d] == 1 {
		return 0
	}
	return t.Strides()[d]
}

func linearOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, weight, bias, out := args.Tensor(0), args.Tensor(1), args.Tensor(2), args.Tensor(3)
	if in.Rank() < 1 || weight.Rank() != 2 || in.Size(-1) != weight.Size(1) {
		return errs.InvalidArgument.Errorf("linear: input %v and weight %v, want [..., k] and [n, k]", in, weight)
	}
	n, k, rows := weight.Size(0), weight.Size(1), 1
	shape := kit.ShapeOf(in.Shape())
	dims := shape.Dims()
	dims[len(dims)-1] = n
	if err := kit.Resize(out, dims); err != nil {
		return err
	}
	for _, size := range dims[:len(dims)-1] {
		rows *= size
	}
	c := matmul{
		a: in, b: weight, out: out, m: rows, n: n, k: k, batches: 1, flat: true,
		left:  lanes{lane: k, step: 1},
		right: lanes{lane: weight.Strides()[0], step: weight.Strides()[1]},
		row:   n, col: 1,
	}
	if bias != nil {
		if bias.DType() != out.DType() || bias.Rank() != 1 || bias.Numel() != n && bias.Numel() != 1 {
			return errs.InvalidArgument.Errorf("linear: bias is %v, want %v[%d] or [1]", bias, out.DType(), n)
		}
		c.self, c.selfCol = bias, broadcastStride(bias, 1)
	}
	return c.run(ctx)
}

// matmul is a call: of each batch, out(i, j) is alpha * sum of a(i, s) * b(j, s)
// over s < k, plus beta * self(i, j).
type matmul struct {
	a, b, out        *tensor.Tensor
	m, n, k, batches int

	left, right     lanes // of a and b
	batch, row, col int   // of out
	flat            bool  // left and those of out are for row-major elements

	self             *tensor.Tensor // nil for none, else batches is 1
	selfRow, selfCol int
	alpha, beta      *runtime.EValue // nil for 1
}

// lanes tells where the elements of an operand are; see gemm.Matrix.
type lanes struct{ batch, lane, step int }

// setMatrices makes c the product of a and b, which must be matrices, and resizes
// out.
func (c *matmul) setMatrices(name string) error {
	a, b := c.a, c.b
	if a.Rank() != 2 || b.Rank() != 2 || a.Size(1) != b.Size(0) {
		return errs.InvalidArgument.Errorf("%s: %v by %v, want [m, k] by [k, n]", name, a, b)
	}
	shape := kit.ShapeOf(a.Shape())
	shape.Dims()[1] = b.Size(1)
	if err := kit.Resize(c.out, shape.Dims()); err != nil {
		return err
	}
	c.m, c.n, c.k, c.batches = a.Size(0), b.Size(1), a.Size(1), 1
	c.left = lanes{lane: a.Strides()[0], step: a.Strides()[1]}
	c.right = lanes{lane: b.Strides()[1], step: b.Strides()[0]}
	c.row, c.col = c.out.Strides()[0], c.out.Strides()[1]
	return nil
}

// run computes the call. Elements that are not of the type computed in are
// converted as they are packed, and as the result is stored.
func (c *matmul) run(ctx *runtime.KernelRuntimeContext) error {
	d := c.out.DType()
	if c.a.DType() != d || c.b.DType() != d {
		return errs.InvalidArgument.Errorf("the product of %v and %v goes to %v, want one dtype", c.a.DType(), c.b.DType(), d)
	}
	switch {
	case d == tensor.F32 || d.IsReducedFloat():
		return runtime.State[realMatmul[float32]](ctx).run(ctx, c)
	case d == tensor.F64:
		return runtime.State[realMatmul[float64]](ctx).run(ctx, c)
	case d.IsInt():
		return runtime.State[realMatmul[int64]](ctx).run(ctx, c)
	case c.self != nil:
		return unsupported(d)
	case d == tensor.C32:
		return runtime.State[complexHalfMatmul](ctx).run(ctx, c)
	case d == tensor.C64:
		return runtime.State[matmulState[complex64]](ctx).run(ctx, c)
	case d == tensor.C128:
		return runtime.State[matmulState[complex128]](ctx).run(ctx, c)
	}
	return unsupported(d)
}

// matmulState is a call on tensors of type T, without self.
type matmulState[T gemm.Number] struct {
	product gemm.Product[T]
	a, b    gemm.Matrix[T]
	in, out kit.Copy // of tensors that are not flat and should be
}

func (s *matmulState[T]) run(ctx *runtime.KernelRuntimeContext, c *matmul) error {
	out := c.out
	if err := s.set(ctx, c); err != nil {
		return err
	}
	return s.multiply(ctx, c, out)
}

// set makes s.product the call. Its a and out are flat thereafter.
func (s *matmulState[T]) set(ctx *runtime.KernelRuntimeContext, c *matmul) (err error) {
	if c.flat && !c.a.IsContiguous() {
		if c.a, err = kit.Flatten(ctx, &s.in, c.a); err != nil {
			return err
		}
	}
	if c.flat && !c.out.IsContiguous() {
		if c.out, err = kit.FlatScratch(ctx, &s.out, c.out); err != nil {
			return err
		}
	}
	s.a = operand[T](c.a, c.left, c.k)
	s.b = operand[T](c.b, c.right, c.k)
	s.product = gemm.Product[T]{
		M: c.m, N: c.n, K: c.k, A: &s.a, B: &s.b, Batches: c.batches, Repeats: 1,
		C: gemm.Output[T]{Data: tensor.Raw[T](c.out), Batch: c.batch, Row: c.row, Col: c.col},
	}
	return nil
}

func operand[T gemm.Number](t *tensor.Tensor, l lanes, steps int) gemm.Matrix[T] {
	return gemm.Matrix[T]{Data: tensor.Raw[T](t), Steps: steps, Batch: l.batch, Lane: l.lane, Step: l.step}
}

// multiply computes s.product and brings it to out, if c's is another.
func (s *matmulState[T]) multiply(ctx *runtime.KernelRuntimeContext, c *matmul, out *tensor.Tensor) error {
	var scratch kit.Scratch[T]
	if err := kit.Multiply(ctx, &s.product, &scratch); err != nil || c.out == out {
		return err
	}
	return kit.Unflatten(ctx, &s.out, out)
}

// realMatmul is a call on real numbers. They are converted where they are not of
// type C.
type realMatmul[C kit.Real] struct {
	matmulState[C]
	sources [2]kit.Elements[C] // a and b
	sink    realSink[C]
}

func (s *realMatmul[C]) run(ctx *runtime.KernelRuntimeContext, c *matmul) error {
	out := c.out
	if err := s.set(ctx, c); err != nil {
		return err
	}
	if out.DType() != tensor.DTypeOf[C]() {
		s.sources[0].Tensor, s.sources[1].Tensor = c.a, c.b
		s.a.Source, s.b.Source = &s.sources[0], &s.sources[1]
		s.product.C.Sink = &s.sink
	}
	s.sink = realSink[C]{matmul: *c, alphaValue: 1, betaValue: 1}
	if c.alpha != nil {
		s.sink.alphaValue, s.sink.betaValue = scalarAs[C](c.alpha, out.DType()), scalarAs[C](c.beta, out.DType())
	}
	if c.self != nil {
		if err := s.addSelf(ctx); err != nil {
			return err
		}
	}
	return s.multiply(ctx, c, out)
}

// addSelf makes self a bias of the product, where it is the same for all rows or
// for all columns. Else the sink adds it.
func (s *realMatmul[C]) addSelf(ctx *runtime.KernelRuntimeContext) (err error) {
	sink, p := &s.sink, &s.product
	switch {
	case sink.alphaValue != 1 || sink.selfRow != 0 && sink.selfCol != 0:
		p.C.Sink = sink
		return nil
	case sink.selfRow != 0:
		p.RowBias, err = sink.bias(ctx, p.M, sink.selfRow)
	default:
		p.ColBias, err = sink.bias(ctx, p.N, sink.selfCol)
	}
	sink.self = nil
	return err
}

// realSink finishes the results of a call: it scales them, adds self and converts
// them.
type realSink[C kit.Real] struct {
	matmul
	alphaValue, betaValue C
}

// bias returns n elements of beta * self.
func (s *realSink[C]) bias(ctx *runtime.KernelRuntimeContext, n, stride int) ([]C, error) {
	v, err := runtime.Temp[C](ctx, n)
	if err != nil {
		return nil, err
	}
	kit.LoadStrided(v, s.self, 0, stride)
	for i := range v {
		v[i] *= s.betaValue
	}
	return v, nil
}

// Store implements gemm.Sink.
func (s *realSink[C]) Store(block []C, row, col, _, batch, i, m, j, n int) {
	o := batch*s.batch + i*s.row + j*s.col
	self := i*s.selfRow + j*s.selfCol
	if col == 1 {
		for r := range m {
			s.line(block[r*row:][:n], o+r*s.row, s.col, self+r*s.selfRow, s.selfCol)
		}
		return
	}
	for k := range n {
		s.line(block[k*col:][:m], o+k*s.col, s.row, self+k*s.selfCol, s.selfRow)
	}
}

// line stores one row or column at offset o of out.
func (s *realSink[C]) line(v []C, o, stride, self, selfStride int) {
	if s.self != nil {
		var buf [128]C
		for k := 0; k < len(v); k += len(buf) {
			part := v[k:min(k+len(buf), len(v))]
			add := buf[:len(part)]
			kit.LoadStrided(add, s.self, self+k*selfStride, selfStride)
			for i, b := range add {
				part[i] = part[i]*s.alphaValue + b*s.betaValue
			}
		}
	}
	kit.StoreStrided(s.out, o, stride, v)
}

// complexHalfMatmul is a call on C32 tensors.
type complexHalfMatmul struct {
	matmulState[complex64]
	sources [2]complexHalves // a and b
	sink    complexHalfSink
}

func (s *complexHalfMatmul) run(ctx *runtime.KernelRuntimeContext, c *matmul) error {
	out := c.out
	if err := s.set(ctx, c); err != nil {
		return err
	}
	s.sources[0], s.sources[1] = tensor.Raw[tensor.Complex32](c.a), tensor.Raw[tensor.Complex32](c.b)
	s.a.Source, s.b.Source = &s.sources[0], &s.sources[1]
	s.sink = complexHalfSink{*c, tensor.Raw[tensor.Complex32](c.out)}
	s.product.C.Sink = &s.sink
	return s.multiply(ctx, c, out)
}

type complexHalves []tensor.Complex32

// Load implements gemm.Source.
func (h *complexHalves) Load(dst []complex64, off, stride int) {
	for i := range dst {
		v := (*h)[off]
		dst[i] = complex(v.Real.Float32(), v.Imag.Float32())
		off += stride
	}
}

type complexHalfSink struct {
	matmul
	data []tensor.Complex32 // of out
}

// Store implements gemm.Sink.
func (s *complexHalfSink) Store(block []complex64, row, col, _, batch, i, m, j, n int) {
	for r := range m {
		o := batch*s.batch + (i+r)*s.row + j*s.col
		for k := range n {
			v := block[r*row+k*col]
			s.data[o] = tensor.Complex32{Real: tensor.ToFloat16(real(v)), Imag: tensor.ToFloat16(imag(v))}
			o += s.col
		}
	}
}
