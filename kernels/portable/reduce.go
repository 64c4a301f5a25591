package portable

import (
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// reduceKernels lists the reductions, the operators along one dimension that
// are made like them, the distances and the Fourier transforms.
func reduceKernels() []runtime.Kernels {
	return []runtime.Kernels{
		Sum, Mean, Prod,
		Amax, Amin, Max, Min, Argmax, Argmin,
		Any,
		Var, VarMean,
		Cumsum,
		Softmax, LogSoftmax,
		CdistForward, PdistForward,
		FFTR2C, FFTC2R,
	}
}

// axes are the dimensions that a reduction removes, or keeps with size 1.
type axes struct {
	reduced [tensor.MaxRank]bool
	keepDim bool
	// count is how many elements become one.
	count int
}

// reduceAll reduces every dimension of in.
func reduceAll(in *tensor.Tensor, keepDim bool) axes {
	a := axes{keepDim: keepDim, count: in.Numel()}
	for d := range in.Rank() {
		a.reduced[d] = true
	}
	return a
}

// reduceDim reduces dimension dim of in.
func reduceDim(in *tensor.Tensor, dim int, keepDim bool) (axes, error) {
	a := axes{keepDim: keepDim, count: 1}
	err := a.add(in, dim)
	return a, err
}

// reduceDims reduces the dimensions in the list, all if it is empty.
func reduceDims(in *tensor.Tensor, dims []int64, keepDim bool) (axes, error) {
	if len(dims) == 0 {
		return reduceAll(in, keepDim), nil
	}
	a := axes{keepDim: keepDim, count: 1}
	for _, d := range dims {
		if err := a.add(in, int(d)); err != nil {
			return a, err
		}
	}
	return a, nil
}

// add reduces dimension dim of in too.
func (a *axes) add(in *tensor.Tensor, dim int) error {
	d, err := kit.Dim(dim, in.Rank())
	if err != nil {
		return err
	}
	if a.reduced[d] {
		return errs.InvalidArgument.Errorf("dimension %d is to be reduced more than once", d)
	}
	a.reduced[d] = true
	if d < in.Rank() {
		a.count *= in.Shape()[d]
	}
	return nil
}

// resize gives out the shape of the reduced in.
func (a *axes) resize(in, out *tensor.Tensor) error {
	var s kit.Shape
	for d, size := range in.Shape() {
		switch {
		case !a.reduced[d]:
			s.Append(size)
		case a.keepDim:
			s.Append(1)
		}
	}
	return kit.ResizeApart(out, s.Dims(), in)
}

// notEmpty returns an error where an output element would be reduced from no
// input, for operators that have no identity.
func (a *axes) notEmpty(name string, in, out *tensor.Tensor) error {
	if a.count == 0 && out.Numel() > 0 {
		return errs.InvalidArgument.Errorf("%s: cannot reduce no elements: input %v", name, in)
	}
	return nil
}

// checkDType returns an error unless out has the type that argument i, a
// ScalarType?, asks for.
func checkDType(name string, args runtime.Args, i int, out *tensor.Tensor) error {
	if d, given := args.DType(i); given && d != out.DType() {
		return errs.InvalidArgument.Errorf("%s: output is %v, dtype asks for %v", name, out.DType(), d)
	}
	return nil
}

// scalar is what reductions compute with.
type scalar interface {
	kit.Number | complex64 | complex128
}

// folder folds elements read as S into accumulators of type A. It is an empty
// struct or the like: a value of an interface that needs no memory.
type folder[S scalar, A any] interface {
	// start returns the accumulator of no elements.
	start() A
	// row folds x, neighbours in the order of reduction of which the first has
	// number pos, into acc.
	row(acc A, pos int, x []S) A
	// col folds x[i], which has number pos, into acc[i].
	col(acc []A, pos int, x []S)
	// finish ends a walk over count elements.
	finish(acc []A, count int)
	// load reads elements of another type than S.
	load(dst []S, src *tensor.Tensor, off, stride int)
	// emit stores accumulators in the outputs from element off on. buf has as many
	// elements as acc and is free to use.
	emit(t *reduceTask[S, A], off [2]int, acc []A, buf []S)
}

// reduction is a call of a reduction.
type reduction[S scalar, A any] struct {
	fold folder[S, A]
	// again, if not nil, folds the elements once more into the same accumulators;
	// only its row, col and finish are used.
	again folder[S, A]
	// outs are the outputs, of one shape. The second one may be nil.
	outs [2]*tensor.Tensor
	// divisor is for emit.
	divisor float64
	// inOrder asks for the reduced elements in row-major order, by which their
	// numbers tell their places. Else they come as they lie in memory.
	inOrder bool
}

const (
	// reduceBlock is how many accumulators, and elements to be converted, a worker
	// has in hand.
	reduceBlock = 512
	// reduceGrain is how many elements are worth a goroutine.
	reduceGrain = 1 << 15
)

// reduceTask computes a reduction. Its iterations are the outputs, so that no
// result depends on how many threads there are.
//
// Of the dimensions left after merging, the innermost in memory is either
// reduced, then each output folds rows of neighbours, or kept, then a block of
// neighbouring outputs is folded together, column by column.
type reduceTask[S scalar, A any] struct {
	reduction[S, A]
	in      *tensor.Tensor
	raw     []S      // in's elements if they are of type S
	kept    kit.Nest // operands: in, outs[0], outs[1]
	reduced kit.Nest // operands: in
	count   int
	byCol   bool
	accs    []A // reduceBlock for each worker
	bufs    []S // reduceBlock for each worker
}

// reduce runs r over in. The outputs have the shape that ax gives.
func reduce[S scalar, A any](ctx *runtime.KernelRuntimeContext, in *tensor.Tensor, ax *axes, r reduction[S, A]) error {
	if tensor.DTypeOf[S]() == in.DType() {
		return reduceRaw(ctx, in, tensor.Raw[S](in), ax, r)
	}
	return reduceRaw(ctx, in, nil, ax, r)
}

// reduceRaw is reduce for an input whose elements may be read from raw, if that
// is not nil.
func reduceRaw[S scalar, A any](ctx *runtime.KernelRuntimeContext, in *tensor.Tensor, raw []S, ax *axes, r reduction[S, A]) error {
	t := runtime.State[reduceTask[S, A]](ctx)
	t.reduction, t.in, t.raw, t.count = r, in, raw, ax.count
	t.plan(ax)
	if t.kept.Numel() == 0 {
		return nil
	}
	if need := ctx.Threads() * reduceBlock; len(t.accs) < need {
		t.accs, t.bufs = make([]A, need), make([]S, need)
	}
	ctx.Parallel(t.kept.Numel(), 1+reduceGrain/max(t.count, 1), t)
	return nil
}

// plan makes the loop nests.
func (t *reduceTask[S, A]) plan(ax *axes) {
	shape, strides, order := t.in.Shape(), t.in.Strides(), t.in.DimOrder()
	var place [tensor.MaxRank]int // of a kept dimension in the outputs
	next := 0
	for d := range shape {
		place[d] = next
		if !ax.reduced[d] || ax.keepDim {
			next++
		}
	}
	outs := 1
	if t.outs[1] != nil {
		outs = 2
	}
	t.kept.Begin(1 + outs)
	t.reduced.Begin(1)
	t.byCol = false
	for i := range shape {
		if d := int(order[i]); !ax.reduced[d] {
			s := [kit.MaxOperands]int{strides[d]}
			for k, o := range t.outs[:outs] {
				s[1+k] = o.Strides()[place[d]]
			}
			t.kept.Dim(shape[d], s)
		}
		d := int(order[i])
		if t.inOrder {
			d = i
		}
		if ax.reduced[d] {
			t.reduced.Dim(shape[d], [kit.MaxOperands]int{strides[d]})
		}
		if d := order[i]; shape[d] > 1 {
			t.byCol = !ax.reduced[d]
		}
	}
}

// Run computes the outputs lo to hi, numbered as they lie in the input's memory.
func (t *reduceTask[S, A]) Run(worker, lo, hi int) {
	accs := t.accs[worker*reduceBlock:][:reduceBlock]
	buf := t.bufs[worker*reduceBlock:][:reduceBlock]
	var c kit.Cursor
	t.kept.Seek(&c, lo)
	for lo < hi {
		n := t.kept.Run(&c, min(hi-lo, reduceBlock))
		acc := accs[:n]
		fillSpan(acc, t.fold.start())
		t.walk(t.fold, acc, c.Off[0], buf)
		if t.again != nil {
			t.walk(t.again, acc, c.Off[0], buf)
		}
		t.fold.emit(t, [2]int{c.Off[1], c.Off[2]}, acc, buf[:n])
		t.kept.Advance(&c, n)
		lo += n
	}
}

// walk folds the elements of each output; those of acc's first one begin at off.
func (t *reduceTask[S, A]) walk(f folder[S, A], acc []A, off int, buf []S) {
	switch {
	case t.count == 0:
	case t.byCol:
		t.cols(f, acc, off, buf)
	default:
		t.rows(f, acc, off, buf)
	}
	f.finish(acc, t.count)
}

// rows folds one output after the other.
func (t *reduceTask[S, A]) rows(f folder[S, A], acc []A, off int, buf []S) {
	step := t.kept.Stride(0)
	direct := t.raw != nil && t.reduced.Stride(0) == 1
	if direct && t.reduced.Inner() == t.count {
		for i := range acc {
			acc[i] = f.row(acc[i], 0, t.raw[off:][:t.count])
			off += step
		}
		return
	}
	limit := reduceBlock
	if direct {
		limit = t.count
	}
	for i := range acc {
		a := acc[i]
		var c kit.Cursor
		for pos := 0; pos < t.count; {
			n := t.reduced.Run(&c, min(limit, t.count-pos))
			a = f.row(a, pos, t.elements(buf, off+c.Off[0], t.reduced.Stride(0), n))
			t.reduced.Advance(&c, n)
			pos += n
		}
		acc[i] = a
		off += step
	}
}

// rowsFolder is a folder that folds several rows into a row of accumulators at
// once, which saves loads and stores of those.
type rowsFolder[S scalar, A any] interface {
	col4(acc []A, x0, x1, x2, x3 []S)
}

// cols folds neighbouring outputs together.
func (t *reduceTask[S, A]) cols(f folder[S, A], acc []A, off int, buf []S) {
	f4, ok := f.(rowsFolder[S, A])
	ok = ok && t.raw != nil && t.kept.Stride(0) == 1
	step := t.reduced.Stride(0)
	var c kit.Cursor
	for pos := 0; pos < t.count; {
		if ok && t.reduced.Run(&c, t.count-pos) >= 4 {
			x := t.raw[off+c.Off[0]:]
			f4.col4(acc, x, x[step:], x[2*step:], x[3*step:])
			t.reduced.Advance(&c, 4)
			pos += 4
			continue
		}
		f.col(acc, pos, t.elements(buf, off+c.Off[0], t.kept.Stride(0), len(acc)))
		t.reduced.Advance(&c, 1)
		pos++
	}
}

// elements returns n elements of the input, which are stride apart from off on,
// side by side.
func (t *reduceTask[S, A]) elements(buf []S, off, stride, n int) []S {
	if t.raw == nil {
		t.fold.load(buf[:n], t.in, off, stride)
		return buf[:n]
	}
	if stride == 1 {
		return t.raw[off:][:n]
	}
	for i := range buf[:n] {
		buf[i] = t.raw[off]
		off += stride
	}
	return buf[:n]
}

// eachCol is the col of a folder that has nothing better.
func eachCol[S scalar, A any](f folder[S, A], acc []A, pos int, x []S) {
	for i := range acc {
		acc[i] = f.row(acc[i], pos, x[i:i+1])
	}
}

// numbers is what folders of numbers share.
type numbers[C kit.Number] struct{}

func (numbers[C]) load(dst []C, src *tensor.Tensor, off, stride int) {
	kit.LoadStrided(dst, src, off, stride)
}

// values is what folders share whose accumulators are the results.
type values[C kit.Number] struct{ numbers[C] }

func (values[C]) finish([]C, int) {}

func (values[C]) emit(t *reduceTask[C, C], off [2]int, acc []C, _ []C) {
	kit.StoreStrided(t.outs[0], off[0], t.kept.Stride(1), acc)
}

// roundF16 rounds v to float16.
func roundF16(v float32) float32 { return tensor.ToFloat16(v).Float32() }

// roundBF16 rounds v to bfloat16.
func roundBF16(v float32) float32 { return tensor.ToBFloat16(v).Float32() }
