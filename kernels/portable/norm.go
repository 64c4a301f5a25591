package portable

import (
	"math"
	"slices"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// NativeLayerNorm is aten::native_layer_norm: each slice of the trailing
// dimensions normalized_shape is brought to mean 0 and variance 1, scaled by weight
// and shifted by bias. The other outputs are the slices' means and
// 1/sqrt(variance + eps). All tensors have one floating-point type.
var NativeLayerNorm = runtime.Kernels{
	{Schema: "aten::native_layer_norm.out(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))", Run: nativeLayerNormOut},
}

// NativeGroupNorm is aten::native_group_norm: the channels of an input [N, C, ...]
// are divided into groups, of which each is normalized like a slice of
// NativeLayerNorm; weight and bias have a value per channel. Means and
// 1/sqrt(variance + eps) have the shape [N, group].
var NativeGroupNorm = runtime.Kernels{
	{Schema: "aten::native_group_norm.out(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))", Run: nativeGroupNormOut},
}

// normKernels lists the normalisations.
func normKernels() []runtime.Kernels {
	return []runtime.Kernels{
		NativeLayerNorm, NativeGroupNorm,
		NativeBatchNormLegit, NativeBatchNormLegitNoTraining,
	}
}

// rowNorm is a call of a normalisation over rows: of rows consecutive parts, in
// row-major order, of size elements each.
type rowNorm struct {
	name             string
	in, weight, bias *tensor.Tensor
	out, mean, rstd  *tensor.Tensor
	rows, size       int
	groups           int // the rows r that have r%groups in common share weights
	segment          int // neighbours in a row that share a weight
	eps              float64
	statsSize        kit.Shape
}

func nativeLayerNormOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	n := rowNorm{
		name: "native_layer_norm", in: args.Tensor(0), weight: args.Tensor(2), bias: args.Tensor(3),
		out: args.Tensor(5), mean: args.Tensor(6), rstd: args.Tensor(7),
		rows: 1, size: 1, groups: 1, segment: 1, eps: args.Float(4),
	}
	normalized := args.Ints(1)
	lead := n.in.Rank() - len(normalized)
	if len(normalized) == 0 || lead < 0 {
		return errs.InvalidArgument.Errorf("%s: normalized_shape %v does not fit input %v", n.name, normalized, n.in)
	}
	for d, size := range n.in.Shape() {
		switch {
		case d < lead:
			n.rows *= size
			n.statsSize.Append(size)
		case int64(size) != normalized[d-lead]:
			return errs.InvalidArgument.Errorf("%s: normalized_shape %v does not fit input %v", n.name, normalized, n.in)
		default:
			n.size *= size
			n.statsSize.Append(1)
		}
	}
	for _, p := range [2]*tensor.Tensor{n.weight, n.bias} {
		if p != nil && !slices.Equal(p.Shape(), n.in.Shape()[lead:]) {
			return errs.InvalidArgument.Errorf("%s: weight and bias want the shape %v, one is %v", n.name, normalized, p)
		}
	}
	// ExecuTorch rounds eps to the tensors' type.
	switch n.in.DType() {
	case tensor.F16:
		n.eps = float64(roundF16(float32(n.eps)))
	case tensor.BF16:
		n.eps = float64(roundBF16(float32(n.eps)))
	case tensor.F32:
		n.eps = float64(float32(n.eps))
	}
	return n.run(ctx, layerMomentsF64)
}

func nativeGroupNormOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	n := rowNorm{
		name: "native_group_norm", in: args.Tensor(0), weight: args.Tensor(1), bias: args.Tensor(2),
		out: args.Tensor(8), mean: args.Tensor(9), rstd: args.Tensor(10),
		groups: args.Int(6), eps: args.Float(7), segment: 1,
	}
	shape := n.in.Shape()
	if len(shape) < 2 || shape[0] != args.Int(3) || shape[1] != args.Int(4) {
		return errs.InvalidArgument.Errorf("%s: input %v has not N=%d and C=%d", n.name, n.in, args.Int(3), args.Int(4))
	}
	channels := shape[1]
	for _, size := range shape[2:] {
		n.segment *= size
	}
	if n.segment != args.Int(5) && shape[0]*channels > 0 {
		return errs.InvalidArgument.Errorf("%s: input %v has not HxW=%d", n.name, n.in, args.Int(5))
	}
	if n.groups <= 0 || channels%n.groups != 0 {
		return errs.InvalidArgument.Errorf("%s: %d channels cannot be divided into %d groups", n.name, channels, n.groups)
	}
	for _, p := range [2]*tensor.Tensor{n.weight, n.bias} {
		if err := checkChannels(n.name, p, channels); err != nil {
			return err
		}
	}
	n.rows, n.size = shape[0]*n.groups, channels/n.groups*n.segment
	n.statsSize.Append(shape[0])
	n.statsSize.Append(n.groups)
	return n.run(ctx, groupMomentsF64)
}

// checkChannels returns an error unless p is nil or has a value per channel.
func checkChannels(name string, p *tensor.Tensor, channels int) error {
	if p != nil && (p.Rank() != 1 || p.Shape()[0] != channels) {
		return errs.InvalidArgument.Errorf("%s: parameters want the shape [%d], one is %v", name, channels, p)
	}
	return nil
}

// checkFloats returns an error unless in is floating-point and all others that
// are given have its type.
func checkFloats(name string, in *tensor.Tensor, others [7]*tensor.Tensor) error {
	if !in.DType().IsFloat() {
		return kit.Unsupported(name, in)
	}
	for _, t := range others {
		if t != nil && t.DType() != in.DType() {
			return errs.InvalidArgument.Errorf("%s: all tensors want one type: input is %v, another %v", name, in.DType(), t.DType())
		}
	}
	return nil
}

// run computes the call; moments is for float64.
func (n *rowNorm) run(ctx *runtime.KernelRuntimeContext, moments func(x []float64, eps float64) (mean, rstd float64)) error {
	if err := checkFloats(n.name, n.in, [7]*tensor.Tensor{n.weight, n.bias, n.out, n.mean, n.rstd}); err != nil {
		return err
	}
	if err := kit.ResizeApart(n.out, n.in.Shape(), n.weight, n.bias); err != nil {
		return err
	}
	for _, stats := range [2]*tensor.Tensor{n.mean, n.rstd} {
		if err := kit.ResizeApart(stats, n.statsSize.Dims(), n.in, n.weight, n.bias, n.out); err != nil {
			return err
		}
	}
	if n.in.DType() == tensor.F64 {
		return normalizeRows(ctx, n, moments)
	}
	return normalizeRows(ctx, n, momentsF32)
}

// rowNormTask computes rows in type C.
type rowNormTask[C kit.Float] struct {
	rowNorm
	moments      func(x []C, eps float64) (mean, rstd C)
	src, dst     []C // the elements of in and out, nil if of another type or order
	from, to     kit.RowMajor
	w, b         []C // of all groups
	means, rstds []C // of all rows
	lines        []C // a row for each worker, where src or dst is nil
}

func normalizeRows[C kit.Float](ctx *runtime.KernelRuntimeContext, n *rowNorm, moments func(x []C, eps float64) (mean, rstd C)) (err error) {
	t := runtime.State[rowNormTask[C]](ctx)
	t.rowNorm, t.moments = *n, moments
	if t.rows == 0 {
		return nil
	}
	if t.means, err = runtime.Temp[C](ctx, t.rows); err != nil {
		return err
	}
	if t.rstds, err = runtime.Temp[C](ctx, t.rows); err != nil {
		return err
	}
	if t.size > 0 {
		if err := t.normalize(ctx); err != nil {
			return err
		}
	} else {
		fillSpan(t.means, 0)
		fillSpan(t.rstds, C(math.NaN()))
	}
	t.from.Begin(t.mean)
	kit.StoreRowMajor(&t.from, 0, t.means)
	t.from.Begin(t.rstd)
	kit.StoreRowMajor(&t.from, 0, t.rstds)
	return nil
}

