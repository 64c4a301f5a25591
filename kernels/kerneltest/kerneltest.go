// Package kerneltest tests one operator in a few lines, without a program:
//
//	func TestAdd(t *testing.T) {
//		out := kerneltest.Zeros(tensor.F32, 2, 2)
//		kerneltest.Run(t, portable.Add, "aten::add.out",
//			tensor.Of([]float32{1, 2, 3, 4}, 2, 2), tensor.Of([]float32{10, 20}, 2), 1, out)
//		kerneltest.Equal(t, tensor.Of([]float32{11, 22, 13, 24}, 2, 2), out)
//	}
//
// Run calls the kernel as the runtime would: arguments are checked against the
// schema first. Then it calls it again on more threads and with scratch memory
// full of garbage, and fails the test where that makes a difference, where an
// argument that the schema does not mark as written has changed, or where bytes
// beyond an output have.
package kerneltest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/etgo-ml/etgo/memory"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Run calls the operator name, which must be one of kernels, and fails the test
// if it returns an error or breaks a rule of the package's documentation. An
// argument is a *tensor.Tensor, a runtime.EValue, an int, int64, float64, bool,
// string, tensor.DType, []int64, []int, []float64, []bool, []*tensor.Tensor or
// nil for None.
func Run(t testing.TB, kernels runtime.Kernels, name string, args ...any) {
	t.Helper()
	if err := Call(kernels, name, args...); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// Fails calls the operator and fails the test unless it returns an error, which
// Fails returns.
func Fails(t testing.TB, kernels runtime.Kernels, name string, args ...any) error {
	t.Helper()
	err := Call(kernels, name, args...)
	if err == nil {
		t.Fatalf("%s: an error expected, the call succeeded", name)
	}
	return err
}

// Call is Run that returns what went wrong.
func Call(kernels runtime.Kernels, name string, args ...any) error {
	k, err := find(kernels, name)
	if err != nil {
		return err
	}
	values := make([]runtime.EValue, len(args))
	for i, a := range args {
		if values[i], err = toValue(a); err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
	}
	sig := k.Signature()
	if err := sig.Check(pointers(values)); err != nil {
		return err
	}

	// Each run gets copies of what is written, made before the first run.
	second := copyWritten(sig, values)
	before := snapshot(sig, values)
	if err := runOnce(k, values, runtime.ContextWithTempAllocator(&dirty{fill: 0xff})); err != nil {
		return err
	}
	if err := unchanged(sig, values, before); err != nil {
		return err
	}
	if err := runOnce(k, second.values, runtime.ContextWithTempAllocator(&dirty{fill: 0x55}), runtime.ContextWithThreads(4)); err != nil {
		return fmt.Errorf("on 4 threads: %w", err)
	}
	if !k.Impure {
		for i := range values {
			if err := sameBits(&values[i], &second.values[i]); err != nil {
				return fmt.Errorf("the second call, on 4 threads with other scratch memory, gives another result: argument %s: %w", sig.Params[i].Name, err)
			}
		}
	}
	return second.guards()
}

// Allocs returns how many heap allocations a call makes once it has run before.
func Allocs(kernels runtime.Kernels, name string, args ...any) (float64, error) {
	k, err := find(kernels, name)
	if err != nil {
		return 0, err
	}
	values := make([]runtime.EValue, len(args))
	for i, a := range args {
		if values[i], err = toValue(a); err != nil {
			return 0, fmt.Errorf("argument %d: %w", i, err)
		}
	}
	if err := k.Signature().Check(pointers(values)); err != nil {
		return 0, err
	}
	ctx := runtime.NewKernelRuntimeContext(context.Background(), runtime.ContextWithTempAllocator(memory.NewCaching(memory.Heap{})))
	vp := pointers(values)
	n := testing.AllocsPerRun(20, func() {
		if e := k.Run(ctx, vp); e != nil {
			err = e
		}
		ctx.Release()
	})
	return n, err
}

func find(kernels runtime.Kernels, name string) (*runtime.Kernel, error) {
	reg := runtime.NewRegistry()
	if err := reg.Register(kernels); err != nil {
		return nil, err
	}
	k := reg.Kernel(name)
	if k == nil {
		return nil, fmt.Errorf("the kernels given are %q, not %s", reg.Operators(), name)
	}
	return k, nil
}

func runOnce(k *runtime.Kernel, values []runtime.EValue, opts ...runtime.ContextOption) (err error) {
	ctx := runtime.NewKernelRuntimeContext(context.Background(), opts...)
	defer ctx.Release()
	return k.Run(ctx, pointers(values))
}

func pointers(values []runtime.EValue) runtime.Args {
	args := make(runtime.Args, len(values))
	for i := range values {
		args[i] = &values[i]
	}
	return args
}

func toValue(a any) (runtime.EValue, error) {
	switch a := a.(type) {
	case nil:
		return runtime.None(), nil
	case runtime.EValue:
		return a, nil
	case *tensor.Tensor:
		if a != nil && a.Err() != nil {
			return runtime.None(), a.Err()
		}
		return runtime.TensorValue(a), nil
	case int:
		return runtime.Int(int64(a)), nil
	case int64:
		return runtime.Int(a), nil
	case tensor.DType:
		return runtime.Int(int64(a)), nil
	case float64:
		return runtime.Double(a), nil
	case bool:
		return runtime.Bool(a), nil
	case string:
		return runtime.String(a), nil
	case []int64:
		return runtime.IntList(a...), nil
	case []int:
		v := make([]int64, len(a))
		for i, x := range a {
			v[i] = int64(x)
		}
		return runtime.IntList(v...), nil
	case []float64:
		return runtime.DoubleList(a...), nil
	case []bool:
		return runtime.BoolList(a...), nil
	case []*tensor.Tensor:
		if slices.Contains(a, nil) {
			return runtime.OptionalTensorList(a...), nil
		}
		return runtime.TensorList(a...), nil
	}
	return runtime.None(), fmt.Errorf("a %T is no argument", a)
}

// tensors returns the tensors that v is or holds.
func tensors(v *runtime.EValue) []*tensor.Tensor {
	if t := v.Tensor(); t != nil {
		return []*tensor.Tensor{t}
	}
	return v.Tensors()
}

// snapshot copies the bytes of the arguments that must not change.
func snapshot(sig *runtime.Signature, values []runtime.EValue) [][][]byte {
	all := make([][][]byte, len(values))
	for i := range values {
		if i < len(sig.Params) && sig.Params[i].Written || sharesWritten(sig, values, i) {
			continue
		}
		for _, t := range tensors(&values[i]) {
			if t == nil {
				all[i] = append(all[i], nil)
				continue
			}
			all[i] = append(all[i], bytes.Clone(t.Bytes()))
		}
	}
	return all
}

// sharesWritten reports whether argument i is one that is written under another
// name, as a repeated output or an input computed in place.
func sharesWritten(sig *runtime.Signature, values []runtime.EValue, i int) bool {
	for j := range min(len(sig.Params), len(values)) {
		if !sig.Params[j].Written {
			continue
		}
		for _, w := range tensors(&values[j]) {
			for _, t := range tensors(&values[i]) {
				if t != nil && w != nil && (t == w || len(t.Bytes()) > 0 && len(w.Bytes()) > 0 && &t.Bytes()[0] == &w.Bytes()[0]) {
					return true
				}
			}
		}
	}
	return false
}

func unchanged(sig *runtime.Signature, values []runtime.EValue, before [][][]byte) error {
	for i := range values {
		for j, b := range before[i] {
			if t := tensors(&values[i])[j]; t != nil && !bytes.Equal(b, t.Bytes()) {
				return fmt.Errorf("the kernel has changed argument %s, which its schema does not mark as written", sig.Params[i].Name)
			}
		}
	}
	return nil
}

const guardBytes = 64

// copied are values whose written tensors are copies with guard bytes behind them.
type copied struct {
	values []runtime.EValue
	tails  []struct {
		tensor *tensor.Tensor
		buf    []byte
	}
}

func copyWritten(sig *runtime.Signature, values []runtime.EValue) *copied {
	c := &copied{values: slices.Clone(values)}
	made := map[*tensor.Tensor]*tensor.Tensor{}
	dup := func(t *tensor.Tensor) *tensor.Tensor {
		if t == nil || !t.HasData() {
			return t
		}
		if d := made[t]; d != nil {
			return d
		}
		d, err := tensor.NewUnbound(t.DType(), t.Shape(), tensor.WithDimOrder(t.DimOrder()), tensor.WithDynamism(t.Dynamism()))
		if err != nil {
			return t
		}
		d.SetBound(t.MaxNumel())
		n := max(t.NBytes(), t.MaxNumel()*t.DType().Size())
		buf, err := memory.Heap{}.Allocate(n+guardBytes, 64)
		if err != nil {
			return t
		}
		copy(buf, t.Bytes())
		for i := range buf[n:] {
			buf[n+i] = 0xa5
		}
		if d.SetBytes(buf[:n:n]) != nil {
			return t
		}
		c.tails = append(c.tails, struct {
			tensor *tensor.Tensor
			buf    []byte
		}{d, buf})
		made[t] = d
		return d
	}
	for i := range values {
		if i < len(sig.Params) && !sig.Params[i].Written && !sharesWritten(sig, values, i) {
			continue
		}
		if t := values[i].Tensor(); t != nil {
			c.values[i] = runtime.TensorValue(dup(t))
		} else if values[i].Kind() == runtime.KindTensorList {
			list := slices.Clone(values[i].Tensors())
			for j := range list {
				list[j] = dup(list[j])
			}
			c.values[i] = runtime.TensorList(list...)
		}
	}
	return c
}

func (c *copied) guards() error {
	for _, tail := range c.tails {
		for _, b := range tail.buf[len(tail.buf)-guardBytes:] {
			if b != 0xa5 {
				return fmt.Errorf("the kernel wrote beyond the end of %v", tail.tensor)
			}
		}
	}
	return nil
}

func sameBits(a, b *runtime.EValue) error {
	x, y := tensors(a), tensors(b)
	if len(x) != len(y) {
		return fmt.Errorf("%d tensors and %d", len(x), len(y))
	}
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		if !slices.Equal(x[i].Shape(), y[i].Shape()) {
			return fmt.Errorf("%v and %v", x[i], y[i])
		}
		if !bytes.Equal(x[i].Bytes(), y[i].Bytes()) {
			return fmt.Errorf("%v differs", x[i])
		}
	}
	return nil
}

