package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// NativeBatchNormLegit is aten::_native_batch_norm_legit: with running statistics
// for inference only, see NativeBatchNormLegitNoTraining, and without them with
// the mean and variance that each channel has in the input, which are stored in
// save_mean and, as 1/sqrt(variance + eps), in save_invstd.
var NativeBatchNormLegit = runtime.Kernels{
	{Schema: "aten::_native_batch_norm_legit.no_stats_out(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps, *, Tensor(a!) out, Tensor(b!) save_mean, Tensor(c!) save_invstd) -> (Tensor(a!), Tensor(b!), Tensor(c!))", Run: batchNormNoStatsOut},
	{Schema: "aten::_native_batch_norm_legit.out(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, float eps, *, Tensor(d!) out, Tensor(e!) save_mean, Tensor(f!) save_invstd) -> (Tensor(d!), Tensor(e!), Tensor(f!))", Run: batchNormLegitOut},
}

// NativeBatchNormLegitNoTraining is aten::_native_batch_norm_legit_no_training:
//
//	out[n, c, ...] = (input[n, c, ...] - running_mean[c]) / sqrt(running_var[c] + eps) * weight[c] + bias[c]
//
// All tensors have one floating-point type; half types are rounded after each
// operation. The other outputs become empty.
var NativeBatchNormLegitNoTraining = runtime.Kernels{
	{Schema: "aten::_native_batch_norm_legit_no_training.out(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))", Run: batchNormNoTrainingOut},
}

// batchNorm is a call of a batch normalisation.
type batchNorm struct {
	in, weight, bias          *tensor.Tensor
	runningMean, runningVar   *tensor.Tensor // nil: those of the input
	out, saveMean, saveInvstd *tensor.Tensor
	eps                       float64
	channels                  int
}

func batchNormNoTrainingOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	b := batchNorm{
		in: args.Tensor(0), weight: args.Tensor(1), bias: args.Tensor(2),
		runningMean: args.Tensor(3), runningVar: args.Tensor(4), eps: args.Float(6),
		out: args.Tensor(7), saveMean: args.Tensor(8), saveInvstd: args.Tensor(9),
	}
	return b.run(ctx)
}

func batchNormLegitOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	if args.Bool(5) {
		return errs.InvalidArgument.Errorf("batch norm: training is not supported")
	}
	b := batchNorm{
		in: args.Tensor(0), weight: args.Tensor(1), bias: args.Tensor(2),
		runningMean: args.Tensor(3), runningVar: args.Tensor(4), eps: args.Float(7),
		out: args.Tensor(8), saveMean: args.Tensor(9), saveInvstd: args.Tensor(10),
	}
	return b.run(ctx)
}

func batchNormNoStatsOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	b := batchNorm{
		in: args.Tensor(0), weight: args.Tensor(1), bias: args.Tensor(2), eps: args.Float(5),
		out: args.Tensor(6), saveMean: args.Tensor(7), saveInvstd: args.Tensor(8),
	}
	return b.run(ctx)
}

func (b *batchNorm) run(ctx *runtime.KernelRuntimeContext) error {
	if err := b.check(); err != nil {
		return err
	}
	if err := kit.ResizeApart(b.out, b.in.Shape(), b.weight, b.bias, b.runningMean, b.runningVar); err != nil {
		return err
	}
	var saved kit.Shape
	if b.runningMean == nil {
		saved.Append(b.channels)
	} else {
		saved.Append(0)
	}
	for _, stats := range [2]*tensor.Tensor{b.saveMean, b.saveInvstd} {
		if err := kit.ResizeApart(stats, saved.Dims(), b.in, b.weight, b.bias, b.runningMean, b.runningVar, b.out); err != nil {
			return err
		}
	}
	switch b.in.DType() {
	case tensor.F16:
		return batchNormAs[float32](ctx, b, roundF16)
	case tensor.BF16:
		return batchNormAs[float32](ctx, b, roundBF16)
	case tensor.F32:
		return batchNormAs[float32](ctx, b, nil)
	default:
		return batchNormAs[float64](ctx, b, nil)
	}
}

