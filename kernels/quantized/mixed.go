package quantized

import (
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// MixedMM is quantized_decomposed::mixed_mm: input [m, k] times int8 weight [k, n]
// with a scale for each row of the weight. The input, scales and output are of
// one type, float32, float16 or bfloat16; sums are in float32. Zero points are not
// supported, as in ExecuTorch.
var MixedMM = runtime.Kernels{
	{
		Schema: "quantized_decomposed::mixed_mm.out(Tensor input, Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    mixedMMOut,
	},
}

// MixedLinear is quantized_decomposed::mixed_linear: input [m, k] times the
// transpose of int8 weight [n, k] with scales [n] or, for groups along k, [n,
// groups]. The input and scales are of one type, float32, float16 or bfloat16; the
// output is of one of these or float64, and of dtype if that is given; sums are in
// float32. Zero points are not supported, as in ExecuTorch.
var MixedLinear = runtime.Kernels{
	{
		Schema: "quantized_decomposed::mixed_linear.out(Tensor input, Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, ScalarType? dtype=None, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    mixedLinearOut,
	},
}

// mixedOperands are the operands of a product as the loops take them: row-major,
// the floating-point ones in float32.
type mixedOperands struct {
	x, scales []float32
	w         []int8
	m, k, n   int
	out       *tensor.Tensor
}

func mixedMMOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	x, w, scales, out := args.Tensor(0), args.Tensor(1), args.Tensor(2), args.Tensor(4)
	if err := checkMixed("mixed_mm", x, w, scales, args.Tensor(3)); err != nil {
		return err
	}
	if out.DType() != x.DType() {
		return errs.InvalidArgument.Errorf("mixed_mm: output is %v, input %v", out.DType(), x.DType())
	}
	k, n := w.Shape()[0], w.Shape()[1]
	if x.Shape()[1] != k || scales.Rank() != 1 || scales.Shape()[0] != k {
		return errs.InvalidArgument.Errorf("mixed_mm: shapes do not fit: input %v, weight %v, scales %v", x, w, scales)
	}
	t := runtime.State[mixedMMTask](ctx)
	if err := t.load(ctx, x, w, scales, out, n); err != nil {
		return err
	}
	if out.Numel() == 0 {
		return nil
	}
	t.blocks = (n + spanLen - 1) / spanLen
	if need := ctx.Threads() * spanLen; len(t.bufs) < need {
		t.bufs = make([]float32, need)
	}
	ctx.Parallel(t.m*t.blocks, 1+grain/max(1, k*min(n, spanLen)), t)
	return nil
}

func mixedLinearOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	x, w, scales, out := args.Tensor(0), args.Tensor(1), args.Tensor(2), args.Tensor(5)
	if err := checkMixed("mixed_linear", x, w, scales, args.Tensor(3)); err != nil {
		return err
	}
	if dtype, ok := args.DType(4); ok && out.DType() != dtype || !out.DType().IsFloat() {
		return errs.InvalidArgument.Errorf("mixed_linear: output is %v, want dtype or a floating-point type", out.DType())
	}
	n, k := w.Shape()[0], w.Shape()[1]
	if x.Shape()[1] != k || scales.Rank() != 1 && scales.Rank() != 2 || scales.Shape()[0] != n {
		return errs.InvalidArgument.Errorf("mixed_linear: shapes do not fit: input %v, weight %v, scales %v", x, w, scales)
	}
	t := runtime.State[mixedLinearTask](ctx)
	t.group = k
	if scales.Rank() == 2 {
		groups := scales.Shape()[1]
		if groups == 0 {
			return errs.InvalidArgument.Errorf("mixed_linear: scales are %v: no groups", scales)
		}
		// The last group may be shorter.
		t.group = (k + groups - 1) / groups
	}
	if err := t.load(ctx, x, w, scales, out, n); err != nil {
		return err
	}
	if out.Numel() == 0 {
		return nil
	}
	var err error
	if t.rows, err = runtime.Temp[float32](ctx, ctx.Threads()*k); err != nil {
		return err
	}
	ctx.Parallel(n, 1+grain/max(1, k*t.m), t)
	return nil
}

