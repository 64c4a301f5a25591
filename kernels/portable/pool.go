package portable

import (
	"math"
	"sync/atomic"

	"github.com/etgo-ml/etgo/internal/compute/conv"
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// AvgPool2d is aten::avg_pool2d: the mean of each window of a [c, h, w] or
// [n, c, h, w] tensor. It takes real numbers; halves are computed in float32,
// integers divided towards zero.
var AvgPool2d = runtime.Kernels{
	{Schema: "aten::avg_pool2d.out(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None, *, Tensor(a!) out) -> Tensor(a!)", Run: avgPool2dOut},
}

// AdaptiveAvgPool2d is aten::_adaptive_avg_pool2d: AvgPool2d with as many windows
// as asked for, as equal as possible. All types are computed in float32.
var AdaptiveAvgPool2d = runtime.Kernels{
	{Schema: "aten::_adaptive_avg_pool2d.out(Tensor self, SymInt[2] output_size, *, Tensor(a!) out) -> Tensor(a!)", Run: adaptiveAvgPool2dOut},
}

// MaxPool2dWithIndices is aten::max_pool2d_with_indices: the greatest element of
// each window of a [c, h, w] or [n, c, h, w] tensor of real numbers, and its place
// y*w+x as an int64. NaN is not greater than anything, nor is anything greater than
// a NaN that comes first.
var MaxPool2dWithIndices = runtime.Kernels{
	{Schema: "aten::max_pool2d_with_indices.out(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False, *, Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))", Run: maxPool2dOut},
}

// MaxPool2dWithIndicesBackward is aten::max_pool2d_with_indices_backward: it adds
// the elements of grad_output to where indices say. It takes floating-point types.
var MaxPool2dWithIndicesBackward = runtime.Kernels{
	{Schema: "aten::max_pool2d_with_indices_backward.grad_input(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices, *, Tensor(a!) grad_input) -> Tensor(a!)", Run: maxPool2dBackwardOut},
}

func poolKernels() []runtime.Kernels {
	return []runtime.Kernels{AvgPool2d, AdaptiveAvgPool2d, MaxPool2dWithIndices, MaxPool2dWithIndicesBackward}
}

// image tells where the elements of a [c, h, w] or [n, c, h, w] tensor are.
type image struct {
	n, c, h, w     int // sizes
	sn, sc, sh, sw int // strides
}

func imageOf(t *tensor.Tensor) (m image) {
	s, st := t.Shape(), t.Strides()
	m.n = 1
	if len(s) == 4 {
		m.n, m.sn = s[0], st[0]
		s, st = s[1:], st[1:]
	}
	m.c, m.h, m.w = s[0], s[1], s[2]
	m.sc, m.sh, m.sw = st[0], st[1], st[2]
	return m
}

// checkImage returns an error unless t can be pooled: only the batch may be empty.
func checkImage(name string, t *tensor.Tensor) error {
	if t.Rank() != 3 && t.Rank() != 4 {
		return errs.InvalidArgument.Errorf("%s: input %v, want rank 3 or 4", name, t)
	}
	for _, size := range t.Shape()[t.Rank()-3:] {
		if size == 0 {
			return errs.InvalidArgument.Errorf("%s: input %v, only the batch may be empty", name, t)
		}
	}
	return nil
}

// pooling is how windows lie in an image.
type pooling struct {
	axes    [2]conv.Axis
	padding [2]int
}

// newPooling reads the arguments kernel_size, stride and padding.
func newPooling(name string, in *tensor.Tensor, kernel, stride, padding, dilation []int64, ceil bool) (p pooling, err error) {
	if err = checkImage(name, in); err != nil {
		return p, err
	}
	k, err := spatial("kernel_size", kernel, 2, 1)
	if err != nil {
		return p, err
	}
	if len(stride) == 0 {
		stride = kernel
	}
	s, err := spatial("stride", stride, 2, 1)
	if err != nil {
		return p, err
	}
	pad, err := spatial("padding", padding, 2, 0)
	if err != nil {
		return p, err
	}
	d, err := spatial("dilation", dilation, 2, 1)
	if err != nil {
		return p, err
	}
	sizes := spatialOf(in.Shape(), 2)
	for i := range p.axes {
		j := i + conv.Dims - 2
		if pad[j] > k[j]/2 {
			return p, errs.InvalidArgument.Errorf("%s: padding %d is more than half of the kernel size %d", name, pad[j], k[j])
		}
		out := pooledSize(sizes[j], k[j], s[j], pad[j], d[j], ceil)
		if out <= 0 {
			return p, errs.InvalidArgument.Errorf("%s: input %v is too small for a kernel of %d with dilation %d and padding %d", name, in, k[j], d[j], pad[j])
		}
		p.axes[i] = conv.NewAxis(sizes[j], out, k[j], s[j], pad[j], d[j])
		p.padding[i] = pad[j]
	}
	return p, nil
}

// pooledSize returns the number of windows along a dimension. With ceil the last
// one may be cut off, but not begin in the padding behind.
func pooledSize(in, kernel, stride, padding, dilation int, ceil bool) int {
	rest := in + 2*padding - dilation*(kernel-1) - 1
	if ceil {
		rest += stride - 1
	}
	if rest < 0 {
		return 0
	}
	out := rest/stride + 1
	if ceil && (out-1)*stride >= in+padding {
		out--
	}
	return out
}

// resizePooled gives out the shape of in pooled to h by w.
func resizePooled(out, in *tensor.Tensor, h, w int) error {
	shape := kit.ShapeOf(in.Shape())
	dims := shape.Dims()
	dims[len(dims)-2], dims[len(dims)-1] = h, w
	return kit.Resize(out, dims)
}

func avgPool2dOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, out := args.Tensor(0), args.Tensor(7)
	p, err := newPooling("avg_pool2d", in, args.Ints(1), args.Ints(2), args.Ints(3), undilated[:], args.Bool(4))
	if err != nil {
		return err
	}
	divisor, given := args.OptInt(6)
	if given && divisor == 0 {
		return errs.InvalidArgument.Errorf("avg_pool2d: divisor_override is 0")
	}
	if err := checkType("avg_pool2d: out", out, in.DType()); err != nil {
		return err
	}
	if err := resizePooled(out, in, p.axes[0].Out, p.axes[1].Out); err != nil || out.Numel() == 0 {
		return err
	}
	switch d := in.DType(); {
	case d == tensor.F32 || d.IsReducedFloat():
		return runtime.State[meanPool[float32]](ctx).windows(ctx, in, out, &p, args.Bool(5), divisor)
	case d == tensor.F64:
		return runtime.State[meanPool[float64]](ctx).windows(ctx, in, out, &p, args.Bool(5), divisor)
	case d.IsInt():
		return runtime.State[meanPool[int64]](ctx).windows(ctx, in, out, &p, args.Bool(5), divisor)
	}
	return kit.Unsupported("avg_pool2d", in)
}

