package portable

import (
	"math/bits"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// ViewCopy is aten::view_copy: self's elements in another shape; one size may be
// -1.
var ViewCopy = runtime.Kernels{
	{Schema: "aten::view_copy.out(Tensor self, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", Run: viewCopyOut},
}

// SqueezeCopy is aten::squeeze_copy: self without the given dimensions as far as
// they have size 1.
var SqueezeCopy = runtime.Kernels{
	{Schema: "aten::squeeze_copy.dim_out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)", Run: squeezeCopyDimOut},
	{Schema: "aten::squeeze_copy.dims_out(Tensor self, int[] dim, *, Tensor(a!) out) -> Tensor(a!)", Run: squeezeCopyDimsOut},
}

// UnsqueezeCopy is aten::unsqueeze_copy: self with a dimension of size 1 more.
var UnsqueezeCopy = runtime.Kernels{
	{Schema: "aten::unsqueeze_copy.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)", Run: unsqueezeCopyOut},
}

// ExpandCopy is aten::expand_copy: self broadcast to the given sizes, where -1
// stands for self's.
var ExpandCopy = runtime.Kernels{
	{Schema: "aten::expand_copy.out(Tensor self, SymInt[] size, *, bool implicit=False, Tensor(a!) out) -> Tensor(a!)", Run: expandCopyOut},
}

// PermuteCopy is aten::permute_copy: out's dimension i is self's dims[i].
var PermuteCopy = runtime.Kernels{
	{Schema: "aten::permute_copy.out(Tensor self, int[] dims, *, Tensor(a!) out) -> Tensor(a!)", Run: permuteCopyOut},
}

// TransposeCopy is aten::transpose_copy: self with two dimensions swapped.
var TransposeCopy = runtime.Kernels{
	{Schema: "aten::transpose_copy.int_out(Tensor self, int dim0, int dim1, *, Tensor(a!) out) -> Tensor(a!)", Run: transposeCopyOut},
}

// TCopy is aten::t_copy: the transpose of a matrix; vectors and scalars stay.
var TCopy = runtime.Kernels{
	{Schema: "aten::t_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Run: tCopyOut},
}

// AsStridedCopy is aten::as_strided_copy: a tensor whose strides and offset count
// elements of self's memory, whatever its dim order.
var AsStridedCopy = runtime.Kernels{
	{Schema: "aten::as_strided_copy.out(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None, *, Tensor(a!) out) -> Tensor(a!)", Run: asStridedCopyOut},
}

// DiagonalCopy is aten::diagonal_copy: the diagonals of the matrices that dim1
// and dim2 span, as the last dimension.
var DiagonalCopy = runtime.Kernels{
	{Schema: "aten::diagonal_copy.out(Tensor self, int offset=0, int dim1=0, int dim2=1, *, Tensor(a!) out) -> Tensor(a!)", Run: diagonalCopyOut},
}

// UnfoldCopy is aten::unfold_copy: all slices of the given size that begin every
// step along a dimension; the last dimension runs through a slice.
var UnfoldCopy = runtime.Kernels{
	{Schema: "aten::unfold_copy.out(Tensor self, int dimension, int size, int step, *, Tensor(a!) out) -> Tensor(a!)", Run: unfoldCopyOut},
}

// ViewAsRealCopy is aten::view_as_real_copy: complex numbers as pairs of reals of
// the type of their parts.
var ViewAsRealCopy = runtime.Kernels{
	{Schema: "aten::view_as_real_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Run: viewAsRealCopyOut},
}

// PixelShuffle is aten::pixel_shuffle: [*, c*r*r, h, w] becomes [*, c, h*r, w*r].
var PixelShuffle = runtime.Kernels{
	{Schema: "aten::pixel_shuffle.out(Tensor self, int upscale_factor, *, Tensor(a!) out) -> Tensor(a!)", Run: pixelShuffleOut},
}

// PixelUnshuffle is aten::pixel_unshuffle: [*, c, h*r, w*r] becomes
// [*, c*r*r, h, w].
var PixelUnshuffle = runtime.Kernels{
	{Schema: "aten::pixel_unshuffle.out(Tensor self, int downscale_factor, *, Tensor(a!) out) -> Tensor(a!)", Run: pixelUnshuffleOut},
}

// Flip is aten::flip: self with the order reversed along the given dimensions.
var Flip = runtime.Kernels{
	{Schema: "aten::flip.out(Tensor self, int[] dims, *, Tensor(a!) out) -> Tensor(a!)", Run: flipOut},
}

// Roll is aten::roll: self rotated along the given dimensions, or as if flat
// where none is given.
var Roll = runtime.Kernels{
	{Schema: "aten::roll.out(Tensor self, SymInt[1] shifts, int[1] dims=[], *, Tensor(a!) out) -> Tensor(a!)", Run: rollOut},
}

// Repeat is aten::repeat: self so many times along each dimension.
var Repeat = runtime.Kernels{
	{Schema: "aten::repeat.out(Tensor self, SymInt[] repeats, *, Tensor(a!) out) -> Tensor(a!)", Run: repeatOut},
}

// Tril is aten::tril: the matrices of the last two dimensions with zeros above
// the diagonal of the given number.
var Tril = runtime.Kernels{
	{Schema: "aten::tril.out(Tensor self, SymInt diagonal=0, *, Tensor(a!) out) -> Tensor(a!)", Run: trilOut},
}

// begin resizes out to shape and starts a copy from self, which has out's type.
func begin(ctx *runtime.KernelRuntimeContext, out, self *tensor.Tensor, shape []int) (*kit.Copy, error) {
	if err := checkType("out", out, self.DType()); err != nil {
		return nil, err
	}
	if err := kit.Resize(out, shape); err != nil {
		return nil, err
	}
	c := runtime.State[kit.Copy](ctx)
	c.Begin(out, self)
	return c, nil
}

// reshape resizes out to shape and copies self's elements in row-major order.
func reshape(ctx *runtime.KernelRuntimeContext, out, self *tensor.Tensor, shape []int) error {
	c, err := begin(ctx, out, self, shape)
	if err != nil {
		return err
	}
	return kit.Reshape(ctx, c, out, self)
}

func viewCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	shape, err := kit.ViewShape(args.Tensor(0), args.Ints(1))
	if err != nil {
		return err
	}
	return reshape(ctx, args.Tensor(2), args.Tensor(0), shape.Dims())
}

func squeezeCopyDimOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self := args.Tensor(0)
	d, err := kit.Dim(args.Int(1), self.Rank())
	if err != nil {
		return err
	}
	return squeeze(ctx, args.Tensor(2), self, 1<<d)
}

func squeezeCopyDimsOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self := args.Tensor(0)
	set, err := dimSet(args.Ints(1), self.Rank())
	if err != nil {
		return err
	}
	return squeeze(ctx, args.Tensor(2), self, set)
}

