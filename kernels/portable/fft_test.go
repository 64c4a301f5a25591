package portable

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

// dft2 transforms a [n, m] by the definition.
func dft2(x []complex128, n, m int, sign float64) []complex128 {
	y := make([]complex128, n*m)
	for i := range y {
		for j, v := range x {
			turns := float64(i/m*(j/m))/float64(n) + float64(i%m*(j%m))/float64(m)
			y[i] += v * cmplx.Rect(1, sign*2*math.Pi*turns)
		}
	}
	return y
}

func TestFFT(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {4, 6}, {5, 7}, {3, 34}, {16, 9}} {
		n, m := size[0], size[1]
		half := m/2 + 1
		x, z := kerneltest.Zeros(tensor.F64, n, m), make([]complex128, n*m)
		for i, v := range ramp(n * m) {
			tensor.Raw[float64](x)[i] = float64(v)
			z[i] = complex(float64(v), 0)
		}
		z = dft2(z, n, m, -1)
		for norm, scale := range []float64{1, 1 / math.Sqrt(float64(n*m)), 1 / float64(n*m)} {
			full, front := kerneltest.Zeros(tensor.C128, n, m), kerneltest.Zeros(tensor.C128, n, half)
			for i, v := range z {
				v *= complex(scale, 0)
				tensor.Raw[complex128](full)[i] = v
				if i%m < half {
					tensor.Raw[complex128](front)[i/m*half+i%m] = v
				}
			}
			out := kerneltest.Zeros(tensor.C128, n, m)
			kerneltest.Run(t, FFTR2C, "aten::_fft_r2c.out", x, []int{0, 1}, norm, false, out)
			kerneltest.Close(t, full, out, 1e-10, 1e-10)
			out = kerneltest.Zeros(tensor.C128, n, half)
			kerneltest.Run(t, FFTR2C, "aten::_fft_r2c.out", x, []int{-2, 1}, norm, true, out)
			kerneltest.Close(t, front, out, 1e-10, 1e-10)

			// Back with the other normalization.
			back := kerneltest.Zeros(tensor.F64, n, m)
			kerneltest.Run(t, FFTC2R, "aten::_fft_c2r.out", out, []int{0, 1}, 2-norm, m, back)
			kerneltest.Close(t, x, back, 1e-10, 1e-10)
		}
	}
}

// TestFFTCrop wants what is beyond the spectrum of last_dim_size numbers ignored.
func TestFFTCrop(t *testing.T) {
	in := tensor.Of([]complex64{4 + 7i, 1 + 1i, 2 + 9i, 5})
	out := kerneltest.Zeros(tensor.F32, 4)
	kerneltest.Run(t, FFTC2R, "aten::_fft_c2r.out", in, []int{0}, 0, 4, out)
	kerneltest.Close(t, tensor.Of([]float32{8, 0, 4, 4}), out, 1e-6, 1e-6)
}

func TestFFTRejects(t *testing.T) {
	x, z := kerneltest.Zeros(tensor.F32, 4, 6), kerneltest.Zeros(tensor.C64, 4, 4)
	for _, dims := range [][]int{{}, {2}, {-3}, {1, 1}} {
		kerneltest.Fails(t, FFTR2C, "aten::_fft_r2c.out", x, dims, 0, true, z)
	}
	kerneltest.Fails(t, FFTR2C, "aten::_fft_r2c.out", x, []int{1}, 3, true, z)
	kerneltest.Fails(t, FFTR2C, "aten::_fft_r2c.out", x, []int{1}, 0, false, z)
	kerneltest.Fails(t, FFTR2C, "aten::_fft_r2c.out", x, []int{1}, 0, true, kerneltest.Zeros(tensor.C128, 4, 4))
	kerneltest.Fails(t, FFTR2C, "aten::_fft_r2c.out", kerneltest.Zeros(tensor.F32, 0), []int{0}, 0, true, kerneltest.Zeros(tensor.C64, 1))
	for _, n := range []int{0, -1, 8, math.MaxInt} {
		kerneltest.Fails(t, FFTC2R, "aten::_fft_c2r.out", z, []int{1}, 0, n, x)
	}
}