var undilated = [...]int64{1}

func adaptiveAvgPool2dOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, size, out := args.Tensor(0), args.Ints(1), args.Tensor(2)
	if err := checkImage("_adaptive_avg_pool2d", in); err != nil {
		return err
	}
	if len(size) != 2 || size[0] <= 0 || size[1] <= 0 {
		return errs.InvalidArgument.Errorf("_adaptive_avg_pool2d: output_size is %v, want 2 positive numbers", size)
	}
	if err := checkType("_adaptive_avg_pool2d: out", out, in.DType()); err != nil {
		return err
	}
	if err := resizePooled(out, in, int(size[0]), int(size[1])); err != nil || out.Numel() == 0 {
		return err
	}
	switch d := in.DType(); {
	case d == tensor.F64:
		return runtime.State[meanPool[float64]](ctx).adaptive(ctx, in, out)
	case isReal(d):
		return runtime.State[meanPool[float32]](ctx).adaptive(ctx, in, out)
	}
	return kit.Unsupported("_adaptive_avg_pool2d", in)
}

// window is the range of a window along an axis, and its size for the mean.
type window struct{ lo, hi, size int }

// meanPool computes the means of windows. Channels that lie side by side are
// computed together.
type meanPool[C kit.Real] struct {
	conversion kit.Conversion[C]
	in, out    image
	src, dst   []C
	buf        []window
	y, x       []window // of the places in a column and in a row
	divisor    int      // 0 for the window's size
	single     bool     // sums are rounded to float32
}

// windows computes avg_pool2d. A divisor of 0 means none.
func (t *meanPool[C]) windows(ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor, p *pooling, includePad bool, divisor int) error {
	t.divisor, t.single = divisor, false
	t.makeWindows(p.axes[0].Out, p.axes[1].Out)
	for i, w := range [...][]window{t.y, t.x} {
		a := &p.axes[i]
		for o := range w {
			lo := o*a.Step + a.Offset
			hi := min(lo+a.Taps, a.In+p.padding[i])
			w[o] = window{max(lo, 0), min(hi, a.In), hi - lo}
			if !includePad {
				w[o].size = w[o].hi - w[o].lo
			}
		}
	}
	return t.run(ctx, in, out)
}

