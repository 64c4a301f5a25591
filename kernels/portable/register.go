// Package portable holds ExecuTorch's portable operators: the ATen operators of
// which exported programs consist, in one variable each, by families.
package portable

import "github.com/etgo-ml/etgo/runtime"

// Register adds all operators of the package to reg. An application that wants
// some only registers their variables itself; the others are not linked then.
func Register(reg *runtime.Registry) error {
	for _, kernels := range [][]runtime.Kernels{
		elementwiseKernels(),
		copyKernels(),
		indexKernels(),
		reduceKernels(),
		normKernels(),
		convKernels(),
		matmulKernels(),
		poolKernels(),
		resampleKernels(),
	} {
		if err := reg.Register(kernels...); err != nil {
			return err
		}
	}
	return nil
}
