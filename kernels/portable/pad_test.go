package portable

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func TestConstantPad(t *testing.T) {
	const name = "aten::constant_pad_nd.out"
	out := kerneltest.Zeros(tensor.I32, 3, 4)
	kerneltest.Run(t, ConstantPadNd, name, tensor.Of([]int32{1, 2, 3, 4, 5, 6}, 2, 3), ints(2, -1, 0, 1), 9, out)
	kerneltest.Equal(t, tensor.Of([]int32{9, 9, 1, 2, 9, 9, 4, 5, 9, 9, 9, 9}, 3, 4), out)

	// Nothing of self is left, or there was nothing.
	out = kerneltest.Zeros(tensor.F32, 1, 2)
	kerneltest.Run(t, ConstantPadNd, name, counting(1, 2), ints(2, -2), .5, out)
	kerneltest.Equal(t, tensor.Of([]float32{.5, .5}, 1, 2), out)
	kerneltest.Run(t, ConstantPadNd, name, kerneltest.Zeros(tensor.F32, 1, 0), ints(1, 1), .5, out)
	kerneltest.Equal(t, tensor.Of([]float32{.5, .5}, 1, 2), out)

	// A negative number goes to an unsigned type, one out of range does not.
	bytes := kerneltest.Zeros(tensor.U8, 2)
	kerneltest.Run(t, ConstantPadNd, name, tensor.Of([]uint8{7}), ints(0, 1), -1, bytes)
	kerneltest.Equal(t, tensor.Of([]uint8{7, 255}), bytes)
	require.ErrorIs(t, kerneltest.Fails(t, ConstantPadNd, name, tensor.Of([]uint8{7}), ints(0, 1), 256, bytes), errs.InvalidArgument)

	cplx := kerneltest.Zeros(tensor.C64, 2)
	kerneltest.Run(t, ConstantPadNd, name, tensor.Of([]complex64{1i}), ints(0, 1), 2.5, cplx)
	kerneltest.Equal(t, tensor.Of([]complex64{1i, 2.5}), cplx)
	scalar := kerneltest.Zeros(tensor.F32)
	kerneltest.Run(t, ConstantPadNd, name, tensor.Scalar(float32(3)), ints(), 1, scalar)
	kerneltest.Equal(t, tensor.Scalar(float32(3)), scalar)
}

func TestPadErrors(t *testing.T) {
	x, out := counting(1, 2, 3), kerneltest.Dynamic(tensor.F32, 2, 4, 8)
	for name, err := range map[string]error{
		"odd":               kerneltest.Fails(t, ConstantPadNd, "aten::constant_pad_nd.out", x, ints(1), 0, out),
		"many":              kerneltest.Fails(t, ConstantPadNd, "aten::constant_pad_nd.out", x, make([]int64, 8), 0, out),
		"huge":              kerneltest.Fails(t, ConstantPadNd, "aten::constant_pad_nd.out", x, ints(1<<62, 1<<62), 0, out),
		"crop all":          kerneltest.Fails(t, ConstantPadNd, "aten::constant_pad_nd.out", x, ints(-2, -2), 0, out),
		"type":              kerneltest.Fails(t, ConstantPadNd, "aten::constant_pad_nd.out", x, ints(0, 1), 0, kerneltest.Dynamic(tensor.F64, 2, 4, 8)),
		"rank":              kerneltest.Fails(t, ReflectionPad1d, "aten::reflection_pad1d.out", counting(4), ints(1, 1), kerneltest.Dynamic(tensor.F32, 8)),
		"count":             kerneltest.Fails(t, ReflectionPad1d, "aten::reflection_pad1d.out", x, ints(1, 1, 1, 1), out),
		"too far":           kerneltest.Fails(t, ReflectionPad1d, "aten::reflection_pad1d.out", x, ints(3, 0), out),
		"too far behind":    kerneltest.Fails(t, ReflectionPad2d, "aten::reflection_pad2d.out", x, ints(0, 0, 0, 2), out),
		"nothing to repeat": kerneltest.Fails(t, ReplicationPad1d, "aten::replication_pad1d.out", kerneltest.Zeros(tensor.F32, 2, 0), ints(1, 0), kerneltest.Zeros(tensor.F32, 2, 1)),
	} {
		require.ErrorIs(t, err, errs.InvalidArgument, name)
	}
}