// adaptive computes _adaptive_avg_pool2d.
func (t *meanPool[C]) adaptive(ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor) error {
	t.divisor, t.single = 0, in.DType() == tensor.F64
	from, to := spatialOf(in.Shape(), 2), spatialOf(out.Shape(), 2)
	t.makeWindows(to[1], to[2])
	for i, w := range [...][]window{t.y, t.x} {
		size := from[i+1]
		for o := range w {
			// In float32, as in ExecuTorch.
			lo := min(int(math.Floor(float64(float32(o*size)/float32(len(w))))), size)
			hi := min(int(math.Ceil(float64(float32((o+1)*size)/float32(len(w))))), size)
			w[o] = window{lo, hi, hi - lo}
		}
	}
	return t.run(ctx, in, out)
}

// makeWindows sets the tables of windows to the given lengths.
func (t *meanPool[C]) makeWindows(h, w int) {
	if cap(t.buf) < h+w {
		t.buf = make([]window, h+w)
	}
	t.y, t.x = t.buf[:h], t.buf[h:h+w]
}

func (t *meanPool[C]) run(ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor) (err error) {
	t.in, t.out = imageOf(in), imageOf(out)
	if t.src, err = kit.LoadAll(ctx, &t.conversion, in); err != nil {
		return err
	}
	if t.dst, err = kit.Target[C](ctx, out); err != nil {
		return err
	}
	work := t.in.h * t.in.w
	rows := t.out.n * t.out.c
	if t.channelsLast() {
		work = t.in.h*t.in.w*t.in.c/t.out.h + 1
		rows = t.out.n * t.out.h
	}
	ctx.Parallel(rows, 1+poolGrain/work, t)
	kit.StoreAll(ctx, &t.conversion, out, t.dst)
	return nil
}

// poolGrain is how many elements a thread pools at least.
const poolGrain = 16 << 10

func (t *meanPool[C]) channelsLast() bool { return t.in.sc == 1 && t.out.sc == 1 }

// Run computes planes, or rows where the channels are last.
func (t *meanPool[C]) Run(_, lo, hi int) {
	for ; lo < hi; lo++ {
		if t.channelsLast() {
			t.row(lo/t.out.h, lo%t.out.h)
		} else {
			t.plane(lo/t.out.c, lo%t.out.c)
		}
	}
}

// plane computes channel c of image n.
func (t *meanPool[C]) plane(n, c int) {
	src := t.src[n*t.in.sn+c*t.in.sc:]
	dst := t.dst[n*t.out.sn+c*t.out.sc:]
	for oy, wy := range t.y {
		for ox, wx := range t.x {
			var sum C
			for y := wy.lo; y < wy.hi; y++ {
				o := y*t.in.sh + wx.lo*t.in.sw
				for x := wx.lo; x < wx.hi; x++ {
					sum = t.add(sum, src[o])
					o += t.in.sw
				}
			}
			dst[oy*t.out.sh+ox*t.out.sw] = t.mean(sum, wy, wx)
		}
	}
}

// row computes row oy of image n, all channels of a place at a time.
func (t *meanPool[C]) row(n, oy int) {
	wy := t.y[oy]
	for ox, wx := range t.x {
		sum := t.dst[n*t.out.sn+oy*t.out.sh+ox*t.out.sw:][:t.out.c]
		clear(sum)
		for y := wy.lo; y < wy.hi; y++ {
			for x := wx.lo; x < wx.hi; x++ {
				src := t.src[n*t.in.sn+y*t.in.sh+x*t.in.sw:][:len(sum)]
				for i, v := range src {
					sum[i] = t.add(sum[i], v)
				}
			}
		}
		for i, v := range sum {
			sum[i] = t.mean(v, wy, wx)
		}
	}
}

func (t *meanPool[C]) add(sum, v C) C {
	sum += v
	if t.single {
		return C(float32(sum))
	}
	return sum
}

func (t *meanPool[C]) mean(sum C, wy, wx window) C {
	d := C(t.divisor)
	if t.divisor == 0 {
		d = C(wy.size * wx.size)
	}
	if d == 0 {
		return 0 // no window is empty, but C might be an integer
	}
	if t.single {
		return C(float32(sum / d))
	}
	return sum / d
}

