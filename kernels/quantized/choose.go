package quantized

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// ChooseQParams is quantized_decomposed::choose_qparams: the scale and the zero
// point that map the range of the input's elements, widened to contain 0, to
// quant_min ... quant_max. The input is a floating-point tensor, of which NaN is
// skipped; scale_out is of a floating-point and zero_point_out of an integer type,
// one element each.
var ChooseQParams = runtime.Kernels{
	{
		Schema: "quantized_decomposed::choose_qparams.Tensor_out(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype, *, Tensor(a!) scale_out, Tensor(b!) zero_point_out) -> (Tensor(a!), Tensor(b!))",
		Run:    chooseQParamsOut,
	},
}

// ChooseQParamsPerToken is
// quantized_decomposed::choose_qparams_per_token_asymmetric: as ChooseQParams for
// each line along the last dimension, whose size in the outputs is 1. The
// quantised range is -128 ... 127 whatever dtype is.
var ChooseQParamsPerToken = runtime.Kernels{
	{
		Schema: "quantized_decomposed::choose_qparams_per_token_asymmetric.out(Tensor input, ScalarType dtype, *, Tensor(a!) scale_out, Tensor(b!) zero_point_out) -> (Tensor(a!), Tensor(b!))",
		Run:    chooseQParamsPerTokenOut,
	},
}

func chooseQParamsOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	scale, zero := args.Tensor(5), args.Tensor(6)
	lo, hi := args.Int(1), args.Int(2)
	if lo >= hi || lo < math.MinInt32 || hi > math.MaxInt32 {
		return errs.InvalidArgument.Errorf("choose_qparams: quantized range %d to %d, want two int32 in ascending order", lo, hi)
	}
	if scale.Numel() != 1 || zero.Numel() != 1 {
		return errs.InvalidArgument.Errorf("choose_qparams: outputs are %v and %v, want one element each", scale, zero)
	}
	t := runtime.State[chooseTask](ctx)
	t.blocks.whole(args.Tensor(0))
	t.lo, t.hi, t.choose = float64(lo), float64(hi), chooseAsymmetric
	return t.do(ctx, args.Tensor(0), scale, zero)
}

func chooseQParamsPerTokenOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, scale, zero := args.Tensor(0), args.Tensor(2), args.Tensor(3)
	t := runtime.State[chooseTask](ctx)
	if err := t.blocks.tokens(in); err != nil {
		return err
	}
	shape := kit.ShapeOf(in.Shape())
	shape.Dims()[in.Rank()-1] = 1
	if err := kit.Resize(scale, shape.Dims()); err != nil {
		return err
	}
	if err := kit.Resize(zero, shape.Dims()); err != nil {
		return err
	}
	t.lo, t.hi, t.choose = math.MinInt8, math.MaxInt8, chooseAsymmetric
	return t.do(ctx, in, scale, zero)
}

// span is the range of a block's elements, widened to contain 0.
type span struct {
	least, most float32
	nan         bool // one of the elements is NaN
}

// chooseTask finds the parameters of blocks of elements.
type chooseTask struct {
	blocks       blocks
	in           *tensor.Tensor
	src          []float32 // the elements of in, nil if of another type
	scale, zero  kit.RowMajor
	starts, walk kit.Nest // of the first elements of the blocks, within a block
	bufs         []float32

	lo, hi float64 // the quantised range
	choose func(t *chooseTask, s span) (scale, zero float64)
	affine affineChoice
}

