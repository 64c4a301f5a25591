package quantized

import (
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// spanLen is how many elements are converted at a time where a span cannot be
// read or written directly.
const spanLen = 512

// grain is how many elements are worth a goroutine.
const grain = 1 << 14

// blocks tells which elements of a tensor share a scale and a zero point: those
// of a block, whose size along each dimension this is. Blocks are numbered in
// row-major order.
type blocks struct {
	size  [tensor.MaxRank]int
	count int
}

// whole makes b one block of all of t.
func (b *blocks) whole(t *tensor.Tensor) {
	copy(b.size[:], t.Shape())
	b.count = 1
}

// channels makes b a block for each index along dimension axis of t.
func (b *blocks) channels(t *tensor.Tensor, axis int) error {
	axis, err := kit.Dim(axis, t.Rank())
	if err != nil {
		return err
	}
	b.whole(t)
	if t.Rank() > 0 {
		b.size[axis] = 1
		b.count = t.Shape()[axis]
	}
	return nil
}

// tokens makes b a block for each line of t along the last dimension.
func (b *blocks) tokens(t *tensor.Tensor) error {
	if t.Rank() == 0 {
		return errs.InvalidArgument.Errorf("a scalar has no tokens")
	}
	b.count = 1
	for d, size := range t.Shape()[:t.Rank()-1] {
		b.size[d] = 1
		b.count *= size
	}
	b.size[t.Rank()-1] = t.Shape()[t.Rank()-1]
	return nil
}

// of makes b the blocks of the given size.
func (b *blocks) of(t *tensor.Tensor, size []int64) error {
	if len(size) != t.Rank() {
		return errs.InvalidArgument.Errorf("block size %v has not the rank of %v", size, t)
	}
	b.count = 1
	for d, n := range t.Shape() {
		if size[d] < 1 && n > 0 || n > 0 && (size[d] > int64(n) || n%int(size[d]) != 0) {
			return errs.InvalidArgument.Errorf("block size %v does not divide %v", size, t)
		}
		b.size[d] = int(size[d])
		b.count *= b.along(d, n)
	}
	return nil
}

// along returns the number of blocks along dimension d, which has n elements.
func (b *blocks) along(d, n int) int {
	if n == 0 {
		return 0
	}
	return n / b.size[d]
}

// walk makes n visit out in memory order (operand 0), in (1) and the number of
// each element's block (2). The tensors have the same shape and are not empty.
func (b *blocks) walk(n *kit.Nest, out, in *tensor.Tensor) error {
	var step [tensor.MaxRank]int
	dims := out.Rank()
	for d, s := out.Rank()-1, 1; d >= 0; d-- {
		step[d] = s
		count := b.along(d, out.Shape()[d])
		s *= count
		if count > 1 && b.size[d] > 1 {
			dims++
		}
	}
	if dims > tensor.MaxRank {
		return errs.InvalidArgument.Errorf("blocks of %v have %d dimensions, above the limit of %d", in, dims, tensor.MaxRank)
	}
	n.Begin(3)
	for _, d := range out.DimOrder() {
		o, i, size := out.Strides()[d], in.Strides()[d], b.size[d]
		n.Dim(out.Shape()[d]/size, [kit.MaxOperands]int{o * size, i * size, step[d]})
		n.Dim(size, [kit.MaxOperands]int{o, i, 0})
	}
	return nil
}

// qparams are the scales and zero points of a call, one for each block.
type qparams struct {
	scale []float32
	zero  []int32

	oneScale [1]float32
	oneZero  [1]int32
}

// set makes p those of a single block. ExecuTorch computes with the float32 of
// the scale and the low 32 bits of the zero point.
func (p *qparams) set(scale float64, zero int) {
	p.oneScale[0], p.oneZero[0] = float32(scale), int32(zero)
	p.scale, p.zero = p.oneScale[:], p.oneZero[:]
}

// load reads those of count blocks: scales of any floating-point type and zero
// points of any integer type. No zero points mean 0.
func (p *qparams) load(ctx *runtime.KernelRuntimeContext, scales, zeros *tensor.Tensor, count int) error {
	if !scales.DType().IsFloat() {
		return errs.InvalidArgument.Errorf("scales are %v, want a floating-point type", scales.DType())
	}
	if scales.Numel() != count {
		return errs.InvalidArgument.Errorf("%d scales given, want %d", scales.Numel(), count)
	}
	if zeros != nil {
		if !zeros.DType().IsInt() {
			return errs.InvalidArgument.Errorf("zero points are %v, want an integer type", zeros.DType())
		}
		if zeros.Numel() != count {
			return errs.InvalidArgument.Errorf("%d zero points given, want %d", zeros.Numel(), count)
		}
	}
	if count == 1 {
		p.scale, p.zero = p.oneScale[:], p.oneZero[:]
	} else {
		var err error
		if p.scale, err = runtime.Temp[float32](ctx, count); err != nil {
			return err
		}
		if p.zero, err = runtime.Temp[int32](ctx, count); err != nil {
			return err
		}
	}
	var r kit.RowMajor
	r.Begin(scales)
	kit.LoadRowMajor(p.scale, &r, 0)
	if zeros == nil {
		clear(p.zero)
		return nil
	}
	r.Begin(zeros)
	kit.LoadRowMajor(p.zero, &r, 0)
	return nil
}

// paramsFunc reads which elements share parameters, and those, from the
// arguments of a call that follow the input.
type paramsFunc func(ctx *runtime.KernelRuntimeContext, args runtime.Args, b *blocks, p *qparams) error

// perTensor is a paramsFunc for a scale and a zero point given as numbers.
func perTensor(_ *runtime.KernelRuntimeContext, args runtime.Args, b *blocks, p *qparams) error {
	b.whole(args.Tensor(0))
	p.set(args.Float(1), args.Int(2))
	return nil
}

// perTensorTensor is a paramsFunc for a scale and a zero point in tensors.
func perTensorTensor(ctx *runtime.KernelRuntimeContext, args runtime.Args, b *blocks, p *qparams) error {
	b.whole(args.Tensor(0))
	return p.load(ctx, args.Tensor(1), args.Tensor(2), b.count)
}

// perChannel is a paramsFunc for those of each index along an axis.
func perChannel(ctx *runtime.KernelRuntimeContext, args runtime.Args, b *blocks, p *qparams) error {
	if err := b.channels(args.Tensor(0), args.Int(3)); err != nil {
		return err
	}
	return p.load(ctx, args.Tensor(1), args.Tensor(2), b.count)
}

// perToken is a paramsFunc for those of each line along the last dimension.
func perToken(ctx *runtime.KernelRuntimeContext, args runtime.Args, b *blocks, p *qparams) error {
	if err := b.tokens(args.Tensor(0)); err != nil {
		return err
	}
	return p.load(ctx, args.Tensor(1), args.Tensor(2), b.count)
}
