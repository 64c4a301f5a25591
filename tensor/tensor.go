// Package tensor holds ExecuTorch's tensors: an element type, a shape, a dim
// order and the bytes. A tensor is always dense: its elements lie side by side
// in the order of its dimensions that DimOrder tells.
//
// Make one over your own slice with Of, read one with Data:
//
//	x := tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
//	values, err := tensor.Data[float32](x)
package tensor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgo-ml/etgo/internal/bulk"
	"github.com/etgo-ml/etgo/internal/errs"
)

// Dynamism tells how a tensor's shape may change (the schema's
// TensorShapeDynamism).
type Dynamism uint8

// Static tensors keep their shape. DynamicBound ones may be resized as long as
// the elements fit the bytes they were given. DynamicUnbound ones get more
// bytes when they need them.
const (
	Static Dynamism = iota
	DynamicBound
	DynamicUnbound
)

func (d Dynamism) String() string {
	switch d {
	case Static:
		return "static"
	case DynamicBound:
		return "dynamic"
	case DynamicUnbound:
		return "unbound"
	}
	return fmt.Sprintf("Dynamism(%d)", uint8(d))
}

// Tensor is a dense array. The zero value holds nothing; New, Of and the other
// constructors make tensors.
//
// A Tensor is not safe for concurrent use while it is resized or written.
type Tensor struct {
	dtype    DType
	dynamism Dynamism
	readOnly bool
	order    DimOrder
	shape    []int
	strides  []int
	numel    int
	maxNumel int    // the bound of a DynamicBound tensor
	data     []byte // the elements, or nil where no memory is bound yet
	grow     func(nbytes int) ([]byte, error)
	err      error
}

// Option changes what a constructor makes.
type Option func(*options)

type options struct {
	order    DimOrder
	dynamism Dynamism
	readOnly bool
}

// WithDimOrder lays the tensor out in the given order; the default is contiguous.
func WithDimOrder(order DimOrder) Option {
	return func(o *options) { o.order = order }
}

// WithDynamism lets the tensor be resized; the default is Static.
func WithDynamism(d Dynamism) Option {
	return func(o *options) { o.dynamism = d }
}

// WithReadOnly marks the bytes as not to be written, as those of a constant.
func WithReadOnly() Option {
	return func(o *options) { o.readOnly = true }
}

// New returns a tensor of zeros. It is an error if the shape is not one.
func New(dtype DType, shape []int, opts ...Option) (*Tensor, error) {
	t, err := NewUnbound(dtype, shape, opts...)
	if err != nil {
		return nil, err
	}
	t.data = alignedBytes(t.NBytes())
	return t, nil
}

// FromBytes returns a tensor over data, which it does not copy: the elements in
// little-endian order as the dim order lays them out. data must hold exactly the
// bytes that dtype and shape ask for and be aligned for the type; bytes that are
// not aligned are copied.
func FromBytes(dtype DType, data []byte, shape []int, opts ...Option) (*Tensor, error) {
	t, err := NewUnbound(dtype, shape, opts...)
	if err != nil {
		return nil, err
	}
	if len(data) != t.NBytes() {
		return nil, errs.InvalidArgument.Errorf("%d bytes given for a %v tensor of shape %v, which has %d", len(data), dtype, shape, t.NBytes())
	}
	if !aligned(data, dtype) {
		b := alignedBytes(len(data))
		copy(b, data)
		data = b
	}
	t.data = data
	return t, nil
}

// NewUnbound returns a tensor without memory; SetBytes gives it some. The bound
// of a dynamic tensor is the given shape's number of elements.
func NewUnbound(dtype DType, shape []int, opts ...Option) (*Tensor, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if o.dynamism > DynamicUnbound {
		o.dynamism = Static // a kind that a newer exporter may know
	}
	if len(shape) > MaxRank {
		return nil, errs.InvalidArgument.Errorf("rank %d is above the limit of %d", len(shape), MaxRank)
	}
	if _, err := NBytes(dtype, shape); err != nil {
		return nil, errs.InvalidArgument.Wrap(err)
	}
	if o.order == nil {
		o.order = Contiguous(len(shape))
	} else if err := o.order.Check(len(shape)); err != nil {
		return nil, errs.InvalidArgument.Wrap(err)
	}
	t := &Tensor{dtype: dtype, dynamism: o.dynamism, readOnly: o.readOnly, order: slices.Clone(o.order)}
	dims := make([]int, 2*len(shape))
	t.shape, t.strides = dims[:len(shape):len(shape)], dims[len(shape):]
	copy(t.shape, shape)
	setStrides(t.strides, t.shape, t.order)
	t.numel, _ = Numel(shape)
	t.maxNumel = t.numel
	return t, nil
}