func (b *batchNorm) check() error {
	const name = "batch norm"
	if b.in.Rank() < 2 {
		return errs.InvalidArgument.Errorf("%s: input %v has no channels", name, b.in)
	}
	b.channels = b.in.Shape()[1]
	for _, p := range [4]*tensor.Tensor{b.weight, b.bias, b.runningMean, b.runningVar} {
		if err := checkChannels(name, p, b.channels); err != nil {
			return err
		}
	}
	return checkFloats(name, b.in, [7]*tensor.Tensor{b.weight, b.bias, b.runningMean, b.runningVar, b.out, b.saveMean, b.saveInvstd})
}

// batchNormTask computes elements in type C, numbered as they lie in the output's
// memory.
type batchNormTask[C kit.Float] struct {
	batchNorm
	src, dst     []C         // the elements of in and out, nil if of another type
	nest         kit.Nest    // operands: out, in, the channels
	round        func(v C) C // nil: C is the tensors' type
	mean, invstd []C         // of the channels
	w, b         []C         // of the channels
	stats        batchNormStats[C]
	bufs         []C // batchNormBlock for each worker
}

const batchNormBlock = 512

func batchNormAs[C kit.Float](ctx *runtime.KernelRuntimeContext, call *batchNorm, round func(C) C) (err error) {
	t := runtime.State[batchNormTask[C]](ctx)
	t.batchNorm, t.round = *call, round
	t.src, t.dst = nil, nil
	if round == nil {
		t.src, t.dst = tensor.Raw[C](t.in), tensor.Raw[C](t.out)
	}
	if need := ctx.Threads() * batchNormBlock; len(t.bufs) < need {
		t.bufs = make([]C, need)
	}
	if t.w, err = rowMajorOr[C](ctx, t.weight, t.channels, 1); err != nil {
		return err
	}
	if t.b, err = rowMajorOr[C](ctx, t.bias, t.channels, 0); err != nil {
		return err
	}
	if t.invstd, err = runtime.Temp[C](ctx, t.channels); err != nil {
		return err
	}
	if t.runningMean != nil {
		if t.mean, err = rowMajor[C](ctx, t.runningMean); err != nil {
			return err
		}
		kit.Load(t.invstd, t.runningVar, 0)
		for c, v := range t.invstd {
			t.invstd[c] = C(t.rounded(1 / math.Sqrt(float64(v)+t.eps)))
		}
	} else {
		if t.mean, err = runtime.Temp[C](ctx, t.channels); err != nil {
			return err
		}
		t.stats.run(ctx, t)
		kit.Store(t.saveMean, 0, t.mean)
		kit.Store(t.saveInvstd, 0, t.invstd)
	}
	t.plan()
	if t.nest.Numel() > 0 {
		ctx.Parallel(t.nest.Numel(), reduceGrain/2, t)
	}
	return nil
}

// rounded rounds v to a half type of the tensors.
func (t *batchNormTask[C]) rounded(v float64) float64 {
	if t.round != nil {
		return float64(t.round(C(v)))
	}
	return v
}

func (t *batchNormTask[C]) plan() {
	t.nest.Begin(3)
	for _, d := range t.out.DimOrder() {
		s := [kit.MaxOperands]int{t.out.Strides()[d], t.in.Strides()[d]}
		if d == 1 {
			s[2] = 1
		}
		t.nest.Dim(t.out.Shape()[d], s)
	}
}

// Run computes the elements lo to hi.
func (t *batchNormTask[C]) Run(worker, lo, hi int) {
	buf := t.bufs[worker*batchNormBlock:][:batchNormBlock]
	direct := t.src != nil && t.nest.Stride(0) == 1 && t.nest.Stride(1) == 1
	limit := batchNormBlock
	if direct {
		limit = hi - lo
	}
	var c kit.Cursor
	t.nest.Seek(&c, lo)
	for lo < hi {
		n := t.nest.Run(&c, min(hi-lo, limit))
		if direct {
			t.span(t.dst[c.Off[0]:][:n], t.src[c.Off[1]:][:n], c.Off[2])
		} else {
			x := buf[:n]
			kit.LoadStrided(x, t.in, c.Off[1], t.nest.Stride(1))
			t.span(x, x, c.Off[2])
			kit.StoreStrided(t.out, c.Off[0], t.nest.Stride(0), x)
		}
		t.nest.Advance(&c, n)
		lo += n
	}
}

