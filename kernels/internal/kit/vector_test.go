package kit

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// TestRows compares the kernels of this processor with the loops in Go, on whole
// numbers, of which sums are exact.
func TestRows(t *testing.T) {
	const ld = 37
	b, x := make([]float32, 19*ld), make([]float32, ld)
	for i := range b {
		b[i] = float32(i%7 - 3)
	}
	for i := range x {
		x[i] = float32(i%5 - 2)
	}
	for n := range 19 {
		for _, k := range []int{0, 1, 3, 16, 35} {
			for _, add := range []bool{false, true} {
				got, want := make([]float32, 19), make([]float32, 19)
				if add {
					got, want = make([]float32, k), make([]float32, k)
					NewRows().Add(got, x[:n], b, ld)
					Rows{}.Add(want, x[:n], b, ld)
				} else {
					NewRows().Dots(got[:n], x[:k], b, ld)
					Rows{}.Dots(want[:n], x[:k], b, ld)
				}
				assert.Equal(t, want, got, "%d rows of %d, add %v", n, k, add)
			}
		}
	}
}

func TestDense(t *testing.T) {
	ctx := runtime.NewKernelRuntimeContext(context.Background())
	defer ctx.Release()
	x := tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	s, err := Dense[float32](ctx, x)
	require.NoError(t, err)
	assert.Same(t, &tensor.Raw[float32](x)[0], &s[0])
	s, err = Dense[float32](ctx, x.WithOrder(tensor.DimOrder{1, 0}))
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 2, 3, 4, 5, 6}, s)
	d, err := Dense[float64](ctx, x)
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 2, 3, 4, 5, 6}, d)
	_, own, err := DenseTarget[int8](ctx, x)
	require.NoError(t, err)
	assert.False(t, own)
}
