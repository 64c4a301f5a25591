package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// UpsampleNearest2d is aten::upsample_nearest2d: a [n, c, h, w] tensor of any type
// resized to output_size or by scale_factors, each place taking the input's
// nearest one.
var UpsampleNearest2d = runtime.Kernels{
	{Schema: "aten::upsample_nearest2d.vec_out(Tensor input, SymInt[]? output_size, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)", Run: upsampleNearest2dOut},
}

// UpsampleBilinear2d is aten::upsample_bilinear2d: as UpsampleNearest2d, but
// interpolated between the four places around. It takes real numbers. All types
// but float64 are computed in float32, the weights always.
var UpsampleBilinear2d = runtime.Kernels{
	{Schema: "aten::upsample_bilinear2d.vec_out(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)", Run: upsampleBilinear2dOut},
}

// UpsampleBilinear2dAA is aten::_upsample_bilinear2d_aa: as UpsampleBilinear2d, but
// where the tensor shrinks each place is a mean of all those it stands for. The
// sum is rounded to the tensor's type after each addition.
var UpsampleBilinear2dAA = runtime.Kernels{
	{Schema: "aten::_upsample_bilinear2d_aa.out(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)", Run: upsampleBilinear2dAAOut},
}

func resampleKernels() []runtime.Kernels {
	return []runtime.Kernels{UpsampleNearest2d, UpsampleBilinear2d, UpsampleBilinear2dAA, GridSampler2d}
}

// resized is the task of resizing an image: places in memory and the rows of the
// result, the iterations of a loop. Channels that lie side by side in both are
// computed together; else each channel has rows of its own.
type resized struct {
	in, out      image
	channelsLast bool
}

func newResized(in, out *tensor.Tensor) resized {
	r := resized{in: imageOf(in), out: imageOf(out)}
	r.channelsLast = r.in.sc == 1 && r.out.sc == 1
	return r
}

func (r *resized) rows() int {
	if r.channelsLast {
		return r.out.n * r.out.h
	}
	return r.out.n * r.out.c * r.out.h
}

// grain returns a grain for a loop over rows, of places that take some work each.
func (r *resized) grain(work int) int {
	if r.channelsLast {
		work *= r.out.c
	}
	return 1 + poolGrain/(r.out.w*work)
}

// row returns where a row begins in the output, where its image, or the channel
// of it, begins in the input, and its y.
func (r *resized) row(i int) (dst, src, y int) {
	y = i % r.out.h
	i /= r.out.h
	dst = y * r.out.sh
	if !r.channelsLast {
		c := i % r.out.c
		i /= r.out.c
		dst += c * r.out.sc
		src = c * r.in.sc
	}
	return dst + i*r.out.sn, src + i*r.in.sn, y
}

// resizeImage checks the arguments of a resizing and gives out its shape. One of
// size and factors is nil. It returns the scales of h and w, as the output has
// more.
func resizeImage(name string, in, out *tensor.Tensor, size []int64, factors []float64) (scale [2]float64, err error) {
	if in.Rank() != 4 || out.DType() != in.DType() {
		return scale, errs.InvalidArgument.Errorf("%s: input %v and output %v, want rank 4 and one dtype", name, in, out)
	}
	if (size == nil) == (factors == nil) || size != nil && len(size) != 2 || factors != nil && len(factors) != 2 {
		return scale, errs.InvalidArgument.Errorf("%s: output_size %v and scale_factors %v, want two numbers in one of them", name, size, factors)
	}
	shape := kit.ShapeOf(in.Shape())
	dims := shape.Dims()[2:]
	for i := range dims {
		n := float64(dims[i])
		if size != nil {
			scale[i] = float64(size[i]) / n
			n = float64(size[i])
		} else {
			scale[i] = factors[i]
			n *= factors[i]
		}
		if !(n >= 1 && n <= math.MaxInt32 && scale[i] > 0) {
			return scale, errs.InvalidArgument.Errorf("%s: input %v cannot be resized to output_size %v or by scale_factors %v", name, in, size, factors)
		}
		dims[i] = int(n)
	}
	if err := kit.Resize(out, shape.Dims()); err != nil {
		return scale, err
	}
	if in.Numel() == 0 && out.Numel() > 0 {
		return scale, errs.InvalidArgument.Errorf("%s: input %v is empty", name, in)
	}
	return scale, nil
}

