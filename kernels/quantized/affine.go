package quantized

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// The operators of torchao compute with PyTorch's rules of type promotion: each
// intermediate result is rounded to the type that its operands promote to.
// Blocks of block_size share a scale and a zero point, of which there are so many
// in row-major order whatever their shape.
//
// Exporters write them under two names: with the overload "out" where an out
// variant is registered, and else as the functional operator, whose results are
// tensors behind the arguments and not repeated. The schemas of the latter say so.

// QuantizeAffine is torchao::quantize_affine:
// clamp(round(input * (1 / scale)) + zero_point, quant_min, quant_max). It takes
// float32, float16 and bfloat16 and gives uint8, int8, int16 and int32.
var QuantizeAffine = runtime.Kernels{
	{
		Schema: "torchao::quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType output_dtype, Scalar? quant_min=None, Scalar? quant_max=None, *, Tensor(a!) out) -> ()",
		Run:    quantizeAffineOut,
	},
	{
		Schema: "torchao::quantize_affine.out(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType output_dtype, Scalar? quant_min=None, Scalar? quant_max=None, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    quantizeAffineOut,
	},
}

// DequantizeAffine is torchao::dequantize_affine: (input - zero_point) * scale. It
// takes uint8, int8, int16 and int32 and gives float32, float16 and bfloat16.
var DequantizeAffine = runtime.Kernels{
	{
		Schema: "torchao::dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType input_dtype, Scalar? quant_min=None, Scalar? quant_max=None, ScalarType output_dtype=6, *, Tensor(a!) out) -> ()",
		Run:    dequantizeAffineOut,
	},
	{
		Schema: "torchao::dequantize_affine.out(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType input_dtype, Scalar? quant_min=None, Scalar? quant_max=None, ScalarType output_dtype=6, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    dequantizeAffineOut,
	},
}

// ChooseQParamsAffine is torchao::choose_qparams_affine: scales and zero points
// for the ranges of the input's blocks, widened to contain 0. It takes float32,
// float16 and bfloat16. With NaN in a block its scale is NaN.
var ChooseQParamsAffine = runtime.Kernels{
	{
		Schema: "torchao::choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] block_size, ScalarType target_dtype, Scalar? quant_min=None, Scalar? quant_max=None, float? eps=None, ScalarType? scale_dtype=None, ScalarType? zero_point_dtype=None, bool keepdim=False, *, Tensor(a!) out0, Tensor(b!) out1) -> ()",
		Run:    chooseQParamsAffineOut,
	},
	{
		Schema: "torchao::choose_qparams_affine.out(Tensor? input, str mapping_type, SymInt[] block_size, ScalarType target_dtype, Scalar? quant_min=None, Scalar? quant_max=None, float? eps=None, ScalarType? scale_dtype=None, ScalarType? zero_point_dtype=None, bool keepdim=False, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
		Run:    chooseQParamsAffineOut,
	},
}

func quantizeAffineOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, scale, zero, out := args.Tensor(0), args.Tensor(2), args.Tensor(3), args.Tensor(7)
	if dtype, _ := args.DType(4); out.DType() != dtype {
		return errs.InvalidArgument.Errorf("quantize_affine: output is %v, output_dtype asks for %v", out.DType(), dtype)
	}
	lo, hi, err := affineRange(out.DType(), args.Scalar(5), args.Scalar(6))
	if err != nil {
		return err
	}
	if !isAffineFloat(in.DType()) {
		return kit.Unsupported("quantize_affine", in)
	}
	if err := checkAffineParams(scale, zero); err != nil {
		return err
	}
	product := promote(in.DType(), scale.DType())
	sum := product
	if zero != nil {
		sum = promote(product, zero.DType())
	}
	if sum == tensor.F64 {
		return affine[float64](ctx, args, out, affineSetup{product, sum, int64(lo), int64(hi), true})
	}
	return affine[float32](ctx, args, out, affineSetup{product, sum, int64(lo), int64(hi), true})
}

func dequantizeAffineOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, scale, zero, out := args.Tensor(0), args.Tensor(2), args.Tensor(3), args.Tensor(8)
	if dtype, _ := args.DType(4); in.DType() != dtype {
		return errs.InvalidArgument.Errorf("dequantize_affine: input is %v, input_dtype says %v", in.DType(), dtype)
	}
	if dtype, _ := args.DType(7); out.DType() != dtype {
		return errs.InvalidArgument.Errorf("dequantize_affine: output is %v, output_dtype asks for %v", out.DType(), dtype)
	}
	if _, _, err := affineRange(in.DType(), args.Scalar(5), args.Scalar(6)); err != nil {
		return err
	}
	if !isAffineFloat(out.DType()) {
		return kit.Unsupported("dequantize_affine", out)
	}
	if err := checkAffineParams(scale, zero); err != nil {
		return err
	}
	product := promote(out.DType(), scale.DType())
	if product == tensor.F64 {
		return affine[float64](ctx, args, out, affineSetup{product, out.DType(), 0, 0, false})
	}
	return affine[float32](ctx, args, out, affineSetup{product, out.DType(), 0, 0, false})
}

// isAffineFloat reports whether torchao takes d for what is not quantised.
func isAffineFloat(d tensor.DType) bool { return d == tensor.F32 || d.IsReducedFloat() }

// affineRange returns the quantised range: lo and hi, which must be within the
// range of type d, or else the ends of that.
func affineRange(d tensor.DType, lo, hi *runtime.EValue) (least, most float64, err error) {
	switch d {
	case tensor.U8:
		least, most = 0, math.MaxUint8
	case tensor.I8:
		least, most = math.MinInt8, math.MaxInt8
	case tensor.I16:
		least, most = math.MinInt16, math.MaxInt16
	case tensor.I32:
		least, most = math.MinInt32, math.MaxInt32
	default:
		return 0, 0, errs.InvalidArgument.Errorf("%v is no type of quantized numbers", d)
	}
	below, above := least, most
	if lo.IsScalar() {
		least = lo.Double()
	}
	if hi.IsScalar() {
		most = hi.Double()
	}
	if !(least >= below && most <= above) {
		return 0, 0, errs.InvalidArgument.Errorf("quantized range %v to %v exceeds that of %v", least, most, d)
	}
	return least, most, nil
}

func checkAffineParams(scale, zero *tensor.Tensor) error {
	if !scale.DType().IsFloat() {
		return errs.InvalidArgument.Errorf("scales are %v, want a floating-point type", scale.DType())
	}
	if zero != nil && !zero.DType().IsFloat() && !zero.DType().IsInt() {
		return errs.InvalidArgument.Errorf("zero points are %v, want a number type", zero.DType())
	}
	return nil
}

// promote returns the type of PyTorch's arithmetic on tensors of floating-point
// type a and any number type b.
func promote(a, b tensor.DType) tensor.DType {
	switch {
	case a == b || !b.IsFloat():
		return a
	case a == tensor.F64 || b == tensor.F64:
		return tensor.F64
	}
	return tensor.F32
}

// roundTo rounds x to type d, which has at most C's precision.
func roundTo[C kit.Float](x []C, d tensor.DType) {
	switch d {
	case tensor.F32:
		if _, same := any(x).([]float32); same {
			return
		}
		for i, v := range x {
			x[i] = C(float32(v))
		}
	case tensor.F16:
		for i, v := range x {
			x[i] = C(tensor.ToFloat16(float32(v)).Float32())
		}
	case tensor.BF16:
		for i, v := range x {
			x[i] = C(tensor.ToBFloat16(float32(v)).Float32())
		}
	}
}

// affineSetup is what tells quantising from dequantising.
type affineSetup struct {
	product, sum tensor.DType // what products with scales and sums with zero points are rounded to
	lo, hi       int64        // the quantised range
	quantize     bool         // multiply by 1 / scale and add zero points; else subtract them and multiply
}

// affineTask computes spans of elements that lie side by side in the output, in
// type C.
type affineTask[C kit.Float] struct {
	affineSetup
	blocks      blocks
	nest        kit.Nest
	in, out     *tensor.Tensor
	scale, zero []C     // factors and summands, one for each block
	bufs        []C     // a span for each worker
	ints        []int64 // another
}

// affine runs a call whose input, block size, scales and zero points are args 0
// to 3.
func affine[C kit.Float](ctx *runtime.KernelRuntimeContext, args runtime.Args, out *tensor.Tensor, s affineSetup) error {
	t := runtime.State[affineTask[C]](ctx)
	t.affineSetup = s
	t.in, t.out = args.Tensor(0), out
	if err := t.blocks.of(t.in, args.Ints(1)); err != nil {
		return err
	}
	if err := kit.Resize(out, t.in.Shape()); err != nil {
		return err
	}
	if err := t.load(ctx, args.Tensor(2), args.Tensor(3)); err != nil {
		return err
	}
	if out.Numel() == 0 {
		return nil
	}
	if err := t.blocks.walk(&t.nest, out, t.in); err != nil {
		return err
	}
	if need := ctx.Threads() * spanLen; len(t.bufs) < need {
		t.bufs, t.ints = make([]C, need), make([]int64, need)
	}
	ctx.Parallel(t.nest.Numel(), grain, t)
	return nil
}