// dirty is an allocator of blocks full of garbage.
type dirty struct{ fill byte }

func (d *dirty) Allocate(size, align int) ([]byte, error) {
	b, err := memory.Heap{}.Allocate(size, align)
	for i := range b {
		b[i] = d.fill
	}
	return b, err
}

func (d *dirty) Free([]byte) {}

// Zeros returns a tensor of zeros, for an output.
func Zeros(dtype tensor.DType, shape ...int) *tensor.Tensor {
	t, err := tensor.New(dtype, shape)
	if err != nil {
		panic(err) // a mistake in the test's source
	}
	return t
}

// Dynamic returns a tensor of zeros that may be resized to any shape of its rank
// with at most its number of elements.
func Dynamic(dtype tensor.DType, shape ...int) *tensor.Tensor {
	t, err := tensor.New(dtype, shape, tensor.WithDynamism(tensor.DynamicBound))
	if err != nil {
		panic(err) // a mistake in the test's source
	}
	return t
}

// Equal fails the test unless got has want's type, shape and elements. NaN
// equals NaN. Dim orders may differ.
func Equal(t testing.TB, want, got *tensor.Tensor) {
	t.Helper()
	Close(t, want, got, 0, 0)
}

// Close fails the test unless got has want's type and shape and each element g
// of it is within atol + rtol*|w| of want's element w.
func Close(t testing.TB, want, got *tensor.Tensor, rtol, atol float64) {
	t.Helper()
	if want.Err() != nil || got.Err() != nil {
		t.Fatalf("want %v, got %v", want, got)
	}
	if want.DType() != got.DType() || !slices.Equal(want.Shape(), got.Shape()) {
		t.Fatalf("want %v, got %v", want, got)
	}
	w, g := floats(want), floats(got)
	for i := range w {
		if w[i] == g[i] || math.IsNaN(w[i]) && math.IsNaN(g[i]) {
			continue
		}
		if d := math.Abs(w[i] - g[i]); !(d <= atol+rtol*math.Abs(w[i])) {
			t.Fatalf("%v: element %d is %v, want %v", got, i, g[i], w[i])
		}
	}
}

