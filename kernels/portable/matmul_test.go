package portable

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func TestMatmulIntegersWrap(t *testing.T) {
	out := kerneltest.Zeros(tensor.I8, 1, 2)
	kerneltest.Run(t, Mm, "aten::mm.out", tensor.Of([]int8{100, 100}, 1, 2), tensor.Of([]int8{1, 2, 1, 2}, 2, 2), out)
	kerneltest.Equal(t, tensor.Of([]int8{-56, -112}, 1, 2), out)

	out = kerneltest.Zeros(tensor.U64, 1, 1)
	kerneltest.Run(t, Mm, "aten::mm.out", tensor.Of([]uint64{1 << 63, 1}, 1, 2), tensor.Of([]uint64{3, 7}, 2, 1), out)
	kerneltest.Equal(t, tensor.Of([]uint64{1<<63 + 7}, 1, 1), out)
}

func TestMatmulComplex(t *testing.T) {
	a := tensor.Of([]complex64{1 + 2i, 3, 0, 1i}, 1, 2, 2)
	b := tensor.Of([]complex64{1i, 1, 2, -1}, 1, 2, 2)
	want := tensor.Of([]complex64{4 + 1i, -2 + 2i, 2i, -1i}, 1, 2, 2)
	out := kerneltest.Zeros(tensor.C64, 1, 2, 2)
	kerneltest.Run(t, Bmm, "aten::bmm.out", a, b, out)
	kerneltest.Equal(t, want, out)

	halves := func(x *tensor.Tensor) *tensor.Tensor {
		y := kerneltest.Zeros(tensor.C32, x.Shape()...)
		for i, v := range tensor.Raw[complex64](x) {
			tensor.Raw[tensor.Complex32](y)[i] = tensor.Complex32{Real: tensor.ToFloat16(real(v)), Imag: tensor.ToFloat16(imag(v))}
		}
		return y
	}
	out = kerneltest.Zeros(tensor.C32, 1, 2, 2)
	kerneltest.Run(t, Bmm, "aten::bmm.out", halves(a), halves(b), out)
	kerneltest.Equal(t, halves(want), out)
}

// A sum over nothing is zero, whatever the output held.
func TestMatmulWithoutSteps(t *testing.T) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F16} {
		for _, rows := range []int{1, 2, 9} {
			out := converted(f32(rows, 9), d)
			kerneltest.Run(t, Mm, "aten::mm.out", kerneltest.Zeros(d, rows, 0), kerneltest.Zeros(d, 0, 9), out)
			kerneltest.Equal(t, kerneltest.Zeros(d, rows, 9), out)
		}
		out := kerneltest.Zeros(d, 2, 3)
		kerneltest.Run(t, Addmm, "aten::addmm.out", converted(tensor.Of([]float32{1, 2, 3}), d), kerneltest.Zeros(d, 2, 0), kerneltest.Zeros(d, 0, 3), 2, 1, out)
		kerneltest.Equal(t, converted(tensor.Of([]float32{2, 4, 6, 2, 4, 6}, 2, 3), d), out)
	}
}

func TestAddmmScales(t *testing.T) {
	a, b := tensor.Of([]float32{1, 2, 3, 4}, 2, 2), tensor.Of([]float32{1, 0, 0, 1}, 2, 2)
	for _, c := range []struct {
		self        *tensor.Tensor
		beta, alpha any
		want        []float32
	}{
		{tensor.Of([]float32{10, 20}), 1, 1, []float32{11, 22, 13, 24}},
		{tensor.Of([]float32{10, 20}), 0.5, 2, []float32{7, 14, 11, 18}},
		{tensor.Of([]float32{10, 20}, 2, 1), -1, 1, []float32{-9, -8, -17, -16}},
		{tensor.Of([]float32{10, 20}, 2, 1), 1, -1.0, []float32{9, 8, 17, 16}},
		{tensor.Scalar(float32(5)), 2, true, []float32{11, 12, 13, 14}},
		{tensor.Of([]float32{1, 2, 3, 4}, 2, 2), 10, 1, []float32{11, 22, 33, 44}},
	} {
		out := kerneltest.Zeros(tensor.F32, 2, 2)
		kerneltest.Run(t, Addmm, "aten::addmm.out", c.self, a, b, c.beta, c.alpha, out)
		kerneltest.Equal(t, tensor.Of(c.want, 2, 2), out)
	}
	// Fractions of the scalars are dropped for integers.
	out := kerneltest.Zeros(tensor.I32, 1, 1)
	kerneltest.Run(t, Addmm, "aten::addmm.out", tensor.Of([]int32{5}), tensor.Of([]int32{2}, 1, 1), tensor.Of([]int32{3}, 1, 1), 1.9, 2.9, out)
	kerneltest.Equal(t, tensor.Of([]int32{17}, 1, 1), out)
}

