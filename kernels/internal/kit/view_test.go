package kit

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

func TestViewShape(t *testing.T) {
	for _, tt := range []struct {
		from  []int
		sizes []int64
		want  []int // nil for an error
	}{
		{[]int{2, 3}, []int64{6}, []int{6}},
		{[]int{2, 3}, []int64{3, -1}, []int{3, 2}},
		{[]int{2, 3}, []int64{-1, 6, 1}, []int{1, 6, 1}},
		{[]int{}, []int64{1, -1}, []int{1, 1}},
		{[]int{0, 3}, []int64{-1, 5}, []int{0, 5}},
		{[]int{0, 3}, []int64{7, 0}, []int{7, 0}},
		{[]int{1}, []int64{}, []int{}},
		{[]int{2, 3}, []int64{}, nil},
		{[]int{2, 3}, []int64{4, -1}, nil},
		{[]int{2, 3}, []int64{5}, nil},
		{[]int{2, 3}, []int64{3}, nil},
		{[]int{2, 3}, []int64{-1, -1}, nil},
		{[]int{2, 3}, []int64{-2, -3}, nil},
		{[]int{2, 3}, []int64{0}, nil},
		{[]int{0, 3}, []int64{-1, 0}, nil},
		{[]int{0, 3}, []int64{2, 3}, nil},
		{[]int{2}, []int64{1 << 62, 1 << 62, 1 << 62}, nil},
		{[]int{1}, make([]int64, 17), nil},
	} {
		s, err := ViewShape(newShaped(t, tensor.U8, tt.from), tt.sizes)
		if tt.want == nil {
			require.Error(t, err, "%v as %v", tt.from, tt.sizes)
			continue
		}
		require.NoError(t, err, "%v as %v", tt.from, tt.sizes)
		require.Equal(t, tt.want, s.Dims(), "%v as %v", tt.from, tt.sizes)
	}
}

func newShaped(t testing.TB, d tensor.DType, shape []int, opts ...tensor.Option) *tensor.Tensor {
	x, err := tensor.New(d, shape, opts...)
	require.NoError(t, err)
	return x
}

func TestReshapeKeepsLogicalOrder(t *testing.T) {
	ctx := runtime.NewKernelRuntimeContext(context.Background())
	last := tensor.WithDimOrder(tensor.ChannelsLast(4))
	for _, tt := range []struct {
		from, to []int
		fromLast bool
		toLast   bool
		sameAs   bool
	}{
		{[]int{2, 3, 4, 5}, []int{6, 20}, false, false, true},
		{[]int{2, 3, 4, 5}, []int{6, 20}, true, false, false},
		{[]int{6, 20}, []int{2, 3, 4, 5}, false, true, false},
		{[]int{2, 3, 4, 5}, []int{2, 3, 4, 5}, true, true, true},
		{[]int{2, 3, 4, 5}, []int{2, 3, 5, 4}, true, true, true},
		{[]int{2, 3, 4, 5}, []int{2, 4, 3, 5}, true, true, false},
		{[]int{2, 1, 4, 5}, []int{2, 20}, true, false, true},
		{[]int{2, 3, 1, 1}, []int{6}, true, false, true},
		{[]int{0, 3, 2, 1}, []int{0}, true, false, true},
	} {
		from, to := newShaped(t, tensor.I32, tt.from), newShaped(t, tensor.I32, tt.to)
		for i := range tensor.Raw[int32](from) {
			tensor.Raw[int32](from)[i] = int32(i)
		}
		if tt.fromLast {
			from = from.WithOrder(tensor.ChannelsLast(4))
		}
		if tt.toLast {
			to = newShaped(t, tensor.I32, tt.to, last)
		}
		require.Equal(t, tt.sameAs, SameOrder(from, to), "%v to %v", from, to)
		want, err := tensor.Data[int32](from)
		require.NoError(t, err)
		for range 2 {
			clear(to.Bytes())
			require.NoError(t, Reshape(ctx, runtime.State[Copy](ctx), to, from))
			got, err := tensor.Data[int32](to)
			require.NoError(t, err)
			require.Equal(t, want, got, "%v to %v", from, to)
			ctx.Release()
		}
	}
	require.Error(t, Reshape(ctx, new(Copy), newTensor(t, tensor.F32, 3), newTensor(t, tensor.F32, 4)))
}
