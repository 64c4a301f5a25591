package portable

import (
	"math"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Arange is aten::arange: start, start + step, ... below end (above it for a
// negative step), for every real type, computed in F64. Bools are refused.
var Arange = runtime.Kernels{
	{Schema: "aten::arange.out(Scalar end, *, Tensor(a!) out) -> Tensor(a!)", Run: func(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
		end := args.Scalar(0)
		if end.Kind() == runtime.KindBool {
			return errs.InvalidArgument.Errorf("end is a bool")
		}
		return arange(args.Tensor(1), 0, end.Double(), 1)
	}},
	{Schema: "aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)", Run: func(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
		for _, s := range args[:3] {
			if s.Kind() == runtime.KindBool {
				return errs.InvalidArgument.Errorf("start, end or step is a bool")
			}
		}
		return arange(args.Tensor(3), args.Float(0), args.Float(1), args.Float(2))
	}},
}

func arange(out *tensor.Tensor, start, end, step float64) error {
	if !(step > 0 && end >= start || step < 0 && end <= start) {
		return errs.InvalidArgument.Errorf("no range from %v to %v in steps of %v", start, end, step)
	}
	if !isReal(out.DType()) {
		return unsupported(out.DType())
	}
	n := math.Ceil((end - start) / step)
	if !(n <= math.MaxInt32) {
		return errs.InvalidArgument.Errorf("the range from %v to %v in steps of %v is too long", start, end, step)
	}
	if err := kit.Resize(out, []int{int(n)}); err != nil {
		return err
	}
	var block [256]float64
	for off := 0; off < out.Numel(); off += len(block) {
		b := block[:min(len(block), out.Numel()-off)]
		for i := range b {
			b[i] = start + float64(float64(off+i)*step)
		}
		kit.Store(out, off, b)
	}
	return nil
}

// Empty is aten::empty. The elements are zero, though a program must not rely on
// any: what memory held before is nothing that a result should tell.
var Empty = runtime.Kernels{{
	Schema: "aten::empty.out(SymInt[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
	Run: func(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
		if err := resizeTo(args.Tensor(2), args.Ints(0)); err != nil {
			return err
		}
		clear(args.Tensor(2).Bytes())
		return nil
	},
}}

// Zeros is aten::zeros, for every type.
var Zeros = runtime.Kernels{{
	Schema: "aten::zeros.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
		out := args.Tensor(1)
		if err := resizeTo(out, args.Ints(0)); err != nil {
			return err
		}
		clear(out.Bytes())
		return nil
	},
}}

// Ones is aten::ones, for every real type and bool.
var Ones = runtime.Kernels{{
	Schema: "aten::ones.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
		out := args.Tensor(1)
		if err := resizeTo(out, args.Ints(0)); err != nil {
			return err
		}
		one := runtime.Int(1)
		return fillScalar(out, &one)
	},
}}

// Full is aten::full: fill_value, which must fit out's type, for every real type
// and bool.
var Full = runtime.Kernels{{
	Schema: "aten::full.out(SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
		out := args.Tensor(2)
		if err := resizeTo(out, args.Ints(0)); err != nil {
			return err
		}
		return fillScalar(out, args.Scalar(1))
	},
}}

// FullLike is aten::full_like: Full with self's shape. out has the memory format
// that it was made with.
var FullLike = runtime.Kernels{{
	Schema: "aten::full_like.out(Tensor self, Scalar fill_value, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
	Run: func(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
		out := args.Tensor(3)
		if err := kit.Resize(out, args.Tensor(0).Shape()); err != nil {
			return err
		}
		return fillScalar(out, args.Scalar(1))
	},
}}

// ScalarTensor is aten::scalar_tensor: a tensor of rank 0 with the value s, which
// must fit out's type, for every real type and bool.
var ScalarTensor = runtime.Kernels{{
	Schema: "aten::scalar_tensor.out(Scalar s, *, Tensor(a!) out) -> Tensor(a!)",
	Run: func(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
		out := args.Tensor(1)
		if err := kit.Resize(out, nil); err != nil {
			return err
		}
		return fillScalar(out, args.Scalar(0))
	},
}}

