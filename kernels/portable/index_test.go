package portable

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func TestEmbeddingOfHalves(t *testing.T) {
	h := tensor.ToFloat16
	out := kerneltest.Zeros(tensor.F16, 3, 2)
	kerneltest.Run(t, Embedding, "aten::embedding.out", tensor.Of([]tensor.Float16{h(1), h(2), h(3), h(4)}, 2, 2), tensor.Of([]int32{1, 0, 1}), 0, true, true, out)
	kerneltest.Equal(t, tensor.Of([]tensor.Float16{h(3), h(4), h(1), h(2), h(3), h(4)}, 3, 2), out)

	kerneltest.Run(t, Embedding, "aten::embedding.out", counting(0, 2), kerneltest.Zeros(tensor.I64, 0), -1, false, false, kerneltest.Zeros(tensor.F32, 0, 2))
}

func TestIndexPutInOrder(t *testing.T) {
	twice := list(tensor.Of([]int64{1, 1, -2}))
	x := tensor.Of([]int32{1, 2, 3})
	kerneltest.Run(t, IndexPut, "aten::index_put_", x, twice, tensor.Of([]int32{10, 20, 30}), false)
	kerneltest.Equal(t, tensor.Of([]int32{1, 30, 3}), x)

	x = tensor.Of([]int32{1, 2, 3})
	kerneltest.Run(t, IndexPut, "aten::index_put_", x, twice, tensor.Of([]int32{10, 20, 30}), true)
	kerneltest.Equal(t, tensor.Of([]int32{1, 62, 3}), x)

	// An index out of range is found before anything is written.
	err := kerneltest.Fails(t, IndexPut, "aten::index_put_", x, list(tensor.Of([]int64{0, 3})), tensor.Of([]int32{-1}), false)
	require.ErrorIs(t, err, errs.InvalidArgument)
	require.ErrorContains(t, err, "index 3 is out of range [-3, 3)")
	kerneltest.Equal(t, tensor.Of([]int32{1, 62, 3}), x)

	mask := list(tensor.Of([]bool{true, false, true}))
	kerneltest.Run(t, IndexPut, "aten::index_put_", x, mask, tensor.Scalar(int32(5)), false)
	kerneltest.Equal(t, tensor.Of([]int32{5, 62, 5}), x)
}

func TestIndexShapes(t *testing.T) {
	x := counting(2, 3, 4, 5)
	i := kerneltest.Zeros(tensor.I64, 6, 1)
	j := kerneltest.Zeros(tensor.I32, 7)
	for _, tt := range []struct {
		indices []*tensor.Tensor
		want    []int
	}{
		{list(i), []int{6, 1, 3, 4, 5}},
		{list(nil, i, j), []int{2, 6, 7, 5}},
		{list(nil, i, nil, j), []int{6, 7, 2, 4}},
		{list(i, nil, nil, j), []int{6, 7, 3, 4}},
		{list(nil, nil, kerneltest.Zeros(tensor.I64)), []int{2, 3, 5}},
		{list(nil, kerneltest.Zeros(tensor.Bool, 3, 4)), []int{2, 0, 5}},
		{list(nil, nil, kerneltest.Zeros(tensor.I64, 0)), []int{2, 3, 0, 5}},
	} {
		out := kerneltest.Zeros(tensor.F32, tt.want...)
		kerneltest.Run(t, Index, "aten::index.Tensor_out", x, tt.indices, out)
	}
}

