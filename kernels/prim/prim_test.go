package prim

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// call runs an operator of one result on EValues.
func call(t *testing.T, k runtime.Kernel, in ...runtime.EValue) (runtime.EValue, error) {
	t.Helper()
	args := make(runtime.Args, len(in)+1)
	for i := range in {
		args[i] = &in[i]
	}
	out := runtime.None()
	args[len(in)] = &out
	err := k.Run(runtime.NewKernelRuntimeContext(context.Background()), args)
	return out, err
}

func TestRegister(t *testing.T) {
	require.NoError(t, Register(runtime.NewRegistry()))
}

func TestNumbers(t *testing.T) {
	i, f, b := runtime.Int, runtime.Double, runtime.Bool
	const least = math.MinInt64
	inf, nan := math.Inf(1), math.NaN()
	in := func(v ...runtime.EValue) []runtime.EValue { return v }
	for _, tt := range []struct {
		op   runtime.Kernel
		in   []runtime.EValue
		want runtime.EValue
		err  *errs.Class
	}{
		{op: Add[0], in: in(i(math.MaxInt64), i(1)), want: i(least)},
		{op: Add[0], in: in(i(1), f(.5)), want: f(1.5)},
		{op: Add[0], in: in(b(true), i(1)), err: errs.InvalidType},
		{op: Sub[0], in: in(f(1), i(3)), want: f(-2)},
		{op: Mul[0], in: in(i(-3), i(4)), want: i(-12)},
		{op: FloorDiv[0], in: in(i(-7), i(2)), want: i(-4)},
		{op: FloorDiv[0], in: in(i(7), i(-2)), want: i(-4)},
		{op: FloorDiv[0], in: in(i(-6), i(2)), want: i(-3)},
		{op: FloorDiv[0], in: in(i(least), i(-1)), want: i(least)},
		{op: FloorDiv[0], in: in(i(1), i(0)), err: errs.InvalidArgument},
		{op: FloorDiv[0], in: in(f(-7), i(2)), want: f(-4)},
		{op: FloorDiv[0], in: in(f(-7), i(0)), want: f(-inf)},
		{op: FloorDiv[0], in: in(f(0), f(0)), want: f(inf)},
		{op: FloorDiv[0], in: in(f(1), b(true)), err: errs.InvalidType},
		{op: FloorDiv[1], in: in(i(-7), i(2)), want: i(-3)},
		{op: FloorDiv[1], in: in(i(-7), i(0)), err: errs.InvalidArgument},
		{op: Mod[0], in: in(i(-7), i(2)), want: i(-1)},
		{op: Mod[0], in: in(i(least), i(-1)), want: i(0)},
		{op: Mod[0], in: in(i(-7), i(0)), err: errs.InvalidArgument},
		{op: Mod[0], in: in(f(7), i(2)), err: errs.InvalidType},
		{op: Mod[1], in: in(i(7), i(-2)), want: i(1)},
		{op: TrueDiv[0], in: in(i(1), i(2)), want: f(.5)},
		{op: TrueDiv[0], in: in(i(-1), i(0)), want: f(-inf)},
		{op: TrueDiv[0], in: in(b(true), i(2)), err: errs.InvalidType},
		{op: Neg[0], in: in(i(least)), want: i(least)},
		{op: Neg[0], in: in(f(2)), want: f(-2)},
		{op: Neg[0], in: in(b(true)), err: errs.InvalidType},
		{op: Eq[0], in: in(i(2), f(2)), want: b(true)},
		{op: Eq[0], in: in(b(true), b(true)), want: b(true)},
		{op: Eq[0], in: in(b(true), i(1)), err: errs.InvalidType},
		{op: Gt[0], in: in(b(true), b(false)), want: b(true)},
		{op: Lt[0], in: in(f(nan), i(1)), want: b(false)},
		{op: Ge[0], in: in(i(1), i(1)), want: b(true)},
		{op: Le[0], in: in(i(2), i(1)), want: b(false)},
		{op: SymFloat[0], in: in(b(true)), want: f(1)},
		{op: SymInt[0], in: in(f(-2.9)), want: i(-2)},
		{op: SymInt[0], in: in(f(1e300)), want: i(least)},
		{op: SymIte[0], in: in(b(true), i(1), f(2)), want: i(1)},
		{op: SymIte[0], in: in(b(false), i(1), f(2)), want: f(2)},
		{op: SymIte[0], in: in(i(1), i(1), f(2)), err: errs.InvalidType},
		{op: SymMax[0], in: in(i(1), i(2)), want: i(2)},
		{op: SymMin[0], in: in(i(1), i(2)), want: i(1)},
		{op: SymMin[0], in: in(i(1), f(2)), err: errs.InvalidType},
		{op: SymNot[0], in: in(b(true)), want: b(false)},
		{op: SymNot[0], in: in(i(1)), err: errs.InvalidType},
		{op: Ceil[0], in: in(f(1.2)), want: i(2)},
		{op: Ceil[0], in: in(i(1)), err: errs.InvalidType},
		{op: Round[0], in: in(f(2.5)), want: i(2)},
		{op: Round[0], in: in(f(-3.5)), want: i(-4)},
		{op: Round[0], in: in(f(nan)), want: i(least)},
		{op: Trunc[0], in: in(f(-1.7)), want: i(-1)},
	} {
		got, err := call(t, tt.op, tt.in...)
		if tt.err != nil {
			require.ErrorIs(t, err, tt.err, "%s%v", tt.op.Name(), tt.in)
			continue
		}
		require.NoError(t, err, "%s%v", tt.op.Name(), tt.in)
		require.Equal(t, tt.want, got, "%s%v", tt.op.Name(), tt.in)
	}
}

