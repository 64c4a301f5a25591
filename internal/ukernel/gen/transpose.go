package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transposeF32 writes the kernel that packs 4 or 8 lanes of which the steps are
// side by side: blocks of four steps, transposed in registers. It needs AVX only,
// and wider vectors would not help the shuffles of AVX2 processors.
func transposeF32(lanes int) {
	name := fmt.Sprintf("transpose%dF32", lanes)
	TEXT(name, NOSPLIT, "func(k int, src *float32, ld int, dst *float32, step int)")
	Doc(
		fmt.Sprintf("%s transposes %d rows of k elements, a multiple of 4:", name, lanes),
		"",
		"\tfor p := range k {",
		fmt.Sprintf("\t\tfor i := range %d {", lanes),
		"\t\t\tdst[p*step+i] = src[i*ld+p]",
		"\t\t}",
		"\t}",
		"",
		"See transposeF32Generic for the reference.",
	)
	Pragma("noescape")
	k := Load(Param("k"), GP64())
	src := Load(Param("src"), GP64())
	ld := Load(Param("ld"), GP64())
	dst := Load(Param("dst"), GP64())
	step := Load(Param("step"), GP64())
	SHLQ(Imm(2), ld)
	SHLQ(Imm(2), step)
	ld3, upper := GP64(), GP64()
	LEAQ(Mem{Base: ld, Index: ld, Scale: 2}, ld3)
	LEAQ(Mem{Base: src, Index: ld, Scale: 4}, upper) // rows 4 to 7
	row := func(base reg.Register, i int) Mem {
		switch i {
		case 0:
			return Mem{Base: base}
		case 3:
			return Mem{Base: base, Index: ld3, Scale: 1}
		}
		return Mem{Base: base, Index: ld, Scale: uint8(i)}
	}
	vec := func() reg.VecVirtual { return XMM() }
	if lanes == 8 {
		vec = func() reg.VecVirtual { return YMM() }
	}
	SHRQ(Imm(2), k)
	JZ(LabelRef(name + "_ret"))
	Label(name + "_loop")
	var r [4]reg.VecVirtual
	for i := range r {
		r[i] = vec()
		VMOVUPS(row(src, i), r[i].AsX())
		if lanes == 8 {
			VINSERTF128(Imm(1), row(upper, i), r[i], r[i])
		}
	}
	lo01, hi01, lo23, hi23 := vec(), vec(), vec(), vec()
	VUNPCKLPS(r[1], r[0], lo01)
	VUNPCKHPS(r[1], r[0], hi01)
	VUNPCKLPS(r[3], r[2], lo23)
	VUNPCKHPS(r[3], r[2], hi23)
	VUNPCKLPD(lo23, lo01, r[0])
	VUNPCKHPD(lo23, lo01, r[1])
	VUNPCKLPD(hi23, hi01, r[2])
	VUNPCKHPD(hi23, hi01, r[3])
	for i := range r {
		VMOVUPS(r[i], Mem{Base: dst})
		ADDQ(step, dst)
	}
	ADDQ(Imm(16), src)
	ADDQ(Imm(16), upper)
	DECQ(k)
	JNZ(LabelRef(name + "_loop"))
	Label(name + "_ret")
	VZEROUPPER()
	RET()
}
