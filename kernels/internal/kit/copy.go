package kit

import (
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// copyGrain is how many bytes of the destination a thread copies at least:
// copies are bound by memory, and this much takes some microseconds.
const copyGrain = 64 << 10

// maxCopyDims has room for a tensor of the highest rank with every dimension
// split in two, which repeat needs, and the two innermost dimensions that a Copy
// always has.
const maxCopyDims = 2*tensor.MaxRank + 2

// Copy copies a box of elements from one tensor to another. The box is given by
// its dimensions in any order, each with the distance of neighbours in the
// destination and in the source:
//
//	for every index i of the box:
//	    dst[dstOff + sum(i[d]*dstStride[d])] = src[srcOff + sum(i[d]*srcStride[d])]
//
// A source stride may be 0, which repeats an element, or negative. Where the
// element types differ, numbers are converted as Load and Store do.
//
// One more dimension may have its offsets in tables (Table), for what is looked
// up by index; and elements may be added to those of the destination instead of
// replacing them (Accumulate).
//
// Copy is a loop body: keep it in the step's state. Begin, then Dim and the
// like, then Do; a Copy can be used again and again.
type Copy struct {
	dst, src       *tensor.Tensor
	dstOff, srcOff int
	rank           int
	dims           [maxCopyDims]copyDim

	tabled         bool
	dstTab, srcTab []int64 // of the rows; nil where the stride counts

	add bool

	// What prepare finds: the elements in the box and how many of them one
	// iteration of the parallel loop copies.
	numel, unit int
	row, col    copyDim // the innermost dimensions, dims[rank-2] and dims[rank-1]

	mid *tensor.Tensor // see rowMajor
}

type copyDim struct{ size, dst, src int }

// Begin starts a copy from src to dst: a box of one element, the first of each.
func (c *Copy) Begin(dst, src *tensor.Tensor) {
	c.dst, c.src = dst, src
	c.dstOff, c.srcOff, c.rank = 0, 0, 0
	c.tabled, c.dstTab, c.srcTab = false, nil, nil
	c.add = false
}

// Dim adds a dimension to the box.
func (c *Copy) Dim(size, dstStride, srcStride int) {
	if size == 1 {
		return
	}
	c.dims[c.rank] = copyDim{size, dstStride, srcStride}
	c.rank++
}

// Offset moves the box by so many elements in each tensor.
func (c *Copy) Offset(dst, src int) {
	c.dstOff += dst
	c.srcOff += src
}

// Table adds a dimension whose elements are at dst[i] and src[i], or i*stride
// where a table is nil. A copy has at most one. Destination offsets that occur
// more than once are written in the order of the table.
func (c *Copy) Table(size int, dst []int64, dstStride int, src []int64, srcStride int) {
	c.tabled = true
	c.dstTab, c.srcTab = dst, src
	c.row = copyDim{size, dstStride, srcStride}
}

// Accumulate makes the copy add to the destination, which has the source's type:
// integers wrap, bools are or-ed, halves are rounded after each addition.
func (c *Copy) Accumulate() { c.add = true }

// Broadcast adds the dimensions of dst, to which src is broadcast.
func (c *Copy) Broadcast(dst, src *tensor.Tensor) error {
	if !BroadcastableTo(src.Shape(), dst.Shape()) {
		return errs.InvalidArgument.Errorf("shape %v cannot be broadcast to %v", src.Shape(), dst.Shape())
	}
	for d, size := range dst.Shape() {
		c.Dim(size, dst.Strides()[d], broadcastStride(src, d, dst.Rank()))
	}
	return nil
}

// BroadcastStride returns t's stride along dimension d of a shape of the given
// rank that t is broadcast to.
func BroadcastStride(t *tensor.Tensor, d, rank int) int { return broadcastStride(t, d, rank) }

// BroadcastableTo reports whether a tensor of shape from can be broadcast to
// shape to.
func BroadcastableTo(from, to []int) bool {
	if len(from) > len(to) {
		return false
	}
	to = to[len(to)-len(from):]
	for i, size := range from {
		if size != 1 && size != to[i] {
			return false
		}
	}
	return true
}

// CopyTensor copies src to dst, broadcast to dst's shape, with c as the loop
// body.
func CopyTensor(ctx *runtime.KernelRuntimeContext, c *Copy, dst, src *tensor.Tensor) error {
	c.Begin(dst, src)
	if err := c.Broadcast(dst, src); err != nil {
		return err
	}
	return c.Do(ctx)
}

// Do copies the box.
func (c *Copy) Do(ctx *runtime.KernelRuntimeContext) error {
	if err := c.prepare(); err != nil || c.numel == 0 {
		return err
	}
	grain := copyGrain / c.dst.DType().Size() / c.unit
	ctx.Parallel(c.numel/c.unit, grain, c)
	return nil
}

// prepare checks the box and brings its dimensions into the order of the walk.
func (c *Copy) prepare() error {
	if err := c.checkTypes(); err != nil {
		return err
	}
	c.numel = 1
	for _, d := range c.dims[:c.rank] {
		if d.size <= 0 {
			c.numel = 0
		}
	}
	if c.tabled && c.row.size <= 0 {
		c.numel = 0
	}
	if c.numel == 0 {
		return nil
	}
	if err := c.checkBounds(); err != nil {
		return err
	}
	c.sort()
	c.merge()
	if c.tabled {
		c.chooseTableColumns()
	} else {
		c.chooseColumns()
	}
	c.dims[c.rank-2], c.dims[c.rank-1] = c.row, c.col
	for _, d := range c.dims[:c.rank] {
		c.numel *= d.size
	}
	c.unit = 1
	if c.dstTab != nil {
		// The rows of a table may hit the same element: they belong to one thread.
		c.unit = c.row.size * c.col.size
	}
	return nil
}

func (c *Copy) checkTypes() error {
	to, from := c.dst.DType(), c.src.DType()
	switch {
	case to != from && (!convertible(to) || !convertible(from)):
		return errs.InvalidArgument.Errorf("cannot convert %v to %v", from, to)
	case c.add && (to != from || !convertible(to)):
		return errs.InvalidArgument.Errorf("cannot add %v to %v", from, to)
	}
	return nil
}

// convertible reports whether elements of type d are single numbers.
func convertible(d tensor.DType) bool {
	return d.IsFloat() || d.IsIntegral(true) || d.IsComplex()
}

// checkBounds returns an error if the box leaves a tensor.
func (c *Copy) checkBounds() error {
	dst := extent{lo: c.dstOff, hi: c.dstOff, numel: c.dst.Numel()}
	src := extent{lo: c.srcOff, hi: c.srcOff, numel: c.src.Numel()}
	for _, d := range c.dims[:c.rank] {
		dst.stride(d.size, d.dst)
		src.stride(d.size, d.src)
	}
	if c.tabled {
		dst.rows(c.row.size, c.row.dst, c.dstTab)
		src.rows(c.row.size, c.row.src, c.srcTab)
	}
	if !dst.inside() {
		return errs.InvalidArgument.Errorf("copy leaves the destination %v", c.dst)
	}
	if !src.inside() {
		return errs.InvalidArgument.Errorf("copy leaves the source %v", c.src)
	}
	return nil
}

// extent is the range of offsets that a box touches in a tensor of numel
// elements.
type extent struct {
	lo, hi, numel int
	outside       bool
}

func (e *extent) stride(size, stride int) {
	if size <= 1 || stride == 0 {
		return
	}
	if limit := e.numel / (size - 1); stride > limit || stride < -limit {
		e.outside = true // and the product might overflow
		return
	}
	e.add(min(0, (size-1)*stride), max(0, (size-1)*stride))
}

func (e *extent) rows(size, stride int, table []int64) {
	if table == nil {
		e.stride(size, stride)
		return
	}
	lo, hi := table[0], table[0]
	for _, off := range table[1:] {
		lo, hi = min(lo, off), max(hi, off)
	}
	if lo < -int64(e.numel) || hi > int64(e.numel) {
		e.outside = true
		return
	}
	e.add(int(lo), int(hi))
}

func (e *extent) add(lo, hi int) {
	e.lo += lo
	e.hi += hi
}

func (e *extent) inside() bool { return !e.outside && e.lo >= 0 && e.hi < e.numel }

// sort orders the dimensions by their distance in the destination, the closest
// last, so that it is written from front to back.
func (c *Copy) sort() {
	dims := c.dims[:c.rank]
	for i := 1; i < len(dims); i++ {
		d := dims[i]
		j := i
		for ; j > 0 && dims[j-1].dst < d.dst; j-- {
			dims[j] = dims[j-1]
		}
		dims[j] = d
	}
}

// merge joins neighbouring dimensions that can be walked as one.
func (c *Copy) merge() {
	n := 0
	for _, d := range c.dims[:c.rank] {
		if n > 0 {
			if out := &c.dims[n-1]; out.dst == d.dst*d.size && out.src == d.src*d.size {
				*out = copyDim{out.size * d.size, d.dst, d.src}
				continue
			}
		}
		c.dims[n] = d
		n++
	}
	c.rank = n
}

// chooseColumns takes the two innermost dimensions: the columns are the last
// one. Where these jump about in the source, the rows are the dimension that
// lies side by side there, so that rows and columns are a matrix to transpose.
func (c *Copy) chooseColumns() {
	for c.rank < 2 {
		copy(c.dims[1:c.rank+1], c.dims[:c.rank])
		c.dims[0] = copyDim{size: 1}
		c.rank++
	}
	c.col = c.dims[c.rank-1]
	if c.col.dst == 1 && (c.col.src > 1 || c.col.src < -1) {
		for j := c.rank - 3; j >= 0; j-- {
			if c.dims[j].src == 1 {
				d := c.dims[j]
				copy(c.dims[j:c.rank-2], c.dims[j+1:c.rank-1])
				c.dims[c.rank-2] = d
				break
			}
		}
	}
	c.row = c.dims[c.rank-2]
}

// chooseTableColumns makes the table the rows. The columns are the dimension
// that lies side by side in the destination; without one each row is one
// element.
func (c *Copy) chooseTableColumns() {
	c.col = copyDim{size: 1}
	if c.rank > 0 && c.dims[c.rank-1].dst == 1 {
		c.col = c.dims[c.rank-1]
		c.rank--
	}
	c.rank += 2
}

// block is a piece of the box: rows and columns at one place of the outer
// dimensions.
type block struct {
	dst, src   int // offsets of the first element, without the rows' tables
	first      int // number of the first row
	rows, cols int
}

// walker visits a range of the box block by block.
type walker struct {
	block
	left     int
	off      [2]int // offsets of the outer dimensions
	idx      [maxCopyDims]int
	row, col int
}

// start moves to the elements lo <= i < hi of c's box.
func (w *walker) start(c *Copy, lo, hi int) {
	w.left = hi - lo
	w.off = [2]int{c.dstOff, c.srcOff}
	lo, w.col = lo/c.col.size, lo%c.col.size
	lo, w.row = lo/c.row.size, lo%c.row.size
	for d := c.rank - 3; d >= 0; d-- {
		dim := &c.dims[d]
		w.idx[d] = lo % dim.size
		lo /= dim.size
		w.off[0] += w.idx[d] * dim.dst
		w.off[1] += w.idx[d] * dim.src
	}
}

// next finds the next block, as large as possible: whole rows, or a part of one.
func (w *walker) next(c *Copy) bool {
	if w.left == 0 {
		return false
	}
	if w.row == c.row.size {
		w.row = 0
		w.carry(c)
	}
	w.first = w.row
	w.dst = w.off[0] + w.col*c.col.dst
	w.src = w.off[1] + w.col*c.col.src
	if c.dstTab == nil {
		w.dst += w.row * c.row.dst
	}
	if c.srcTab == nil {
		w.src += w.row * c.row.src
	}
	if w.col > 0 || w.left < c.col.size {
		w.rows, w.cols = 1, min(c.col.size-w.col, w.left)
		if w.col += w.cols; w.col == c.col.size {
			w.col = 0
			w.row++
		}
	} else {
		w.rows, w.cols = min(c.row.size-w.row, w.left/c.col.size), c.col.size
		w.row += w.rows
	}
	w.left -= w.rows * w.cols
	return true
}

// carry moves to the next place of the outer dimensions.
func (w *walker) carry(c *Copy) {
	for d := c.rank - 3; d >= 0; d-- {
		dim := &c.dims[d]
		w.idx[d]++
		w.off[0] += dim.dst
		w.off[1] += dim.src
		if w.idx[d] < dim.size {
			return
		}
		w.idx[d] = 0
		w.off[0] -= dim.size * dim.dst
		w.off[1] -= dim.size * dim.src
	}
}

// Run copies a part of the box; it is the body of Do's loop.
func (c *Copy) Run(_, lo, hi int) {
	lo, hi = lo*c.unit, hi*c.unit
	dtype := c.dst.DType()
	switch {
	case c.add:
		c.accumulate(lo, hi)
	case dtype != c.src.DType():
		c.convert(lo, hi)
	case dtype == tensor.C32:
		moveRange(c, tensor.Raw[tensor.Complex32](c.dst), tensor.Raw[tensor.Complex32](c.src), lo, hi)
	case dtype == tensor.C64:
		moveRange(c, tensor.Raw[complex64](c.dst), tensor.Raw[complex64](c.src), lo, hi)
	case dtype == tensor.C128:
		moveRange(c, tensor.Raw[complex128](c.dst), tensor.Raw[complex128](c.src), lo, hi)
	case dtype.Size() == 1:
		moveRange(c, c.dst.Bytes(), c.src.Bytes(), lo, hi)
	case dtype.Size() == 2:
		moveRange(c, words[uint16](c.dst), words[uint16](c.src), lo, hi)
	case dtype.Size() == 4:
		moveRange(c, words[uint32](c.dst), words[uint32](c.src), lo, hi)
	case dtype.Size() == 8:
		moveRange(c, words[uint64](c.dst), words[uint64](c.src), lo, hi)
	}
}

// words returns t's elements as the bits of a T, which has their size.
func words[T uint16 | uint32 | uint64](t *tensor.Tensor) []T { return tensor.Cast[T](t.Bytes()) }
