package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/kernels/internal/kit/fft"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// FFTR2C is aten::_fft_r2c: the discrete Fourier transform of real numbers along
// the listed dimensions. Of the last one the output holds the first n/2+1 numbers
// or, unless onesided, all. It is not scaled (normalization 0), or by 1/sqrt(N) (1)
// or 1/N (2), where N numbers make one. Input and output are float32 and complex64
// or float64 and complex128.
var FFTR2C = runtime.Kernels{
	{Schema: "aten::_fft_r2c.out(Tensor self, int[] dim, int normalization, bool onesided, *, Tensor(a!) out) -> Tensor(a!)", Run: fftR2COut},
}

// FFTC2R is aten::_fft_c2r: the inverse transform along the listed dimensions to
// real numbers, last_dim_size along the last one; see FFTR2C.
var FFTC2R = runtime.Kernels{
	{Schema: "aten::_fft_c2r.out(Tensor self, int[] dim, int normalization, SymInt last_dim_size, *, Tensor(a!) out) -> Tensor(a!)", Run: fftC2ROut},
}

// fftDims are the dimensions of a transform.
type fftDims struct {
	dims [tensor.MaxRank]int
	n    int
}

func fftDimsOf(name string, t *tensor.Tensor, list []int64) (f fftDims, err error) {
	ax, err := reduceDims(t, list, false)
	if err != nil {
		return f, err
	}
	if len(list) == 0 || t.Rank() == 0 || ax.count == 0 {
		return f, errs.InvalidArgument.Errorf("%s: no elements to transform: input %v, dim %v", name, t, list)
	}
	for i, d := range list {
		if d < 0 {
			d += int64(t.Rank())
		}
		f.dims[i] = int(d)
	}
	f.n = len(list)
	return f, nil
}

func (f *fftDims) last() int { return f.dims[f.n-1] }

// scale returns the factor of a normalization over the elements of t.
func (f *fftDims) scale(name string, t *tensor.Tensor, normalization int) (float64, error) {
	n := 1.0
	for _, d := range f.dims[:f.n] {
		n *= float64(t.Shape()[d])
	}
	switch normalization {
	case 0:
		return 1, nil
	case 1:
		return 1 / math.Sqrt(n), nil
	case 2:
		return 1 / n, nil
	}
	return 0, errs.InvalidArgument.Errorf("%s: normalization is %d, want 0, 1 or 2", name, normalization)
}

func fftR2COut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	const name = "_fft_r2c"
	in, onesided, out := args.Tensor(0), args.Bool(3), args.Tensor(4)
	if err := checkComplexOf(name, in, out); err != nil {
		return err
	}
	dims, err := fftDimsOf(name, in, args.Ints(1))
	if err != nil {
		return err
	}
	scale, err := dims.scale(name, in, args.Int(2))
	if err != nil {
		return err
	}
	shape := kit.ShapeOf(in.Shape())
	if onesided {
		shape.Dims()[dims.last()] = in.Shape()[dims.last()]/2 + 1
	}
	if err := kit.Resize(out, shape.Dims()); err != nil {
		return err
	}
	if in.DType() == tensor.F32 {
		return fftR2C[float32](ctx, in, out, &dims, scale, onesided)
	}
	return fftR2C[float64](ctx, in, out, &dims, scale, onesided)
}

func fftC2ROut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	const name = "_fft_c2r"
	in, size, out := args.Tensor(0), args.Int(3), args.Tensor(4)
	if err := checkComplexOf(name, out, in); err != nil {
		return err
	}
	dims, err := fftDimsOf(name, in, args.Ints(1))
	if err != nil {
		return err
	}
	shape := kit.ShapeOf(in.Shape())
	if size < 1 || in.Shape()[dims.last()] < size/2+1 {
		return errs.InvalidArgument.Errorf("%s: input %v has not the spectrum of %d numbers along dimension %d", name, in, size, dims.last())
	}
	shape.Dims()[dims.last()] = size
	if err := kit.Resize(out, shape.Dims()); err != nil {
		return err
	}
	scale, err := dims.scale(name, out, args.Int(2))
	if err != nil {
		return err
	}
	if out.DType() == tensor.F32 {
		return fftC2R[float32](ctx, in, out, &dims, scale)
	}
	return fftC2R[float64](ctx, in, out, &dims, scale)
}

