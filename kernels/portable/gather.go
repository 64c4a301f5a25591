package portable

import (
	"sync/atomic"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Gather is aten::gather: out has index's shape, and each element is self's at
// the same place but for dimension dim, where index says which.
var Gather = runtime.Kernels{
	{Schema: "aten::gather.out(Tensor self, int dim, Tensor index, *, bool sparse_grad=False, Tensor(a!) out) -> Tensor(a!)", Run: gatherOut},
}

func gatherOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, index, out := args.Tensor(0), args.Tensor(2), args.Tensor(4)
	if err := checkType("out", out, self.DType()); err != nil {
		return err
	}
	if err := kit.Resize(out, index.Shape()); err != nil {
		return err
	}
	t := runtime.State[elementwiseIndex](ctx)
	if err := t.begin(self, args.Int(1), index); err != nil {
		return err
	}
	t.dst, t.src, t.scatters = out, self, false
	return t.do(ctx, index, out.Strides(), gatherGrain)
}

// gatherGrain is how many elements a thread looks up at least.
const gatherGrain = 16 << 10

// elementwiseIndex is the loop of gather and the scatters: for each element of
// index one element is moved, whose place in one of the two tensors differs in
// dimension dim from index's own: index says where it is.
type elementwiseIndex struct {
	dst, src, index *tensor.Tensor
	scatters        bool // places in dst are looked up, not those in src
	add             bool

	axis
	base *tensor.Tensor // the one of dst and src whose places are looked up
	// The operands are index, base without dimension dim, and the other tensor.
	nest kit.Nest

	// bad is 1 if an index was out of range.
	bad atomic.Int32
}

// begin checks that index goes with base, the tensor to look up in.
func (t *elementwiseIndex) begin(base *tensor.Tensor, dim int, index *tensor.Tensor) error {
	dim, err := kit.Dim(dim, base.Rank())
	if err != nil {
		return err
	}
	if err := checkIndexType(index); err != nil {
		return err
	}
	if err := checkInside(index, base, dim); err != nil {
		return err
	}
	t.base, t.index, t.axis = base, index, axisOf(base, dim)
	t.add = false
	t.bad.Store(0)
	return nil
}

// checkInside returns an error unless index is no larger than t in each dimension
// but skip. A scalar counts as a vector of one element.
func checkInside(index, t *tensor.Tensor, skip int) error {
	if index.Numel() == 0 {
		return nil
	}
	if max(index.Rank(), 1) != max(t.Rank(), 1) {
		return errs.InvalidArgument.Errorf("index %v and %v differ in the number of dimensions", index, t)
	}
	for d, size := range index.Shape() {
		if d != skip && size > sizeAt(t, d) {
			return errs.InvalidArgument.Errorf("index %v is larger than %v in dimension %d", index, t, d)
		}
	}
	return nil
}

// do runs the loop. strides are those of the tensor that is not base.
func (t *elementwiseIndex) do(ctx *runtime.KernelRuntimeContext, index *tensor.Tensor, strides []int, grain int) error {
	if index.Numel() == 0 {
		return nil
	}
	t.nest.Begin(3)
	for _, d := range index.DimOrder() {
		s := [kit.MaxOperands]int{index.Strides()[d], 0, 0}
		if int(d) != t.dim && t.base.Rank() > 0 {
			s[1] = t.base.Strides()[d]
		}
		if len(strides) > 0 {
			s[2] = strides[d]
		}
		t.nest.Dim(index.Shape()[d], s)
	}
	ctx.Parallel(index.Numel(), grain, t)
	if t.bad.Load() != 0 {
		return t.findBad()
	}
	return nil
}

// findBad returns the error for the first index in memory that is out of range.
func (t *elementwiseIndex) findBad() error {
	var buf [256]int64
	for off := 0; off < t.index.Numel(); off += len(buf) {
		part := buf[:min(len(buf), t.index.Numel()-off)]
		kit.Load(part, t.index, off)
		for _, i := range part {
			if _, ok := t.at(i); !ok {
				return t.outOfRange(i)
			}
		}
	}
	return errs.InvalidArgument.Errorf("an index was out of range in dimension %d", t.dim)
}

// Run moves the elements lo <= i < hi of index, up to the first that is out of
// range.
func (t *elementwiseIndex) Run(_, lo, hi int) {
	var (
		index       [256]int64
		base, other [256]int
		c           kit.Cursor
	)
	t.nest.Seek(&c, lo)
	for lo < hi {
		n := t.nest.Run(&c, min(hi-lo, len(index)))
		kit.LoadStrided(index[:n], t.index, c.Off[0], t.nest.Stride(0))
		for k, i := range index[:n] {
			if uint64(i) >= uint64(t.size) {
				t.bad.Store(1)
				return
			}
			base[k] = c.Off[1] + k*t.nest.Stride(1) + int(i)*t.stride
			other[k] = c.Off[2] + k*t.nest.Stride(2)
		}
		switch {
		case !t.scatters:
			kit.MoveAt(t.dst, other[:n], t.src, base[:n])
		case t.add:
			kit.AddAt(t.dst, base[:n], t.src, other[:n])
		default:
			kit.MoveAt(t.dst, base[:n], t.src, other[:n])
		}
		t.nest.Advance(&c, n)
		lo += n
	}
}
