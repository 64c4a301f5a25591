package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// CdistForward is aten::_cdist_forward: the distance, in the p-norm, of each row
// of x1 [..., P, M] from each row of x2 [..., R, M]; the leading dimensions are
// broadcast and the output is [..., P, R]. All tensors have one floating-point
// type; half types are rounded after each operation.
var CdistForward = runtime.Kernels{
	{Schema: "aten::_cdist_forward.out(Tensor x1, Tensor x2, float p, int? compute_mode, *, Tensor(a!) out) -> Tensor(a!)", Run: cdistForwardOut},
}

// PdistForward is aten::_pdist_forward: the distances of the rows of self [N, M]
// from those after them, N*(N-1)/2 in all; see CdistForward.
var PdistForward = runtime.Kernels{
	{Schema: "aten::_pdist_forward.out(Tensor self, float p=2., *, Tensor(a!) out) -> Tensor(a!)", Run: pdistForwardOut},
}

func cdistForwardOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	x1, x2, p, out := args.Tensor(0), args.Tensor(1), args.Float(2), args.Tensor(4)
	if err := checkFloats("_cdist_forward", x1, [7]*tensor.Tensor{x2, out}); err != nil {
		return err
	}
	r1, r2 := x1.Rank(), x2.Rank()
	if r1 < 2 || r2 < 2 || x1.Size(-1) != x2.Size(-1) {
		return errs.InvalidArgument.Errorf("_cdist_forward: want rows of one length, x1 is %v, x2 %v", x1, x2)
	}
	if !(p >= 0) {
		return errs.InvalidArgument.Errorf("_cdist_forward: p = %v is negative", p)
	}
	if mode, given := args.OptInt(3); given && (mode < 0 || mode > 2) {
		return errs.InvalidArgument.Errorf("_cdist_forward: compute_mode is %d, want 0, 1 or 2", mode)
	}
	shape := kit.ShapeOf(x1.Shape()[:r1-2])
	if err := shape.Broadcast(x2.Shape()[:r2-2]); err != nil {
		return err
	}
	shape.Append(x1.Size(-2))
	shape.Append(x2.Size(-2))
	if err := kit.ResizeApart(out, shape.Dims(), x1, x2); err != nil {
		return err
	}
	return distances(ctx, x1, x2, out, p)
}

func pdistForwardOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, p, out := args.Tensor(0), args.Float(1), args.Tensor(2)
	if err := checkFloats("_pdist_forward", in, [7]*tensor.Tensor{out}); err != nil {
		return err
	}
	if in.Rank() != 2 {
		return errs.InvalidArgument.Errorf("_pdist_forward: input %v is not a matrix", in)
	}
	if !(p >= 0) {
		return errs.InvalidArgument.Errorf("_pdist_forward: p = %v is negative", p)
	}
	n := in.Size(0)
	if n > math.MaxInt32 {
		return errs.InvalidArgument.Errorf("_pdist_forward: input %v has too many rows", in)
	}
	pairs := int64(n) * int64(n-1) / 2
	if pairs > math.MaxInt {
		return errs.InvalidArgument.Errorf("_pdist_forward: input %v has too many rows", in)
	}
	var shape kit.Shape
	shape.Append(int(pairs))
	if err := kit.ResizeApart(out, shape.Dims(), in); err != nil {
		return err
	}
	return distances(ctx, in, nil, out, p)
}

// distances fills out with the distances of the rows of x1 and x2, or with those
// of the pairs of rows of x1 where x2 is nil.
func distances(ctx *runtime.KernelRuntimeContext, x1, x2, out *tensor.Tensor, p float64) error {
	if out.Numel() == 0 {
		return nil
	}
	switch out.DType() {
	case tensor.F16:
		return distancesAs(ctx, x1, x2, out, float64(roundF16(float32(p))), normOf(p), roundF16)
	case tensor.BF16:
		return distancesAs(ctx, x1, x2, out, float64(roundBF16(float32(p))), normOf(p), roundBF16)
	case tensor.F32:
		return distancesAs[float32](ctx, x1, x2, out, float64(float32(p)), normOf(p), nil)
	default:
		return distancesAs[float64](ctx, x1, x2, out, p, normOf(p), nil)
	}
}

// norm is how a distance is made of the differences.
type norm uint8

const (
	normZero norm = iota // how many differ
	normOne              // their sum
	normTwo              // the root of the sum of their squares
	normInf              // the largest
	normP                // the p-th root of the sum of their p-th powers
)

func normOf(p float64) norm {
	switch {
	case p == 0:
		return normZero
	case p == 1:
		return normOne
	case p == 2:
		return normTwo
	case math.IsInf(p, 1):
		return normInf
	}
	return normP
}

// distanceTask computes in type C, from elements in row-major order. Its
// iterations are rows of x1.
type distanceTask[C kit.Float] struct {
	x1, x2, out []C
	rows        kit.Nest // operands: x1, x2
	m           int      // the length of a row
	r           int      // the number of rows of x2
	pairs       bool     // of x1's rows with those after them
	p           float64
	norm        norm
	round       func(C) C // rounds to half types, else nil
}