// given returns v, which is nil if it is None and not if it is an empty list.
func given[T any](v []T, none bool) []T {
	if v == nil && !none {
		return []T{}
	}
	return v
}

// pixelScale returns how far apart neighbours of the output are in the input.
func pixelScale(in, out int, alignCorners bool, scale float64) float32 {
	switch {
	case !alignCorners:
		return float32(1 / scale)
	case out > 1:
		return float32(float64(in-1) / float64(out-1))
	}
	return 0
}

func upsampleNearest2dOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, out := args.Tensor(0), args.Tensor(3)
	scale, err := resizeImage("upsample_nearest2d", in, out, given(args.Ints(1), args.IsNone(1)), given(args.Floats(2), args.IsNone(2)))
	if err != nil || out.Numel() == 0 {
		return err
	}
	if in.DType().IsComplex() {
		return kit.Unsupported("upsample_nearest2d", in)
	}
	t := runtime.State[nearestTask](ctx)
	t.resized = newResized(in, out)
	t.src, t.dst = in, out
	t.y = nearestOffsets(t.y, t.in.h, t.out.h, t.in.sh, pixelScale(t.in.h, t.out.h, false, scale[0]))
	t.x = nearestOffsets(t.x, t.in.w, t.out.w, t.in.sw, pixelScale(t.in.w, t.out.w, false, scale[1]))
	ctx.Parallel(t.rows(), t.grain(1), t)
	return nil
}

// nearestOffsets returns the offsets of the nearest inputs for each output, in buf
// if it is large enough.
func nearestOffsets(buf []int, in, out, stride int, scale float32) []int {
	buf = resizeSlice(buf, out)
	for o := range buf {
		i := kit.FloatToInt[int64](math.Floor(float64(float32(o) * scale)))
		buf[o] = int(min(max(i, 0), int64(in-1))) * stride
	}
	return buf
}

// resizeSlice returns s with length n, or a new slice if it is too small.
func resizeSlice[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

type nearestTask struct {
	resized
	src, dst *tensor.Tensor
	y, x     []int // offsets in src
}

// Run computes rows lo to hi. Elements are copied as bits.
func (t *nearestTask) Run(_, lo, hi int) {
	d, s := t.dst.Bytes(), t.src.Bytes()
	for ; lo < hi; lo++ {
		switch t.dst.DType().Size() {
		case 1:
			nearestRow(t, d, s, lo)
		case 2:
			nearestRow(t, tensor.Cast[uint16](d), tensor.Cast[uint16](s), lo)
		case 4:
			nearestRow(t, tensor.Cast[uint32](d), tensor.Cast[uint32](s), lo)
		case 8:
			nearestRow(t, tensor.Cast[uint64](d), tensor.Cast[uint64](s), lo)
		}
	}
}

func nearestRow[T any](t *nearestTask, dst, src []T, row int) {
	o, base, y := t.row(row)
	src = src[base+t.y[y]:]
	if t.channelsLast {
		for _, x := range t.x {
			copy(dst[o:][:t.out.c], src[x:])
			o += t.out.sw
		}
		return
	}
	for _, x := range t.x {
		dst[o] = src[x]
		o += t.out.sw
	}
}

func upsampleBilinear2dOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, out := args.Tensor(0), args.Tensor(4)
	scale, err := resizeImage("upsample_bilinear2d", in, out, given(args.Ints(1), args.IsNone(1)), given(args.Floats(3), args.IsNone(3)))
	if err != nil || out.Numel() == 0 {
		return err
	}
	switch d := in.DType(); {
	case d == tensor.F64:
		return runtime.State[bilinearTask[float64]](ctx).run(ctx, in, out, args.Bool(2), scale)
	case isReal(d):
		return runtime.State[bilinearTask[float32]](ctx).run(ctx, in, out, args.Bool(2), scale)
	}
	return kit.Unsupported("upsample_bilinear2d", in)
}

// between is a place between two inputs, by their offsets and weights.
type between struct {
	lo, hi   int
	wlo, whi float32
}

