//go:build amd64 && !noasm

package ukernel

import "github.com/etgo-ml/etgo/internal/cpu"

// ForF32 returns the kernels of a tier, or nil if it has none.
func ForF32(t cpu.Tier) *F32 {
	switch {
	case t >= cpu.AVX512:
		return &f32AVX512
	case t == cpu.AVX2:
		return &f32AVX2
	}
	return nil
}

var f32AVX2 = F32{
	MR: 6, NR: 16, tier: cpu.AVX2,
	tiles: [3]tileFunc{gemmF32AVX2_6x16, gemmF32AVX2_4x16, gemmF32AVX2_2x16},
}

var f32AVX512 = F32{
	MR: 12, NR: 32, tier: cpu.AVX512,
	tiles: [3]tileFunc{gemmF32AVX512_12x32, gemmF32AVX512_8x32, gemmF32AVX512_4x32},
}

// The methods below choose by a branch and not by function values, through which
// the compiler would not see that their operands may be on the stack.

func (f *F32) axpy(n int, y, x, b *float32, ldb int) {
	if f.tier == cpu.AVX512 {
		axpyF32AVX512(n, y, x, b, ldb)
	} else {
		axpyF32AVX2(n, y, x, b, ldb)
	}
}

func (f *F32) axpy1(n int, y *float32, x float32, b *float32) {
	if f.tier == cpu.AVX512 {
		axpy1F32AVX512(n, y, x, b)
	} else {
		axpy1F32AVX2(n, y, x, b)
	}
}

func (f *F32) dot(k int, x, b *float32, ldb int, y *float32) {
	if f.tier == cpu.AVX512 {
		dotF32AVX512(k, x, b, ldb, y)
	} else {
		dotF32AVX2(k, x, b, ldb, y)
	}
}

func (f *F32) taps(step, n int, y, x *float32, taps int, offsets *int, w *float32, bias float32) {
	wide := f.tier == cpu.AVX512 && n >= 16
	switch {
	case wide && step == 1:
		taps1F32AVX512(n, y, x, taps, offsets, w, bias)
	case wide && step == 2:
		taps2F32AVX512(n, y, x, taps, offsets, w, bias)
	case step == 1:
		taps1F32AVX2(n, y, x, taps, offsets, w, bias)
	case step == 2:
		taps2F32AVX2(n, y, x, taps, offsets, w, bias)
	default:
		panic("ukernel: taps have step 1 or 2")
	}
}

func (f *F32) transpose4(k int, src *float32, ld int, dst *float32, step int) {
	transpose4F32(k, src, ld, dst, step)
}

func (f *F32) transpose8(k int, src *float32, ld int, dst *float32, step int) {
	transpose8F32(k, src, ld, dst, step)
}
