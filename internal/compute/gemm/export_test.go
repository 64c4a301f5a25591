package gemm

import "github.com/etgo-ml/etgo/internal/ukernel"

// UseKernels sets the kernels to use and returns a function that sets those of
// before.
func UseKernels(k *ukernel.F32) (restore func()) {
	old := kernelsF32
	kernelsF32 = func() *ukernel.F32 { return k }
	return func() { kernelsF32 = old }
}
