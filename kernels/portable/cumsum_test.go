package portable

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func TestCumsumTypes(t *testing.T) {
	x := tensor.Of([]int32{1, 2, 3, 4, 5, 6}, 2, 3)
	for dim, want := range [][]int64{{1, 2, 3, 5, 7, 9}, {1, 3, 6, 4, 9, 15}} {
		out := kerneltest.Zeros(tensor.I64, 2, 3)
		kerneltest.Run(t, Cumsum, "aten::cumsum.out", x, dim, nil, out)
		kerneltest.Equal(t, tensor.Of(want, 2, 3), out)
	}

	// A sum of truth values does not pass through integers.
	b := kerneltest.Zeros(tensor.Bool, 4)
	kerneltest.Run(t, Cumsum, "aten::cumsum.out", tensor.Of([]float32{0, 0.25, -0.25, 0}), 0, tensor.Bool, b)
	kerneltest.Equal(t, tensor.Of([]bool{false, true, true, true}), b)

	f := kerneltest.Zeros(tensor.F32)
	kerneltest.Run(t, Cumsum, "aten::cumsum.out", tensor.Scalar[float32](3), -1, nil, f)
	kerneltest.Equal(t, tensor.Scalar[float32](3), f)
}

func TestCumsumLong(t *testing.T) {
	x, out := kerneltest.Zeros(tensor.U8, 3, 2000), kerneltest.Zeros(tensor.I64, 3, 2000)
	for i := range x.Bytes() {
		x.Bytes()[i] = 1
	}
	for _, in := range []*tensor.Tensor{x, x.WithOrder(tensor.DimOrder{1, 0})} {
		kerneltest.Run(t, Cumsum, "aten::cumsum.out", in, 1, nil, out)
		require.Equal(t, []int64{1999, 2000, 1}, tensor.Raw[int64](out)[1998:2001])
		kerneltest.Run(t, Cumsum, "aten::cumsum.out", in, 0, nil, out)
		require.Equal(t, []int64{1, 1, 2}, tensor.Raw[int64](out)[1998:2001])
	}
}

func TestCumsumHalfRounds(t *testing.T) {
	x := as(t, tensor.BF16, tensor.Of([]float32{256, 1, 1, 2}))
	out := kerneltest.Zeros(tensor.BF16, 4)
	kerneltest.Run(t, Cumsum, "aten::cumsum.out", x, 0, nil, out)
	kerneltest.Equal(t, as(t, tensor.BF16, tensor.Of([]float32{256, 256, 256, 258})), out)
}
