//go:build amd64 && !noasm

package ukernel

import "github.com/etgo-ml/etgo/internal/cpu"

// ForElements returns the kernels of a tier, or nil if it has none.
func ForElements(t cpu.Tier) *Elements {
	switch {
	case t >= cpu.AVX512:
		return &elementsAVX512
	case t == cpu.AVX2:
		return &elementsAVX2
	}
	return nil
}

var elementsAVX2 = Elements{
	lanes: 8,
	vv:    [numOps]func(int, *float32, *float32, *float32){addF32AVX2, subF32AVX2, mulF32AVX2, divF32AVX2},
	vs:    [numOps]func(int, *float32, *float32, float32){addConstF32AVX2, subConstF32AVX2, mulConstF32AVX2, divConstF32AVX2},
	sv:    [numOps]func(int, *float32, *float32, float32){Sub: constsubF32AVX2, Div: constdivF32AVX2},
	clamp: clampF32AVX2,
}

var elementsAVX512 = Elements{
	lanes: 16,
	vv:    [numOps]func(int, *float32, *float32, *float32){addF32AVX512, subF32AVX512, mulF32AVX512, divF32AVX512},
	vs:    [numOps]func(int, *float32, *float32, float32){addConstF32AVX512, subConstF32AVX512, mulConstF32AVX512, divConstF32AVX512},
	sv:    [numOps]func(int, *float32, *float32, float32){Sub: constsubF32AVX512, Div: constdivF32AVX512},
	clamp: clampF32AVX512,
}
