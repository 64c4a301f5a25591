package portable

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/memory"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// randomTensor returns a tensor of small integers in a random dim order.
func randomTensor(rnd *rand.Rand, d tensor.DType, shape []int) *tensor.Tensor {
	t, err := tensor.New(d, shape, tensor.WithDimOrder(randomOrder(rnd, len(shape))))
	if err != nil {
		panic(err)
	}
	for i := range t.Numel() {
		v := runtime.Int(int64(rnd.IntN(100)))
		element, err := tensor.New(d, nil)
		if err != nil {
			panic(err)
		}
		fillBits(element, scalarBits(&v, d))
		copy(t.Bytes()[i*d.Size():], element.Bytes())
	}
	return t
}

func randomOrder(rnd *rand.Rand, rank int) tensor.DimOrder {
	order := make(tensor.DimOrder, rank)
	for i, d := range rnd.Perm(rank) {
		order[i] = uint8(d)
	}
	if rnd.IntN(2) == 0 {
		slices.Sort(order)
	}
	return order
}

// narrowed returns shape with some sizes 1 and, sometimes, without outer ones.
func narrowed(rnd *rand.Rand, shape []int) []int {
	s := slices.Clone(shape)
	for i := range s {
		if rnd.IntN(3) == 0 {
			s[i] = 1
		}
	}
	if rnd.IntN(3) == 0 {
		s = s[rnd.IntN(len(s)+1):]
	}
	return s
}

// element returns the number at place idx of a shape that t is broadcast to.
func element(t *tensor.Tensor, idx []int) float64 {
	off := 0
	for i, size := range t.Shape() {
		if size > 1 {
			off += t.Strides()[i] * idx[len(idx)-t.Rank()+i]
		}
	}
	var v [1]float64
	numberLoader[float64]{}.load(v[:], t, off, 1)
	return v[0]
}

// checkElements compares out, place by place, to want of the elements of ins.
func checkElements(t *testing.T, out *tensor.Tensor, want func(v []float64) float64, ins ...*tensor.Tensor) {
	t.Helper()
	shape := out.Shape()
	idx, v := make([]int, len(shape)), make([]float64, len(ins))
	for n := range out.Numel() {
		for d := len(shape) - 1; d >= 0; d-- {
			idx[d] = n % shape[d]
			n /= shape[d]
		}
		for i, in := range ins {
			v[i] = element(in, idx)
		}
		if got, want := element(out, idx), want(v); got != want {
			t.Fatalf("out %v at %v: got %v, want %v of %v; inputs %v", out, idx, got, want, v, ins)
		}
	}
}

func TestElementwiseLayoutsAndTypes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	types := []tensor.DType{tensor.F32, tensor.F32, tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I64, tensor.I32, tensor.I16, tensor.U8}
	sizes := []int{1, 2, 3, 7, 40, 1100}
	for range 300 {
		shape := make([]int, rnd.IntN(5))
		for i, budget := 0, 5000; i < len(shape); i++ {
			shape[i] = sizes[rnd.IntN(len(sizes))]
			if shape[i] > budget {
				shape[i] = 1
			}
			budget /= shape[i]
		}
		a := randomTensor(rnd, types[rnd.IntN(len(types))], narrowed(rnd, shape))
		b := randomTensor(rnd, types[rnd.IntN(len(types))], narrowed(rnd, shape))
		full := randomTensor(rnd, tensor.F64, shape)
		cond := randomTensor(rnd, tensor.Bool, narrowed(rnd, shape))

		out, err := tensor.New(tensor.F64, shape, tensor.WithDimOrder(randomOrder(rnd, len(shape))))
		require.NoError(t, err)
		require.NoError(t, kerneltest.Call(Div, "aten::div.Scalar_out", full, 1.0, out))
		checkElements(t, out, func(v []float64) float64 { return v[0] }, full)
		if !slices.Equal(broadcast(t, a, b), shape) {
			a = randomTensor(rnd, a.DType(), shape)
		}
		out, err = tensor.New(tensor.F32, shape, tensor.WithDimOrder(randomOrder(rnd, len(shape))))
		require.NoError(t, err)
		require.NoError(t, kerneltest.Call(Maximum, "aten::maximum.out", a, b, out))
		checkElements(t, out, func(v []float64) float64 { return max(v[0], v[1]) }, a, b)
		require.NoError(t, kerneltest.Call(Clamp, "aten::clamp.Tensor_out", a, b, tensor.Scalar(int32(50)), out))
		checkElements(t, out, func(v []float64) float64 { return min(max(v[0], v[1]), 50) }, a, b)

		out, err = tensor.New(promote(a.DType(), b.DType()), shape, tensor.WithDimOrder(randomOrder(rnd, len(shape))))
		require.NoError(t, err)
		require.NoError(t, kerneltest.Call(Where, "aten::where.self_out", cond, a, b, out))
		checkElements(t, out, func(v []float64) float64 {
			if v[0] != 0 {
				return v[1]
			}
			return v[2]
		}, cond, a, b)
	}
}