// Of returns a contiguous tensor over data, without copying it; without sizes it
// is one-dimensional. Where the sizes do not fit the data the result's Err is
// not nil and whoever is given the tensor reports it.
func Of[T Element](data []T, sizes ...int) *Tensor {
	if len(sizes) == 0 {
		sizes = []int{len(data)}
	}
	t, err := FromBytes(DTypeOf[T](), bytesOf(data), sizes)
	if err != nil {
		return &Tensor{err: err}
	}
	return t
}

// Scalar returns a 0-dimensional tensor of one value.
func Scalar[T Element](v T) *Tensor {
	t, err := FromBytes(DTypeOf[T](), bytesOf([]T{v}), nil)
	if err != nil {
		return &Tensor{err: err}
	}
	return t
}

// Data returns t's elements in logical (row-major) order. Where t is laid out
// so, the slice shares t's memory; else it is a copy. T must be t's type.
func Data[T Element](t *Tensor) ([]T, error) {
	if t == nil {
		return nil, errs.InvalidArgument.Errorf("no tensor")
	}
	if t.err != nil {
		return nil, t.err
	}
	if want := DTypeOf[T](); want != t.dtype {
		return nil, errs.InvalidType.Errorf("tensor holds %v, not %v", t.dtype, want)
	}
	if t.data == nil && t.numel > 0 {
		return nil, errs.InvalidState.Errorf("tensor %v has no memory", t)
	}
	if !t.IsContiguous() {
		t = t.Contiguous()
	}
	return Raw[T](t), nil
}

// Err returns why a tensor made by Of or Scalar is not one, else nil.
func (t *Tensor) Err() error { return t.err }

// DType returns the type of the elements.
func (t *Tensor) DType() DType { return t.dtype }

// Rank returns the number of dimensions, 0 for a scalar.
func (t *Tensor) Rank() int { return len(t.shape) }

// Shape returns the sizes by dimension. The slice is t's own: do not change it.
func (t *Tensor) Shape() []int { return t.shape }

// Size returns the size of dimension d; a negative d counts from the end.
func (t *Tensor) Size(d int) int {
	if d < 0 {
		d += len(t.shape)
	}
	return t.shape[d]
}

// Strides returns, by dimension, how many elements apart neighbours are. The
// slice is t's own: do not change it.
func (t *Tensor) Strides() []int { return t.strides }

// DimOrder returns the order of the dimensions in memory. The slice is t's own:
// do not change it.
func (t *Tensor) DimOrder() DimOrder { return t.order }

// Numel returns the number of elements.
func (t *Tensor) Numel() int { return t.numel }

// MaxNumel returns the number of elements that a DynamicBound tensor may have.
func (t *Tensor) MaxNumel() int { return t.maxNumel }

// NBytes returns the number of bytes of the elements.
func (t *Tensor) NBytes() int { return t.numel * t.dtype.Size() }

// Dynamism tells how the shape may change.
func (t *Tensor) Dynamism() Dynamism { return t.dynamism }

// ReadOnly reports whether the bytes must not be written.
func (t *Tensor) ReadOnly() bool { return t.readOnly }

// HasData reports whether t has memory; an empty tensor always has.
func (t *Tensor) HasData() bool { return t.data != nil || t.numel == 0 }

// Bytes returns the bytes of the elements in memory order, sharing t's memory,
// or nil where none is bound.
func (t *Tensor) Bytes() []byte {
	if t.data == nil {
		return nil
	}
	return t.data[:t.NBytes()]
}

