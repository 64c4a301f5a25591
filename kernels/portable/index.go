package portable

import (
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// The operators of this file look up whole slices. The indices become a table of
// offsets into the tensor that is indexed, and kit.Copy copies a slice for each
// entry. All of them are checked before anything is written.

func indexKernels() []runtime.Kernels {
	return []runtime.Kernels{
		Embedding, IndexSelect, Index, IndexPut,
		Gather, Scatter, ScatterAdd,
		MaskedSelect, MaskedScatter, Nonzero, RepeatInterleave, Topk,
	}
}

// Embedding is aten::embedding: the rows of a matrix that the indices name.
var Embedding = runtime.Kernels{
	{Schema: "aten::embedding.out(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False, *, Tensor(a!) out) -> Tensor(a!)", Run: embeddingOut},
}

// IndexSelect is aten::index_select: the slices of self along a dimension that the
// indices name.
var IndexSelect = runtime.Kernels{
	{Schema: "aten::index_select.out(Tensor self, int dim, Tensor index, *, Tensor(a!) out) -> Tensor(a!)", Run: indexSelectOut},
}

// Index is aten::index: self[indices] with NumPy's rules. An index is a tensor of
// int32 or int64, negative numbers counting from the end, or a mask of bool or
// uint8, which stands for the indices of its true elements.
var Index = runtime.Kernels{
	{Schema: "aten::index.Tensor_out(Tensor self, Tensor?[] indices, *, Tensor(a!) out) -> Tensor(a!)", Run: indexOut},
}

// IndexPut is aten::index_put: self with values at self[indices], or added there.
// Indices are as in Index; where one occurs twice, the last value stays or all are
// added in order. index_put_ changes self.
var IndexPut = runtime.Kernels{
	{Schema: "aten::index_put.out(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, *, Tensor(a!) out) -> Tensor(a!)", Run: indexPutOut},
	{Schema: "aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)", Run: indexPutInPlace},
}

// isIndex reports whether a tensor may hold indices.
func isIndex(t *tensor.Tensor) bool { return t.DType() == tensor.I64 || t.DType() == tensor.I32 }

// checkIndexType returns an error unless t may hold indices.
func checkIndexType(t *tensor.Tensor) error {
	if !isIndex(t) {
		return errs.InvalidArgument.Errorf("index is %v, want int32 or int64", t.DType())
	}
	return nil
}

// axis is a dimension that is indexed: its number, size and stride.
type axis struct {
	dim, size, stride int
	wrap              bool // negative indices count from the end
}

func axisOf(t *tensor.Tensor, dim int) axis {
	if t.Rank() == 0 {
		return axis{size: 1}
	}
	return axis{dim: dim, size: t.Shape()[dim], stride: t.Strides()[dim]}
}

// at returns the index that i stands for and whether there is one.
func (a *axis) at(i int64) (int64, bool) {
	if i < 0 && a.wrap {
		i += int64(a.size)
	}
	return i, uint64(i) < uint64(a.size)
}

func (a *axis) outOfRange(i int64) error {
	lo := 0
	if a.wrap {
		lo = -a.size
	}
	return errs.InvalidArgument.Errorf("index %d is out of range [%d, %d) in dimension %d", i, lo, a.size, a.dim)
}

// table holds an offset for each index of a shape, in row-major order.
type table struct {
	shape   kit.Shape
	offsets []int64
}

// newTable returns a table of zeros, in scratch memory.
func newTable(ctx *runtime.KernelRuntimeContext, shape []int) (t table, err error) {
	t.shape = kit.ShapeOf(shape)
	n, err := tensor.Numel(shape)
	if err != nil {
		return t, errs.InvalidArgument.Wrap(err)
	}
	t.offsets, err = runtime.Temp[int64](ctx, n)
	clear(t.offsets)
	return t, err
}

// add adds the offsets along an axis that index, broadcast to the table's shape,
// names.
func (t *table) add(index *tensor.Tensor, a axis) error {
	dims := t.shape.Dims()
	if !kit.BroadcastableTo(index.Shape(), dims) {
		return errs.InvalidArgument.Errorf("index %v has changed its shape: it is an output", index)
	}
	var nest kit.Nest
	nest.Begin(1)
	for d, size := range dims {
		nest.Dim(size, [kit.MaxOperands]int{kit.BroadcastStride(index, d, len(dims))})
	}
	var buf [256]int64
	var c kit.Cursor
	for rest := t.offsets; len(rest) > 0; {
		n := nest.Run(&c, min(len(rest), len(buf)))
		kit.LoadStrided(buf[:n], index, c.Off[0], nest.Stride(0))
		for k, i := range buf[:n] {
			at, ok := a.at(i)
			if !ok {
				return a.outOfRange(i)
			}
			rest[k] += at * int64(a.stride)
		}
		nest.Advance(&c, n)
		rest = rest[n:]
	}
	return nil
}

// addTrue adds the offsets of a mask's true elements, whose number is the size of
// the table's last dimension or 1. strides are those of the masked dimensions.
func (t *table) addTrue(ctx *runtime.KernelRuntimeContext, mask *tensor.Tensor, count int, strides []int) error {
	found, err := runtime.Temp[int64](ctx, count)
	if err != nil {
		return err
	}
	n := 0
	var nest kit.Nest
	nest.Begin(2)
	for d, size := range mask.Shape() {
		nest.Dim(size, [kit.MaxOperands]int{mask.Strides()[d], strides[d]})
	}
	var flags [256]uint8
	var c kit.Cursor
	for left := mask.Numel(); left > 0; {
		k := nest.Run(&c, min(left, len(flags)))
		kit.LoadTruth(flags[:k], mask, c.Off[0], nest.Stride(0))
		for i, f := range flags[:k] {
			// The mask may lie in memory that changes under us.
			if f != 0 && n < count {
				found[n] = int64(c.Off[1] + i*nest.Stride(1))
				n++
			}
		}
		nest.Advance(&c, k)
		left -= k
	}
	clear(found[n:])
	for i := range t.offsets {
		t.offsets[i] += found[i%count]
	}
	return nil
}

// countTrue returns how many elements of a mask are true.
func countTrue(mask *tensor.Tensor) int {
	n := 0
	var flags [256]uint8
	for off := 0; off < mask.Numel(); off += len(flags) {
		part := flags[:min(len(flags), mask.Numel()-off)]
		kit.LoadTruth(part, mask, off, 1)
		for _, f := range part {
			n += int(f)
		}
	}
	return n
}

// strided is how a table's entries lie in a tensor that is not indexed: stride
// apart, or at the offsets of a table of their own.
type strided struct {
	offsets []int64
	stride  int
}

// lay returns where the entries of a table of the given shape are in a tensor
// whose strides for them are given.
func lay(ctx *runtime.KernelRuntimeContext, shape, strides []int) (s strided, err error) {
	var nest kit.Nest
	nest.Begin(1)
	for d, size := range shape {
		nest.Dim(size, [kit.MaxOperands]int{strides[d]})
	}
	if nest.Inner() == nest.Numel() {
		return strided{stride: nest.Stride(0)}, nil
	}
	if s.offsets, err = runtime.Temp[int64](ctx, nest.Numel()); err != nil {
		return s, err
	}
	var c kit.Cursor
	for rest := s.offsets; len(rest) > 0; {
		n := nest.Run(&c, len(rest))
		for i := range n {
			rest[i] = int64(c.Off[0] + i*nest.Stride(0))
		}
		nest.Advance(&c, n)
		rest = rest[n:]
	}
	return s, nil
}

func embeddingOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	weight, indices, out := args.Tensor(0), args.Tensor(1), args.Tensor(5)
	if weight.Rank() != 2 || indices.Rank() == tensor.MaxRank {
		return errs.InvalidArgument.Errorf("weight %v is no matrix for indices %v", weight, indices)
	}
	if err := checkIndexType(indices); err != nil {
		return err
	}
	shape := kit.ShapeOf(indices.Shape())
	shape.Append(weight.Shape()[1])
	c, err := begin(ctx, out, weight, shape.Dims())
	if err != nil {
		return err
	}
	rows, err := newTable(ctx, indices.Shape())
	if err != nil {
		return err
	}
	if err := rows.add(indices, axisOf(weight, 0)); err != nil {
		return err
	}
	places, err := lay(ctx, indices.Shape(), out.Strides())
	if err != nil {
		return err
	}
	c.Table(len(rows.offsets), places.offsets, places.stride, rows.offsets, 0)
	c.Dim(weight.Shape()[1], out.Strides()[indices.Rank()], weight.Strides()[1])
	return c.Do(ctx)
}

func indexSelectOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, index, out := args.Tensor(0), args.Tensor(2), args.Tensor(3)
	dim, err := kit.Dim(args.Int(1), self.Rank())
	if err != nil {
		return err
	}
	if err := checkIndexType(index); err != nil {
		return err
	}
	if index.Rank() > 1 || self.Rank() == 0 && index.Numel() != 1 {
		return errs.InvalidArgument.Errorf("index %v does not select from %v", index, self)
	}
	shape := kit.ShapeOf(self.Shape())
	if self.Rank() > 0 {
		shape.Dims()[dim] = index.Numel()
	}
	c, err := begin(ctx, out, self, shape.Dims())
	if err != nil {
		return err
	}
	rows, err := newTable(ctx, index.Shape())
	if err != nil {
		return err
	}
	if err := rows.add(index, axisOf(self, dim)); err != nil {
		return err
	}
	c.Table(len(rows.offsets), nil, axisOf(out, dim).stride, rows.offsets, 0)
	for d, size := range self.Shape() {
		if d != dim {
			c.Dim(size, out.Strides()[d], self.Strides()[d])
		}
	}
	return c.Do(ctx)
}

// indexing is what a list of indices means for a tensor.
type indexing struct {
	self    *tensor.Tensor
	indices []*tensor.Tensor
	// table is the shape that the indices are broadcast to.
	table kit.Shape
	// result is the shape of self[indices], in which table begins at dimension at.
	result kit.Shape
	at     int
	// places maps self's dimensions that are not indexed to those of the result;
	// -1 stands for indexed ones.
	places [tensor.MaxRank]int
	any    bool                // there are indices
	counts [tensor.MaxRank]int // of the true elements, of masks
}