func distancesAs[C kit.Float](ctx *runtime.KernelRuntimeContext, x1, x2, out *tensor.Tensor, p float64, norm norm, round func(C) C) (err error) {
	t := runtime.State[distanceTask[C]](ctx)
	t.p, t.norm, t.round, t.m = p, norm, round, x1.Size(-1)
	if t.x1, err = rowMajor[C](ctx, x1); err != nil {
		return err
	}
	t.pairs = x2 == nil
	t.rows.Begin(2)
	if t.pairs {
		t.x2, t.r = t.x1, x1.Size(0)
		t.rows.Dim(t.r, [kit.MaxOperands]int{t.m, 0})
	} else {
		if t.x2, err = rowMajor[C](ctx, x2); err != nil {
			return err
		}
		t.r = x2.Size(-2)
		t.planRows(x1, x2, out)
	}
	t.out = rowMajorElements[C](out)
	direct := t.out != nil
	if !direct {
		if t.out, err = runtime.Temp[C](ctx, out.Numel()); err != nil {
			return err
		}
	}
	ctx.Parallel(t.rows.Numel(), 1+reduceGrain/max(t.r, 1)/max(t.m, 1), t)
	if !direct {
		var to kit.RowMajor
		to.Begin(out)
		kit.StoreRowMajor(&to, 0, t.out)
	}
	return nil
}

// planRows makes the nest over the rows of out.
func (t *distanceTask[C]) planRows(x1, x2, out *tensor.Tensor) {
	batch := out.Rank() - 2
	var strides [tensor.MaxRank][kit.MaxOperands]int
	for k, x := range [2]*tensor.Tensor{x1, x2} {
		step := x.Size(-2) * t.m
		for d := x.Rank() - 3; d >= 0; d-- {
			if x.Shape()[d] > 1 {
				strides[batch-(x.Rank()-2)+d][k] = step
			}
			step *= x.Shape()[d]
		}
	}
	for d, size := range out.Shape()[:batch] {
		t.rows.Dim(size, strides[d])
	}
	t.rows.Dim(x1.Size(-2), [kit.MaxOperands]int{t.m, 0})
}

// Run computes the distances of the rows lo to hi.
func (t *distanceTask[C]) Run(_, lo, hi int) {
	var c kit.Cursor
	t.rows.Seek(&c, lo)
	for row := lo; row < hi; row++ {
		first, to := 0, row*t.r
		if t.pairs {
			first = row + 1
			to = row*t.r - row*(row+1)/2
		}
		a := t.x1[c.Off[0]:][:t.m]
		b := t.x2[c.Off[1]+first*t.m:]
		dst := t.out[to:][:t.r-first]
		for i := range dst {
			dst[i] = t.distance(a, b[i*t.m:][:t.m])
		}
		t.rows.Advance(&c, 1)
	}
}

func (t *distanceTask[C]) distance(a, b []C) C {
	if t.round != nil {
		return t.roundedDistance(a, b)
	}
	b = b[:len(a)]
	var sum C
	switch t.norm {
	case normZero:
		for i, v := range a {
			if v-b[i] != 0 {
				sum++
			}
		}
	case normOne:
		return absoluteDifference(a, b)
	case normTwo:
		return C(math.Sqrt(float64(squaredDifference(a, b))))
	case normInf:
		for i, v := range a {
			if d := abs(v - b[i]); sum < d {
				sum = d
			}
		}
	case normP:
		for i, v := range a {
			sum += C(math.Pow(float64(abs(v-b[i])), t.p))
		}
		return C(math.Pow(float64(sum), 1/t.p))
	}
	return sum
}

// roundedDistance is distance for half types.
func (t *distanceTask[C]) roundedDistance(a, b []C) C {
	var sum C
	for i, v := range a {
		d := abs(t.round(v - b[i]))
		switch t.norm {
		case normZero:
			if d == 0 {
				continue
			}
			d = 1
		case normTwo:
			d = t.round(d * d)
		case normP:
			d = t.round(C(math.Pow(float64(d), t.p)))
		case normInf:
			if sum < d {
				sum = d
			}
			continue
		}
		sum = t.round(sum + d)
	}
	switch t.norm {
	case normTwo:
		sum = t.round(C(math.Sqrt(float64(sum))))
	case normP:
		sum = t.round(C(math.Pow(float64(sum), 1/t.p)))
	}
	return sum
}

func abs[C kit.Float](v C) C { return C(math.Abs(float64(v))) }

// absoluteDifference returns the sum of |a[i] - b[i]|.
func absoluteDifference[C kit.Float](a, b []C) C {
	if a, ok := any(a).([]float32); ok {
		b := any(b).([]float32)[:len(a)]
		var s0, s1 float32
		i := 0
		for ; i+2 <= len(a); i += 2 {
			a2, b2 := a[i:i+2:i+2], b[i:i+2:i+2]
			s0 += math.Float32frombits(math.Float32bits(a2[0]-b2[0]) &^ (1 << 31))
			s1 += math.Float32frombits(math.Float32bits(a2[1]-b2[1]) &^ (1 << 31))
		}
		if i < len(a) {
			s0 += math.Float32frombits(math.Float32bits(a[i]-b[i]) &^ (1 << 31))
		}
		return C(s0 + s1)
	}
	var sum C
	for i, v := range a {
		sum += abs(v - b[i])
	}
	return sum
}

// squaredDifference returns the sum of (a[i] - b[i])², added up in four
// interleaved parts.
func squaredDifference[C kit.Float](a, b []C) C {
	b = b[:len(a)]
	var s0, s1, s2, s3 C
	i := 0
	for ; i+4 <= len(a); i += 4 {
		a4, b4 := a[i:i+4:i+4], b[i:i+4:i+4]
		d0, d1, d2, d3 := a4[0]-b4[0], a4[1]-b4[1], a4[2]-b4[2], a4[3]-b4[3]
		s0 += d0 * d0
		s1 += d1 * d1
		s2 += d2 * d2
		s3 += d3 * d3
	}
	for ; i < len(a); i++ {
		d := a[i] - b[i]
		s0 += d * d
	}
	return (s0 + s1) + (s2 + s3)
}