// load reads the factors and summands. A zero point tensor without elements is
// none.
func (t *affineTask[C]) load(ctx *runtime.KernelRuntimeContext, scale, zero *tensor.Tensor) (err error) {
	if scale.Numel() != t.blocks.count {
		return errs.InvalidArgument.Errorf("%d scales given, want %d", scale.Numel(), t.blocks.count)
	}
	if zero != nil && zero.Numel() != 0 && zero.Numel() != t.blocks.count {
		return errs.InvalidArgument.Errorf("%d zero points given, want %d", zero.Numel(), t.blocks.count)
	}
	if t.scale, err = runtime.Temp[C](ctx, t.blocks.count); err != nil {
		return err
	}
	if t.zero, err = runtime.Temp[C](ctx, t.blocks.count); err != nil {
		return err
	}
	var r kit.RowMajor
	r.Begin(scale)
	kit.LoadRowMajor(t.scale, &r, 0)
	if t.quantize {
		for i, s := range t.scale {
			t.scale[i] = 1 / s
		}
		roundTo(t.scale, scale.DType())
	}
	if zero == nil || zero.Numel() == 0 {
		clear(t.zero)
		return nil
	}
	r.Begin(zero)
	kit.LoadRowMajor(t.zero, &r, 0)
	roundTo(t.zero, t.sum)
	if !t.quantize {
		for i, z := range t.zero {
			t.zero[i] = -z
		}
	}
	return nil
}

// Run computes the elements lo to hi of the output in memory order.
func (t *affineTask[C]) Run(worker, lo, hi int) {
	buf := t.bufs[worker*spanLen:][:spanLen]
	var c kit.Cursor
	t.nest.Seek(&c, lo)
	for lo < hi {
		n := t.nest.Run(&c, min(hi-lo, spanLen))
		x, at, step := buf[:n], c.Off[2], t.nest.Stride(2)
		kit.LoadStrided(x, t.in, c.Off[1], t.nest.Stride(1))
		if t.quantize {
			mulSpan(x, t.scale, at, step)
			roundTo(x, t.product)
			for i, v := range x {
				x[i] = C(math.RoundToEven(float64(v)))
			}
			addSpan(x, t.zero, at, step)
			roundTo(x, t.sum)
			q := t.ints[worker*spanLen:][:n]
			clampSpan(q, x, t.lo, t.hi)
			kit.Store(t.out, c.Off[0], q)
		} else {
			roundTo(x, t.sum)
			addSpan(x, t.zero, at, step)
			roundTo(x, t.sum)
			mulSpan(x, t.scale, at, step)
			roundTo(x, t.product)
			kit.Store(t.out, c.Off[0], x)
		}
		t.nest.Advance(&c, n)
		lo += n
	}
}

// mulSpan multiplies the elements of x by those of p, step apart from at on.
func mulSpan[C kit.Float](x, p []C, at, step int) {
	if step == 0 {
		f := p[at]
		for i := range x {
			x[i] *= f
		}
		return
	}
	for i := range x {
		x[i] *= p[at]
		at += step
	}
}

// addSpan adds to the elements of x those of p, step apart from at on.
func addSpan[C kit.Float](x, p []C, at, step int) {
	if step == 0 {
		f := p[at]
		for i := range x {
			x[i] += f
		}
		return
	}
	for i := range x {
		x[i] += p[at]
		at += step
	}
}

// clampSpan converts x to integers between lo and hi. NaN becomes what x86-64's
// conversion to 32 bits makes of it, as in PyTorch.
func clampSpan[C kit.Float](dst []int64, x []C, lo, hi int64) {
	for i, v := range x {
		switch {
		case v != v:
			dst[i] = math.MinInt32
		case v <= C(lo):
			dst[i] = lo
		case v >= C(hi):
			dst[i] = hi
		default:
			dst[i] = int64(v)
		}
	}
}

// mapping is how a range of numbers is mapped to the quantised one.
type mapping uint8

const (
	asymmetric         mapping = iota // end to end
	symmetric                         // 0 to the middle
	symmetricUnclipped                // 0 to the middle, with a scale that clips neither end
)

