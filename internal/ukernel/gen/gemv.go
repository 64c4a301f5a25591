package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// axpyF32 writes the kernel of a vector times a row-major matrix: four rows of the
// matrix are added to the result in one go, so that it is loaded and stored a
// quarter as often. That for one row is for what is left in the end.
func axpyF32(set isa, rows int) {
	name := "axpyF32" + set.name
	if rows == 1 {
		name = "axpy1F32" + set.name
		TEXT(name, NOSPLIT, "func(n int, y *float32, x float32, b *float32)")
		Doc(
			name+" adds a multiple of b to y:",
			"",
			"\tfor j := range n {",
			"\t\ty[j] = fma(x, b[j], y[j])",
			"\t}",
			"",
			"See axpyF32Generic for the reference.",
		)
	} else {
		TEXT(name, NOSPLIT, "func(n int, y, x, b *float32, ldb int)")
		Doc(
			name+" adds four multiples of rows to y:",
			"",
			"\tfor j := range n {",
			"\t\tfor p := range 4 {",
			"\t\t\ty[j] = fma(x[p], b[p*ldb+j], y[j])",
			"\t\t}",
			"\t}",
			"",
			"See axpyF32Generic for the reference.",
		)
	}
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	y := Load(Param("y"), GP64())
	b := Load(Param("b"), GP64())
	xv := make([]reg.VecVirtual, rows)
	var ldb, ldb3 reg.GPVirtual
	if rows == 1 {
		xv[0] = set.vec()
		x, _ := Param("x").Resolve()
		VBROADCASTSS(x.Addr, xv[0])
	} else {
		x := Load(Param("x"), GP64())
		ldb, ldb3 = GP64(), GP64()
		Load(Param("ldb"), ldb)
		SHLQ(Imm(2), ldb)
		LEAQ(Mem{Base: ldb, Index: ldb, Scale: 2}, ldb3)
		for p := range xv {
			xv[p] = set.vec()
			VBROADCASTSS(Mem{Base: x, Disp: 4 * p}, xv[p])
		}
	}
	row := func(p, disp int) Mem {
		switch p {
		case 0:
			return Mem{Base: b, Disp: disp}
		case 3:
			return Mem{Base: b, Disp: disp, Index: ldb3, Scale: 1}
		}
		return Mem{Base: b, Disp: disp, Index: ldb, Scale: uint8(p)}
	}
	for _, vecs := range []int{4, 1} {
		loop, done := fmt.Sprintf("%s_by%d", name, vecs), fmt.Sprintf("%s_end%d", name, vecs)
		Label(loop)
		CMPQ(n, Imm(uint64(vecs*set.lanes())))
		JLT(LabelRef(done))
		var v [4]reg.VecVirtual
		for i := range vecs {
			v[i] = set.vec()
			VMOVUPS(Mem{Base: y, Disp: i * set.bytes}, v[i])
		}
		for p := range xv {
			for i := range vecs {
				VFMADD231PS(row(p, i*set.bytes), xv[p], v[i])
			}
		}
		for i := range vecs {
			VMOVUPS(v[i], Mem{Base: y, Disp: i * set.bytes})
		}
		ADDQ(U32(vecs*set.bytes), y)
		ADDQ(U32(vecs*set.bytes), b)
		SUBQ(Imm(uint64(vecs*set.lanes())), n)
		JMP(LabelRef(loop))
		Label(done)
	}
	TESTQ(n, n)
	JZ(LabelRef(name + "_ret"))
	Label(name + "_ones")
	v := XMM()
	VMOVSS(Mem{Base: y}, v)
	for p := range xv {
		VFMADD231SS(row(p, 0), xv[p].AsX(), v)
	}
	VMOVSS(v, Mem{Base: y})
	ADDQ(Imm(4), y)
	ADDQ(Imm(4), b)
	DECQ(n)
	JNZ(LabelRef(name + "_ones"))
	Label(name + "_ret")
	VZEROUPPER()
	RET()
}