// dimSet returns a bit for each of dims, which must differ.
func dimSet(dims []int64, rank int) (set uint32, err error) {
	for _, d := range dims {
		n, err := kit.Dim(int(d), rank)
		if err != nil {
			return 0, err
		}
		if set&(1<<n) != 0 {
			return 0, errs.InvalidArgument.Errorf("dimension %d occurs twice in %v", n, dims)
		}
		set |= 1 << n
	}
	return set, nil
}

// squeeze drops those dimensions of the set that have size 1.
func squeeze(ctx *runtime.KernelRuntimeContext, out, self *tensor.Tensor, set uint32) error {
	var shape kit.Shape
	for d, size := range self.Shape() {
		if size != 1 || set&(1<<d) == 0 {
			shape.Append(size)
		}
	}
	return reshape(ctx, out, self, shape.Dims())
}

func unsqueezeCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self := args.Tensor(0)
	d, err := kit.Dim(args.Int(1), self.Rank()+1)
	if err != nil {
		return err
	}
	if self.Rank() == tensor.MaxRank {
		return errs.InvalidArgument.Errorf("%v has as many dimensions as there can be", self)
	}
	var shape kit.Shape
	for i := range self.Rank() + 1 {
		switch {
		case i < d:
			shape.Append(self.Shape()[i])
		case i == d:
			shape.Append(1)
		default:
			shape.Append(self.Shape()[i-1])
		}
	}
	return reshape(ctx, args.Tensor(2), self, shape.Dims())
}

func expandCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, out := args.Tensor(0), args.Tensor(3)
	shape, err := shapeOf(args.Ints(1))
	if err != nil {
		return err
	}
	dims := shape.Dims()
	for i := 1; i <= min(len(dims), self.Rank()); i++ {
		if size := &dims[len(dims)-i]; *size == -1 {
			*size = self.Shape()[self.Rank()-i]
		}
	}
	c, err := begin(ctx, out, self, dims)
	if err != nil {
		return err
	}
	return kit.CopyTensor(ctx, c, out, self)
}

// permutation says which dimension of the source is a dimension of the result.
type permutation struct {
	dims [tensor.MaxRank]int
	rank int
}

func permuteCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, dims := args.Tensor(0), args.Ints(1)
	if len(dims) != self.Rank() {
		return errs.InvalidArgument.Errorf("%d dimensions given for %v", len(dims), self)
	}
	if _, err := dimSet(dims, self.Rank()); err != nil {
		return err
	}
	p := permutation{rank: len(dims)}
	for i, d := range dims {
		p.dims[i] = int(d)
		if d < 0 {
			p.dims[i] += len(dims)
		}
	}
	return permute(ctx, args.Tensor(2), self, &p)
}

func transposeCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self := args.Tensor(0)
	d0, err := kit.Dim(args.Int(1), self.Rank())
	if err != nil {
		return err
	}
	d1, err := kit.Dim(args.Int(2), self.Rank())
	if err != nil {
		return err
	}
	return transpose(ctx, args.Tensor(3), self, d0, d1)
}

func tCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self := args.Tensor(0)
	if self.Rank() > 2 {
		return errs.InvalidArgument.Errorf("%v has more than 2 dimensions", self)
	}
	return transpose(ctx, args.Tensor(1), self, 0, max(self.Rank()-1, 0))
}

func transpose(ctx *runtime.KernelRuntimeContext, out, self *tensor.Tensor, d0, d1 int) error {
	p := permutation{rank: self.Rank()}
	for i := range p.rank {
		p.dims[i] = i
	}
	p.dims[d0], p.dims[d1] = d1, d0
	return permute(ctx, out, self, &p)
}

func permute(ctx *runtime.KernelRuntimeContext, out, self *tensor.Tensor, p *permutation) error {
	var shape kit.Shape
	for _, d := range p.dims[:p.rank] {
		shape.Append(self.Shape()[d])
	}
	c, err := begin(ctx, out, self, shape.Dims())
	if err != nil {
		return err
	}
	for i, d := range p.dims[:p.rank] {
		c.Dim(self.Shape()[d], out.Strides()[i], self.Strides()[d])
	}
	return c.Do(ctx)
}

func asStridedCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, strides, out := args.Tensor(0), args.Ints(2), args.Tensor(4)
	shape, err := shapeOf(args.Ints(1))
	if err != nil {
		return err
	}
	offset, _ := args.OptInt(3)
	if len(strides) != len(shape.Dims()) || offset < 0 || offset > self.Numel() {
		return errs.InvalidArgument.Errorf("%d strides and offset %d given for %d sizes", len(strides), offset, len(shape.Dims()))
	}
	c, err := begin(ctx, out, self, shape.Dims())
	if err != nil {
		return err
	}
	c.Offset(0, offset)
	for d, stride := range strides {
		if stride < 0 {
			return errs.InvalidArgument.Errorf("stride %d is negative", stride)
		}
		c.Dim(shape.Dims()[d], out.Strides()[d], int(stride))
	}
	return c.Do(ctx)
}

func diagonalCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, offset, out := args.Tensor(0), args.Int(1), args.Tensor(4)
	d1, err := kit.Dim(args.Int(2), self.Rank())
	if err != nil {
		return err
	}
	d2, err := kit.Dim(args.Int(3), self.Rank())
	if err != nil {
		return err
	}
	if d1 == d2 || self.Rank() < 2 {
		return errs.InvalidArgument.Errorf("dimensions %d and %d of %v span no matrix", d1, d2, self)
	}
	in, strides := self.Shape(), self.Strides()
	var n, start int
	if offset >= 0 {
		n = min(in[d1], in[d2]-offset)
		start = offset * strides[d2]
	} else {
		n = min(in[d1]+offset, in[d2])
		start = -offset * strides[d1]
	}
	var shape kit.Shape
	for d, size := range in {
		if d != d1 && d != d2 {
			shape.Append(size)
		}
	}
	shape.Append(max(n, 0))
	c, err := begin(ctx, out, self, shape.Dims())
	if err != nil || n <= 0 {
		return err
	}
	c.Offset(0, start)
	i := 0
	for d, size := range in {
		if d != d1 && d != d2 {
			c.Dim(size, out.Strides()[i], strides[d])
			i++
		}
	}
	c.Dim(n, out.Strides()[i], strides[d1]+strides[d2])
	return c.Do(ctx)
}

func unfoldCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, size, step, out := args.Tensor(0), args.Int(2), args.Int(3), args.Tensor(4)
	dim, err := kit.Dim(args.Int(1), self.Rank())
	if err != nil {
		return err
	}
	whole := 1 // a scalar is unfolded as if it had one dimension
	if self.Rank() > 0 {
		whole = self.Shape()[dim]
	}
	if size < 0 || size > whole || step <= 0 {
		return errs.InvalidArgument.Errorf("no slices of size %d with step %d in dimension %d of %v", size, step, dim, self)
	}
	if self.Rank() == tensor.MaxRank {
		return errs.InvalidArgument.Errorf("%v has as many dimensions as there can be", self)
	}
	shape := kit.ShapeOf(self.Shape())
	if self.Rank() > 0 {
		shape.Dims()[dim] = (whole-size)/step + 1
	}
	shape.Append(size)
	c, err := begin(ctx, out, self, shape.Dims())
	if err != nil {
		return err
	}
	slice := 1
	for d, n := range shape.Dims()[:self.Rank()] {
		stride := self.Strides()[d]
		if d == dim {
			slice = stride
			stride *= step
		}
		c.Dim(n, out.Strides()[d], stride)
	}
	c.Dim(size, out.Strides()[self.Rank()], slice)
	return c.Do(ctx)
}

// realsState is the state of a ViewAsRealCopy.
type realsState struct {
	copy kit.Copy
	// parts is self as reals, flat: the same memory.
	parts *tensor.Tensor
}

func viewAsRealCopyOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, out := args.Tensor(0), args.Tensor(1)
	if !self.DType().IsComplex() {
		return errs.InvalidArgument.Errorf("self is %v, want a complex type", self.DType())
	}
	if self.Rank() == tensor.MaxRank {
		return errs.InvalidArgument.Errorf("%v has as many dimensions as there can be", self)
	}
	shape := kit.ShapeOf(self.Shape())
	shape.Append(2)
	if err := kit.Resize(out, shape.Dims()); err != nil {
		return err
	}
	st := runtime.State[realsState](ctx)
	if err := st.view(self); err != nil {
		return err
	}
	st.copy.Begin(out, st.parts)
	for d, size := range self.Shape() {
		st.copy.Dim(size, out.Strides()[d], 2*self.Strides()[d])
	}
	st.copy.Dim(2, out.Strides()[self.Rank()], 1)
	return st.copy.Do(ctx)
}

// view makes st.parts the reals of self's memory.
func (st *realsState) view(self *tensor.Tensor) error {
	if st.parts == nil || st.parts.DType() != partOf(self.DType()) {
		t, err := tensor.NewUnbound(partOf(self.DType()), []int{0}, tensor.WithDynamism(tensor.DynamicUnbound))
		if err != nil {
			return err
		}
		st.parts = t
	}
	st.parts.ClearBytes()
	if err := st.parts.Resize([]int{2 * self.Numel()}); err != nil {
		return err
	}
	return st.parts.SetBytes(self.Bytes())
}

func pixelShuffleOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, r, out := args.Tensor(0), args.Int(1), args.Tensor(2)
	if err := checkPixels(self, r); err != nil {
		return err
	}
	n := self.Rank() - 3
	shape := kit.ShapeOf(self.Shape())
	dims := shape.Dims()
	if dims[n]%(r*r) != 0 {
		return errs.InvalidArgument.Errorf("the channels of %v are no multiple of %d", self, r*r)
	}
	dims[n] /= r * r
	dims[n+1] *= r
	dims[n+2] *= r
	c, err := begin(ctx, out, self, dims)
	if err != nil {
		return err
	}
	small, large := pixels{self, n}, pixels{out, n}
	small.each(&large, r, func(size, s, l int) { c.Dim(size, l, s) })
	return c.Do(ctx)
}

func pixelUnshuffleOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, r, out := args.Tensor(0), args.Int(1), args.Tensor(2)
	if err := checkPixels(self, r); err != nil {
		return err
	}
	n := self.Rank() - 3
	shape := kit.ShapeOf(self.Shape())
	dims := shape.Dims()
	if dims[n+1]%r != 0 || dims[n+2]%r != 0 {
		return errs.InvalidArgument.Errorf("height or width of %v is no multiple of %d", self, r)
	}
	dims[n] *= r * r
	dims[n+1] /= r
	dims[n+2] /= r
	c, err := begin(ctx, out, self, dims)
	if err != nil {
		return err
	}
	small, large := pixels{out, n}, pixels{self, n}
	small.each(&large, r, func(size, s, l int) { c.Dim(size, s, l) })
	return c.Do(ctx)
}

// checkPixels checks an image and a factor; larger ones would make no tensor.
func checkPixels(self *tensor.Tensor, r int) error {
	if self.Rank() < 3 || r <= 0 || r >= 1<<15 {
		return errs.InvalidArgument.Errorf("%v cannot be scaled by %d", self, r)
	}
	return nil
}

// pixels is an image whose channels are dimension c.
type pixels struct {
	t *tensor.Tensor
	c int
}

// each calls dim for the dimensions that p, [*, c*r*r, h, w], and large,
// [*, c, h*r, w*r], have in common, with their size and strides in both.
func (p *pixels) each(large *pixels, r int, dim func(size, small, large int)) {
	shape, s, l := p.t.Shape(), p.t.Strides(), large.t.Strides()
	c := p.c
	for d := range c {
		dim(shape[d], s[d], l[d])
	}
	dim(shape[c]/(r*r), s[c]*r*r, l[c])
	dim(r, s[c]*r, l[c+1])
	dim(r, s[c], l[c+2])
	dim(shape[c+1], s[c+1], l[c+1]*r)
	dim(shape[c+2], s[c+2], l[c+2]*r)
}

func flipOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, out := args.Tensor(0), args.Tensor(2)
	set, err := dimSet(args.Ints(1), self.Rank())
	if err != nil {
		return err
	}
	c, err := begin(ctx, out, self, self.Shape())
	if err != nil {
		return err
	}
	for d, size := range self.Shape() {
		stride := self.Strides()[d]
		if set&(1<<d) != 0 {
			c.Offset(0, (size-1)*stride)
			stride = -stride
		}
		c.Dim(size, out.Strides()[d], stride)
	}
	return c.Do(ctx)
}

func rollOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, shifts, dims, out := args.Tensor(0), args.Ints(1), args.Ints(2), args.Tensor(3)
	if len(dims) == 0 && len(shifts) == 1 {
		return rollFlat(ctx, out, self, int(shifts[0]))
	}
	if len(shifts) != len(dims) {
		return errs.InvalidArgument.Errorf("%d shifts given for %d dimensions", len(shifts), len(dims))
	}
	var by [tensor.MaxRank]int
	for i, dim := range dims {
		d, err := kit.Dim(int(dim), self.Rank())
		if err != nil {
			return err
		}
		if size := sizeAt(self, d); size > 1 {
			by[d] = rotation(by[d]+int(shifts[i]%int64(size)), size)
		}
	}
	c, err := begin(ctx, out, self, self.Shape())
	if err != nil || self.Numel() == 0 {
		return err
	}
	var set uint32
	for d, n := range by {
		if n != 0 {
			set |= 1 << d
		}
	}
	// Each rotated dimension falls into two parts; the subsets of set say of
	// which ones the wrapped part is copied.
	for wrapped := set; ; wrapped = (wrapped - 1) & set {
		c.Begin(out, self)
		for d, size := range self.Shape() {
			n := by[d]
			if wrapped&(1<<d) != 0 {
				c.Offset(0, (size-n)*self.Strides()[d])
				size = n
			} else {
				c.Offset(n*out.Strides()[d], 0)
				size -= n
			}
			c.Dim(size, out.Strides()[d], self.Strides()[d])
		}
		if err := c.Do(ctx); err != nil {
			return err
		}
		if wrapped == 0 {
			return nil
		}
	}
}