func maxPool2dOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, out, indices := args.Tensor(0), args.Tensor(6), args.Tensor(7)
	p, err := newPooling("max_pool2d_with_indices", in, args.Ints(1), args.Ints(2), args.Ints(3), args.Ints(4), args.Bool(5))
	if err != nil {
		return err
	}
	if err := checkType("max_pool2d_with_indices: out", out, in.DType()); err != nil {
		return err
	}
	if err := checkType("max_pool2d_with_indices: indices", indices, tensor.I64); err != nil {
		return err
	}
	for _, t := range [...]*tensor.Tensor{out, indices} {
		if err := resizePooled(t, in, p.axes[0].Out, p.axes[1].Out); err != nil {
			return err
		}
	}
	switch d := in.DType(); {
	case d == tensor.F32 || d.IsReducedFloat():
		return runtime.State[maxPool[float32]](ctx).run(ctx, in, out, indices, &p)
	case d == tensor.F64:
		return runtime.State[maxPool[float64]](ctx).run(ctx, in, out, indices, &p)
	case isReal(d):
		return runtime.State[maxPool[int64]](ctx).run(ctx, in, out, indices, &p)
	}
	return kit.Unsupported("max_pool2d_with_indices", in)
}

// maxPool computes the greatest elements of windows and their places.
type maxPool[C kit.Real] struct {
	conversion       kit.Conversion[C]
	in, out, indices image
	src, dst         []C
	places           []int64
	axes             [2]conv.Axis
}

func (t *maxPool[C]) run(ctx *runtime.KernelRuntimeContext, in, out, indices *tensor.Tensor, p *pooling) (err error) {
	if out.Numel() == 0 {
		return nil
	}
	t.in, t.out, t.indices, t.axes = imageOf(in), imageOf(out), imageOf(indices), p.axes
	t.places = tensor.Raw[int64](indices)
	if t.src, err = kit.LoadAll(ctx, &t.conversion, in); err != nil {
		return err
	}
	if t.dst, err = kit.Target[C](ctx, out); err != nil {
		return err
	}
	// What a window has of taps is what it has to look at.
	work := t.out.h * t.out.w * min(t.axes[0].Taps, t.in.h) * min(t.axes[1].Taps, t.in.w)
	rows := t.out.n * t.out.c
	if t.channelsLast() {
		work = work / t.out.h * t.out.c
		rows = t.out.n * t.out.h
	}
	ctx.Parallel(rows, 1+poolGrain/max(work, 1), t)
	kit.StoreAll(ctx, &t.conversion, out, t.dst)
	return nil
}

func (t *maxPool[C]) channelsLast() bool {
	return t.in.sc == 1 && t.out.sc == 1 && t.indices.sc == 1
}

// Run computes planes, or rows where the channels are last.
func (t *maxPool[C]) Run(_, lo, hi int) {
	for ; lo < hi; lo++ {
		if t.channelsLast() {
			t.row(lo/t.out.h, lo%t.out.h)
		} else {
			t.plane(lo/t.out.c, lo%t.out.c)
		}
	}
}

// plane computes channel c of image n.
func (t *maxPool[C]) plane(n, c int) {
	src := t.src[n*t.in.sn+c*t.in.sc:]
	dst := t.dst[n*t.out.sn+c*t.out.sc:]
	places := t.places[n*t.indices.sn+c*t.indices.sc:]
	ay, ax := &t.axes[0], &t.axes[1]
	for oy := range t.out.h {
		y0, y1 := ay.MetTaps(oy)
		for ox := range t.out.w {
			x0, x1 := ax.MetTaps(ox)
			x := ox*ax.Step + ax.Offset + x0*ax.TapStep
			var best C
			place := -1
			for ty := y0; ty < y1; ty++ {
				y := oy*ay.Step + ay.Offset + ty*ay.TapStep
				o, p := y*t.in.sh+x*t.in.sw, y*t.in.w+x
				for range x1 - x0 {
					if v := src[o]; v > best || place < 0 {
						best, place = v, p
					}
					o, p = o+ax.TapStep*t.in.sw, p+ax.TapStep
				}
			}
			dst[oy*t.out.sh+ox*t.out.sw] = best
			places[oy*t.indices.sh+ox*t.indices.sw] = int64(max(place, 0))
		}
	}
}