func broadcast(t *testing.T, a, b *tensor.Tensor) []int {
	out := kerneltest.Dynamic(tensor.Bool, slices.Repeat([]int{11}, max(a.Rank(), b.Rank()))...)
	if kerneltest.Call(Lt, "aten::lt.Tensor_out", a, b, out) != nil {
		return nil // more than out holds
	}
	return out.Shape()
}

// A small input that repeats over the output's memory is laid out once.
func TestElementwiseRepeatedInput(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	bias := randomTensor(rnd, tensor.F32, []int{3, 1, 1})
	x := randomTensor(rnd, tensor.F32, []int{2, 3, 40, 41}).WithOrder(tensor.ChannelsLast(4))
	for _, d := range []tensor.DType{tensor.F32, tensor.I64} {
		b := kerneltest.Zeros(d, 3, 1, 1)
		require.NoError(t, kerneltest.Call(Fill, "aten::fill.Scalar_out", b, 7, b))
		if d == tensor.F32 {
			b = bias
		}
		out := kerneltest.Zeros(tensor.F32, 2, 3, 40, 41).WithOrder(tensor.ChannelsLast(4))
		kerneltest.Run(t, Sub, "aten::sub.out", x, b, 1, out)
		checkElements(t, out, func(v []float64) float64 { return v[0] - v[1] }, x, b)
		kerneltest.Run(t, Sub, "aten::sub.out", b, x, 2, out)
		checkElements(t, out, func(v []float64) float64 { return v[0] - 2*v[1] }, b, x)
	}
}

func TestElementwiseInPlace(t *testing.T) {
	x := tensor.Of([]float32{1, -2, 3, -4}, 2, 2)
	require.NoError(t, kerneltest.Call(Add, "aten::add.out", x, x, 1, x))
	kerneltest.Equal(t, tensor.Of([]float32{2, -4, 6, -8}, 2, 2), x)
	require.NoError(t, kerneltest.Call(Elu, "aten::elu.out", x, 0, 1, 1, x))
	kerneltest.Equal(t, tensor.Of([]float32{2, 0, 6, 0}, 2, 2), x)
}

func TestElementwiseEmptyAndScalar(t *testing.T) {
	out := kerneltest.Dynamic(tensor.F32, 4, 4)
	kerneltest.Run(t, Add, "aten::add.out", kerneltest.Zeros(tensor.F32, 0, 3), kerneltest.Zeros(tensor.F32, 1, 3), 1, out)
	require.Equal(t, []int{0, 3}, out.Shape())

	// No element of the empty result is divided by the zero.
	empty := kerneltest.Dynamic(tensor.I32, 4)
	kerneltest.Run(t, FloorDivide, "aten::floor_divide.out", kerneltest.Zeros(tensor.I32, 0), kerneltest.Zeros(tensor.I32, 1), empty)
	require.Equal(t, []int{0}, empty.Shape())

	scalar := kerneltest.Zeros(tensor.F32)
	kerneltest.Run(t, Mul, "aten::mul.out", tensor.Scalar(float32(3)), tensor.Scalar(int64(4)), scalar)
	kerneltest.Equal(t, tensor.Scalar(float32(12)), scalar)
}

