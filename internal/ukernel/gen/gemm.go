package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemmF32 writes the micro-kernel of a matrix product in float32: a tile of mr
// rows and nv vectors of columns, kept in registers over the whole depth. a is
// packed in panels of am rows, so that the kernel reads it from front to back: am
// elements of a column of A for each step of the depth. The rows of B are ldb
// apart, which is their length where B is packed too.
func gemmF32(set isa, mr, am, nv int) {
	nr := nv * set.lanes()
	name := fmt.Sprintf("gemmF32%s_%dx%d", set.name, mr, nr)
	TEXT(name, NOSPLIT, "func(k int, a, b *float32, ldb int, c *float32, ldc int, accumulate bool)")
	Doc(
		fmt.Sprintf("%s computes a tile of %d rows and %d columns:", name, mr, nr),
		"",
		fmt.Sprintf("\tfor i := range %d {", mr),
		fmt.Sprintf("\t\tfor j := range %d {", nr),
		"\t\t\tsum := 0",
		"\t\t\tfor p := range k {",
		fmt.Sprintf("\t\t\t\tsum = fma(a[p*%d+i], b[p*ldb+j], sum)", am),
		"\t\t\t}",
		"\t\t\tif accumulate { sum += c[i*ldc+j] }",
		"\t\t\tc[i*ldc+j] = sum",
		"\t\t}",
		"\t}",
		"",
		"See gemmF32Generic for the reference.",
	)
	Pragma("noescape")
	k := Load(Param("k"), GP64())
	a := Load(Param("a"), GP64())
	b := Load(Param("b"), GP64())
	ldb := Load(Param("ldb"), GP64())
	c := Load(Param("c"), GP64())
	ldc := Load(Param("ldc"), GP64())
	SHLQ(Imm(2), ldb)
	SHLQ(Imm(2), ldc)
	acc := make([][]reg.VecVirtual, mr)
	for i := range acc {
		for range nv {
			v := set.vec()
			zero(set, v)
			acc[i] = append(acc[i], v)
		}
	}
	bv := make([]reg.VecVirtual, nv)
	for j := range bv {
		bv[j] = set.vec()
	}
	step := func(at int) {
		for j := range bv {
			VMOVUPS(Mem{Base: b, Disp: j * set.bytes}, bv[j])
		}
		ADDQ(ldb, b)
		for i := range mr {
			av := set.vec()
			VBROADCASTSS(Mem{Base: a, Disp: (at*am + i) * 4}, av)
			for j := range bv {
				VFMADD231PS(bv[j], av, acc[i][j])
			}
		}
	}
	const unroll = 4
	quads := GP64()
	MOVQ(k, quads)
	SHRQ(Imm(2), quads)
	JZ(LabelRef(name + "_rest"))
	Label(name + "_quads")
	for u := range unroll {
		step(u)
	}
	ADDQ(U32(unroll*am*4), a)
	DECQ(quads)
	JNZ(LabelRef(name + "_quads"))
	Label(name + "_rest")
	ANDQ(U32(unroll-1), k)
	JZ(LabelRef(name + "_store"))
	Label(name + "_ones")
	step(0)
	ADDQ(U32(am*4), a)
	DECQ(k)
	JNZ(LabelRef(name + "_ones"))
	Label(name + "_store")
	accumulate := Load(Param("accumulate"), GP8())
	TESTB(accumulate, accumulate)
	JZ(LabelRef(name + "_overwrite"))
	for _, add := range []bool{true, false} {
		if !add {
			Label(name + "_overwrite")
		}
		row := GP64()
		MOVQ(c, row)
		for i := range acc {
			for j, v := range acc[i] {
				at := Mem{Base: row, Disp: j * set.bytes}
				if add {
					VADDPS(at, v, v)
				}
				VMOVUPS(v, at)
			}
			if i < mr-1 {
				ADDQ(ldc, row)
			}
		}
		VZEROUPPER()
		RET()
	}
}

func zero(set isa, v reg.VecVirtual) {
	if set.bytes == 64 {
		VPXORD(v, v, v)
		return
	}
	VXORPS(v, v, v)
}