// Fill is aten::fill: a tensor like self, which has out's type, full of value. A
// Scalar must fit the type; a tensor, of one element, is converted.
var Fill = runtime.Kernels{
	{Schema: "aten::fill.Scalar_out(Tensor self, Scalar value, *, Tensor(a!) out) -> Tensor(a!)", Run: func(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
		if err := resizeSame(args.Tensor(0), args.Tensor(2)); err != nil {
			return err
		}
		return fillScalar(args.Tensor(2), args.Scalar(1))
	}},
	{Schema: "aten::fill.Tensor_out(Tensor self, Tensor value, *, Tensor(a!) out) -> Tensor(a!)", Run: func(_ *runtime.KernelRuntimeContext, args runtime.Args) error {
		value, out := args.Tensor(1), args.Tensor(2)
		if value.Numel() != 1 {
			return errs.InvalidArgument.Errorf("value is %v, want one element", value)
		}
		if err := checkInputs(value, out); err != nil {
			return err
		}
		if err := resizeSame(args.Tensor(0), out); err != nil {
			return err
		}
		v := firstElement(value)
		fillBits(out, scalarBits(&v, out.DType()))
		return nil
	}},
}

// resizeTo resizes out to sizes from a program.
func resizeTo(out *tensor.Tensor, sizes []int64) error {
	var shape kit.Shape
	if len(sizes) > tensor.MaxRank {
		return errs.InvalidArgument.Errorf("rank %d is above the limit of %d", len(sizes), tensor.MaxRank)
	}
	for _, s := range sizes {
		shape.Append(int(s))
	}
	return kit.Resize(out, shape.Dims())
}

// fillScalar fills out, of a real type or bool, with s, which must fit it.
func fillScalar(out *tensor.Tensor, s *runtime.EValue) error {
	if err := checkInputs(out); err != nil {
		return err
	}
	if err := checkScalar(s, out.DType()); err != nil {
		return err
	}
	fillBits(out, scalarBits(s, out.DType()))
	return nil
}

// scalarBits returns the bits of an element of type d, real or bool, with s's
// value.
func scalarBits(s *runtime.EValue, d tensor.DType) uint64 {
	switch d {
	case tensor.F32:
		return uint64(math.Float32bits(scalarAs[float32](s, d)))
	case tensor.F64:
		return math.Float64bits(scalarAs[float64](s, d))
	case tensor.F16:
		return uint64(tensor.ToFloat16(scalarAs[float32](s, d)))
	case tensor.BF16:
		return uint64(tensor.ToBFloat16(scalarAs[float32](s, d)))
	case tensor.U8, tensor.Bool:
		return uint64(scalarAs[uint8](s, d))
	case tensor.I8:
		return uint64(scalarAs[int8](s, d))
	case tensor.I16:
		return uint64(scalarAs[int16](s, d))
	case tensor.I32:
		return uint64(scalarAs[int32](s, d))
	}
	return uint64(scalarAs[int64](s, d))
}

// fillBits fills out with an element's bits.
func fillBits(out *tensor.Tensor, bits uint64) {
	switch out.DType().Size() {
	case 1:
		fillWith(out, uint8(bits))
	case 2:
		fillWith(out, uint16(bits))
	case 4:
		fillWith(out, uint32(bits))
	case 8:
		fillWith(out, bits)
	}
}

func fillWith[C tensor.Element](out *tensor.Tensor, v C) {
	dst := tensor.Cast[C](out.Bytes())
	// Copying a block is faster than a loop over elements.
	head := dst[:min(len(dst), 512)]
	for i := range head {
		head[i] = v
	}
	for rest := dst[len(head):]; len(rest) > 0; {
		rest = rest[copy(rest, head):]
	}
}

// firstElement returns the first element of a tensor of a real type or bool.
func firstElement(t *tensor.Tensor) runtime.EValue {
	switch {
	case t.DType().IsFloat():
		var v [1]float64
		kit.Load(v[:], t, 0)
		return runtime.Double(v[0])
	case t.DType() == tensor.Bool:
		var v [1]uint8
		kit.Load(v[:], t, 0)
		return runtime.Bool(v[0] != 0)
	}
	var v [1]int64
	kit.Load(v[:], t, 0)
	return runtime.Int(v[0])
}