// SetBytes binds memory to t. data must be at least as long as the elements and
// aligned for their type; a DynamicBound tensor may later grow into all of it,
// up to its bound.
func (t *Tensor) SetBytes(data []byte) error {
	if len(data) < t.NBytes() {
		return errs.InvalidArgument.Errorf("%d bytes are too few for %v", len(data), t)
	}
	if !aligned(data, t.dtype) {
		return errs.InvalidArgument.Errorf("memory for %v is not aligned to its element", t)
	}
	if data == nil {
		data = []byte{}
	}
	t.data = data
	return nil
}

// ClearBytes takes t's memory away.
func (t *Tensor) ClearBytes() { t.data = nil }

// SetGrow sets what gives a DynamicUnbound tensor memory for nbytes when a
// resize needs more than it has.
func (t *Tensor) SetGrow(grow func(nbytes int) ([]byte, error)) { t.grow = grow }

// Resize changes the shape and keeps the dim order. The rank stays. A Static
// tensor takes only the shape it has, a DynamicBound one what fits its bound.
// The elements are undefined afterwards unless the shape is the same.
func (t *Tensor) Resize(shape []int) error {
	if slices.Equal(shape, t.shape) {
		if t.dynamism == DynamicUnbound && t.data == nil {
			return t.reserve(t.NBytes())
		}
		return nil
	}
	if len(shape) != len(t.shape) {
		return errs.NotSupported.Errorf("cannot resize %v to shape %v: the rank is fixed", t, listed(shape))
	}
	if t.dynamism == Static {
		return errs.NotSupported.Errorf("cannot resize static tensor %v to shape %v; export with dynamic_shapes to let it vary", t, listed(shape))
	}
	nbytes, err := NBytes(t.dtype, shape)
	if err != nil {
		return errs.InvalidArgument.Wrap(err)
	}
	n, _ := Numel(shape)
	if t.dynamism == DynamicBound && n > t.maxNumel {
		return errs.NotSupported.Errorf("cannot resize %v to shape %v: %d elements exceed its bound of %d; export with a larger bound", t, listed(shape), n, t.maxNumel)
	}
	if t.dynamism == DynamicBound && t.data != nil && nbytes > len(t.data) {
		return errs.NotSupported.Errorf("cannot resize %v to shape %v: %d bytes exceed the %d it has", t, listed(shape), nbytes, len(t.data))
	}
	if t.dynamism == DynamicUnbound {
		if err := t.reserve(nbytes); err != nil {
			return err
		}
	}
	copy(t.shape, shape)
	setStrides(t.strides, t.shape, t.order)
	t.numel = n
	return nil
}

// reserve gets memory for nbytes where t has less.
func (t *Tensor) reserve(nbytes int) error {
	if t.data != nil && nbytes <= len(t.data) {
		return nil
	}
	if t.grow == nil {
		if t.data == nil {
			return nil // whoever binds memory later sees the size
		}
		return errs.NotSupported.Errorf("cannot resize %v: %d bytes exceed the %d it has", t, nbytes, len(t.data))
	}
	b, err := t.grow(nbytes)
	if err != nil {
		return err
	}
	if len(b) < nbytes || !aligned(b, t.dtype) {
		return errs.Internal.Errorf("memory of %d bytes does not do for %d of %v", len(b), nbytes, t.dtype)
	}
	t.data = b
	return nil
}

// IsContiguous reports whether the elements lie in row-major order.
func (t *Tensor) IsContiguous() bool {
	if t.order.IsContiguous() {
		return true
	}
	return SameLayout(t.shape, t.order, Contiguous(len(t.shape)))
}

// SameLayoutAs reports whether t and u have the same shape and lay it out alike.
func (t *Tensor) SameLayoutAs(u *Tensor) bool {
	return slices.Equal(t.shape, u.shape) && SameLayout(t.shape, t.order, u.order)
}

// Contiguous returns t if its elements lie in row-major order, else a copy in
// which they do.
func (t *Tensor) Contiguous() *Tensor {
	if t.IsContiguous() {
		return t
	}
	return t.WithOrder(Contiguous(len(t.shape)))
}