// row computes row oy of image n, all channels of a place at a time.
func (t *maxPool[C]) row(n, oy int) {
	ay, ax := &t.axes[0], &t.axes[1]
	y0, y1 := ay.MetTaps(oy)
	for ox := range t.out.w {
		best := t.dst[n*t.out.sn+oy*t.out.sh+ox*t.out.sw:][:t.out.c]
		places := t.places[n*t.indices.sn+oy*t.indices.sh+ox*t.indices.sw:][:t.out.c]
		clear(best)
		clear(places)
		x0, x1 := ax.MetTaps(ox)
		for ty := y0; ty < y1; ty++ {
			y := oy*ay.Step + ay.Offset + ty*ay.TapStep
			for tx := x0; tx < x1; tx++ {
				x := ox*ax.Step + ax.Offset + tx*ax.TapStep
				src := t.src[n*t.in.sn+y*t.in.sh+x*t.in.sw:][:t.in.c]
				place := int64(y*t.in.w + x)
				if ty == y0 && tx == x0 {
					copy(best, src)
					for i := range places {
						places[i] = place
					}
					continue
				}
				takeGreater(best, places, src, place)
			}
		}
	}
}

// takeGreater takes the elements of src that are greater than those of best.
func takeGreater[C kit.Real](best []C, places []int64, src []C, place int64) {
	best, places = best[:len(src)], places[:len(src)]
	for i, v := range src {
		if v > best[i] {
			best[i], places[i] = v, place
		}
	}
}

func maxPool2dBackwardOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	const name = "max_pool2d_with_indices_backward"
	grad, in, indices, out := args.Tensor(0), args.Tensor(1), args.Tensor(7), args.Tensor(8)
	p, err := newPooling(name, in, args.Ints(2), args.Ints(3), args.Ints(4), args.Ints(5), args.Bool(6))
	if err != nil {
		return err
	}
	shape := kit.ShapeOf(in.Shape())
	dims := shape.Dims()
	dims[len(dims)-2], dims[len(dims)-1] = p.axes[0].Out, p.axes[1].Out
	if err := checkShape("grad_output", grad, in.DType(), dims); err != nil {
		return err
	}
	if err := checkShape("indices", indices, tensor.I64, dims); err != nil {
		return err
	}
	if err := checkType("grad_input", out, in.DType()); err != nil {
		return err
	}
	if err := kit.Resize(out, in.Shape()); err != nil {
		return err
	}
	switch d := in.DType(); {
	case d == tensor.F32 || d.IsReducedFloat():
		return runtime.State[maxPoolBackward[float32]](ctx).run(ctx, grad, indices, out)
	case d == tensor.F64:
		return runtime.State[maxPoolBackward[float64]](ctx).run(ctx, grad, indices, out)
	}
	return kit.Unsupported(name, in)
}

// maxPoolBackward adds up gradients plane by plane.
type maxPoolBackward[C kit.Real] struct {
	conversion    kit.Conversion[C]
	grad, indices image
	out           image
	src, dst      []C
	places        []int64
	outside       atomic.Bool // an index is
}

func (t *maxPoolBackward[C]) run(ctx *runtime.KernelRuntimeContext, grad, indices, out *tensor.Tensor) (err error) {
	if out.Numel() == 0 {
		return nil
	}
	t.grad, t.indices, t.out = imageOf(grad), imageOf(indices), imageOf(out)
	t.places = tensor.Raw[int64](indices)
	if t.src, err = kit.LoadAll(ctx, &t.conversion, grad); err != nil {
		return err
	}
	if t.dst, err = kit.Target[C](ctx, out); err != nil {
		return err
	}
	t.outside.Store(false)
	clear(t.dst)
	ctx.Parallel(t.out.n*t.out.c, 1+poolGrain/(t.grad.h*t.grad.w), t)
	if t.outside.Load() {
		return errs.InvalidArgument.Errorf("max_pool2d_with_indices_backward: an index is outside of grad_input %v", out)
	}
	kit.StoreAll(ctx, &t.conversion, out, t.dst)
	return nil
}

// Run computes planes lo to hi. The index -1 stands for no place.
func (t *maxPoolBackward[C]) Run(_, lo, hi int) {
	for ; lo < hi; lo++ {
		n, c := lo/t.out.c, lo%t.out.c
		src := t.src[n*t.grad.sn+c*t.grad.sc:]
		places := t.places[n*t.indices.sn+c*t.indices.sc:]
		dst := t.dst[n*t.out.sn+c*t.out.sc:]
		for y := range t.grad.h {
			for x := range t.grad.w {
				p := int(places[y*t.indices.sh+x*t.indices.sw])
				if p < 0 || p >= t.out.h*t.out.w {
					if p != -1 {
						t.outside.Store(true)
					}
					continue
				}
				dst[p/t.out.w*t.out.sh+p%t.out.w*t.out.sw] += src[y*t.grad.sh+x*t.grad.sw]
			}
		}
	}
}