func TestTensorQueries(t *testing.T) {
	x := runtime.TensorValue(kerneltest.Zeros(tensor.F32, 2, 5))
	scalar := runtime.TensorValue(kerneltest.Zeros(tensor.F32))

	got, err := call(t, SymSize[0], x, runtime.Int(-1))
	require.NoError(t, err)
	require.Equal(t, runtime.Int(5), got)
	_, err = call(t, SymSize[0], x, runtime.Int(2))
	require.ErrorIs(t, err, errs.InvalidArgument)
	_, err = call(t, SymSize[0], scalar, runtime.Int(0))
	require.ErrorIs(t, err, errs.InvalidArgument)

	got, err = call(t, SymNumel[0], x)
	require.NoError(t, err)
	require.Equal(t, runtime.Int(10), got)

	for _, tt := range []struct {
		in   *tensor.Tensor
		want runtime.EValue
	}{
		{tensor.Of([]int8{-3, 4}), runtime.Int(-3)},
		{tensor.Scalar(tensor.ToBFloat16(1.5)), runtime.Double(1.5)},
		{tensor.Scalar(uint32(1 << 31)), runtime.Int(1 << 31)},
		{tensor.Scalar(true), runtime.Bool(true)},
	} {
		got, err = call(t, LocalScalarDense[0], runtime.TensorValue(tt.in))
		require.NoError(t, err)
		require.Equal(t, tt.want, got)
	}
	_, err = call(t, LocalScalarDense[0], runtime.TensorValue(kerneltest.Zeros(tensor.F32, 0)))
	require.ErrorIs(t, err, errs.InvalidArgument)
	_, err = call(t, LocalScalarDense[0], runtime.TensorValue(kerneltest.Zeros(tensor.C64, 1)))
	require.ErrorIs(t, err, errs.InvalidArgument)
}

func runView(out, self *tensor.Tensor, sizes ...int64) error {
	a, b, c := runtime.TensorValue(self), runtime.IntList(sizes...), runtime.TensorValue(out)
	return view(runtime.NewKernelRuntimeContext(context.Background()), runtime.Args{&a, &b, &c})
}

func unbound(t *testing.T, d tensor.DType, shape ...int) *tensor.Tensor {
	x, err := tensor.NewUnbound(d, shape, tensor.WithDynamism(tensor.DynamicBound))
	require.NoError(t, err)
	return x
}

func TestViewSharesMemory(t *testing.T) {
	self := tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	out := unbound(t, tensor.F32, 3, 4)
	require.NoError(t, runView(out, self, 3, -1))
	require.Equal(t, []int{3, 2}, out.Shape())
	require.Same(t, &self.Bytes()[0], &out.Bytes()[0])
	require.False(t, out.ReadOnly())

	// Larger than what it was bound to before, and a constant.
	self = tensor.Of(make([]float32, 12), 12)
	self.SetReadOnly(true)
	require.NoError(t, runView(out, self, 4, 3))
	require.Equal(t, []int{4, 3}, out.Shape())
	require.True(t, out.ReadOnly())
}