func TestElementwiseShapeErrors(t *testing.T) {
	x, y := kerneltest.Zeros(tensor.F32, 2, 3), kerneltest.Zeros(tensor.F32, 2, 2)
	for name, err := range map[string]error{
		"shapes":     kerneltest.Fails(t, Add, "aten::add.out", x, y, 1, kerneltest.Dynamic(tensor.F32, 9, 9)),
		"static out": kerneltest.Fails(t, Relu, "aten::relu.out", x, y),
		"out rank":   kerneltest.Fails(t, Relu, "aten::relu.out", x, kerneltest.Dynamic(tensor.F32, 9)),
		"out bound":  kerneltest.Fails(t, Relu, "aten::relu.out", x, kerneltest.Dynamic(tensor.F32, 1, 5)),
		"where":      kerneltest.Fails(t, Where, "aten::where.self_out", kerneltest.Zeros(tensor.Bool, 5), x, x, kerneltest.Dynamic(tensor.F32, 9, 9)),
		"clamp":      kerneltest.Fails(t, Clamp, "aten::clamp.Tensor_out", x, y, nil, kerneltest.Dynamic(tensor.F32, 9, 9)),
	} {
		require.ErrorIs(t, err, errs.InvalidArgument, name)
	}
}

func TestElementwiseDoesNotAllocate(t *testing.T) {
	x, y, out := kerneltest.Zeros(tensor.F32, 8, 300), kerneltest.Zeros(tensor.F32, 300), kerneltest.Zeros(tensor.F32, 8, 300)
	half, mask := kerneltest.Zeros(tensor.F16, 8, 300), kerneltest.Zeros(tensor.Bool, 8, 300)
	last := kerneltest.Zeros(tensor.F32, 1, 300, 8)
	for name, call := range map[string]struct {
		kernels runtime.Kernels
		name    string
		args    []any
	}{
		"add":          {Add, "aten::add.out", []any{x, y, 1, out}},
		"add alpha":    {Add, "aten::add.out", []any{x, y, 3, out}},
		"add scalar":   {Add, "aten::add.Scalar_out", []any{x, 2.5, 1, out}},
		"add mixed":    {Add, "aten::add.out", []any{x, half, 1, out}},
		"relu":         {Relu, "aten::relu.out", []any{x, out}},
		"exp":          {Exp, "aten::exp.out", []any{half, half}},
		"neg":          {Neg, "aten::neg.out", []any{x, out}},
		"clamp":        {Clamp, "aten::clamp.out", []any{x, 0, nil, out}},
		"clamp tensor": {Clamp, "aten::clamp.Tensor_out", []any{x, y, nil, out}},
		"less":         {Lt, "aten::lt.Scalar_out", []any{x, 1, mask}},
		"where":        {Where, "aten::where.self_out", []any{mask, x, y, out}},
		"masked fill":  {MaskedFill, "aten::masked_fill.Scalar_out", []any{x, mask, 1, out}},
		"logical not":  {LogicalNot, "aten::logical_not.out", []any{x, mask}},
		"bitwise and":  {BitwiseAnd, "aten::bitwise_and.Tensor_out", []any{mask, mask, mask}},
		"pow":          {Pow, "aten::pow.Tensor_Scalar_out", []any{x, 2, out}},
		"glu":          {Glu, "aten::glu.out", []any{last, -1, kerneltest.Zeros(tensor.F32, 1, 300, 4)}},
		"full":         {Full, "aten::full.out", []any{[]int64{8, 300}, 1, out}},
		"arange":       {Arange, "aten::arange.out", []any{300, y}},
	} {
		n, err := kerneltest.Allocs(call.kernels, call.name, call.args...)
		require.NoError(t, err, name)
		require.Zero(t, n, name)
	}
}

