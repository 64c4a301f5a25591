package kit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/tensor"
)

func TestRowMajor(t *testing.T) {
	want := make([]float32, 2*3*4)
	for i := range want {
		want[i] = float32(i)
	}
	for _, order := range []tensor.DimOrder{{0, 1, 2}, {0, 2, 1}, {2, 1, 0}} {
		x := tensor.Of(want, 2, 3, 4).WithOrder(order)
		var r RowMajor
		r.Begin(x)
		for pos := range want {
			got := make([]float64, len(want)-pos)
			LoadRowMajor(got, &r, pos)
			for i, v := range got {
				require.Equal(t, float64(want[pos+i]), v)
			}
		}
		StoreRowMajor(&r, 5, []int32{-1, -2, -3})
		got, err := tensor.Data[float32](x)
		require.NoError(t, err)
		require.Equal(t, []float32{4, -1, -2, -3, 8}, got[4:9])
	}
}

func TestRowMajorEmpty(t *testing.T) {
	x, err := tensor.New(tensor.F32, []int{2, 0})
	require.NoError(t, err)
	var r RowMajor
	r.Begin(x)
	LoadRowMajor([]float32{}, &r, 0)
	StoreRowMajor(&r, 0, []float32{})
}

func TestResizeApart(t *testing.T) {
	x, err := tensor.New(tensor.F32, []int{4}, tensor.WithDynamism(tensor.DynamicBound))
	require.NoError(t, err)
	y := tensor.Of([]float32{1})
	require.NoError(t, ResizeApart(x, []int{3}, y))
	require.NoError(t, ResizeApart(x, []int{3}, y, x))
	require.Error(t, ResizeApart(x, []int{2}, y, x))
	require.Equal(t, []int{3}, x.Shape())
}