// checkComplexOf returns an error unless re is float32 or float64 and co the
// complex type of two such.
func checkComplexOf(name string, re, co *tensor.Tensor) error {
	r, c := re.DType(), co.DType()
	if r == tensor.F32 && c == tensor.C64 || r == tensor.F64 && c == tensor.C128 {
		return nil
	}
	return errs.InvalidArgument.Errorf("%s: want float32 and complex64 or float64 and complex128, not %v and %v", name, r, c)
}

func fftR2C[T kit.Float](ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor, dims *fftDims, scale float64, onesided bool) error {
	if out.Numel() == 0 {
		return nil
	}
	t := runtime.State[fftTask[T]](ctx)
	t.onesided = onesided
	re := fftOperand[T]{tensor.Raw[T](in), in.Strides()}
	co := fftOperand[T]{complexElements[T](out), out.Strides()}
	if err := t.along(ctx, dims.n-1, dims.last(), in.Shape(), co, re, fftForwardReal, T(scale)); err != nil {
		return err
	}
	for i, d := range dims.dims[:dims.n-1] {
		if err := t.along(ctx, i, d, out.Shape(), co, co, fftForward, 1); err != nil {
			return err
		}
	}
	return nil
}

func fftC2R[T kit.Float](ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor, dims *fftDims, scale float64) error {
	if out.Numel() == 0 {
		return nil
	}
	t := runtime.State[fftTask[T]](ctx)
	co := fftOperand[T]{complexElements[T](in), in.Strides()}
	if dims.n > 1 {
		// The input must stay as it is: the first dimension goes to scratch memory.
		temp, err := runtime.Temp[T](ctx, 2*in.Numel())
		if err != nil {
			return err
		}
		scratch := fftOperand[T]{temp, in.Strides()}
		for i, d := range dims.dims[:dims.n-1] {
			if err := t.along(ctx, i, d, in.Shape(), scratch, co, fftInverse, 1); err != nil {
				return err
			}
			co = scratch
		}
	}
	re := fftOperand[T]{tensor.Raw[T](out), out.Strides()}
	return t.along(ctx, dims.n-1, dims.last(), out.Shape(), re, co, fftInverseReal, T(scale))
}

// complexElements returns the elements of a complex tensor as pairs of T.
func complexElements[T kit.Float](t *tensor.Tensor) []T { return tensor.Cast[T](t.Bytes()) }

// fftOperand is what a transform reads or writes: real numbers or pairs of real
// and imaginary parts.
type fftOperand[T kit.Float] struct {
	data    []T
	strides []int // in numbers
}

type fftKind uint8

const (
	fftForward     fftKind = iota // complex to complex
	fftInverse                    // complex to complex
	fftForwardReal                // real to complex
	fftInverseReal                // complex to real
)

// fftTask transforms the lines along a dimension.
type fftTask[T kit.Float] struct {
	plans    [tensor.MaxRank]fftPlan[T]
	plan     *fftPlan[T] // of the dimension at hand
	lines    kit.Nest    // operands: dst, src
	dst, src fftOperand[T]
	dim      int
	scale    T
	onesided bool // of a real line's spectrum the first half is stored only
}

// fftPlan is kept from one call to the next.
type fftPlan[T kit.Float] struct {
	kind    fftKind
	n       int
	complex *fft.Plan[T]
	real    *fft.RealPlan[T]
	work    []fftWork[T] // one for each worker
}

type fftWork[T kit.Float] struct {
	scratch *fft.Work[T]
	x       []fft.Complex[T]
	re      []T
}