// interpolation returns the places of the outputs along an axis, in buf if it is
// large enough.
func interpolation(buf []between, in, out, stride int, scale float32, alignCorners bool) []between {
	buf = resizeSlice(buf, out)
	for o := range buf {
		b := between{lo: o, hi: o, wlo: 1}
		if in != out {
			x := scale * float32(o)
			if !alignCorners {
				x = max(float32(scale*(float32(o)+0.5))-0.5, 0)
			}
			b.lo = int(min(max(kit.FloatToInt[int64](math.Floor(float64(x))), 0), int64(in-1)))
			b.hi = min(b.lo+1, in-1)
			b.whi = min(max(x-float32(b.lo), 0), 1)
			b.wlo = 1 - b.whi
		}
		b.lo *= stride
		b.hi *= stride
		buf[o] = b
	}
	return buf
}

type bilinearTask[C kit.Float] struct {
	resized
	conversion kit.Conversion[C]
	src, dst   []C
	y, x       []between
}

func (t *bilinearTask[C]) run(ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor, alignCorners bool, scale [2]float64) (err error) {
	t.resized = newResized(in, out)
	if t.src, err = kit.LoadAll(ctx, &t.conversion, in); err != nil {
		return err
	}
	if t.dst, err = kit.Target[C](ctx, out); err != nil {
		return err
	}
	t.y = interpolation(t.y, t.in.h, t.out.h, t.in.sh, pixelScale(t.in.h, t.out.h, alignCorners, scale[0]), alignCorners)
	t.x = interpolation(t.x, t.in.w, t.out.w, t.in.sw, pixelScale(t.in.w, t.out.w, alignCorners, scale[1]), alignCorners)
	ctx.Parallel(t.rows(), t.grain(4), t)
	kit.StoreAll(ctx, &t.conversion, out, t.dst)
	return nil
}

// Run computes rows lo to hi.
func (t *bilinearTask[C]) Run(_, lo, hi int) {
	for ; lo < hi; lo++ {
		o, base, oy := t.row(lo)
		y := t.y[oy]
		top, bottom := t.src[base+y.lo:], t.src[base+y.hi:]
		wt, wb := C(y.wlo), C(y.whi)
		for _, x := range t.x {
			wl, wr := C(x.wlo), C(x.whi)
			if !t.channelsLast {
				t.dst[o] = bilinear(top[x.lo], top[x.hi], bottom[x.lo], bottom[x.hi], wl, wr, wt, wb)
				o += t.out.sw
				continue
			}
			d := t.dst[o:][:t.out.c]
			tl, tr, bl, br := top[x.lo:][:len(d)], top[x.hi:][:len(d)], bottom[x.lo:][:len(d)], bottom[x.hi:][:len(d)]
			for i := range d {
				d[i] = bilinear(tl[i], tr[i], bl[i], br[i], wl, wr, wt, wb)
			}
			o += t.out.sw
		}
	}
}

// bilinear interpolates between four elements. Conversions keep products and sums
// from being fused, which would round otherwise.
func bilinear[C kit.Float](tl, tr, bl, br, wl, wr, wt, wb C) C {
	top := C(tl*wl) + C(tr*wr)
	bottom := C(bl*wl) + C(br*wr)
	return C(top*wt) + C(bottom*wb)
}

func upsampleBilinear2dAAOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, out := args.Tensor(0), args.Tensor(5)
	scale, err := resizeImage("_upsample_bilinear2d_aa", in, out, given(args.Ints(1), false), nil)
	if err != nil || out.Numel() == 0 {
		return err
	}
	h, hasH := args.OptFloat(3)
	w, hasW := args.OptFloat(4)
	if hasH && hasW {
		scale = [2]float64{h, w}
	}
	switch d := in.DType(); {
	case d == tensor.F64:
		return runtime.State[areaTask[float64]](ctx).run(ctx, in, out, args.Bool(2), scale)
	case isReal(d):
		return runtime.State[areaTask[float32]](ctx).run(ctx, in, out, args.Bool(2), scale)
	}
	return kit.Unsupported("_upsample_bilinear2d_aa", in)
}

// area is a range of inputs of which an output is the mean, and its first weight.
type area struct{ lo, hi, weight int }

// areas are the areas of the outputs along an axis, with the weights of all.
type areas struct {
	of      []area
	weights []float32
}