// rotation returns shift as a rotation forwards by less than size.
func rotation(shift, size int) int {
	if shift %= size; shift < 0 {
		shift += size
	}
	return shift
}

// sizeAt returns the size of dimension d; a scalar has one of size 1.
func sizeAt(t *tensor.Tensor, d int) int {
	if t.Rank() == 0 {
		return 1
	}
	return t.Shape()[d]
}

func rollFlat(ctx *runtime.KernelRuntimeContext, out, self *tensor.Tensor, shift int) error {
	c, err := begin(ctx, out, self, self.Shape())
	if err != nil || self.Numel() == 0 {
		return err
	}
	if !self.IsContiguous() || !out.IsContiguous() {
		return errs.NotSupported.Errorf("roll without dims from %v to %v", self, out)
	}
	size := self.Numel()
	n := rotation(shift, size)
	c.Offset(n, 0)
	c.Dim(size-n, 1, 1)
	if err := c.Do(ctx); err != nil {
		return err
	}
	c.Begin(out, self)
	c.Offset(0, size-n)
	c.Dim(n, 1, 1)
	return c.Do(ctx)
}

func repeatOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, repeats, out := args.Tensor(0), args.Ints(1), args.Tensor(2)
	shape, err := shapeOf(repeats)
	if err != nil {
		return err
	}
	dims := shape.Dims()
	added := len(dims) - self.Rank()
	if added < 0 {
		return errs.InvalidArgument.Errorf("%d repeats given for %v", len(repeats), self)
	}
	for d, n := range dims {
		size := 1
		if d >= added {
			size = self.Shape()[d-added]
		}
		if hi, lo := bits.Mul64(uint64(n), uint64(size)); n < 0 || hi != 0 || lo > 1<<62 {
			return errs.InvalidArgument.Errorf("%v cannot be repeated %v times", self, repeats)
		}
		dims[d] = n * size
	}
	c, err := begin(ctx, out, self, dims)
	if err != nil {
		return err
	}
	for d, n := range repeats {
		stride := out.Strides()[d]
		if d < added {
			c.Dim(int(n), stride, 0)
			continue
		}
		size := self.Shape()[d-added]
		c.Dim(int(n), stride*size, 0)
		c.Dim(size, stride, self.Strides()[d-added])
	}
	return c.Do(ctx)
}

func trilOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	self, diagonal, out := args.Tensor(0), args.Int(1), args.Tensor(2)
	if self.Rank() < 2 {
		return errs.InvalidArgument.Errorf("%v is no matrix", self)
	}
	c, err := begin(ctx, out, self, self.Shape())
	if err != nil || self.Numel() == 0 {
		return err
	}
	rows, cols := self.Size(-2), self.Size(-1)
	diagonal = max(min(diagonal, cols), -rows)
	clear(out.Bytes())
	// Below the row that is the first to keep all columns, all do.
	whole := min(max(cols-1-diagonal, 0), rows)
	if err := trilRows(ctx, c, out, self, whole, rows, cols); err != nil {
		return err
	}
	for r := max(0, -diagonal); r < whole; r++ {
		if err := trilRows(ctx, c, out, self, r, r+1, r+diagonal+1); err != nil {
			return err
		}
	}
	return nil
}

// trilRows copies the first n columns of the rows lo <= r < hi of all matrices.
func trilRows(ctx *runtime.KernelRuntimeContext, c *kit.Copy, out, self *tensor.Tensor, lo, hi, n int) error {
	row, col := self.Rank()-2, self.Rank()-1
	c.Begin(out, self)
	c.Offset(lo*out.Strides()[row], lo*self.Strides()[row])
	for d, size := range self.Shape() {
		switch d {
		case row:
			size = hi - lo
		case col:
			size = n
		}
		c.Dim(size, out.Strides()[d], self.Strides()[d])
	}
	return c.Do(ctx)
}