// Forged programs reach kernels with any types, shapes and numbers: an error is
// fine, a panic is not.
func TestElementwiseTakesAnything(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	reg := runtime.NewRegistry()
	require.NoError(t, reg.Register(elementwiseKernels()...))
	succeeded := map[string]bool{}
	for range 400 {
		for _, name := range reg.Operators() {
			args := make(runtime.Args, 0, 6)
			shape := []int{rnd.IntN(4), 1 + rnd.IntN(3)}[:rnd.IntN(3)]
			common := tensor.DType(rnd.IntN(12))
			for _, p := range reg.Kernel(name).Signature().Params {
				v := randomValue(rnd, p, shape, common)
				args = append(args, &v)
			}
			err := callSafely(reg.Kernel(name), args)
			require.NotErrorIs(t, err, errPanic, "%s%v", name, args)
			succeeded[name] = succeeded[name] || err == nil
		}
	}
	for _, name := range reg.Operators() {
		require.True(t, succeeded[name], "%s never succeeded", name)
	}
}

var errPanic = fmt.Errorf("panic")

func callSafely(k *runtime.Kernel, args runtime.Args) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errPanic, r)
		}
	}()
	ctx := runtime.NewKernelRuntimeContext(context.Background(), runtime.ContextWithTempAllocator(memory.Heap{}))
	return k.Run(ctx, args)
}

// randomValue returns a value for a parameter, a tensor mostly of the type common
// and often of the given shape.
func randomValue(rnd *rand.Rand, p runtime.Param, shape []int, common tensor.DType) runtime.EValue {
	if p.Optional && rnd.IntN(3) == 0 {
		return runtime.None()
	}
	odd := []int64{0, 1, -1, 2, 300, math.MaxInt64, math.MinInt64}[rnd.IntN(7)]
	switch p.Type {
	case runtime.ArgTensor:
		d := common
		if rnd.IntN(2) == 0 {
			d = []tensor.DType{tensor.F32, tensor.Bool, tensor.F16, tensor.DType(rnd.IntN(30))}[rnd.IntN(4)]
		}
		shape := slices.Clone(shape)
		if rnd.IntN(3) == 0 {
			shape = narrowed(rnd, shape)
		}
		dynamism := tensor.Static
		if p.Written {
			dynamism = tensor.DynamicUnbound
		}
		t, err := tensor.New(d, shape, tensor.WithDimOrder(randomOrder(rnd, len(shape))), tensor.WithDynamism(dynamism))
		if err != nil {
			panic(err)
		}
		t.SetGrow(func(n int) ([]byte, error) { return memory.Heap{}.Allocate(n, 64) })
		for i := range t.Bytes() {
			t.Bytes()[i] = byte(rnd.Uint32())
		}
		return runtime.TensorValue(t)
	case runtime.ArgInt:
		return runtime.Int(odd)
	case runtime.ArgBool:
		return runtime.Bool(odd != 0)
	case runtime.ArgFloat:
		return runtime.Double([]float64{0, 0.5, math.NaN(), math.Inf(1), float64(odd)}[rnd.IntN(5)])
	case runtime.ArgString:
		return runtime.String([]string{"none", "tanh", "floor", "trunc", "x"}[rnd.IntN(5)])
	case runtime.ArgIntList:
		if rnd.IntN(3) == 0 {
			return runtime.IntList(odd, odd)
		}
		sizes := make([]int64, len(shape))
		for i, s := range shape {
			sizes[i] = int64(s)
		}
		return runtime.IntList(sizes...)
	}
	switch rnd.IntN(3) {
	case 0:
		return runtime.Double([]float64{0.5, math.NaN(), math.Inf(-1), 1e300}[rnd.IntN(4)])
	case 1:
		return runtime.Bool(odd != 0)
	}
	return runtime.Int(odd)
}
