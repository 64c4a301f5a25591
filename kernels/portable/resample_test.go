package portable

import (
	"testing"

	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func TestUpsampleNearest(t *testing.T) {
	in := tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 1, 1, 2, 3)
	for _, c := range []struct {
		size, factors any
		h, w          int
		want          []float32
	}{
		{[]int{2, 3}, nil, 2, 3, []float32{1, 2, 3, 4, 5, 6}},
		{nil, []float64{1, 2}, 2, 6, []float32{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}},
		{[]int{1, 2}, nil, 1, 2, []float32{1, 2}},
		{[]int{3, 1}, nil, 3, 1, []float32{1, 1, 4}},
	} {
		for _, x := range channelsLast(in) {
			out := kerneltest.Zeros(tensor.F32, 1, 1, c.h, c.w)
			kerneltest.Run(t, UpsampleNearest2d, "aten::upsample_nearest2d.vec_out", x, c.size, c.factors, out)
			kerneltest.Equal(t, tensor.Of(c.want, 1, 1, c.h, c.w), out)
		}
	}
}

func TestUpsampleBilinear(t *testing.T) {
	in := tensor.Of([]float32{0, 10}, 1, 1, 1, 2)
	for _, c := range []struct {
		corners bool
		want    []float32
	}{
		{false, []float32{0, 2.5, 7.5, 10}},
		{true, []float32{0, 10.0 / 3, 20.0 / 3, 10}},
	} {
		out := kerneltest.Zeros(tensor.F32, 1, 1, 1, 4)
		kerneltest.Run(t, UpsampleBilinear2d, "aten::upsample_bilinear2d.vec_out", in, []int{1, 4}, c.corners, nil, out)
		kerneltest.Close(t, tensor.Of(c.want, 1, 1, 1, 4), out, 1e-6, 0)
		// Integers drop the fraction.
		whole := kerneltest.Zeros(tensor.U8, 1, 1, 1, 4)
		kerneltest.Run(t, UpsampleBilinear2d, "aten::upsample_bilinear2d.vec_out", tensor.Of([]uint8{0, 10}, 1, 1, 1, 2), []int{1, 4}, c.corners, nil, whole)
		kerneltest.Equal(t, converted(out, tensor.U8), whole)
	}
}

func TestUpsampleAntiAliased(t *testing.T) {
	in := tensor.Of([]float32{0, 8, 16, 24}, 1, 1, 1, 4)
	out := kerneltest.Zeros(tensor.F32, 1, 1, 1, 2)
	kerneltest.Run(t, UpsampleBilinear2dAA, "aten::_upsample_bilinear2d_aa.out", in, []int{1, 2}, false, nil, nil, out)
	kerneltest.Close(t, tensor.Of([]float32{(0*3 + 8*3 + 16) / 7.0, (8 + 16*3 + 24*3) / 7.0}, 1, 1, 1, 2), out, 1e-6, 0)

	// A scale that has nothing to do with the sizes is taken all the same.
	for _, scale := range []float64{1e-30, 1e30, -1, nan, inf} {
		kerneltest.Run(t, UpsampleBilinear2dAA, "aten::_upsample_bilinear2d_aa.out", in, []int{1, 2}, false, scale, scale, out)
	}
}

func TestResizeRejects(t *testing.T) {
	x, out := f32(1, 1, 2, 3), f32(1, 1, 4, 6)
	for name, a := range map[string][]any{
		"both":          {x, []int{4, 6}, []float64{2, 2}, out},
		"neither":       {x, nil, nil, out},
		"one size":      {x, []int{4}, nil, out},
		"size 0":        {x, []int{4, 0}, nil, out},
		"factor 0":      {x, nil, []float64{2, 0}, out},
		"small factor":  {x, nil, []float64{2, 0.1}, out},
		"NaN":           {x, nil, []float64{2, nan}, out},
		"infinite":      {x, nil, []float64{2, inf}, out},
		"rank":          {f32(1, 2, 3), []int{4, 6}, nil, out},
		"dtype":         {converted(x, tensor.F64), []int{4, 6}, nil, out},
		"complex":       {kerneltest.Zeros(tensor.C64, 1, 1, 2, 3), []int{4, 6}, nil, kerneltest.Zeros(tensor.C64, 1, 1, 4, 6)},
		"out":           {x, []int{4, 7}, nil, out},
		"from nothing":  {f32(1, 1, 0, 3), []int{4, 6}, nil, out},
		"empty factors": {x, nil, []float64{}, out},
	} {
		t.Run(name, func(t *testing.T) {
			kerneltest.Fails(t, UpsampleNearest2d, "aten::upsample_nearest2d.vec_out", a...)
			kerneltest.Fails(t, UpsampleBilinear2d, "aten::upsample_bilinear2d.vec_out", a[0], a[1], false, a[2], a[3])
		})
	}
	kerneltest.Fails(t, GridSampler2d, "aten::grid_sampler_2d.out", f32(1, 1, 2, 2), f32(1, 1, 1, 2), 3, 0, false, f32(1, 1, 1, 1))
	kerneltest.Fails(t, GridSampler2d, "aten::grid_sampler_2d.out", f32(1, 1, 0, 2), f32(1, 1, 1, 2), 0, 1, false, f32(1, 1, 1, 1))
	kerneltest.Fails(t, GridSampler2d, "aten::grid_sampler_2d.out", f32(1, 1, 2, 2), f32(1, 1, 1, 3), 0, 0, false, f32(1, 1, 1, 1))
}

func TestGridSampler(t *testing.T) {
	in := tensor.Of([]float32{1, 2, 3, 4}, 1, 1, 2, 2)
	n, i := float32(nan), float32(inf)
	grid := tensor.Of([]float32{0, 0, -1, -1, 1, 1, -3, 0, n, 0, i, -i}, 1, 1, 6, 2)
	for _, c := range []struct {
		mode, padding int
		want          []float32
	}{
		{gridBilinear, gridZeros, []float32{2.5, 0.25, 1, 0, 0, 0}},
		{gridBilinear, gridBorder, []float32{2.5, 1, 4, 2, 3, 2}},
		{gridNearest, gridZeros, []float32{1, 1, 0, 0, 0, 0}},
		{gridNearest, gridBorder, []float32{1, 1, 4, 1, 2, 2}},
		{gridNearest, gridReflection, []float32{1, 1, 4, 2, 2, 4}},
	} {
		out := kerneltest.Zeros(tensor.F32, 1, 1, 1, 6)
		kerneltest.Run(t, GridSampler2d, "aten::grid_sampler_2d.out", in, grid, c.mode, c.padding, false, out)
		kerneltest.Equal(t, tensor.Of(c.want, 1, 1, 1, 6), out)
	}
}