func checkMixed(name string, x, w, scales, zeros *tensor.Tensor) error {
	switch {
	case zeros != nil:
		return errs.InvalidArgument.Errorf("%s: zero points are not supported", name)
	case x.Rank() != 2 || w.Rank() != 2:
		return errs.InvalidArgument.Errorf("%s: input is %v and weight %v, want two dimensions each", name, x, w)
	case w.DType() != tensor.I8:
		return errs.InvalidArgument.Errorf("%s: weight is %v, want int8", name, w.DType())
	case x.DType() != tensor.F32 && !x.DType().IsReducedFloat():
		return kit.Unsupported(name, x)
	case scales.DType() != x.DType():
		return errs.InvalidArgument.Errorf("%s: scales are %v, input %v", name, scales.DType(), x.DType())
	}
	return nil
}

// load resizes out to [m, n] and reads the operands.
func (o *mixedOperands) load(ctx *runtime.KernelRuntimeContext, x, w, scales, out *tensor.Tensor, n int) (err error) {
	o.m, o.k, o.n, o.out = x.Shape()[0], x.Shape()[1], n, out
	if err := kit.Resize(out, []int{o.m, n}); err != nil {
		return err
	}
	if o.x, err = kit.Dense[float32](ctx, x); err != nil {
		return err
	}
	if o.scales, err = kit.Dense[float32](ctx, scales); err != nil {
		return err
	}
	o.w, err = kit.Dense[int8](ctx, w)
	return err
}

// mixedMMTask computes blocks of spanLen columns of a row of the output.
type mixedMMTask struct {
	mixedOperands
	blocks int // in a row
	bufs   []float32
}

// Run computes the blocks lo to hi.
func (t *mixedMMTask) Run(worker, lo, hi int) {
	buf := t.bufs[worker*spanLen:][:spanLen]
	for ; lo < hi; lo++ {
		i, col := lo/t.blocks, lo%t.blocks*spanLen
		acc := buf[:min(spanLen, t.n-col)]
		clear(acc)
		for k, x := range t.x[i*t.k:][:t.k] {
			scale := t.scales[k]
			for j, w := range t.w[k*t.n+col:][:len(acc)] {
				acc[j] += float32(float32(x*float32(w)) * scale)
			}
		}
		s := t.out.Strides()
		kit.StoreStrided(t.out, i*s[0]+col*s[1], s[1], acc)
	}
}

// mixedLinearTask computes columns of the output.
type mixedLinearTask struct {
	mixedOperands
	group int       // how many elements of a row have one scale
	rows  []float32 // a row of the weight for each worker
}

// Run computes the columns lo to hi.
func (t *mixedLinearTask) Run(worker, lo, hi int) {
	row := t.rows[worker*t.k:][:t.k]
	s := t.out.Strides()
	stride := len(t.scales) / t.n
	for ; lo < hi; lo++ {
		for i, w := range t.w[lo*t.k:][:t.k] {
			row[i] = float32(w)
		}
		scales := t.scales[lo*stride:][:stride]
		for i := range t.m {
			v := [1]float32{t.dot(t.x[i*t.k:][:t.k], row, scales)}
			kit.Store(t.out, i*s[0]+lo*s[1], v[:])
		}
	}
}

// dot returns the sum over the groups of the products of x and w, scaled.
func (t *mixedLinearTask) dot(x, w, scales []float32) float32 {
	var sum float32
	for g := 0; len(x) > 0; g++ {
		n := min(t.group, len(x))
		sum += float32(kit.Dot(x[:n], w[:n]) * scales[g])
		x, w = x[n:], w[n:]
	}
	return sum
}
