package kit

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/tensor"
)

func TestLoadTruth(t *testing.T) {
	negativeZero := math.Copysign(0, -1)
	for _, x := range []*tensor.Tensor{
		tensor.Of([]float32{0, 1, float32(negativeZero), float32(math.NaN())}),
		tensor.Of([]float64{0, 5e-324, negativeZero, math.Inf(1)}),
		tensor.Of([]tensor.Float16{0, 1, 0x8000, 0x7e00}),
		tensor.Of([]tensor.BFloat16{0, 1, 0x8000, 0x7fc0}),
		tensor.Of([]int8{0, -128, 0, 1}),
		tensor.Of([]int16{0, -32768, 0, 1}),
		tensor.Of([]int32{0, math.MinInt32, 0, 1}),
		tensor.Of([]int64{0, math.MinInt64, 0, 1}),
		tensor.Of([]bool{false, true, false, true}),
	} {
		got := make([]uint8, 4)
		LoadTruth(got, x, 0, 1)
		require.Equal(t, []uint8{0, 1, 0, 1}, got, "%v", x)
		LoadTruth(got[:2], x, 1, 2)
		require.Equal(t, []uint8{1, 1}, got[:2], "%v", x)
		LoadTruth(got, x, 2, 0)
		require.Equal(t, []uint8{0, 0, 0, 0}, got, "%v", x)
	}
}
