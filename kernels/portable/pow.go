package portable

import (
	"math"

	"github.com/etgo-ml/etgo/kernels/internal/kit/mathf"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Pow is aten::pow: base to the power of exponent, of which one may be a Scalar,
// for every real type. As in ExecuTorch it is computed as F32 where the operands
// promote to that or to a half, else as F64, integers too.
var Pow = runtime.Kernels{
	{Schema: "aten::pow.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)", Run: powOut},
	{Schema: "aten::pow.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out) -> Tensor(a!)", Run: powOut},
	{Schema: "aten::pow.Scalar_out(Scalar self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)", Run: powScalarOut},
}

func powOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return powBinary(ctx, args, args.Tensor(0), args[1])
}

func powScalarOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return powBinary(ctx, args, args.Tensor(1), args[0])
}

// powBinary computes a power of a tensor and another operand.
func powBinary(ctx *runtime.KernelRuntimeContext, args runtime.Args, t *tensor.Tensor, other *runtime.EValue) error {
	d, err := resizeBinary(t, other, args.Tensor(2))
	if err != nil {
		return err
	}
	return floatBinary(ctx, args, d, pow32{}, pow64{})
}

type pow32 struct{}

func (pow32) vv(dst, a, b []float32) { mathf.Pow(dst, a, b) }

func (pow32) vs(dst, a []float32, b float32) { mathf.PowScalar(dst, a, b) }

type pow64 struct{}

func (pow64) vv(dst, a, b []float64) {
	for i, v := range a {
		dst[i] = math.Pow(v, b[i])
	}
}

func (pow64) vs(dst, a []float64, b float64) {
	if b == 2 {
		mulOp[float64]{}.vv(dst, a, a)
		return
	}
	for i, v := range a {
		dst[i] = math.Pow(v, b)
	}
}