func (t *rowNormTask[C]) normalize(ctx *runtime.KernelRuntimeContext) (err error) {
	weights := t.groups * t.size / t.segment
	if t.w, err = rowMajorOr[C](ctx, t.weight, weights, 1); err != nil {
		return err
	}
	if t.b, err = rowMajorOr[C](ctx, t.bias, weights, 0); err != nil {
		return err
	}
	t.src, t.dst = rowMajorElements[C](t.in), rowMajorElements[C](t.out)
	if t.src == nil || t.dst == nil {
		t.from.Begin(t.in)
		t.to.Begin(t.out)
		if t.lines, err = runtime.Temp[C](ctx, t.size*ctx.Threads()); err != nil {
			return err
		}
	}
	ctx.Parallel(t.rows, 1+reduceGrain/2/t.size, t)
	return nil
}

// rowMajorElements returns t's elements if they are of type C and lie in
// row-major order, else nil.
func rowMajorElements[C kit.Float](t *tensor.Tensor) []C {
	if t.DType() != tensor.DTypeOf[C]() || !t.IsContiguous() {
		return nil
	}
	return tensor.Raw[C](t)
}

// rowMajorOr returns the elements of t as C in row-major order, or n times def
// where t is nil. They are t's own if possible, so they must not be written.
func rowMajorOr[C kit.Float](ctx *runtime.KernelRuntimeContext, t *tensor.Tensor, n int, def C) ([]C, error) {
	if t != nil {
		return rowMajor[C](ctx, t)
	}
	p, err := runtime.Temp[C](ctx, n)
	if err != nil {
		return nil, err
	}
	fillSpan(p, def)
	return p, nil
}

// rowMajor returns the elements of t as C in row-major order. They are t's own if
// possible, so they must not be written.
func rowMajor[C kit.Float](ctx *runtime.KernelRuntimeContext, t *tensor.Tensor) ([]C, error) {
	if p := rowMajorElements[C](t); p != nil {
		return p, nil
	}
	p, err := runtime.Temp[C](ctx, t.Numel())
	if err != nil {
		return nil, err
	}
	var r kit.RowMajor
	r.Begin(t)
	kit.LoadRowMajor(p, &r, 0)
	return p, nil
}

func fillSpan[C any](dst []C, v C) {
	for i := range dst {
		dst[i] = v
	}
}

// Run computes the rows lo to hi.
func (t *rowNormTask[C]) Run(worker, lo, hi int) {
	direct := t.src != nil && t.dst != nil
	perRow := t.size / t.segment
	for r := lo; r < hi; r++ {
		var x, y []C
		if direct {
			x, y = t.src[r*t.size:][:t.size], t.dst[r*t.size:][:t.size]
		} else {
			x = t.lines[worker*t.size:][:t.size]
			y = x
			kit.LoadRowMajor(x, &t.from, r*t.size)
		}
		mean, rstd := t.moments(x, t.eps)
		t.means[r], t.rstds[r] = mean, rstd
		first := r % t.groups * perRow
		w, b := t.w[first:][:perRow], t.b[first:][:perRow]
		if t.segment == 1 {
			affine(y, x, mean, rstd, w, b)
		} else {
			for c := range w {
				lo, hi := c*t.segment, (c+1)*t.segment
				affineConst(y[lo:hi], x[lo:hi], mean, rstd*w[c], b[c])
			}
		}
		if !direct {
			kit.StoreRowMajor(&t.to, r*t.size, y)
		}
	}
}