// floats returns the elements in logical order, the two parts of a complex one
// each.
func floats(t *tensor.Tensor) []float64 {
	t = t.Contiguous()
	switch t.DType() {
	case tensor.U8, tensor.Bool:
		return convert(tensor.Raw[uint8](t))
	case tensor.I8:
		return convert(tensor.Raw[int8](t))
	case tensor.I16:
		return convert(tensor.Raw[int16](t))
	case tensor.I32:
		return convert(tensor.Raw[int32](t))
	case tensor.I64:
		return convert(tensor.Raw[int64](t))
	case tensor.U16:
		return convert(tensor.Raw[uint16](t))
	case tensor.U32:
		return convert(tensor.Raw[uint32](t))
	case tensor.U64:
		return convert(tensor.Raw[uint64](t))
	case tensor.F32:
		return convert(tensor.Raw[float32](t))
	case tensor.F64:
		return convert(tensor.Raw[float64](t))
	case tensor.C64:
		return convert(tensor.Cast[float32](t.Bytes()))
	case tensor.C128:
		return convert(tensor.Cast[float64](t.Bytes()))
	case tensor.F16:
		return convertHalf(tensor.Raw[tensor.Float16](t))
	case tensor.BF16:
		return convertHalf(tensor.Raw[tensor.BFloat16](t))
	case tensor.C32:
		return convertHalf(tensor.Cast[tensor.Float16](t.Bytes()))
	}
	return convert(t.Bytes())
}

func convert[T uint8 | int8 | int16 | int32 | int64 | uint16 | uint32 | uint64 | float32 | float64](s []T) []float64 {
	f := make([]float64, len(s))
	for i, v := range s {
		f[i] = float64(v)
	}
	return f
}

func convertHalf[T interface{ Float32() float32 }](s []T) []float64 {
	f := make([]float64, len(s))
	for i, v := range s {
		f[i] = float64(v.Float32())
	}
	return f
}
