package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// ConstantPadNd is aten::constant_pad_nd: self with a value around it. pad has two
// numbers for each dimension, the last one first; negative ones crop.
var ConstantPadNd = runtime.Kernels{
	{Schema: "aten::constant_pad_nd.out(Tensor self, SymInt[] pad, Scalar value=0, *, Tensor(a!) out) -> Tensor(a!)", Run: constantPadNdOut},
}

// ReflectionPad1d is aten::reflection_pad1d: self, of 2 or 3 dimensions, continued
// along the last one by what a mirror at its first and last element shows.
var ReflectionPad1d = runtime.Kernels{
	{Schema: "aten::reflection_pad1d.out(Tensor self, SymInt[2] padding, *, Tensor(a!) out) -> Tensor(a!)", Run: reflectionPad1dOut},
}

// ReflectionPad2d is ReflectionPad1d for the last 2 of 3 or 4 dimensions.
var ReflectionPad2d = runtime.Kernels{
	{Schema: "aten::reflection_pad2d.out(Tensor self, SymInt[4] padding, *, Tensor(a!) out) -> Tensor(a!)", Run: reflectionPad2dOut},
}

// ReflectionPad3d is ReflectionPad1d for the last 3 of 4 or 5 dimensions.
var ReflectionPad3d = runtime.Kernels{
	{Schema: "aten::reflection_pad3d.out(Tensor self, SymInt[6] padding, *, Tensor(a!) out) -> Tensor(a!)", Run: reflectionPad3dOut},
}

// ReplicationPad1d is aten::replication_pad1d: self, of 2 or 3 dimensions,
// continued along the last one by its first and last element.
var ReplicationPad1d = runtime.Kernels{
	{Schema: "aten::replication_pad1d.out(Tensor self, SymInt[2] padding, *, Tensor(a!) out) -> Tensor(a!)", Run: replicationPad1dOut},
}

// ReplicationPad2d is ReplicationPad1d for the last 2 of 3 or 4 dimensions.
var ReplicationPad2d = runtime.Kernels{
	{Schema: "aten::replication_pad2d.out(Tensor self, SymInt[4] padding, *, Tensor(a!) out) -> Tensor(a!)", Run: replicationPad2dOut},
}

// ReplicationPad3d is ReplicationPad1d for the last 3 of 4 or 5 dimensions.
var ReplicationPad3d = runtime.Kernels{
	{Schema: "aten::replication_pad3d.out(Tensor self, SymInt[6] padding, *, Tensor(a!) out) -> Tensor(a!)", Run: replicationPad3dOut},
}

// maxPad bounds paddings, so that sums of them do not overflow. The file format
// has no larger sizes.
const maxPad = math.MaxInt32

// padOf returns the padding before and after dimension d; pads begins with the
// last dimension.
func padOf(pads []int64, d, rank int) (before, after int) {
	if i := 2 * (rank - 1 - d); i < len(pads) {
		return int(pads[i]), int(pads[i+1])
	}
	return 0, 0
}

func checkPads(self *tensor.Tensor, pads []int64) error {
	if len(pads)%2 != 0 || len(pads)/2 > self.Rank() {
		return errs.InvalidArgument.Errorf("%d paddings given for %v", len(pads), self)
	}
	for _, p := range pads {
		if p < -maxPad || p > maxPad {
			return errs.InvalidArgument.Errorf("padding %d is out of range", p)
		}
	}
	return nil
}

// padded returns self's shape with the paddings. Whoever resizes to it finds
// negative sizes.
func padded(self *tensor.Tensor, pads []int64) kit.Shape {
	shape := kit.ShapeOf(self.Shape())
	for d := range shape.Dims() {
		before, after := padOf(pads, d, self.Rank())
		shape.Dims()[d] += before + after
	}
	return shape
}

// padState is the state of a ConstantPadNd.
type padState struct {
	copy  kit.Copy
	value *tensor.Tensor // a scalar of the output's type
}

func constantPadNdOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, pads, out := args.Tensor(0), args.Ints(1), args.Tensor(3)
	if err := checkPads(self, pads); err != nil {
		return err
	}
	if err := checkType("out", out, self.DType()); err != nil {
		return err
	}
	shape := padded(self, pads)
	if err := kit.Resize(out, shape.Dims()); err != nil {
		return err
	}
	st := runtime.State[padState](ctx)
	if err := setScalar(&st.value, args.Scalar(2), out.DType()); err != nil {
		return err
	}
	in := interiorOf(self, out, pads)
	if in.empty() {
		return kit.CopyTensor(ctx, &st.copy, out, st.value)
	}
	// What is to be filled falls into slabs before and behind the interior: across
	// it in the dimensions done already, across all of out in those to come.
	for d := range in.rank {
		for _, slab := range [2]span{{0, in.out[d]}, {in.out[d] + in.size[d], out.Shape()[d]}} {
			if err := in.fill(ctx, st, out, d, slab); err != nil {
				return err
			}
		}
	}
	st.copy.Begin(out, self)
	for d := range in.rank {
		st.copy.Offset(in.out[d]*out.Strides()[d], in.self[d]*self.Strides()[d])
		st.copy.Dim(in.size[d], out.Strides()[d], self.Strides()[d])
	}
	return st.copy.Do(ctx)
}

// span is a range of indices lo <= i < hi.
type span struct{ lo, hi int }