// prepare makes the plan for n numbers, unless it is that already.
func (p *fftPlan[T]) prepare(ctx *runtime.KernelRuntimeContext, kind fftKind, n int) error {
	threads := ctx.Threads()
	if p.kind == kind && p.n == n && len(p.work) >= threads {
		return nil
	}
	// A length with a large prime factor is transformed in up to 4n numbers, for
	// which the plan and each thread have an array of 16 bytes each.
	if err := ctx.Charge(int64(n)*64*int64(1+threads), "plan of a Fourier transform"); err != nil {
		return err
	}
	*p = fftPlan[T]{kind: kind, n: n, work: make([]fftWork[T], threads)}
	if kind == fftForward || kind == fftInverse {
		p.complex = fft.NewPlan[T](n)
		for i := range p.work {
			p.work[i] = fftWork[T]{scratch: p.complex.NewWork(), x: make([]fft.Complex[T], n)}
		}
		return nil
	}
	p.real = fft.NewRealPlan[T](n)
	for i := range p.work {
		p.work[i] = fftWork[T]{scratch: p.real.NewWork(), x: make([]fft.Complex[T], p.real.Len()), re: make([]T, n)}
	}
	return nil
}

// along transforms along dimension dim, for which it keeps the plan in a slot. The
// other dimensions, and that one in real numbers, are as in shape.
func (t *fftTask[T]) along(ctx *runtime.KernelRuntimeContext, slot, dim int, shape []int, dst, src fftOperand[T], kind fftKind, scale T) error {
	n := shape[dim]
	t.plan = &t.plans[slot]
	if err := t.plan.prepare(ctx, kind, n); err != nil {
		return err
	}
	t.dst, t.src, t.dim, t.scale = dst, src, dim, scale
	t.lines.Begin(2)
	for d, size := range shape {
		if d != dim {
			t.lines.Dim(size, [kit.MaxOperands]int{dst.strides[d], src.strides[d]})
		}
	}
	ctx.Parallel(t.lines.Numel(), 1+softmaxGrain/n, t)
	return nil
}

// Run transforms the lines lo to hi.
func (t *fftTask[T]) Run(worker, lo, hi int) {
	w := &t.plan.work[worker]
	dstStep, srcStep := t.dst.strides[t.dim], t.src.strides[t.dim]
	var c kit.Cursor
	t.lines.Seek(&c, lo)
	for ; lo < hi; lo++ {
		dst, src := c.Off[0], c.Off[1]
		switch t.plan.kind {
		case fftForward:
			loadComplexLine(w.x, t.src.data, src, srcStep)
			t.plan.complex.Forward(w.x, w.scratch)
			storeComplexLine(t.dst.data, dst, dstStep, w.x, t.scale)
		case fftInverse:
			loadComplexLine(w.x, t.src.data, src, srcStep)
			t.plan.complex.Inverse(w.x, w.scratch)
			storeComplexLine(t.dst.data, dst, dstStep, w.x, t.scale)
		case fftForwardReal:
			for i := range w.re {
				w.re[i] = t.src.data[src+i*srcStep]
			}
			t.plan.real.Forward(w.x, w.re, w.scratch)
			t.storeSpectrum(dst, dstStep, w.x)
		case fftInverseReal:
			loadComplexLine(w.x[:t.plan.n/2+1], t.src.data, src, srcStep)
			t.plan.real.Inverse(w.re, w.x, w.scratch)
			for i, v := range w.re {
				t.dst.data[dst+i*dstStep] = v * t.scale
			}
		}
		t.lines.Advance(&c, 1)
	}
}

// storeSpectrum stores the spectrum of real numbers: the half in x, and what
// follows from it if the output takes all.
func (t *fftTask[T]) storeSpectrum(off, step int, x []fft.Complex[T]) {
	n := t.plan.n
	storeComplexLine(t.dst.data, off, step, x[:n/2+1], t.scale)
	if t.onesided {
		return
	}
	for k := n/2 + 1; k < n; k++ {
		to, from := 2*(off+k*step), 2*(off+(n-k)*step)
		t.dst.data[to], t.dst.data[to+1] = t.dst.data[from], -t.dst.data[from+1]
	}
}

func loadComplexLine[T kit.Float](x []fft.Complex[T], src []T, off, step int) {
	for i := range x {
		j := 2 * (off + i*step)
		x[i] = fft.Complex[T]{Re: src[j], Im: src[j+1]}
	}
}

func storeComplexLine[T kit.Float](dst []T, off, step int, x []fft.Complex[T], scale T) {
	for i, v := range x {
		j := 2 * (off + i*step)
		dst[j], dst[j+1] = v.Re*scale, v.Im*scale
	}
}