func TestViewOfAnotherLayoutCopies(t *testing.T) {
	self := tensor.Of([]int16{0, 1, 2, 3, 4, 5, 6, 7}, 1, 2, 2, 2).WithOrder(tensor.ChannelsLast(4))
	out := unbound(t, tensor.I16, 8)
	require.NoError(t, runView(out, self, 8))
	require.Equal(t, []int16{0, 1, 2, 3, 4, 5, 6, 7}, tensor.Raw[int16](out))
	require.Equal(t, int16(4), tensor.Raw[int16](self)[1])
}

func TestViewRefuses(t *testing.T) {
	self := tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	require.ErrorIs(t, runView(unbound(t, tensor.F16, 6), self, 6), errs.InvalidArgument)
	require.ErrorIs(t, runView(unbound(t, tensor.F32, 6), self, 2, 3), errs.InvalidArgument)
	require.ErrorIs(t, runView(unbound(t, tensor.F32, 3, 3), self, 4, -1), errs.InvalidArgument)
	require.ErrorIs(t, runView(unbound(t, tensor.F32, 5), self, 6), errs.InvalidArgument)
	require.ErrorIs(t, runView(nil, self, 6), errs.InvalidType)
}

func TestCopyIndex(t *testing.T) {
	ctx := runtime.NewKernelRuntimeContext(context.Background())
	run := func(to, from *tensor.Tensor, index int64) error {
		a, b, i := runtime.TensorValue(to), runtime.TensorValue(from), runtime.Int(index)
		return copyIndex(ctx, runtime.Args{&a, &b, &i})
	}
	to := kerneltest.Dynamic(tensor.I32, 3, 2)
	for i := range int32(3) {
		require.NoError(t, run(to, tensor.Of([]int32{i, 10 * i}), int64(i)))
		require.Equal(t, []int{int(i) + 1, 2}, to.Shape())
	}
	require.Equal(t, []int32{0, 0, 1, 10, 2, 20}, tensor.Raw[int32](to))

	row := tensor.Of([]int32{7, 7})
	for _, index := range []int64{-1, 3, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64} {
		require.Error(t, run(to, row, index), index)
	}
	require.ErrorIs(t, run(to, tensor.Of([]int32{7}), 0), errs.InvalidArgument)
	require.ErrorIs(t, run(to, tensor.Of([]int64{7, 7}), 0), errs.InvalidArgument)
	require.ErrorIs(t, run(tensor.Scalar(int32(1)), row, 0), errs.InvalidArgument)

	// Memory that grows keeps what is there.
	grown, err := tensor.New(tensor.I32, []int{0, 2}, tensor.WithDynamism(tensor.DynamicUnbound))
	require.NoError(t, err)
	grown.SetGrow(func(n int) ([]byte, error) { return make([]byte, n), nil })
	require.NoError(t, run(grown, tensor.Of([]int32{1, 2}), 0))
	require.NoError(t, run(grown, tensor.Of([]int32{3, 4}), 1))
	require.Equal(t, []int32{1, 2, 3, 4}, tensor.Raw[int32](grown))
}

func TestAllocations(t *testing.T) {
	ctx := runtime.NewKernelRuntimeContext(context.Background())
	a, b, out := runtime.Int(7), runtime.Double(2), runtime.None()
	self, sizes, viewed := runtime.TensorValue(tensor.Of([]float32{1, 2, 3, 4})), runtime.IntList(2, -1), runtime.TensorValue(unbound(t, tensor.F32, 2, 2))
	scalar := runtime.None()
	calls := []struct {
		op   runtime.Kernels
		args runtime.Args
	}{
		{Add, runtime.Args{&a, &b, &out}},
		{FloorDiv, runtime.Args{&a, &b, &out}},
		{Le, runtime.Args{&a, &b, &out}},
		{LocalScalarDense, runtime.Args{&self, &scalar}},
		{View, runtime.Args{&self, &sizes, &viewed}},
	}
	require.Zero(t, testing.AllocsPerRun(10, func() {
		for _, c := range calls {
			require.NoError(t, c.op[0].Run(ctx, c.args))
		}
	}))
}
