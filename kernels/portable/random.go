package portable

import (
	"math/rand/v2"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Rand is aten::rand: numbers drawn evenly from [0, 1), for every float type.
// Each call draws new ones; as in ExecuTorch there is no seed.
var Rand = runtime.Kernels{{
	Schema: "aten::rand.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
		return draw(args.Tensor(1), args.Ints(0), rand.Float64)
	},
	Impure: true,
}}

// Randn is aten::randn: numbers drawn from the standard normal distribution; see
// Rand.
var Randn = runtime.Kernels{{
	Schema: "aten::randn.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
		return draw(args.Tensor(1), args.Ints(0), rand.NormFloat64)
	},
	Impure: true,
}}

func draw(out *tensor.Tensor, size []int64, next func() float64) error {
	if err := checkFloat("out", out); err != nil {
		return err
	}
	if err := resizeTo(out, size); err != nil {
		return err
	}
	var block [256]float64
	for off := 0; off < out.Numel(); off += len(block) {
		b := block[:min(len(block), out.Numel()-off)]
		for i := range b {
			b[i] = next()
		}
		kit.Store(out, off, b)
	}
	return nil
}

// NativeDropout is aten::native_dropout. While training, which None means too,
// each element of the float tensor input becomes 0 with probability p, and the
// bool tensor out1 tells which stayed; as in ExecuTorch those are not scaled.
// Otherwise out0 is input, of any type.
var NativeDropout = runtime.Kernels{{
	Schema: "aten::native_dropout.out(Tensor input, float p, bool? train, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		in, p, out, mask := args.Tensor(0), args.Float(1), args.Tensor(3), args.Tensor(4)
		if err := checkType("out1", mask, tensor.Bool); err != nil {
			return err
		}
		if !(p >= 0 && p <= 1) {
			return errs.InvalidArgument.Errorf("probability %v is not in [0, 1]", p)
		}
		if err := resizeSame(in, out); err != nil {
			return err
		}
		if err := kit.Resize(mask, in.Shape()); err != nil {
			return err
		}
		keep := tensor.Raw[uint8](mask)
		if train, ok := args.OptBool(2); ok && !train || p == 0 {
			for i := range keep {
				keep[i] = 1
			}
			return tensor.Copy(out, in)
		}
		if err := checkFloat("input", in); err != nil {
			return err
		}
		for i := range keep {
			keep[i] = truth(rand.Float64() >= p)
		}
		return selectBits(ctx, mask, in, nil, 0, out)
	},
	Impure: true,
}}
