package kit

import (
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/tensor"
)

// Dim returns dimension d of a tensor of the given rank; a negative d counts
// from the end. A scalar has the dimensions -1 and 0, as in ATen.
func Dim(d, rank int) (int, error) {
	n := max(rank, 1)
	if d < -n || d >= n {
		return 0, errs.InvalidArgument.Errorf("dimension %d is out of range [%d, %d]", d, -n, n-1)
	}
	if d < 0 {
		d += n
	}
	return d, nil
}

// Shape holds a shape without allocating.
type Shape struct {
	dims [tensor.MaxRank]int
	rank int
}

// ShapeOf returns a copy of dims.
func ShapeOf(dims []int) (s Shape) {
	s.rank = copy(s.dims[:], dims)
	return s
}

// Dims returns the sizes. The slice is s's own.
func (s *Shape) Dims() []int { return s.dims[:s.rank] }

// Append adds a dimension at the end.
func (s *Shape) Append(size int) {
	s.dims[s.rank] = size
	s.rank++
}

// Broadcast widens s to what s and dims broadcast to.
func (s *Shape) Broadcast(dims []int) error {
	if len(dims) > s.rank {
		shift := len(dims) - s.rank
		copy(s.dims[shift:len(dims)], s.dims[:s.rank])
		for i := range shift {
			s.dims[i] = 1
		}
		s.rank = len(dims)
	}
	off := s.rank - len(dims)
	for i, d := range dims {
		switch have := s.dims[off+i]; {
		case have == d || d == 1:
		case have == 1:
			s.dims[off+i] = d
		default:
			// Copies, as formatting s itself would move every caller's Shape to the heap.
			a, b := append([]int(nil), s.Dims()...), append([]int(nil), dims...)
			return errs.InvalidArgument.Errorf("shapes do not broadcast: %v and %v differ in dimension %d", a, b, off+i)
		}
	}
	return nil
}

// ResizeBroadcast resizes out to the shape that the inputs broadcast to.
func ResizeBroadcast(out *tensor.Tensor, ins ...*tensor.Tensor) error {
	var s Shape
	for _, in := range ins {
		if err := s.Broadcast(in.Shape()); err != nil {
			return err
		}
	}
	return Resize(out, s.Dims())
}

// Resize resizes out. A failure is the caller's fault, as the shape follows from
// the inputs: ExecuTorch's kernels report InvalidArgument.
func Resize(out *tensor.Tensor, dims []int) error {
	if err := out.Resize(dims); err != nil {
		return errs.InvalidArgument.Errorf("output: %w", err)
	}
	if !out.HasData() {
		return errs.InvalidState.Errorf("output %v has no memory", out)
	}
	return nil
}

// Unsupported is the error of a kernel that has no code for a tensor's type.
func Unsupported(name string, t *tensor.Tensor) error {
	return errs.InvalidArgument.Errorf("%s: dtype %v is not supported", name, t.DType())
}