func isMask(t *tensor.Tensor) bool { return t.DType() == tensor.Bool || t.DType() == tensor.U8 }

// width returns how many dimensions an index stands for.
func width(index *tensor.Tensor) int {
	if index != nil && isMask(index) {
		return index.Rank()
	}
	return 1
}

// of works out what self[indices] is.
func (x *indexing) of(self *tensor.Tensor, indices []*tensor.Tensor) error {
	*x = indexing{self: self, indices: indices}
	dim, blocks, first := 0, 0, 0
	inBlock := false
	for i, index := range indices {
		w := width(index)
		if dim+w > self.Rank() {
			return errs.InvalidArgument.Errorf("%d indices are too many for %v", len(indices), self)
		}
		if index != nil {
			if err := x.take(i, index, dim); err != nil {
				return err
			}
			if !inBlock {
				blocks++
				if blocks == 1 {
					first = dim
				}
			}
			for d := dim; d < dim+w; d++ {
				x.places[d] = -1
			}
		}
		inBlock = index != nil
		dim += w
	}
	x.any = blocks > 0
	if blocks == 1 {
		x.at = first
	}
	return x.lay()
}

// take checks an index that begins at dimension dim and broadcasts the table with
// it.
func (x *indexing) take(i int, index *tensor.Tensor, dim int) error {
	if isIndex(index) {
		return x.table.Broadcast(index.Shape())
	}
	if !isMask(index) {
		return errs.InvalidArgument.Errorf("index is %v, want int32, int64, bool or uint8", index.DType())
	}
	if index.Rank() == 0 {
		return errs.InvalidArgument.Errorf("a mask needs a dimension")
	}
	for d, size := range index.Shape() {
		if size != x.self.Shape()[dim+d] {
			return errs.InvalidArgument.Errorf("mask %v does not fit %v from dimension %d on", index, x.self, dim)
		}
	}
	x.counts[i] = countTrue(index)
	return x.table.Broadcast([]int{x.counts[i]})
}

// lay works out the result's shape. The table takes the place of the indexed
// dimensions if they are neighbours, else it comes first.
func (x *indexing) lay() error {
	kept := 0
	for d := range x.self.Rank() {
		if x.places[d] >= 0 {
			kept++
		}
	}
	if kept+len(x.table.Dims()) > tensor.MaxRank {
		return errs.InvalidArgument.Errorf("%v indexed has more dimensions than there can be", x.self)
	}
	for d := range x.at {
		x.append(d)
	}
	for _, size := range x.table.Dims() {
		x.result.Append(size)
	}
	for d := x.at; d < x.self.Rank(); d++ {
		if x.places[d] >= 0 {
			x.append(d)
		}
	}
	return nil
}

