package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// MaskedSelect is aten::masked_select: the elements of self whose mask is true, in
// row-major order. self and mask are broadcast together.
var MaskedSelect = runtime.Kernels{
	{Schema: "aten::masked_select.out(Tensor self, Tensor mask, *, Tensor(a!) out) -> Tensor(a!)", Run: maskedSelectOut},
}

// MaskedScatter is aten::masked_scatter: self, where the elements whose mask is
// true are replaced by source's, in row-major order. self and mask are broadcast
// together.
var MaskedScatter = runtime.Kernels{
	{Schema: "aten::masked_scatter.out(Tensor self, Tensor mask, Tensor source, *, Tensor(a!) out) -> Tensor(a!)", Run: maskedScatterOut},
}

// Nonzero is aten::nonzero: the indices of the elements that are not zero, one in
// each row, in row-major order.
var Nonzero = runtime.Kernels{
	{Schema: "aten::nonzero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Run: nonzeroOut},
}

// RepeatInterleave is aten::repeat_interleave: each i as often as repeats[i] says.
var RepeatInterleave = runtime.Kernels{
	{Schema: "aten::repeat_interleave.Tensor_out(Tensor repeats, *, SymInt? output_size=None, Tensor(a!) out) -> Tensor(a!)", Run: repeatInterleaveOut},
}

// trueWalk visits the elements of a shape whose mask is true, in row-major order.
type trueWalk struct {
	nest  kit.Nest
	c     kit.Cursor
	mask  *tensor.Tensor
	left  int
	flags [256]uint8
}

// begin starts a walk over shape. mask, which is operand 1, and t, operand 0, are
// broadcast to it.
func (w *trueWalk) begin(shape []int, t, mask *tensor.Tensor) {
	w.mask = mask
	w.nest.Begin(2)
	for d, size := range shape {
		w.nest.Dim(size, [kit.MaxOperands]int{kit.BroadcastStride(t, d, len(shape)), kit.BroadcastStride(mask, d, len(shape))})
	}
	w.c = kit.Cursor{}
	w.left = w.nest.Numel()
}

// next stores the offsets in t of the next true elements and returns how many; it
// is negative at the end.
func (w *trueWalk) next(offsets *[256]int) int {
	if w.left == 0 {
		return -1
	}
	run := w.nest.Run(&w.c, min(w.left, len(w.flags)))
	kit.LoadTruth(w.flags[:run], w.mask, w.c.Off[1], w.nest.Stride(1))
	n := 0
	off, stride := w.c.Off[0], w.nest.Stride(0)
	for _, f := range w.flags[:run] {
		offsets[n] = off
		n += int(f)
		off += stride
	}
	w.nest.Advance(&w.c, run)
	w.left -= run
	return n
}

// maskedState is the state of the operators of this file.
type maskedState struct {
	copy     kit.Copy
	walk     trueWalk
	to, from [256]int
	shape    kit.Shape
}

// begin starts a walk over what t and mask are broadcast to.
func (st *maskedState) begin(t, mask *tensor.Tensor) error {
	if err := checkType("mask", mask, tensor.Bool); err != nil {
		return err
	}
	st.shape = kit.ShapeOf(t.Shape())
	if err := st.shape.Broadcast(mask.Shape()); err != nil {
		return err
	}
	st.walk.begin(st.shape.Dims(), t, mask)
	return nil
}

func maskedSelectOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, mask, out := args.Tensor(0), args.Tensor(1), args.Tensor(2)
	if err := checkType("out", out, self.DType()); err != nil {
		return err
	}
	if out == self || out == mask {
		return errs.InvalidArgument.Errorf("out is an input, which would be resized")
	}
	st := runtime.State[maskedState](ctx)
	if err := st.begin(self, mask); err != nil {
		return err
	}
	count := 0
	for n := 0; n >= 0; n = st.walk.next(&st.from) {
		count += n
	}
	if err := kit.Resize(out, []int{count}); err != nil {
		return err
	}
	st.walk.begin(st.shape.Dims(), self, mask)
	at := 0
	for n := st.walk.next(&st.from); n >= 0; n = st.walk.next(&st.from) {
		n = min(n, count-at) // the mask may lie in out's memory
		for i := range n {
			st.to[i] = at + i
		}
		kit.MoveAt(out, st.to[:n], self, st.from[:n])
		at += n
	}
	return nil
}

func maskedScatterOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, mask, src, out := args.Tensor(0), args.Tensor(1), args.Tensor(2), args.Tensor(3)
	if err := checkType("source", src, self.DType()); err != nil {
		return err
	}
	if err := checkType("out", out, self.DType()); err != nil {
		return err
	}
	if err := kit.ResizeBroadcast(out, self, mask); err != nil {
		return err
	}
	st := runtime.State[maskedState](ctx)
	if err := st.begin(out, mask); err != nil {
		return err
	}
	if err := kit.CopyTensor(ctx, &st.copy, out, self); err != nil {
		return err
	}
	var order kit.Nest
	order.Begin(1)
	for d, size := range src.Shape() {
		order.Dim(size, [kit.MaxOperands]int{src.Strides()[d]})
	}
	var c kit.Cursor
	left := src.Numel()
	for n := st.walk.next(&st.to); n >= 0; n = st.walk.next(&st.to) {
		if n > left {
			return errs.InvalidArgument.Errorf("source %v has fewer elements than are true in the mask %v", src, mask)
		}
		left -= n
		for i := range n {
			st.from[i] = c.Off[0]
			order.Advance(&c, 1)
		}
		kit.MoveAt(out, st.to[:n], src, st.from[:n])
	}
	return nil
}

func nonzeroOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, out := args.Tensor(0), args.Tensor(1)
	if err := checkType("out", out, tensor.I64); err != nil {
		return err
	}
	if d := self.DType(); !isRealOrBool(d) && !d.IsInt() && d != tensor.C64 && d != tensor.C128 {
		return unsupported(d)
	}
	count := countTrue(self)
	if err := kit.Resize(out, []int{count, self.Rank()}); err != nil {
		return err
	}
	if self.Rank() == 0 || count == 0 {
		return nil
	}
	rows := nonzeroRows{self: self, dst: tensor.Raw[int64](out), row: out.Strides()[0], col: out.Strides()[1], left: count}
	for off, ok := 0, true; ok; off, ok = rows.next() {
		rows.scan(off)
	}
	return nil
}

// nonzeroRows walks a tensor along its last dimension and stores the indices of
// what is not zero.
type nonzeroRows struct {
	self     *tensor.Tensor
	dst      []int64
	row, col int // strides of dst
	at, left int
	index    [tensor.MaxRank]int64
}

// next returns the offset of the next line of the last dimension, if there is one.
func (r *nonzeroRows) next() (off int, ok bool) {
	shape, strides := r.self.Shape(), r.self.Strides()
	for d := len(shape) - 2; d >= 0; d-- {
		if !ok {
			r.index[d]++
			if ok = r.index[d] < int64(shape[d]); !ok {
				r.index[d] = 0
			}
		}
		off += int(r.index[d]) * strides[d]
	}
	return off, ok
}

// scan looks through the line that begins at offset off.
func (r *nonzeroRows) scan(off int) {
	last := r.self.Rank() - 1
	size, stride := r.self.Shape()[last], r.self.Strides()[last]
	var flags [256]uint8
	for i := 0; i < size; i += len(flags) {
		part := flags[:min(len(flags), size-i)]
		kit.LoadTruth(part, r.self, off+i*stride, stride)
		for k, f := range part {
			if f == 0 || r.left == 0 {
				continue
			}
			r.index[last] = int64(i + k)
			at := r.at
			for _, v := range r.index[:last+1] {
				r.dst[at] = v
				at += r.col
			}
			r.at += r.row
			r.left--
		}
	}
}

func repeatInterleaveOut(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
	repeats, out := args.Tensor(0), args.Tensor(2)
	if err := checkIndexType(repeats); err != nil {
		return err
	}
	if err := checkType("out", out, repeats.DType()); err != nil {
		return err
	}
	if repeats.Rank() != 1 {
		return errs.InvalidArgument.Errorf("repeats %v is no vector", repeats)
	}
	total := int64(0)
	var n [1]int64
	for i := range repeats.Numel() {
		kit.Load(n[:], repeats, i)
		if n[0] < 0 || n[0] > math.MaxInt64-total {
			return errs.InvalidArgument.Errorf("repeats has %d at %d", n[0], i)
		}
		total += n[0]
	}
	if size, ok := args.OptInt(1); ok && int64(size) != total {
		return errs.InvalidArgument.Errorf("output size %d given, the repeats make %d", size, total)
	}
	if err := kit.Resize(out, []int{int(total)}); err != nil {
		return err
	}
	if repeats.DType() == tensor.I32 {
		interleave(tensor.Raw[int32](out), tensor.Raw[int32](repeats))
	} else {
		interleave(tensor.Raw[int64](out), tensor.Raw[int64](repeats))
	}
	return nil
}

func interleave[T int32 | int64](dst, repeats []T) {
	for i, n := range repeats {
		k := max(0, min(int(n), len(dst))) // repeats may lie in out's memory
		for j := range dst[:k] {
			dst[j] = T(i)
		}
		dst = dst[k:]
	}
}
