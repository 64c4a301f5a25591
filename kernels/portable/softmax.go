package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/kernels/internal/kit/mathf"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Softmax is aten::_softmax: exp(x) over the sum of exp along a dimension. It
// takes floating-point types (halves are computed in float32); with half_to_float
// a float32 output for a half input.
var Softmax = runtime.Kernels{
	{Schema: "aten::_softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) -> Tensor(a!)", Run: softmaxOut},
}

// LogSoftmax is aten::_log_softmax: the logarithm of Softmax.
var LogSoftmax = runtime.Kernels{
	{Schema: "aten::_log_softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) -> Tensor(a!)", Run: logSoftmaxOut},
}

func softmaxOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return softmax(ctx, "_softmax", args, false)
}

func logSoftmaxOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return softmax(ctx, "_log_softmax", args, true)
}

func softmax(ctx *runtime.KernelRuntimeContext, name string, args runtime.Args, log bool) error {
	in, out := args.Tensor(0), args.Tensor(3)
	want := in.DType()
	if args.Bool(2) && want.IsReducedFloat() {
		want = tensor.F32
	}
	if out.DType() != want {
		return errs.InvalidArgument.Errorf("%s: output is %v, want %v", name, out.DType(), want)
	}
	dim, err := kit.Dim(args.Int(1), in.Rank())
	if err != nil {
		return err
	}
	if err := kit.Resize(out, in.Shape()); err != nil {
		return err
	}
	switch in.DType() {
	case tensor.F32, tensor.F16, tensor.BF16:
		return softmaxAs(ctx, in, out, dim, log, mathf.Exp)
	case tensor.F64:
		return softmaxAs(ctx, in, out, dim, log, expF64)
	}
	return kit.Unsupported(name, in)
}

func expF64(dst, src []float64) {
	for i, v := range src {
		dst[i] = math.Exp(v)
	}
}

// softmaxTask computes lines along a dimension. Lines of neighbours are computed
// one after the other and lines side by side a block at a time, both in place in
// the output. Where a line is neither in both tensors, or is to be converted, it
// is computed in scratch memory.
type softmaxTask[C kit.Float] struct {
	in, out *tensor.Tensor
	src     []C // the elements of in and out, nil if of another type
	dst     []C
	lines   kit.Nest // operands: in, out
	size    int      // of a line
	inStep  int      // between a line's elements
	outStep int
	log     bool
	exp     func(dst, src []C)
	scratch bool
	bufs    []C // for each worker three softmaxBlocks or, with scratch, one and a line
	bufSize int
}

// softmaxBlock is how many lines are computed side by side.
const softmaxBlock = 256

func softmaxAs[C kit.Float](ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor, dim int, log bool, exp func(dst, src []C)) error {
	t := runtime.State[softmaxTask[C]](ctx)
	t.in, t.out, t.log, t.exp = in, out, log, exp
	t.src, t.dst = nil, nil
	if d := tensor.DTypeOf[C](); in.DType() == d && out.DType() == d {
		t.src, t.dst = tensor.Raw[C](in), tensor.Raw[C](out)
	}
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
	t.bufSize = 3 * softmaxBlock
	t.scratch = t.src == nil || !t.isRow() && !t.isBlock()
	if t.scratch {
		t.bufSize = softmaxBlock + t.size
	}
	bufs, err := runtime.Temp[C](ctx, t.bufSize*ctx.Threads())
	if err != nil {
		return err
	}
	t.bufs = bufs
	ctx.Parallel(t.lines.Numel(), 1+softmaxGrain/t.size, t)
	return nil
}

// softmaxGrain is how many elements are worth a goroutine.
const softmaxGrain = 1 << 13

// isRow reports whether the elements of a line are neighbours.
func (t *softmaxTask[C]) isRow() bool { return t.inStep == 1 && t.outStep == 1 }

// isBlock reports whether lines, and not too few, are side by side.
func (t *softmaxTask[C]) isBlock() bool {
	return t.lines.Stride(0) == 1 && t.lines.Stride(1) == 1 && t.lines.Inner() >= 8
}

// Run computes the lines lo to hi, numbered as they lie in the input's memory.
func (t *softmaxTask[C]) Run(worker, lo, hi int) {
	buf := t.bufs[worker*t.bufSize:][:t.bufSize]
	var c kit.Cursor
	t.lines.Seek(&c, lo)
	for lo < hi {
		src, dst, n := c.Off[0], c.Off[1], 1
		switch {
		case t.scratch:
			line := buf[softmaxBlock:]
			kit.LoadStrided(line, t.in, src, t.inStep)
			t.row(line, line, buf[:softmaxBlock])
			kit.StoreStrided(t.out, dst, t.outStep, line)
		case t.isRow():
			t.row(t.dst[dst:][:t.size], t.src[src:][:t.size], buf[:softmaxBlock])
		default:
			n = t.lines.Run(&c, min(hi-lo, softmaxBlock))
			t.block(dst, src, n, buf)
		}
		t.lines.Advance(&c, n)
		lo += n
	}
}

// row computes a line of neighbours; dst may be src. part is scratch.
func (t *softmaxTask[C]) row(dst, src, part []C) {
	top := maxRow(C(math.Inf(-1)), src)
	if !t.log {
		for i, v := range src {
			dst[i] = v - top
		}
		t.exp(dst, dst)
		scale := 1 / sumRow(0, dst)
		for i := range dst {
			dst[i] *= scale
		}
		return
	}
	var sum C
	for x := src; len(x) > 0; {
		p := part[:min(len(part), len(x))]
		for i := range p {
			p[i] = x[i] - top
		}
		t.exp(p, p)
		sum = sumRow(sum, p)
		x = x[len(p):]
	}
	shift := C(math.Log(float64(sum)))
	for i, v := range src {
		dst[i] = v - top - shift
	}
}

// block computes n lines that begin side by side.
func (t *softmaxTask[C]) block(dst, src, n int, buf []C) {
	top, sum, part := buf[:n], buf[softmaxBlock:][:n], buf[2*softmaxBlock:][:n]
	for i := range top {
		top[i] = C(math.Inf(-1))
	}
	for j := range t.size {
		maxCol(top, t.src[src+j*t.inStep:][:n])
	}
	clear(sum)
	for j := range t.size {
		x, y := t.src[src+j*t.inStep:][:n], part
		if !t.log {
			y = t.dst[dst+j*t.outStep:][:n]
		}
		for i, v := range x {
			y[i] = v - top[i]
		}
		t.exp(y, y)
		sumCol(sum, y)
	}
	if !t.log {
		for i, s := range sum {
			sum[i] = 1 / s
		}
		for j := range t.size {
			y := t.dst[dst+j*t.outStep:][:n]
			for i, s := range sum {
				y[i] *= s
			}
		}
		return
	}
	for i, s := range sum {
		sum[i] = C(math.Log(float64(s)))
	}
	for j := range t.size {
		x, y := t.src[src+j*t.inStep:][:n], t.dst[dst+j*t.outStep:][:n]
		for i, v := range x {
			y[i] = v - top[i] - sum[i]
		}
	}
}