// dotF32 writes the kernel of a matrix whose rows are lanes times a vector: four
// dot products, which are four independent chains of sums.
func dotF32(set isa) {
	name := "dotF32" + set.name
	lanes := set.lanes()
	TEXT(name, NOSPLIT, "func(k int, x, b *float32, ldb int, y *float32)")
	Doc(
		name+" computes four dot products:",
		"",
		"\tfor i := range 4 {",
		fmt.Sprintf("\t\tvar sum [%d]float32 // added up in the end, halves to halves", lanes),
		"\t\tfor p := range k {",
		fmt.Sprintf("\t\t\tsum[p%%%d] = fma(x[p], b[i*ldb+p], sum[p%%%d])", lanes, lanes),
		"\t\t}",
		"\t\ty[i] = sum[0] + sum[1] + ...",
		"\t}",
		"",
		fmt.Sprintf("except that the last k%%%d products are a sum of their own. See dotF32Generic", lanes),
		"for the reference.",
	)
	Pragma("noescape")
	k := Load(Param("k"), GP64())
	x := Load(Param("x"), GP64())
	b := Load(Param("b"), GP64())
	ldb := Load(Param("ldb"), GP64())
	y := Load(Param("y"), GP64())
	SHLQ(Imm(2), ldb)
	ldb3 := GP64()
	LEAQ(Mem{Base: ldb, Index: ldb, Scale: 2}, ldb3)
	row := func(p int) Mem {
		switch p {
		case 0:
			return Mem{Base: b}
		case 3:
			return Mem{Base: b, Index: ldb3, Scale: 1}
		}
		return Mem{Base: b, Index: ldb, Scale: uint8(p)}
	}
	var sum [4]reg.VecVirtual
	var rest [4]reg.VecVirtual
	for i := range sum {
		sum[i] = set.vec()
		zero(set, sum[i])
		rest[i] = XMM()
		VXORPS(rest[i], rest[i], rest[i])
	}
	xv := set.vec()
	Label(name + "_vecs")
	CMPQ(k, Imm(uint64(lanes)))
	JLT(LabelRef(name + "_rest"))
	VMOVUPS(Mem{Base: x}, xv)
	for i := range sum {
		VFMADD231PS(row(i), xv, sum[i])
	}
	ADDQ(Imm(uint64(set.bytes)), x)
	ADDQ(Imm(uint64(set.bytes)), b)
	SUBQ(Imm(uint64(lanes)), k)
	JMP(LabelRef(name + "_vecs"))
	Label(name + "_rest")
	TESTQ(k, k)
	JZ(LabelRef(name + "_sum"))
	Label(name + "_ones")
	xs := XMM()
	VMOVSS(Mem{Base: x}, xs)
	for i := range rest {
		VFMADD231SS(row(i), xs, rest[i])
	}
	ADDQ(Imm(4), x)
	ADDQ(Imm(4), b)
	DECQ(k)
	JNZ(LabelRef(name + "_ones"))
	Label(name + "_sum")
	for i, v := range sum {
		if set.bytes == 64 {
			half := YMM()
			VEXTRACTF64X4(Imm(1), v, half)
			VADDPS(half, v.AsY(), v.AsY())
		}
		half := XMM()
		VEXTRACTF128(Imm(1), v.AsY(), half)
		VADDPS(half, v.AsX(), v.AsX())
		VMOVHLPS(v.AsX(), v.AsX(), half)
		VADDPS(half, v.AsX(), v.AsX())
		VMOVSHDUP(v.AsX(), half)
		VADDSS(half, v.AsX(), v.AsX())
		VADDSS(rest[i], v.AsX(), v.AsX())
		VMOVSS(v.AsX(), Mem{Base: y, Disp: 4 * i})
	}
	VZEROUPPER()
	RET()
}
