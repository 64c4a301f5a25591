package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// complexNumber is what complex operators compute with; C32 is computed as C64.
type complexNumber interface{ complex64 | complex128 }

// complexInput returns the elements of t, real or complex, as complex numbers.
func complexInput[C complexNumber](t *tensor.Tensor) input[C] {
	return input[C]{t: t, raw: tensor.Raw[C](t), conv: complexLoader[C]{}}
}

// complexOrConstant returns argument i, a Tensor or a Scalar, as complex numbers.
func complexOrConstant[C complexNumber](args runtime.Args, i int) input[C] {
	if t := args.Tensor(i); t != nil {
		return complexInput[C](t)
	}
	return constant(C(complex(args.Float(i), 0)))
}

func complexOutput[C complexNumber](t *tensor.Tensor) output[C] {
	return output[C]{t: t, raw: tensor.Raw[C](t), conv: complexStorer[C]{}}
}

type complexLoader[C complexNumber] struct{}

func (complexLoader[C]) load(dst []C, src *tensor.Tensor, off, stride int) {
	switch src.DType() {
	case tensor.C32:
		s := tensor.Raw[tensor.Complex32](src)
		for i := range dst {
			dst[i] = C(complex(s[off].Real.Float32(), s[off].Imag.Float32()))
			off += stride
		}
	case tensor.C64:
		s := tensor.Raw[complex64](src)
		for i := range dst {
			dst[i] = C(s[off])
			off += stride
		}
	case tensor.C128:
		s := tensor.Raw[complex128](src)
		for i := range dst {
			dst[i] = C(s[off])
			off += stride
		}
	default:
		var v [1]float64
		for i := range dst {
			kit.Load(v[:], src, off)
			dst[i] = C(complex(v[0], 0))
			off += stride
		}
	}
}

type complexStorer[C complexNumber] struct{}

func (complexStorer[C]) store(dst *tensor.Tensor, off int, src []C) {
	switch dst.DType() {
	case tensor.C32:
		d := tensor.Raw[tensor.Complex32](dst)[off:]
		for i, v := range src {
			w := complex64(v)
			d[i] = tensor.Complex32{Real: tensor.ToFloat16(real(w)), Imag: tensor.ToFloat16(imag(w))}
		}
	case tensor.C64:
		d := tensor.Raw[complex64](dst)[off:]
		for i, v := range src {
			d[i] = complex64(v)
		}
	case tensor.C128:
		d := tensor.Raw[complex128](dst)[off:]
		for i, v := range src {
			d[i] = complex128(v)
		}
	}
}

// addComplex computes self + sign * alpha * other of add's or sub's arguments.
func addComplex(ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType, sign float64) error {
	if d == tensor.C128 {
		return addComplexAs[complex128](ctx, args, sign*args.Float(2))
	}
	return addComplexAs[complex64](ctx, args, sign*args.Float(2))
}

func addComplexAs[C complexNumber](ctx *runtime.KernelRuntimeContext, args runtime.Args, alpha float64) error {
	a, b, out := complexInput[C](args.Tensor(0)), complexOrConstant[C](args, 1), complexOutput[C](args.Tensor(3))
	if alpha == 1 {
		return binary(ctx, a, b, out, grainArith, addComplexOp[C]{})
	}
	return binary(ctx, a, b, out, grainArith, addScaledComplexOp[C]{C(complex(alpha, 0))})
}

type addComplexOp[C complexNumber] struct{}

func (addComplexOp[C]) vv(dst, a, b []C) {
	for i, v := range a {
		dst[i] = v + b[i]
	}
}

type addScaledComplexOp[C complexNumber] struct{ k C }

func (op addScaledComplexOp[C]) vv(dst, a, b []C) {
	for i, v := range a {
		dst[i] = v + op.k*b[i]
	}
}

func mulComplex(ctx *runtime.KernelRuntimeContext, args runtime.Args, d tensor.DType) error {
	if d == tensor.C128 {
		return complexBinary(ctx, args, args.Tensor(2), mulComplexOp[complex128]{})
	}
	return complexBinary(ctx, args, args.Tensor(2), mulComplexOp[complex64]{})
}

func divComplex(ctx *runtime.KernelRuntimeContext, args runtime.Args, out *tensor.Tensor, d tensor.DType) error {
	switch d {
	case tensor.C32, tensor.C64:
		return complexBinary(ctx, args, out, divComplexOp[complex64]{})
	case tensor.C128:
		return complexBinary(ctx, args, out, divComplexOp[complex128]{})
	}
	return unsupported(d)
}

func complexBinary[C complexNumber, Op binaryOp[C, C]](ctx *runtime.KernelRuntimeContext, args runtime.Args, out *tensor.Tensor, op Op) error {
	return binary(ctx, complexInput[C](args.Tensor(0)), complexOrConstant[C](args, 1), complexOutput[C](out), grainMath, op)
}

type mulComplexOp[C complexNumber] struct{}

func (mulComplexOp[C]) vv(dst, a, b []C) {
	for i, v := range a {
		dst[i] = v * b[i]
	}
}

type divComplexOp[C complexNumber] struct{}

func (divComplexOp[C]) vv(dst, a, b []C) {
	for i, v := range a {
		dst[i] = v / b[i]
	}
}

// absComplex computes magnitudes as floats.
func absComplex(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, out := args.Tensor(0), args.Tensor(1)
	if err := checkFloat("out", out); err != nil {
		return err
	}
	if err := kit.Resize(out, in.Shape()); err != nil {
		return err
	}
	if in.DType() == tensor.C128 {
		return unary(ctx, complexInput[complex128](in), result[float64](out, tensor.F64), grainMath, unaryFunc[complex128, float64](absComplex128))
	}
	return unary(ctx, complexInput[complex64](in), result[float32](out, tensor.F32), grainMath, unaryFunc[complex64, float32](absComplex64))
}

// The magnitudes overflow where the squares do, as in ExecuTorch.

func absComplex64(dst []float32, src []complex64) {
	for i, v := range src {
		re, im := real(v), imag(v)
		dst[i] = float32(math.Sqrt(float64(float32(re*re) + float32(im*im))))
	}
}

func absComplex128(dst []float64, src []complex128) {
	for i, v := range src {
		re, im := real(v), imag(v)
		dst[i] = math.Sqrt(float64(re*re) + float64(im*im))
	}
}

// ConjPhysical is aten::_conj_physical, the complex conjugate, for one complex
// type.
var ConjPhysical = runtime.Kernels{{
	Schema: "aten::_conj_physical.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
		in, out := args.Tensor(0), args.Tensor(1)
		if err := resizeSame(in, out); err != nil {
			return err
		}
		switch in.DType() {
		case tensor.C32, tensor.C64:
			return unary(ctx, complexInput[complex64](in), complexOutput[complex64](out), grainArith, unaryFunc[complex64, complex64](conj64))
		case tensor.C128:
			return unary(ctx, complexInput[complex128](in), complexOutput[complex128](out), grainArith, unaryFunc[complex128, complex128](conj128))
		}
		return errs.InvalidArgument.Errorf("self is %v, want a complex type", in.DType())
	},
}}

func conj64(dst, src []complex64) {
	for i, v := range src {
		dst[i] = complex(real(v), -imag(v))
	}
}

func conj128(dst, src []complex128) {
	for i, v := range src {
		dst[i] = complex(real(v), -imag(v))
	}
}