// affineChoice is how choose_qparams_affine chooses: all it computes is rounded
// to the input's type.
type affineChoice struct {
	mapping mapping
	dtype   tensor.DType // of the input
	eps     float32      // the least scale
}

func chooseQParamsAffineOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, scale, zero := args.Tensor(0), args.Tensor(10), args.Tensor(11)
	if in == nil {
		return errs.InvalidArgument.Errorf("choose_qparams_affine: no input")
	}
	if !isAffineFloat(in.DType()) {
		return kit.Unsupported("choose_qparams_affine", in)
	}
	t := runtime.State[chooseTask](ctx)
	if err := t.affine.parse(in.DType(), args.Str(1), args, 6); err != nil {
		return err
	}
	target, _ := args.DType(3)
	var err error
	if t.lo, t.hi, err = affineRange(target, args.Scalar(4), args.Scalar(5)); err != nil {
		return err
	}
	if err := t.blocks.of(in, args.Ints(2)); err != nil {
		return err
	}
	shape := t.blocks.outputShape(in, args.Bool(9))
	for i, out := range [...]*tensor.Tensor{scale, zero} {
		if dtype, ok := args.DType(7 + i); ok && out.DType() != dtype {
			return errs.InvalidArgument.Errorf("choose_qparams_affine: output is %v, want %v", out.DType(), dtype)
		}
		if err := kit.Resize(out, shape.Dims()); err != nil {
			return err
		}
	}
	t.choose = chooseAffine
	return t.do(ctx, in, scale, zero)
}

// parse reads the mapping's name and, from args[eps], the least scale, by default
// the smallest normal number of the input's type.
func (a *affineChoice) parse(in tensor.DType, name string, args runtime.Args, eps int) error {
	a.dtype = in
	switch name {
	case "ASYMMETRIC":
		a.mapping = asymmetric
	case "SYMMETRIC":
		a.mapping = symmetric
	case "SYMMETRIC_NO_CLIPPING_ERR":
		a.mapping = symmetricUnclipped
	default:
		return errs.InvalidArgument.Errorf("choose_qparams_affine: unknown mapping %q", name)
	}
	a.eps = 0x1p-126
	if in == tensor.F16 {
		a.eps = 0x1p-14
	}
	if v, ok := args.OptFloat(eps); ok {
		a.eps = a.round(float32(v))
	}
	return nil
}

// outputShape returns the shape of the parameters of t's blocks: the number of
// blocks along each dimension, without those that one block fills unless keep is
// set. Where no dimension is reduced PyTorch's amin, which is given none, reduces
// all, and b becomes one block.
func (b *blocks) outputShape(t *tensor.Tensor, keep bool) (s kit.Shape) {
	reduced := false
	for d, n := range t.Shape() {
		reduced = reduced || b.size[d] > 1
		if keep || b.size[d] == 1 || b.size[d] != n {
			s.Append(b.along(d, n))
		}
	}
	if !reduced && !keep {
		b.whole(t)
		return kit.Shape{}
	}
	return s
}

// round rounds v to the type that is computed in.
func (a *affineChoice) round(v float32) float32 {
	switch a.dtype {
	case tensor.F16:
		return tensor.ToFloat16(v).Float32()
	case tensor.BF16:
		return tensor.ToBFloat16(v).Float32()
	}
	return v
}

// chooseAffine chooses the parameters of a block for choose_qparams_affine. NaN
// goes through all of it.
func chooseAffine(t *chooseTask, s span) (scale, zero float64) {
	a := &t.affine
	least, most := s.least, s.most
	if s.nan {
		least = float32(math.NaN())
		most = least
	}
	var f float32
	switch a.mapping {
	case asymmetric:
		f = a.round(a.round(most-least) / float32(t.hi-t.lo))
	case symmetric:
		f = a.round(max(-least, most) / float32((t.hi-t.lo)/2))
	case symmetricUnclipped:
		below, above := a.round(least/float32(t.lo)), a.round(most/float32(t.hi))
		f = above
		if below > above {
			f = below
		}
	}
	f = max(f, a.eps)
	if a.mapping != asymmetric {
		return float64(f), float64(a.round(float32(math.Trunc((t.hi + t.lo + 1) / 2))))
	}
	z := a.round(float32(math.RoundToEven(float64(a.round(least / f)))))
	z = a.round(float32(t.lo) - z)
	return float64(f), float64(min(max(z, float32(t.lo)), float32(t.hi)))
}
