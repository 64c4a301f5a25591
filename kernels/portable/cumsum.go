package portable

import (
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Cumsum is aten::cumsum: the sums of the elements up to each one along a
// dimension, in the output's type. Half types are rounded after each addition;
// in a bool output a sum is whether one of its elements is true. It takes all
// number types and bool.
var Cumsum = runtime.Kernels{
	{Schema: "aten::cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Run: cumsumOut},
}

func cumsumOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, out := args.Tensor(0), args.Tensor(3)
	if err := checkDType("cumsum", args, 2, out); err != nil {
		return err
	}
	dim, err := kit.Dim(args.Int(1), in.Rank())
	if err != nil {
		return err
	}
	if err := kit.Resize(out, in.Shape()); err != nil {
		return err
	}
	if !isRealOrBool(in.DType()) {
		return kit.Unsupported("cumsum", in)
	}
	switch out.DType() {
	case tensor.F32:
		return cumsum(ctx, in, out, dim, kit.LoadStrided, scanSum[float32], sumCol[float32])
	case tensor.F16:
		return cumsum(ctx, in, out, dim, kit.LoadStrided, scanSumF16, nil)
	case tensor.BF16:
		return cumsum(ctx, in, out, dim, kit.LoadStrided, scanSumBF16, nil)
	case tensor.F64:
		return cumsum(ctx, in, out, dim, kit.LoadStrided, scanSum[float64], sumCol[float64])
	case tensor.I64:
		return cumsum(ctx, in, out, dim, kit.LoadStrided, scanSum[int64], sumCol[int64])
	case tensor.I32:
		return cumsum(ctx, in, out, dim, kit.LoadStrided, scanSum[int32], sumCol[int32])
	case tensor.I16:
		return cumsum(ctx, in, out, dim, kit.LoadStrided, scanSum[int16], sumCol[int16])
	case tensor.I8:
		return cumsum(ctx, in, out, dim, kit.LoadStrided, scanSum[int8], sumCol[int8])
	case tensor.U8:
		return cumsum(ctx, in, out, dim, kit.LoadStrided, scanSum[uint8], sumCol[uint8])
	case tensor.Bool:
		return cumsum(ctx, in, out, dim, kit.LoadTruth, scanOr, nil)
	}
	return kit.Unsupported("cumsum", out)
}

// cumsumTask computes lines along a dimension: one after the other where a
// line's elements are neighbours, else a block of neighbouring lines at a time.
type cumsumTask[C kit.Number] struct {
	in, out *tensor.Tensor
	lines   kit.Nest // operands: in, out
	size    int      // of a line
	inStep  int      // between a line's elements
	outStep int
	load    func(dst []C, src *tensor.Tensor, off, stride int)
	scan    func(carry C, x []C) C
	add     func(acc, x []C) // nil for scan on each
	bufs    []C              // two blocks for each worker
}

const cumsumBlock = 512

// cumsum computes sums in type C along dimension dim. scan replaces each element
// of x by the sum of carry and all up to it, and returns the last sum; add, if not
// nil, adds x to acc.
func cumsum[C kit.Number](ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor, dim int, load func([]C, *tensor.Tensor, int, int), scan func(C, []C) C, add func(acc, x []C)) error {
	t := runtime.State[cumsumTask[C]](ctx)
	t.in, t.out, t.load, t.scan, t.add = in, out, load, scan, add
	t.size, t.inStep, t.outStep = 1, 1, 1
	t.lines.Begin(2)
	for _, o := range in.DimOrder() {
		d, strides := int(o), [kit.MaxOperands]int{in.Strides()[o], out.Strides()[o]}
		if d == dim {
			t.size, t.inStep, t.outStep = in.Shape()[d], strides[0], strides[1]
			continue
		}
		t.lines.Dim(in.Shape()[d], strides)
	}
	if in.Numel() == 0 {
		return nil
	}
	if need := ctx.Threads() * 2 * cumsumBlock; len(t.bufs) < need {
		t.bufs = make([]C, need)
	}
	ctx.Parallel(t.lines.Numel(), 1+reduceGrain/t.size, t)
	return nil
}

// Run computes the lines lo to hi, numbered as they lie in the input's memory.
func (t *cumsumTask[C]) Run(worker, lo, hi int) {
	bufs := t.bufs[worker*2*cumsumBlock:][:2*cumsumBlock]
	var c kit.Cursor
	t.lines.Seek(&c, lo)
	for lo < hi {
		n := 1
		if t.inStep == 1 {
			t.line(c.Off[0], c.Off[1], bufs)
		} else {
			n = t.lines.Run(&c, min(hi-lo, cumsumBlock))
			t.block(c.Off[0], c.Off[1], bufs[:n], bufs[cumsumBlock:][:n])
		}
		t.lines.Advance(&c, n)
		lo += n
	}
}

// line computes the line that begins at element src of the input and dst of the
// output.
func (t *cumsumTask[C]) line(src, dst int, buf []C) {
	var carry C
	for pos := 0; pos < t.size; {
		x := buf[:min(len(buf), t.size-pos)]
		t.load(x, t.in, src+pos*t.inStep, t.inStep)
		carry = t.scan(carry, x)
		kit.StoreStrided(t.out, dst+pos*t.outStep, t.outStep, x)
		pos += len(x)
	}
}

// block computes len(acc) lines that begin side by side.
func (t *cumsumTask[C]) block(src, dst int, acc, x []C) {
	clear(acc)
	for range t.size {
		t.load(x, t.in, src, t.lines.Stride(0))
		if t.add != nil {
			t.add(acc, x)
		} else {
			for i, a := range acc {
				acc[i] = t.scan(a, x[i:i+1])
			}
		}
		kit.StoreStrided(t.out, dst, t.lines.Stride(1), acc)
		src += t.inStep
		dst += t.outStep
	}
}

func scanSum[C kit.Number](carry C, x []C) C {
	for i, v := range x {
		carry += v
		x[i] = carry
	}
	return carry
}

func scanSumF16(carry float32, x []float32) float32 {
	for i, v := range x {
		carry = roundF16(roundF16(v) + carry)
		x[i] = carry
	}
	return carry
}

func scanSumBF16(carry float32, x []float32) float32 {
	for i, v := range x {
		carry = roundBF16(roundBF16(v) + carry)
		x[i] = carry
	}
	return carry
}

// scanOr is the sum of truth values.
func scanOr(carry uint8, x []uint8) uint8 {
	for i, v := range x {
		carry |= v
		x[i] = carry
	}
	return carry
}
