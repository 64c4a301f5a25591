package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// GridSampler2d is aten::grid_sampler_2d: for each place of grid [n, h, w, 2] the
// input [n, c, h, w] at that x and y, which go from -1 to 1. It takes real numbers;
// all types but float64 are computed in float32. Halves are rounded after each
// operation unless the interpolation is bilinear.
var GridSampler2d = runtime.Kernels{
	{Schema: "aten::grid_sampler_2d.out(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, *, Tensor(a!) out) -> Tensor(a!)", Run: gridSampler2dOut},
}

// ATen's interpolation and padding modes.
const (
	gridBilinear = iota
	gridNearest
	gridBicubic
)

const (
	gridZeros = iota
	gridBorder
	gridReflection
)

func gridSampler2dOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, grid, out := args.Tensor(0), args.Tensor(1), args.Tensor(5)
	if in.Rank() != 4 || grid.Rank() != 4 || grid.Size(3) != 2 || in.Size(0) != grid.Size(0) {
		return errs.InvalidArgument.Errorf("grid_sampler_2d: input %v and grid %v, want [n, c, h, w] and [n, h, w, 2]", in, grid)
	}
	if grid.DType() != in.DType() || out.DType() != in.DType() {
		return errs.InvalidArgument.Errorf("grid_sampler_2d: input %v, grid %v and output %v, want one dtype", in, grid, out)
	}
	mode, padding := args.Int(2), args.Int(3)
	if mode < gridBilinear || mode > gridBicubic || padding < gridZeros || padding > gridReflection {
		return errs.InvalidArgument.Errorf("grid_sampler_2d: interpolation mode %d or padding mode %d is unknown", mode, padding)
	}
	shape := kit.ShapeOf(in.Shape())
	shape.Dims()[2], shape.Dims()[3] = grid.Size(1), grid.Size(2)
	if err := kit.Resize(out, shape.Dims()); err != nil || out.Numel() == 0 {
		return err
	}
	if in.Numel() == 0 {
		return errs.InvalidArgument.Errorf("grid_sampler_2d: input %v is empty", in)
	}
	switch d := in.DType(); {
	case d == tensor.F64:
		return runtime.State[gridTask[float64]](ctx).run(ctx, in, grid, out, mode, padding, args.Bool(4))
	case isReal(d):
		return runtime.State[gridTask[float32]](ctx).run(ctx, in, grid, out, mode, padding, args.Bool(4))
	}
	return kit.Unsupported("grid_sampler_2d", in)
}

type gridTask[C kit.Float] struct {
	conversion    kit.Conversion[C]
	in, out       image
	src, grid     []C
	dst           []C
	gridStrides   [4]int
	mode, padding int
	alignCorners  bool
	half          tensor.DType // to round to, or noType
}

func (t *gridTask[C]) run(ctx *runtime.KernelRuntimeContext, in, grid, out *tensor.Tensor, mode, padding int, alignCorners bool) (err error) {
	t.in, t.out, t.mode, t.padding, t.alignCorners = imageOf(in), imageOf(out), mode, padding, alignCorners
	copy(t.gridStrides[:], grid.Strides())
	t.half = noType
	if in.DType().IsReducedFloat() && mode != gridBilinear {
		t.half = in.DType()
	}
	if t.src, err = kit.LoadAll(ctx, &t.conversion, in); err != nil {
		return err
	}
	if t.grid, err = kit.LoadAll(ctx, &t.conversion, grid); err != nil {
		return err
	}
	if t.dst, err = kit.Target[C](ctx, out); err != nil {
		return err
	}
	ctx.Parallel(t.out.n*t.out.h*t.out.w, 1+poolGrain/(4*t.out.c+32), t)
	kit.StoreAll(ctx, &t.conversion, out, t.dst)
	return nil
}

// sample is what one place of the grid takes from each channel: elements, by their
// offsets, in rows and columns with a weight each. The offset -1 stands for a zero.
type sample[C kit.Float] struct {
	size   int // of rows and columns: 1, 2 or 4
	off    [4][4]int
	wy, wx [4]C
}

// Run computes places lo to hi.
func (t *gridTask[C]) Run(_, lo, hi int) {
	var s sample[C]
	for ; lo < hi; lo++ {
		x := lo % t.out.w
		y := lo / t.out.w % t.out.h
		n := lo / t.out.w / t.out.h
		g := n*t.gridStrides[0] + y*t.gridStrides[1] + x*t.gridStrides[2]
		t.sample(&s, t.grid[g], t.grid[g+t.gridStrides[3]])
		src, dst := n*t.in.sn, n*t.out.sn+y*t.out.sh+x*t.out.sw
		for range t.out.c {
			t.dst[dst] = t.take(&s, t.src[src:])
			src += t.in.sc
			dst += t.out.sc
		}
	}
}

// r rounds the result of an operation. It also keeps operations from being fused.
func (t *gridTask[C]) r(v C) C {
	if t.half == noType {
		return C(v)
	}
	return t.roundToHalf(v)
}

func (t *gridTask[C]) roundToHalf(v C) C {
	if t.half == tensor.F16 {
		return C(tensor.ToFloat16(float32(v)).Float32())
	}
	return C(tensor.ToBFloat16(float32(v)).Float32())
}