// WithOrder returns a copy of t in another dim order. An order that is no
// permutation of t's dimensions gives a tensor whose Err tells.
func (t *Tensor) WithOrder(order DimOrder) *Tensor {
	c, err := New(t.dtype, t.shape, WithDimOrder(order))
	if err == nil {
		err = Copy(c, t)
	}
	if err != nil {
		return &Tensor{err: err}
	}
	return c
}

// Clone returns a static copy of t with memory of its own.
func (t *Tensor) Clone() *Tensor {
	if t.err != nil {
		return t
	}
	return t.WithOrder(t.order)
}

// Copy copies the elements of src into dst, which has the same type and shape,
// moving each to where dst's dim order wants it. Their memory must not overlap in
// part.
func Copy(dst, src *Tensor) error {
	switch {
	case src.err != nil:
		return src.err
	case dst.dtype != src.dtype || !slices.Equal(dst.shape, src.shape):
		return errs.InvalidArgument.Errorf("cannot copy %v into %v", src, dst)
	case !dst.HasData() || !src.HasData():
		return errs.InvalidState.Errorf("cannot copy %v into %v: no memory", src, dst)
	case dst.readOnly:
		return errs.InvalidArgument.Errorf("cannot copy into a constant")
	case SameLayout(dst.shape, dst.order, src.order):
		bulk.Copy(dst.Bytes(), src.Bytes(), 1)
		return nil
	}
	permuteBytes(dst, src)
	return nil
}

// permuteBytes walks dst in memory order and gathers from src.
func permuteBytes(dst, src *Tensor) {
	rank := len(dst.shape)
	var sizes, steps, idx [MaxRank]int
	for i, d := range dst.order {
		sizes[i] = dst.shape[d]
		steps[i] = src.strides[d]
	}
	es := dst.dtype.Size()
	in, out := src.Bytes(), dst.Bytes()
	inner, step := sizes[rank-1], steps[rank-1]*es
	pos := 0
	for o := 0; o < len(out); {
		p := pos * es
		for range inner {
			copy(out[o:o+es], in[p:p+es])
			o += es
			p += step
		}
		for k := rank - 2; k >= 0; k-- {
			idx[k]++
			pos += steps[k]
			if idx[k] < sizes[k] {
				break
			}
			pos -= idx[k] * steps[k]
			idx[k] = 0
		}
	}
}

// String describes t without its elements, as in "float32[1,3,224,224]"; a dim
// order other than the contiguous one follows.
func (t *Tensor) String() string {
	if t == nil {
		return "no tensor"
	}
	if t.err != nil {
		return "invalid tensor: " + t.err.Error()
	}
	s := Describe(t.dtype, t.shape)
	if !t.order.IsContiguous() {
		s += " dim order " + t.order.String()
	}
	return s
}

// Describe formats a type and shape as in "float32[1,3,224,224]".
func Describe(dtype DType, shape []int) string {
	var b strings.Builder
	b.WriteString(dtype.String())
	b.WriteByte('[')
	for i, s := range shape {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d", s)
	}
	b.WriteByte(']')
	return b.String()
}

// IntShape converts the sizes of a file to a shape.
func IntShape(sizes []int32) []int {
	shape := make([]int, len(sizes))
	for i, s := range sizes {
		shape[i] = int(s)
	}
	return shape
}

// SetReadOnly marks the bytes as not to be written, or takes the mark away.
func (t *Tensor) SetReadOnly(on bool) { t.readOnly = on }

// SetBound sets the number of elements that a DynamicBound tensor may have, for
// a tensor made smaller than its bound.
func (t *Tensor) SetBound(numel int) { t.maxNumel = max(numel, t.numel) }

// BindFrom makes t a view of src: it takes src's memory and may be written where
// src may. What t's elements then are depends on its shape and dim order. The
// element types and counts must be the same.
func (t *Tensor) BindFrom(src *Tensor) error {
	if t.dtype != src.dtype || t.numel != src.numel {
		return errs.InvalidArgument.Errorf("%v is no view of %v", t, src)
	}
	t.data, t.readOnly = src.data, src.readOnly
	return nil
}