// append makes dimension d of self the result's next.
func (x *indexing) append(d int) {
	x.places[d] = len(x.result.Dims())
	x.result.Append(x.self.Shape()[d])
}

// offsets returns the table of offsets into t, which has self's shape.
func (x *indexing) offsets(ctx *runtime.KernelRuntimeContext, t *tensor.Tensor) ([]int64, error) {
	tab, err := newTable(ctx, x.table.Dims())
	if err != nil {
		return nil, err
	}
	dim := 0
	for i, index := range x.indices {
		w := width(index)
		switch {
		case index == nil:
		case isMask(index):
			err = tab.addTrue(ctx, index, x.counts[i], t.Strides()[dim:dim+w])
		default:
			a := axisOf(t, dim)
			a.wrap = true
			err = tab.add(index, a)
		}
		if err != nil {
			return nil, err
		}
		dim += w
	}
	return tab.offsets, nil
}

func indexOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, out := args.Tensor(0), args.Tensor(2)
	var x indexing
	if err := x.of(self, args.Tensors(1)); err != nil {
		return err
	}
	if !x.any {
		return duplicate(ctx, out, self)
	}
	c, err := begin(ctx, out, self, x.result.Dims())
	if err != nil || out.Numel() == 0 {
		return err
	}
	from, err := x.offsets(ctx, self)
	if err != nil {
		return err
	}
	to, err := lay(ctx, x.table.Dims(), out.Strides()[x.at:])
	if err != nil {
		return err
	}
	c.Table(len(from), to.offsets, to.stride, from, 0)
	for d, size := range self.Shape() {
		if p := x.places[d]; p >= 0 {
			c.Dim(size, out.Strides()[p], self.Strides()[d])
		}
	}
	return c.Do(ctx)
}

func indexPutOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, values, out := args.Tensor(0), args.Tensor(2), args.Tensor(4)
	if err := checkType("values", values, self.DType()); err != nil {
		return err
	}
	var x indexing
	if err := x.of(self, args.Tensors(1)); err != nil {
		return err
	}
	if err := duplicate(ctx, out, self); err != nil {
		return err
	}
	return x.put(ctx, out, values, args.Bool(3))
}

func indexPutInPlace(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, values := args.Tensor(0), args.Tensor(2)
	if err := checkType("values", values, self.DType()); err != nil {
		return err
	}
	var x indexing
	if err := x.of(self, args.Tensors(1)); err != nil {
		return err
	}
	return x.put(ctx, self, values, args.Bool(3))
}

// put writes values, broadcast to the result's shape, to out, which has self's.
func (x *indexing) put(ctx *runtime.KernelRuntimeContext, out, values *tensor.Tensor, accumulate bool) error {
	if !kit.BroadcastableTo(values.Shape(), x.result.Dims()) {
		return errs.InvalidArgument.Errorf("values %v cannot be broadcast to the %d dimensions indexed in %v", values, len(x.result.Dims()), out)
	}
	c := runtime.State[kit.Copy](ctx)
	c.Begin(out, values)
	if accumulate {
		c.Accumulate()
	}
	var strides [tensor.MaxRank]int
	added := len(x.result.Dims()) - values.Rank()
	for d, size := range values.Shape() {
		if size != 1 {
			strides[added+d] = values.Strides()[d]
		}
	}
	if n, err := tensor.Numel(x.result.Dims()); err != nil || n == 0 {
		return errs.InvalidArgument.Wrap(err)
	}
	if x.any {
		to, err := x.offsets(ctx, out)
		if err != nil {
			return err
		}
		from, err := lay(ctx, x.table.Dims(), strides[x.at:])
		if err != nil {
			return err
		}
		c.Table(len(to), to, 0, from.offsets, from.stride)
	}
	for d, size := range out.Shape() {
		if p := x.places[d]; p >= 0 {
			c.Dim(size, out.Strides()[d], strides[p])
		}
	}
	return c.Do(ctx)
}