func TestAddmmInPlace(t *testing.T) {
	x := tensor.Of([]float32{1, 2, 3, 4}, 2, 2)
	kerneltest.Run(t, Addmm, "aten::addmm.out", x, tensor.Of([]float32{1, 1}, 2, 1), tensor.Of([]float32{10, 20}, 1, 2), 1, 1, x)
	kerneltest.Equal(t, tensor.Of([]float32{11, 22, 13, 24}, 2, 2), x)
}

// TestMatmulLarge is large enough for several threads and blocks.
func TestMatmulLarge(t *testing.T) {
	for _, s := range [][3]int{{150, 170, 90}, {2, 3000, 200}, {300, 5, 700}} {
		a, b := f32(s[0], s[2]), f32(s[2], s[1])
		want := kerneltest.Zeros(tensor.F64, s[0], s[1])
		kerneltest.Run(t, Mm, "aten::mm.out", converted(a, tensor.F64), converted(b, tensor.F64), want)
		for d, tol := range map[tensor.DType]float64{tensor.F32: 1e-3, tensor.F16: 0.3, tensor.BF16: 2} {
			out := kerneltest.Zeros(d, s[0], s[1])
			kerneltest.Run(t, Mm, "aten::mm.out", converted(a, d), converted(b, d), out)
			kerneltest.Close(t, want, converted(out, tensor.F64), 0, tol)
		}
	}
}

func TestMatmulResizes(t *testing.T) {
	out := kerneltest.Dynamic(tensor.F32, 4, 4)
	kerneltest.Run(t, Mm, "aten::mm.out", f32(2, 3), f32(3, 4), out)
	require.Equal(t, []int{2, 4}, out.Shape())
	kerneltest.Run(t, Mm, "aten::mm.out", f32(0, 3), f32(3, 4), out)
	require.Equal(t, []int{0, 4}, out.Shape())
	kerneltest.Fails(t, Mm, "aten::mm.out", f32(5, 3), f32(3, 4), out)
}

func TestMatmulRejects(t *testing.T) {
	kerneltest.Fails(t, Mm, "aten::mm.out", f32(2, 3), f32(4, 2), f32(2, 2))
	kerneltest.Fails(t, Mm, "aten::mm.out", f32(2, 3), f32(3), f32(2))
	kerneltest.Fails(t, Mm, "aten::mm.out", f32(2, 3), kerneltest.Zeros(tensor.F64, 3, 2), f32(2, 2))
	kerneltest.Fails(t, Mm, "aten::mm.out", kerneltest.Zeros(tensor.Bool, 1, 1), kerneltest.Zeros(tensor.Bool, 1, 1), kerneltest.Zeros(tensor.Bool, 1, 1))
	kerneltest.Fails(t, Bmm, "aten::bmm.out", f32(2, 2, 3), f32(1, 3, 2), f32(2, 2, 2))
	kerneltest.Fails(t, Addmm, "aten::addmm.out", f32(3), f32(2, 3), f32(3, 2), 1, 1, f32(2, 2))
	kerneltest.Fails(t, Addmm, "aten::addmm.out", kerneltest.Zeros(tensor.F64, 2), f32(2, 3), f32(3, 2), 1, 1, f32(2, 2))
	kerneltest.Fails(t, Linear, "aten::linear.out", f32(2, 3), f32(2, 3), f32(3), f32(2, 2))
	kerneltest.Fails(t, Linear, "aten::linear.out", f32(), f32(2, 3), nil, f32(2))
}