// do finds the parameters of t.blocks with t.choose; the outputs have one for
// each block.
func (t *chooseTask) do(ctx *runtime.KernelRuntimeContext, in, scale, zero *tensor.Tensor) error {
	if !in.DType().IsFloat() {
		return kit.Unsupported("choose_qparams", in)
	}
	if !scale.DType().IsFloat() || !zero.DType().IsFloat() && !zero.DType().IsInt() {
		return errs.InvalidArgument.Errorf("choose_qparams: outputs are %v and %v, want number types", scale, zero)
	}
	t.in, t.src = in, tensor.Raw[float32](in)
	t.scale.Begin(scale)
	t.zero.Begin(zero)
	t.starts.Begin(1)
	if in.Numel() == 0 {
		t.starts.Dim(t.blocks.count, [kit.MaxOperands]int{}) // lines without elements, if any
	} else {
		for d, size := range in.Shape() {
			t.starts.Dim(t.blocks.along(d, size), [kit.MaxOperands]int{in.Strides()[d] * t.blocks.size[d]})
		}
	}
	// Within a block any order of the elements will do; that of memory is the
	// fastest.
	t.walk.Begin(1)
	for _, d := range in.DimOrder() {
		t.walk.Dim(t.blocks.size[d], [kit.MaxOperands]int{in.Strides()[d]})
	}
	if need := ctx.Threads() * spanLen; len(t.bufs) < need {
		t.bufs = make([]float32, need)
	}
	ctx.Parallel(t.blocks.count, 1+grain/max(1, t.walk.Numel()), t)
	return nil
}

// Run finds the parameters of the blocks lo to hi.
func (t *chooseTask) Run(worker, lo, hi int) {
	buf := t.bufs[worker*spanLen:][:spanLen]
	var c kit.Cursor
	t.starts.Seek(&c, lo)
	for ; lo < hi; lo++ {
		var s, z [1]float64
		s[0], z[0] = t.choose(t, t.measure(c.Off[0], buf))
		kit.StoreRowMajor(&t.scale, lo, s[:])
		kit.StoreRowMajor(&t.zero, lo, z[:])
		t.starts.Advance(&c, 1)
	}
}

// measure returns the range of the block that begins at element off.
func (t *chooseTask) measure(off int, buf []float32) (s span) {
	var c kit.Cursor
	step := t.walk.Stride(0)
	for left := t.walk.Numel(); left > 0; {
		var x []float32
		if t.src != nil && step == 1 {
			x = t.src[off+c.Off[0]:][:t.walk.Run(&c, left)]
		} else {
			x = buf[:t.walk.Run(&c, min(left, len(buf)))]
			kit.LoadStrided(x, t.in, off+c.Off[0], step)
		}
		for _, v := range x {
			switch { // NaN compares false with all
			case v < s.least:
				s.least = v
			case v > s.most:
				s.most = v
			case v != v:
				s.nan = true
			}
		}
		t.walk.Advance(&c, len(x))
		left -= len(x)
	}
	return s
}

// smallestScale is the least scale that ExecuTorch chooses.
const smallestScale = float32(6.1e-5)

// chooseAsymmetric maps the range to all of the quantised one, as ExecuTorch
// does: in float64 with float32 ends, so that the zero point is its to the last
// bit. A zero point that does not fit becomes the smallest int32.
func chooseAsymmetric(t *chooseTask, s span) (scale, zero float64) {
	least, most, steps := s.least, s.most, t.hi-t.lo
	scale = (float64(most) - float64(least)) / steps
	// The reciprocal is used to quantise; it must be finite.
	if f := float32(scale); f == 0 || math.IsInf(float64(1/f), 0) {
		scale = 0.1
	}
	if scale < float64(smallestScale) {
		amplify := smallestScale / float32(scale)
		scale = float64(smallestScale)
		switch {
		case least == 0:
			most = smallestScale * float32(steps)
		case most == 0:
			least = -smallestScale * float32(steps)
		default:
			least *= amplify
			most *= amplify
		}
	}
	// Of the two ends, take the one whose terms are smaller: the error is less.
	fromLeast, fromMost := float64(least)/scale, float64(most)/scale
	zero = t.hi - fromMost
	if math.Abs(t.lo)-math.Abs(fromLeast) < math.Abs(t.hi)-math.Abs(fromMost) {
		zero = t.lo - fromLeast
	}
	switch {
	case zero < t.lo:
		return scale, t.lo
	case zero > t.hi:
		return scale, t.hi
	}
	return scale, float64(kit.FloatToInt[int32](math.RoundToEven(float64(float32(zero)))))
}