// interior is where self is in a padded tensor: for each dimension the first index
// in both and the size.
type interior struct {
	rank            int
	out, self, size [tensor.MaxRank]int
}

func interiorOf(self, out *tensor.Tensor, pads []int64) (in interior) {
	in.rank = self.Rank()
	for d, size := range self.Shape() {
		before, after := padOf(pads, d, in.rank)
		in.out[d], in.self[d] = max(before, 0), max(-before, 0)
		in.size[d] = size - max(-before, 0) - max(-after, 0)
	}
	return in
}

func (in *interior) empty() bool {
	for _, size := range in.size[:in.rank] {
		if size <= 0 {
			return true
		}
	}
	return false
}

// fill fills a slab of dimension dim with the padding value.
func (in *interior) fill(ctx *runtime.KernelRuntimeContext, st *padState, out *tensor.Tensor, dim int, slab span) error {
	c := &st.copy
	c.Begin(out, st.value)
	for d, size := range out.Shape() {
		at := 0
		switch {
		case d < dim:
			at, size = in.out[d], in.size[d]
		case d == dim:
			at, size = slab.lo, slab.hi-slab.lo
		}
		c.Offset(at*out.Strides()[d], 0)
		c.Dim(size, out.Strides()[d], 0)
	}
	return c.Do(ctx)
}

// setScalar makes *t a scalar tensor of type d, where it is none yet, and stores
// the value, which must fit.
func setScalar(t **tensor.Tensor, value *runtime.EValue, d tensor.DType) error {
	if *t == nil || (*t).DType() != d {
		s, err := tensor.New(d, nil)
		if err != nil {
			return err
		}
		*t = s
	}
	if !isRealOrBool(d) && !d.IsComplex() && !d.IsInt() {
		return unsupported(d)
	}
	if err := checkScalar(value, partOf(d)); err != nil {
		return err
	}
	if value.Kind() == runtime.KindDouble {
		kit.Store(*t, 0, []float64{value.Double()})
	} else {
		kit.Store(*t, 0, []int64{value.Int()})
	}
	return nil
}

func reflectionPad1dOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return edgePad(ctx, args, 1, true)
}

func reflectionPad2dOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return edgePad(ctx, args, 2, true)
}

func reflectionPad3dOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return edgePad(ctx, args, 3, true)
}

func replicationPad1dOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return edgePad(ctx, args, 1, false)
}

func replicationPad2dOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return edgePad(ctx, args, 2, false)
}

func replicationPad3dOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return edgePad(ctx, args, 3, false)
}

// segment is a range of indices of a padded dimension whose elements come from
// self at from, from+step, ...
type segment struct{ at, size, from, step int }

// edgePad pads the last n dimensions by what self has at its edges. Each of them
// falls into up to three segments: before self, self, and behind it.
func edgePad(ctx *runtime.KernelRuntimeContext, args runtime.Args, n int, reflect bool) error {
	self, pads, out := args.Tensor(0), args.Ints(1), args.Tensor(2)
	if err := checkPads(self, pads); err != nil {
		return err
	}
	if len(pads) != 2*n || self.Rank() != n+1 && self.Rank() != n+2 {
		return errs.InvalidArgument.Errorf("%d paddings for %d dimensions of %v", len(pads), n, self)
	}
	shape := padded(self, pads)
	c, err := begin(ctx, out, self, shape.Dims())
	if err != nil || out.Numel() == 0 {
		return err
	}
	first := self.Rank() - n
	var parts [3][3]segment
	var counts [3]int
	for i := range n {
		size := self.Shape()[first+i]
		before, after := padOf(pads, first+i, self.Rank())
		if size == 0 || reflect && (before >= size || after >= size) {
			return errs.InvalidArgument.Errorf("dimension %d of %v cannot be padded by %d and %d", first+i, self, before, after)
		}
		counts[i] = edgeSegments(&parts[i], size, before, out.Shape()[first+i], reflect)
	}
	for i := range max(counts[0], 1) {
		for j := range max(counts[1], 1) {
			for k := range max(counts[2], 1) {
				c.Begin(out, self)
				for d := range first {
					c.Dim(self.Shape()[d], out.Strides()[d], self.Strides()[d])
				}
				chosen := [3]segment{parts[0][i], parts[1][j], parts[2][k]}
				for d, s := range chosen[:n] {
					to, from := out.Strides()[first+d], self.Strides()[first+d]
					c.Offset(s.at*to, s.from*from)
					c.Dim(s.size, to, s.step*from)
				}
				if err := c.Do(ctx); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// edgeSegments finds the segments of a dimension that has size elements before it
// is padded and outSize afterwards, and returns how many there are. Index i of the
// result is index i-before of self, which beyond the edges is mirrored or held.
func edgeSegments(s *[3]segment, size, before, outSize int, reflect bool) int {
	lead := max(0, min(before, outSize))
	tail := max(lead, min(before+size, outSize))
	fromLead, fromTail, step := 0, size-1, 0
	if reflect {
		fromLead, fromTail, step = before, 2*(size-1)+before-tail, -1
	}
	n := 0
	for _, part := range [3]segment{
		{0, lead, fromLead, step},
		{lead, tail - lead, lead - before, 1},
		{tail, outSize - tail, fromTail, step},
	} {
		if part.size > 0 {
			s[n] = part
			n++
		}
	}
	return n
}