// take returns what s takes from a channel.
func (t *gridTask[C]) take(s *sample[C], src []C) (v C) {
	switch s.size {
	case 1:
		return s.at(src, 0, 0)
	case 2:
		for r := range 2 {
			for c := range 2 {
				// What is outside counts for nothing, even if its weight is NaN.
				if o := s.off[r][c]; o >= 0 {
					v += C(src[o] * C(s.wx[c]*s.wy[r]))
				}
			}
		}
		return v
	}
	for r := range 4 {
		row := t.r(s.at(src, r, 0) * s.wx[0])
		for c := 1; c < 4; c++ {
			row = t.r(row + t.r(s.at(src, r, c)*s.wx[c]))
		}
		if row = t.r(row * s.wy[r]); r == 0 {
			v = row
		} else {
			v = t.r(v + row)
		}
	}
	return v
}

func (s *sample[C]) at(src []C, r, c int) C {
	if o := s.off[r][c]; o >= 0 {
		return src[o]
	}
	return 0
}

// sample finds what the place x, y takes.
func (t *gridTask[C]) sample(s *sample[C], x, y C) {
	x, y = t.unnormalize(x, t.in.w), t.unnormalize(y, t.in.h)
	if t.mode != gridBicubic {
		x, y = t.inside(x, t.in.w), t.inside(y, t.in.h)
	}
	if t.mode == gridNearest {
		s.size = 1
		s.off[0][0] = t.offset(kit.FloatToInt[int64](math.RoundToEven(float64(y))), kit.FloatToInt[int64](math.RoundToEven(float64(x))))
		return
	}
	x0, y0 := kit.FloatToInt[int64](math.Floor(float64(x))), kit.FloatToInt[int64](math.Floor(float64(y)))
	if t.mode == gridBilinear {
		s.size = 2
		s.wx[0], s.wx[1] = C(x0+1)-x, x-C(x0)
		s.wy[0], s.wy[1] = C(y0+1)-y, y-C(y0)
	} else {
		s.size = 4
		s.wx, s.wy = t.cubicWeights(t.r(x-t.r(C(x0)))), t.cubicWeights(t.r(y-t.r(C(y0))))
		x0, y0 = x0-1, y0-1
	}
	for r := range s.size {
		for c := range s.size {
			s.off[r][c] = t.offset(y0+int64(r), x0+int64(c))
		}
	}
}

// unnormalize maps -1 ... 1 to the places of a dimension: to the centers of the
// outermost ones, or to their outer edges.
func (t *gridTask[C]) unnormalize(x C, size int) C {
	if t.alignCorners {
		return t.r(t.r(t.r(x+1)/2) * t.r(C(size-1)))
	}
	return t.r(t.r(t.r(t.r(x+1)*t.r(C(size)))-1) / 2)
}

// inside brings a place inside a dimension, as the padding mode tells.
func (t *gridTask[C]) inside(x C, size int) C {
	if t.padding == gridZeros {
		return x
	}
	if t.padding == gridReflection {
		x = t.reflect(x, size)
	}
	// Compared like this, NaN becomes the last place.
	if x < 0 {
		x = 0
	}
	if last := t.r(C(size - 1)); !(x < last) {
		x = last
	}
	return x
}

// reflect mirrors a place at the ends of a dimension until it is inside.
func (t *gridTask[C]) reflect(x C, size int) C {
	low, span := C(-0.5), t.r(C(size))
	if t.alignCorners {
		low, span = 0, t.r(C(size-1))
	}
	if span == 0 {
		return 0
	}
	x = C(math.Abs(float64(t.r(x - low))))
	rest := C(math.Mod(float64(x), float64(span)))
	if kit.FloatToInt[int32](math.Floor(float64(t.r(x/span))))%2 == 0 {
		return t.r(rest + low)
	}
	return t.r(t.r(span-rest) + low)
}

// offset returns where an element is in a channel, or -1 outside with padding by
// zeros.
func (t *gridTask[C]) offset(y, x int64) int {
	h, w := int64(t.in.h), int64(t.in.w)
	switch {
	case t.padding == gridReflection && t.mode == gridBicubic:
		y, x = int64(t.inside(t.r(C(y)), t.in.h)), int64(t.inside(t.r(C(x)), t.in.w))
	case t.padding == gridZeros && (y < 0 || y >= h || x < 0 || x >= w):
		return -1
	}
	y, x = min(max(y, 0), h-1), min(max(x, 0), w-1)
	return int(y)*t.in.sh + int(x)*t.in.sw
}

// cubicWeights returns the weights of the places -1, 0, 1 and 2 for one at x, by
// cubic convolution with a = -0.75.
func (t *gridTask[C]) cubicWeights(x C) [4]C {
	rest := t.r(1 - x)
	return [4]C{t.cubicFar(t.r(x + 1)), t.cubicNear(x), t.cubicNear(rest), t.cubicFar(t.r(rest + 1))}
}

const cubicA = -0.75

func (t *gridTask[C]) cubicNear(x C) C {
	return t.r(t.r(t.r(t.r(t.r((cubicA+2)*x)-(cubicA+3))*x)*x) + 1)
}

func (t *gridTask[C]) cubicFar(x C) C {
	return t.r(t.r(t.r(t.r(t.r(t.r(cubicA*x)-5*cubicA)*x)+8*cubicA)*x) - 4*cubicA)
}