// affine sets y[i] to (x[i]-mean)*scale*w[i] + b[i].
func affine[C kit.Float](y, x []C, mean, scale C, w, b []C) {
	n := len(x)
	y, w, b = y[:n], w[:n], b[:n]
	i := 0
	for ; i+4 <= n; i += 4 {
		x4, y4, w4, b4 := x[i:i+4:i+4], y[i:i+4:i+4], w[i:i+4:i+4], b[i:i+4:i+4]
		y4[0] = (x4[0]-mean)*scale*w4[0] + b4[0]
		y4[1] = (x4[1]-mean)*scale*w4[1] + b4[1]
		y4[2] = (x4[2]-mean)*scale*w4[2] + b4[2]
		y4[3] = (x4[3]-mean)*scale*w4[3] + b4[3]
	}
	for ; i < n; i++ {
		y[i] = (x[i]-mean)*scale*w[i] + b[i]
	}
}

// affineConst sets y[i] to (x[i]-mean)*scale + b.
func affineConst[C kit.Float](y, x []C, mean, scale, b C) {
	n := len(x)
	y = y[:n]
	i := 0
	for ; i+4 <= n; i += 4 {
		x4, y4 := x[i:i+4:i+4], y[i:i+4:i+4]
		y4[0] = (x4[0]-mean)*scale + b
		y4[1] = (x4[1]-mean)*scale + b
		y4[2] = (x4[2]-mean)*scale + b
		y4[3] = (x4[3]-mean)*scale + b
	}
	for ; i < n; i++ {
		y[i] = (x[i]-mean)*scale + b
	}
}

// momentsF32 returns the mean of x and 1/sqrt(variance + eps). The sums of the
// distances from a first estimate of the mean correct it and the variance for what
// it was rounded.
func momentsF32(x []float32, eps float64) (mean, rstd float32) {
	n := float32(len(x))
	mean = sumRow(0, x) / n
	var s0, s1, s2, s3, q0, q1, q2, q3 float32
	i := 0
	for ; i+4 <= len(x); i += 4 {
		x4 := x[i : i+4 : i+4]
		d0, d1, d2, d3 := x4[0]-mean, x4[1]-mean, x4[2]-mean, x4[3]-mean
		s0, q0 = s0+d0, q0+d0*d0
		s1, q1 = s1+d1, q1+d1*d1
		s2, q2 = s2+d2, q2+d2*d2
		s3, q3 = s3+d3, q3+d3*d3
	}
	for ; i < len(x); i++ {
		d := x[i] - mean
		s0, q0 = s0+d, q0+d*d
	}
	shift := ((s0 + s1) + (s2 + s3)) / n
	variance := float64((q0+q1)+(q2+q3))/float64(n) - float64(shift)*float64(shift)
	return mean + shift, float32(1 / math.Sqrt(variance+eps))
}

// floatSums adds up x and its squares in float32, one after the other, as
// ExecuTorch does for all types.
func floatSums[C kit.Float](sum, squares float32, x []C) (float32, float32) {
	for _, v := range x {
		sum = float32(float64(sum) + float64(v))
		squares = float32(float64(squares) + float64(float32(v))*float64(v))
	}
	return sum, squares
}

// layerMomentsF64 gives ExecuTorch's moments for float64: rows of less than 256
// elements have the precision of float32, and of E[x²] - E[x]².
func layerMomentsF64(x []float64, eps float64) (mean, rstd float64) {
	if len(x) < 256 {
		sum, squares := floatSums(0, 0, x)
		n := float32(len(x))
		m := sum / n
		variance := squares/n - float32(m*m)
		return float64(m), 1 / float64(float32(math.Sqrt(float64(variance+float32(eps)))))
	}
	n := float64(len(x))
	mean = sumRow(0, x) / n
	return mean, 1 / math.Sqrt(squaredDistance(x, mean)/n+eps)
}

// groupMomentsF64 gives ExecuTorch's moments for float64, from sums in float32.
func groupMomentsF64(x []float64, eps float64) (mean, rstd float64) {
	sum, squares := floatSums(0, 0, x)
	n := float64(len(x))
	mean = float64(sum) / n
	return mean, 1 / math.Sqrt(float64(squares)/n-mean*mean+eps)
}