// span computes neighbours of which the first belongs to channel c. They are of
// one channel, or of one each.
func (t *batchNormTask[C]) span(y, x []C, c int) {
	step := t.nest.Stride(2)
	switch {
	case t.round != nil:
		for i, v := range x {
			v = t.round(t.round(v-t.mean[c]) * t.invstd[c])
			y[i] = t.round(v*t.w[c]) + t.b[c]
			c += step
		}
	case step == 0:
		affineConst(y, x, t.mean[c], t.invstd[c]*t.w[c], t.b[c])
	default:
		mean, invstd, w, b := t.mean[c:][:len(x)], t.invstd[c:][:len(x)], t.w[c:][:len(x)], t.b[c:][:len(x)]
		for i, v := range x {
			y[i] = (v-mean[i])*invstd[i]*w[i] + b[i]
		}
	}
}

// batchNormStats computes the statistics of channels.
type batchNormStats[C kit.Float] struct {
	of   *batchNormTask[C]
	nest kit.Nest // a channel of one batch of in
}

func (s *batchNormStats[C]) run(ctx *runtime.KernelRuntimeContext, of *batchNormTask[C]) {
	s.of = of
	s.nest.Begin(1)
	for d, size := range of.in.Shape() {
		if d > 1 {
			s.nest.Dim(size, [kit.MaxOperands]int{of.in.Strides()[d]})
		}
	}
	ctx.Parallel(of.channels, 1+reduceGrain/2/max(of.in.Shape()[0]*s.nest.Numel(), 1), s)
}

// Run computes mean and 1/sqrt(variance + eps) of the channels lo to hi from the
// sums of the elements and of their squares. For float32 they are added up in
// float64; for other types in float32 by batches and over these in the tensors'
// type, as in ExecuTorch.
func (s *batchNormStats[C]) Run(worker, lo, hi int) {
	t := s.of
	buf := t.bufs[worker*batchNormBlock:][:batchNormBlock]
	batches := t.in.Shape()[0]
	n := t.rounded(float64(batches * s.nest.Numel()))
	for ch := lo; ch < hi; ch++ {
		var sum, squares float64
		for b := range batches {
			bs, bq := s.sums(b*t.in.Strides()[0]+ch*t.in.Strides()[1], buf)
			sum = t.rounded(sum + t.rounded(bs))
			squares = t.rounded(squares + t.rounded(bq))
		}
		mean := t.rounded(sum / n)
		variance := t.rounded(t.rounded(squares/n) - t.rounded(mean*mean))
		t.mean[ch] = C(mean)
		t.invstd[ch] = C(t.rounded(1 / math.Sqrt(variance+t.eps)))
	}
}

// sums adds up the elements of a channel, and their squares, of the batch that
// begins at off.
func (s *batchNormStats[C]) sums(off int, buf []C) (sum, squares float64) {
	t := s.of
	var fsum, fsquares float32
	var c kit.Cursor
	for pos := 0; pos < s.nest.Numel(); {
		x := buf[:s.nest.Run(&c, min(len(buf), s.nest.Numel()-pos))]
		if t.src != nil && s.nest.Stride(0) == 1 {
			x = t.src[off+c.Off[0]:][:len(x)]
		} else {
			kit.LoadStrided(x, t.in, off+c.Off[0], s.nest.Stride(0))
		}
		if t.in.DType() == tensor.F32 {
			for _, v := range x {
				sum += float64(v)
				squares += float64(v) * float64(v)
			}
		} else {
			fsum, fsquares = floatSums(fsum, fsquares, x)
		}
		s.nest.Advance(&c, len(x))
		pos += len(x)
	}
	return sum + float64(fsum), squares + float64(fsquares)
}
