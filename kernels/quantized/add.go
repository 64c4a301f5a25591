package quantized

import (
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Add is quantized_decomposed::add: a and b, broadcast, are dequantised, added in
// float32 and quantised. All three tensors are of one type: uint8, int8, int16,
// int32 or int64.
var Add = runtime.Kernels{
	{
		Schema: "quantized_decomposed::add.out(Tensor a, float a_scale, int a_zero_point, int a_quant_min, int a_quant_max, Tensor b, float b_scale, int b_zero_point, int b_quant_min, int b_quant_max, float out_scale, int out_zero_point, int out_quant_min, int out_quant_max, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    addOut,
	},
}

// addTask adds spans of elements that lie side by side in the output.
type addTask struct {
	nest           kit.Nest
	a, b, out      *tensor.Tensor
	aScale, bScale float64
	aZero, bZero   int64
	inv, zero      float32 // of the output: the scale's reciprocal, the zero point
	lo, hi         int64
	bufs           []int64 // two spans for each worker
}

func addOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	t := runtime.State[addTask](ctx)
	t.a, t.b, t.out = args.Tensor(0), args.Tensor(5), args.Tensor(14)
	if t.a.DType() != t.b.DType() || t.a.DType() != t.out.DType() {
		return errs.InvalidArgument.Errorf("add: %v + %v to %v, want one type", t.a.DType(), t.b.DType(), t.out.DType())
	}
	switch t.a.DType() {
	case tensor.U8, tensor.I8, tensor.I16, tensor.I32, tensor.I64:
	default:
		return kit.Unsupported("add", t.a)
	}
	for _, i := range [...]int{3, 8, 12} {
		if lo, hi := args.Int(i), args.Int(i+1); lo > hi {
			return errs.InvalidArgument.Errorf("add: quant_min %d is above quant_max %d", lo, hi)
		}
	}
	if err := kit.ResizeBroadcast(t.out, t.a, t.b); err != nil {
		return err
	}
	t.aScale, t.aZero = float64(float32(args.Float(1))), int64(int32(args.Int(2)))
	t.bScale, t.bZero = float64(float32(args.Float(6))), int64(int32(args.Int(7)))
	t.inv, t.zero = 1/float32(args.Float(10)), float32(int32(args.Int(11)))
	t.lo, t.hi = int64(args.Int(12)), int64(args.Int(13))
	t.nest.Elementwise(t.out, t.a, t.b)
	if t.nest.Numel() == 0 {
		return nil
	}
	if need := ctx.Threads() * 2 * spanLen; len(t.bufs) < need {
		t.bufs = make([]int64, need)
	}
	ctx.Parallel(t.nest.Numel(), grain, t)
	return nil
}

// Run adds the elements lo to hi of the output in memory order.
func (t *addTask) Run(worker, lo, hi int) {
	buf := t.bufs[worker*2*spanLen:][:2*spanLen]
	var c kit.Cursor
	t.nest.Seek(&c, lo)
	for lo < hi {
		n := t.nest.Run(&c, min(hi-lo, spanLen))
		a, b := buf[:n], buf[spanLen:][:n]
		kit.LoadStrided(a, t.a, c.Off[1], t.nest.Stride(1))
		kit.LoadStrided(b, t.b, c.Off[2], t.nest.Stride(2))
		for i, v := range a {
			sum := float32(float64(v-t.aZero)*t.aScale) + float32(float64(b[i]-t.bZero)*t.bScale)
			a[i] = round(float32(t.inv*sum), t.zero, t.lo, t.hi)
		}
		kit.Store(t.out, c.Off[0], a)
		t.nest.Advance(&c, n)
		lo += n
	}
}
