package kit

import (
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// Dense returns t's elements in row-major order as C: t's own memory where it
// holds them so, else converted in scratch memory.
func Dense[C Number](ctx *runtime.KernelRuntimeContext, t *tensor.Tensor) ([]C, error) {
	s, own, err := DenseTarget[C](ctx, t)
	if err != nil || own {
		return s, err
	}
	var r RowMajor
	r.Begin(t)
	LoadRowMajor(s, &r, 0)
	return s, nil
}

// DenseTarget returns where to compute t's elements in row-major order as C: t's
// own memory, or scratch memory of undefined content that StoreRowMajor is to
// convert from.
func DenseTarget[C Number](ctx *runtime.KernelRuntimeContext, t *tensor.Tensor) (s []C, own bool, err error) {
	if t.DType() == tensor.DTypeOf[C]() && t.IsContiguous() {
		return tensor.Raw[C](t), true, nil
	}
	s, err = runtime.Temp[C](ctx, t.Numel())
	return s, false, err
}
