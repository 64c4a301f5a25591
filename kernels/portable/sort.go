package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Topk is aten::topk: the k largest or smallest elements along a dimension and
// where they are, the first one first. NaN is larger than every number; of equal
// elements the one with the lower index comes first.
var Topk = runtime.Kernels{
	{Schema: "aten::topk.values(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Run: topkValues},
}

// topkGrain is how many elements a thread looks through at least.
const topkGrain = 16 << 10

func topkValues(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, k, values, indices := args.Tensor(0), args.Int(1), args.Tensor(5), args.Tensor(6)
	if d := self.DType(); !isRealOrBool(d) && !d.IsInt() {
		return unsupported(d)
	}
	if err := checkType("values", values, self.DType()); err != nil {
		return err
	}
	if err := checkType("indices", indices, tensor.I64); err != nil {
		return err
	}
	dim, err := kit.Dim(args.Int(2), self.Rank())
	if err != nil {
		return err
	}
	size := sizeAt(self, dim)
	if k < 0 || k > size {
		return errs.InvalidArgument.Errorf("the %d top elements of %v along dimension %d, which has %d", k, self, dim, size)
	}
	shape := kit.ShapeOf(self.Shape())
	if self.Rank() > 0 {
		shape.Dims()[dim] = k
	}
	if err := kit.Resize(values, shape.Dims()); err != nil {
		return err
	}
	if err := kit.Resize(indices, shape.Dims()); err != nil {
		return err
	}
	if values.Numel() == 0 {
		return nil
	}
	t := runtime.State[topkTask](ctx)
	t.self, t.values, t.indices, t.largest = self, values, indices, args.Bool(3)
	return t.do(ctx, dim)
}

// topkTask is the loop over the lines of a tensor along one dimension.
type topkTask struct {
	self, values, indices *tensor.Tensor
	largest               bool
	k, size               int      // elements of a line, in the result and before
	strides               [3]int   // of a line in self, values and indices
	lines                 kit.Nest // where lines begin in them
	keys                  []uint64 // k for each worker
	found                 []int64
}

func (t *topkTask) do(ctx *runtime.KernelRuntimeContext, dim int) error {
	t.k, t.size, t.strides = 1, 1, [3]int{}
	t.lines.Begin(3)
	for d, size := range t.self.Shape() {
		s := [kit.MaxOperands]int{t.self.Strides()[d], t.values.Strides()[d], t.indices.Strides()[d]}
		if d == dim {
			t.k, t.size, t.strides = t.values.Shape()[d], size, [3]int(s[:3])
			continue
		}
		t.lines.Dim(size, s)
	}
	var err error
	if t.keys, err = runtime.Temp[uint64](ctx, ctx.Threads()*t.k); err != nil {
		return err
	}
	if t.found, err = runtime.Temp[int64](ctx, ctx.Threads()*t.k); err != nil {
		return err
	}
	ctx.Parallel(t.lines.Numel(), topkGrain/t.size, t)
	return nil
}

// Run does the lines lo <= i < hi.
func (t *topkTask) Run(worker, lo, hi int) {
	h := bestOf{
		keys:  t.keys[worker*t.k:][:t.k],
		index: t.found[worker*t.k:][:t.k],
	}
	var c kit.Cursor
	t.lines.Seek(&c, lo)
	for ; lo < hi; lo++ {
		h.n = 0
		t.search(&h, c.Off[0])
		h.sort()
		t.store(&h, &c)
		t.lines.Advance(&c, 1)
	}
}

// search offers all elements of the line that begins at off.
func (t *topkTask) search(h *bestOf, off int) {
	var keys [256]uint64
	for i := 0; i < t.size; i += len(keys) {
		part := keys[:min(len(keys), t.size-i)]
		loadKeys(part, t.self, off+i*t.strides[0], t.strides[0], t.largest)
		for k, key := range part {
			if h.n < len(h.keys) || key > h.keys[0] {
				h.offer(key, int64(i+k))
			}
		}
	}
}

// store writes a line of the results.
func (t *topkTask) store(h *bestOf, c *kit.Cursor) {
	var to, from [256]int
	indices := tensor.Raw[int64](t.indices)
	for i := 0; i < t.k; i += len(to) {
		n := min(len(to), t.k-i)
		for k, index := range h.index[i : i+n] {
			to[k] = c.Off[1] + (i+k)*t.strides[1]
			from[k] = c.Off[0] + int(index)*t.strides[0]
			indices[c.Off[2]+(i+k)*t.strides[2]] = index
		}
		kit.MoveAt(t.values, to[:n], t.self, from[:n])
	}
}

// loadKeys converts elements to keys that are in the order of the elements, or
// with largest unset in the opposite one.
func loadKeys(dst []uint64, t *tensor.Tensor, off, stride int, largest bool) {
	switch {
	case t.DType().IsFloat():
		var buf [256]float64
		kit.LoadStrided(buf[:len(dst)], t, off, stride)
		for i, f := range buf[:len(dst)] {
			dst[i] = floatKey(f)
		}
	case t.DType() == tensor.U64:
		kit.LoadStrided(dst, t, off, stride)
	default:
		var buf [256]int64
		kit.LoadStrided(buf[:len(dst)], t, off, stride)
		for i, v := range buf[:len(dst)] {
			dst[i] = uint64(v) ^ 1<<63
		}
	}
	if !largest {
		for i := range dst {
			dst[i] = ^dst[i]
		}
	}
}

// floatKey returns a number in the order of floats: both zeros are equal, and so
// are all NaNs, which come last.
func floatKey(f float64) uint64 {
	switch {
	case f != f:
		return math.MaxUint64
	case f == 0:
		f = 0 // not -0
	}
	b := math.Float64bits(f)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// bestOf keeps the elements with the greatest keys of those it is offered, in a
// heap with the worst at its root.
type bestOf struct {
	keys  []uint64
	index []int64
	n     int
}

// worse reports whether element i comes behind element j.
func (h *bestOf) worse(i, j int) bool {
	return h.keys[i] < h.keys[j] || h.keys[i] == h.keys[j] && h.index[i] > h.index[j]
}

func (h *bestOf) swap(i, j int) {
	h.keys[i], h.keys[j] = h.keys[j], h.keys[i]
	h.index[i], h.index[j] = h.index[j], h.index[i]
}

// offer adds an element; where there is no room it replaces the worst.
func (h *bestOf) offer(key uint64, index int64) {
	if h.n == len(h.keys) {
		h.keys[0], h.index[0] = key, index
		h.down(0, h.n)
		return
	}
	i := h.n
	h.keys[i], h.index[i] = key, index
	h.n++
	for i > 0 && h.worse(i, (i-1)/2) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

// down moves element i of a heap of n to where it belongs.
func (h *bestOf) down(i, n int) {
	for {
		child := 2*i + 1
		if child >= n {
			return
		}
		if child+1 < n && h.worse(child+1, child) {
			child++
		}
		if !h.worse(child, i) {
			return
		}
		h.swap(i, child)
		i = child
	}
}

// sort brings the elements into order, the best first.
func (h *bestOf) sort() {
	for n := h.n - 1; n > 0; n-- {
		h.swap(0, n)
		h.down(0, n)
	}
}
