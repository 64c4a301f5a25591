package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// arithmetic are the instructions of the operators on two numbers; they compute
// x op y.
var arithmetic = []struct {
	name, op string
	emit     func(y Op, x, dst reg.VecVirtual)
}{
	{"add", "+", func(y Op, x, dst reg.VecVirtual) { VADDPS(y, x, dst) }},
	{"sub", "-", func(y Op, x, dst reg.VecVirtual) { VSUBPS(y, x, dst) }},
	{"mul", "*", func(y Op, x, dst reg.VecVirtual) { VMULPS(y, x, dst) }},
	{"div", "/", func(y Op, x, dst reg.VecVirtual) { VDIVPS(y, x, dst) }},
}

// elementwiseF32 writes the kernels that compute each element by itself. They take
// whole vectors only.
func elementwiseF32(set isa) {
	for _, a := range arithmetic {
		name := a.name + "F32" + set.name
		TEXT(name, NOSPLIT, "func(n int, dst, a, b *float32)")
		doc(name, "dst[i] = a[i] "+a.op+" b[i]")
		dst, x := Load(Param("dst"), GP64()), Load(Param("a"), GP64())
		y := Load(Param("b"), GP64())
		over(set, name, dst, []reg.Register{x, y}, func(at int, v reg.VecVirtual) {
			VMOVUPS(Mem{Base: x, Disp: at}, v)
			a.emit(Mem{Base: y, Disp: at}, v, v)
		})

		name = a.name + "ConstF32" + set.name
		TEXT(name, NOSPLIT, "func(n int, dst, a *float32, s float32)")
		doc(name, "dst[i] = a[i] "+a.op+" s")
		dst, x = Load(Param("dst"), GP64()), Load(Param("a"), GP64())
		s := broadcast(set, "s")
		over(set, name, dst, []reg.Register{x}, func(at int, v reg.VecVirtual) {
			VMOVUPS(Mem{Base: x, Disp: at}, v)
			a.emit(s, v, v)
		})

		if a.name == "sub" || a.name == "div" {
			name = "const" + a.name + "F32" + set.name
			TEXT(name, NOSPLIT, "func(n int, dst, a *float32, s float32)")
			doc(name, "dst[i] = s "+a.op+" a[i]")
			dst, x = Load(Param("dst"), GP64()), Load(Param("a"), GP64())
			s = broadcast(set, "s")
			over(set, name, dst, []reg.Register{x}, func(at int, v reg.VecVirtual) {
				a.emit(Mem{Base: x, Disp: at}, s, v)
			})
		}
	}

	name := "clampF32" + set.name
	TEXT(name, NOSPLIT, "func(n int, dst, a *float32, lo, hi float32)")
	doc(name, "dst[i] = min(max(a[i], lo), hi), and NaN where a[i] is")
	dst, x := Load(Param("dst"), GP64()), Load(Param("a"), GP64())
	lo, hi := broadcast(set, "lo"), broadcast(set, "hi")
	over(set, name, dst, []reg.Register{x}, func(at int, v reg.VecVirtual) {
		// Of a NaN and a number these instructions give the first operand here.
		VMAXPS(Mem{Base: x, Disp: at}, lo, v)
		VMINPS(v, hi, v)
	})
}

func doc(name, loop string) {
	Doc(name+" computes", "", "\tfor i := range n {", "\t\t"+loop, "\t}", "", "n is a multiple of the vector's length.")
	Pragma("noescape")
}

func broadcast(set isa, param string) reg.VecVirtual {
	v := set.vec()
	p, _ := Param(param).Resolve()
	VBROADCASTSS(p.Addr, v)
	return v
}

// over loops over n elements, several vectors at a time; body computes the vector
// at an offset in bytes.
func over(set isa, name string, dst reg.Register, src []reg.Register, body func(at int, v reg.VecVirtual)) {
	const unroll = 4
	n := Load(Param("n"), GP64())
	step := func(vectors int) {
		vs := make([]reg.VecVirtual, vectors)
		for i := range vs {
			vs[i] = set.vec()
			body(i*set.bytes, vs[i])
		}
		for i, v := range vs {
			VMOVUPS(v, Mem{Base: dst, Disp: i * set.bytes})
		}
		for _, r := range append([]reg.Register{dst}, src...) {
			ADDQ(U32(vectors*set.bytes), r)
		}
		SUBQ(U32(vectors*set.lanes()), n)
	}
	Label(name + "_many")
	CMPQ(n, U32(unroll*set.lanes()))
	JL(LabelRef(name + "_one"))
	step(unroll)
	JMP(LabelRef(name + "_many"))
	Label(name + "_one")
	CMPQ(n, U32(set.lanes()))
	JL(LabelRef(name + "_done"))
	step(1)
	JMP(LabelRef(name + "_one"))
	Label(name + "_done")
	VZEROUPPER()
	RET()
}