func TestIndexErrors(t *testing.T) {
	x, out := counting(2, 3), kerneltest.Dynamic(tensor.F32, 2, 3)
	line := kerneltest.Dynamic(tensor.F32, 9)
	two, three := tensor.Of([]int64{0, 1}), tensor.Of([]int64{0, 1, 2})
	for name, err := range map[string]error{
		"many indices":   kerneltest.Fails(t, Index, "aten::index.Tensor_out", x, list(two, two, two), line),
		"broadcast":      kerneltest.Fails(t, Index, "aten::index.Tensor_out", x, list(two, three), line),
		"range":          kerneltest.Fails(t, Index, "aten::index.Tensor_out", x, list(three), kerneltest.Dynamic(tensor.F32, 3, 3)),
		"type":           kerneltest.Fails(t, Index, "aten::index.Tensor_out", x, list(counting(2)), out),
		"mask shape":     kerneltest.Fails(t, Index, "aten::index.Tensor_out", x, list(kerneltest.Zeros(tensor.Bool, 3)), out),
		"mask rank":      kerneltest.Fails(t, Index, "aten::index.Tensor_out", x, list(kerneltest.Zeros(tensor.Bool, 2, 3, 1)), line),
		"scalar mask":    kerneltest.Fails(t, Index, "aten::index.Tensor_out", x, list(kerneltest.Zeros(tensor.Bool)), out),
		"values":         kerneltest.Fails(t, IndexPut, "aten::index_put_", x, list(two), counting(2), false),
		"values type":    kerneltest.Fails(t, IndexPut, "aten::index_put_", x, list(two), kerneltest.Zeros(tensor.F64, 3), false),
		"select range":   kerneltest.Fails(t, IndexSelect, "aten::index_select.out", x, 0, tensor.Of([]int64{-1}), kerneltest.Zeros(tensor.F32, 1, 3)),
		"select rank":    kerneltest.Fails(t, IndexSelect, "aten::index_select.out", x, 0, kerneltest.Zeros(tensor.I64, 1, 1), kerneltest.Zeros(tensor.F32, 1, 3)),
		"select type":    kerneltest.Fails(t, IndexSelect, "aten::index_select.out", x, 0, kerneltest.Zeros(tensor.I16, 1), kerneltest.Zeros(tensor.F32, 1, 3)),
		"embedding":      kerneltest.Fails(t, Embedding, "aten::embedding.out", x, tensor.Of([]int64{2}), -1, false, false, kerneltest.Zeros(tensor.F32, 1, 3)),
		"embedding rank": kerneltest.Fails(t, Embedding, "aten::embedding.out", counting(2), two, -1, false, false, out),
		"gather range":   kerneltest.Fails(t, Gather, "aten::gather.out", x, 0, tensor.Of([]int64{0, -1}, 2, 1), false, kerneltest.Zeros(tensor.F32, 2, 1)),
		"gather size":    kerneltest.Fails(t, Gather, "aten::gather.out", x, 0, kerneltest.Zeros(tensor.I64, 2, 4), false, kerneltest.Zeros(tensor.F32, 2, 4)),
		"gather rank":    kerneltest.Fails(t, Gather, "aten::gather.out", x, 0, kerneltest.Zeros(tensor.I64, 2), false, kerneltest.Zeros(tensor.F32, 2)),
		"scatter source": kerneltest.Fails(t, Scatter, "aten::scatter.src_out", x, 1, kerneltest.Zeros(tensor.I64, 2, 3), counting(2, 2), out),
		"scatter value":  kerneltest.Fails(t, Scatter, "aten::scatter.value_out", tensor.Of([]int8{1}), 0, kerneltest.Zeros(tensor.I64, 1), 128, kerneltest.Zeros(tensor.I8, 1)),
		"scatter range":  kerneltest.Fails(t, ScatterAdd, "aten::scatter_add.out", x, 1, tensor.Of([]int64{3}, 1, 1), x, out),
	} {
		require.ErrorIs(t, err, errs.InvalidArgument, name)
	}
}

func TestScattersInOrder(t *testing.T) {
	index := tensor.Of([]int64{1, 1, 0})
	out := kerneltest.Zeros(tensor.U8, 2)
	kerneltest.Run(t, Scatter, "aten::scatter.src_out", tensor.Of([]uint8{1, 2}), 0, index, tensor.Of([]uint8{7, 8, 9}), out)
	kerneltest.Equal(t, tensor.Of([]uint8{9, 8}), out)
	kerneltest.Run(t, ScatterAdd, "aten::scatter_add.out", tensor.Of([]uint8{255, 2}), 0, index, tensor.Of([]uint8{7, 8, 9}), out)
	kerneltest.Equal(t, tensor.Of([]uint8{8, 17}), out)

	scalar := kerneltest.Zeros(tensor.F32)
	kerneltest.Run(t, ScatterAdd, "aten::scatter_add.out", tensor.Scalar(float32(1)), 0, kerneltest.Zeros(tensor.I64, 2), counting(3), scalar)
	kerneltest.Equal(t, tensor.Scalar(float32(2)), scalar)
	kerneltest.Run(t, Gather, "aten::gather.out", tensor.Scalar(float32(4)), -1, kerneltest.Zeros(tensor.I32, 3), false, kerneltest.Zeros(tensor.F32, 3))
	kerneltest.Run(t, Gather, "aten::gather.out", counting(3, 4), 0, kerneltest.Zeros(tensor.I64, 0), false, kerneltest.Zeros(tensor.F32, 0))
}