// maxWeights is a bound for the weights along an axis. It takes scales that have
// nothing to do with the sizes to reach it.
const maxWeights = 1 << 26

// set computes the areas of out outputs. All is in float32, as in ExecuTorch.
func (s *areas) set(in, out int, scale float32) error {
	support := max(scale, 1)
	if n := float64(out) * min(float64(in), 2*float64(support)+2); n > maxWeights {
		return errs.MemoryAllocationFailed.Errorf("_upsample_bilinear2d_aa: %g weights for a scale of %g", n, scale)
	}
	s.of = resizeSlice(s.of, out)
	s.weights = s.weights[:0]
	for o := range s.of {
		center := float32(scale * (float32(o) + 0.5))
		lo := int(max(kit.FloatToInt[int64](float64(center-support+0.5)), 0))
		hi := int(min(kit.FloatToInt[int64](float64(center+support+0.5)), int64(in)))
		first := len(s.weights)
		var total float32
		for x := lo; x < hi; x++ {
			w := max(1-float32(math.Abs(float64((float32(x)-center+0.5)*(1/support)))), 0)
			s.weights = append(s.weights, w)
			total += w
		}
		if !(total > 0) {
			// No input is near enough: the one below takes all.
			lo = int(min(max(kit.FloatToInt[int64](float64(center)), 0), int64(in-1)))
			hi = lo + 1
			s.weights = append(s.weights[:first], 1)
			total = 1
		}
		for i := first; i < len(s.weights); i++ {
			s.weights[i] /= total
		}
		s.of[o] = area{lo, hi, first}
	}
	return nil
}

type areaTask[C kit.Float] struct {
	resized
	conversion kit.Conversion[C]
	src, dst   []C
	y, x       areas
	dtype      tensor.DType
}

func (t *areaTask[C]) run(ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor, alignCorners bool, scale [2]float64) (err error) {
	t.resized, t.dtype = newResized(in, out), in.DType()
	if t.src, err = kit.LoadAll(ctx, &t.conversion, in); err != nil {
		return err
	}
	if t.dst, err = kit.Target[C](ctx, out); err != nil {
		return err
	}
	if err = t.y.set(t.in.h, t.out.h, pixelScale(t.in.h, t.out.h, alignCorners, scale[0])); err != nil {
		return err
	}
	if err = t.x.set(t.in.w, t.out.w, pixelScale(t.in.w, t.out.w, alignCorners, scale[1])); err != nil {
		return err
	}
	taps := len(t.y.weights) * len(t.x.weights) / (t.out.h * t.out.w)
	ctx.Parallel(t.rows(), t.grain(1+taps), t)
	kit.StoreAll(ctx, &t.conversion, out, t.dst)
	return nil
}

// Run computes rows lo to hi.
func (t *areaTask[C]) Run(_, lo, hi int) {
	for ; lo < hi; lo++ {
		o, base, oy := t.row(lo)
		sy := t.y.of[oy]
		for _, sx := range t.x.of {
			channels := 1
			if t.channelsLast {
				channels = t.out.c
			}
			d := t.dst[o:][:channels]
			clear(d)
			for y := sy.lo; y < sy.hi; y++ {
				wy := C(t.y.weights[sy.weight+y-sy.lo])
				for x := sx.lo; x < sx.hi; x++ {
					wx := C(t.x.weights[sx.weight+x-sx.lo])
					s := t.src[base+y*t.in.sh+x*t.in.sw:][:len(d)]
					for i, v := range s {
						d[i] = t.add(d[i], C(C(v*wy)*wx))
					}
				}
			}
			o += t.out.sw
		}
	}
}

// add adds v to a sum of the tensors' type.
func (t *areaTask[C]) add(sum, v C) C {
	switch t.dtype {
	case tensor.F32, tensor.F64:
		return sum + v
	case tensor.F16:
		return C(tensor.ToFloat16(float32(sum) + tensor.ToFloat16(float32(v)).Float32()).Float32())
	case tensor.BF16:
		return C(tensor.ToBFloat16(float32(sum) + tensor.ToBFloat16(float32(v)).Float32()).Float32())
	}
	return C(math.Trunc(float64(sum + v)))
}
