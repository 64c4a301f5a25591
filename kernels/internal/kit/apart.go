package kit

import (
	"slices"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/tensor"
)

// ResizeApart is Resize for a kernel that relies on the shapes of others, which
// the resize would change if out were one of them: that is an error. A program may
// name one value as input and output.
func ResizeApart(out *tensor.Tensor, dims []int, others ...*tensor.Tensor) error {
	if slices.Contains(others, out) && !slices.Equal(out.Shape(), dims) {
		return errs.InvalidArgument.Errorf("output %v is another argument too and would change its shape", out)
	}
	return Resize(out, dims)
}
