package cpu

import "golang.org/x/sys/cpu"

func detect() Tier {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA:
		return Generic
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL:
		return AVX2
	case !x.HasAVX512VNNI:
		return AVX512
	}
	return AVX512VNNI
}
