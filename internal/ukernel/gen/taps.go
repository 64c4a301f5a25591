package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tapsF32 writes the kernel of a convolution of one channel: outputs side by side
// get the inputs at the same few offsets, the taps. The outputs of a block stay in
// registers over all taps.
func tapsF32(set isa, step int) {
	name := fmt.Sprintf("taps%dF32%s", step, set.name)
	in := "i"
	if step != 1 {
		in = fmt.Sprintf("%d*i", step)
	}
	TEXT(name, NOSPLIT, "func(n int, y, x *float32, taps int, offsets *int, w *float32, bias float32)")
	Doc(
		name+" computes",
		"",
		"\tfor i := range n {",
		"\t\tsum := bias",
		"\t\tfor t := range taps {",
		fmt.Sprintf("\t\t\tsum = fma(w[t], x[offsets[t]+%s], sum)", in),
		"\t\t}",
		"\t\ty[i] = sum",
		"\t}",
		"",
		"in blocks, of which the last two may overlap: y must not be x. See",
		"tapsF32Generic for the reference.",
	)
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	y := Load(Param("y"), GP64())
	x := Load(Param("x"), GP64())
	taps := Load(Param("taps"), GP64())
	offsets := Load(Param("offsets"), GP64())
	w := Load(Param("w"), GP64())
	bias := set.vec()
	b, _ := Param("bias").Resolve()
	VBROADCASTSS(b.Addr, bias)
	total := GP64()
	MOVQ(n, total)
	even := deinterleave(set, step)

	// block computes vecs vectors of outputs, from y and x on.
	block := func(label string, vecs int) {
		sum := make([]reg.VecVirtual, vecs)
		for i := range sum {
			sum[i] = set.vec()
			VMOVAPS(bias, sum[i])
		}
		t, src := GP64(), GP64()
		XORQ(t, t)
		CMPQ(t, taps)
		JGE(LabelRef(label + "_done"))
		Label(label)
		MOVQ(Mem{Base: offsets, Index: t, Scale: 8}, src)
		LEAQ(Mem{Base: x, Index: src, Scale: 4}, src)
		wv := set.vec()
		VBROADCASTSS(Mem{Base: w, Index: t, Scale: 4}, wv)
		for i := range sum {
			if step == 1 {
				VFMADD231PS(Mem{Base: src, Disp: i * set.bytes}, wv, sum[i])
				continue
			}
			VFMADD231PS(even(src, 2*i*set.bytes), wv, sum[i])
		}
		INCQ(t)
		CMPQ(t, taps)
		JLT(LabelRef(label))
		Label(label + "_done")
		for i := range sum {
			VMOVUPS(sum[i], Mem{Base: y, Disp: i * set.bytes})
		}
	}
	for _, vecs := range []int{4, 1} {
		loop, done := fmt.Sprintf("%s_by%d", name, vecs), fmt.Sprintf("%s_end%d", name, vecs)
		Label(loop)
		CMPQ(n, Imm(uint64(vecs*set.lanes())))
		JLT(LabelRef(done))
		block(fmt.Sprintf("%s_taps%d", name, vecs), vecs)
		ADDQ(U32(vecs*set.bytes), y)
		ADDQ(U32(vecs*set.bytes*step), x)
		SUBQ(Imm(uint64(vecs*set.lanes())), n)
		JMP(LabelRef(loop))
		Label(done)
	}
	TESTQ(n, n)
	JZ(LabelRef(name + "_ret"))
	CMPQ(total, Imm(uint64(set.lanes())))
	JLT(LabelRef(name + "_ones"))
	// One more vector, that ends where the outputs do.
	back := GP64()
	MOVQ(n, back)
	SUBQ(Imm(uint64(set.lanes())), back)
	LEAQ(Mem{Base: y, Index: back, Scale: 4}, y)
	LEAQ(Mem{Base: x, Index: back, Scale: uint8(4 * step)}, x)
	block(name+"_last", 1)
	VZEROUPPER()
	RET()

	Label(name + "_ones")
	sum, t, src := XMM(), GP64(), GP64()
	VMOVAPS(bias.AsX(), sum)
	XORQ(t, t)
	CMPQ(t, taps)
	JGE(LabelRef(name + "_onedone"))
	Label(name + "_onetap")
	MOVQ(Mem{Base: offsets, Index: t, Scale: 8}, src)
	wv := XMM()
	VMOVSS(Mem{Base: w, Index: t, Scale: 4}, wv)
	VFMADD231SS(Mem{Base: x, Index: src, Scale: 4}, wv, sum)
	INCQ(t)
	CMPQ(t, taps)
	JLT(LabelRef(name + "_onetap"))
	Label(name + "_onedone")
	VMOVSS(sum, Mem{Base: y})
	ADDQ(Imm(4), y)
	ADDQ(Imm(uint64(4*step)), x)
	DECQ(n)
	JNZ(LabelRef(name + "_ones"))
	Label(name + "_ret")
	VZEROUPPER()
	RET()
}

// deinterleave returns a function that loads every second element, from src+disp
// on. It loads no element behind the last one: the second half of them is read one
// element early and from the odd places.
func deinterleave(set isa, step int) func(src reg.Register, disp int) Op {
	switch {
	case step == 1:
		return nil
	case set.bytes == 64:
		index := ZMM()
		VMOVDQU32(evenIndex(), index)
		return func(src reg.Register, disp int) Op {
			v := ZMM()
			VMOVUPS(Mem{Base: src, Disp: disp}, v)
			VPERMT2PS(Mem{Base: src, Disp: disp + 60}, index, v)
			return v
		}
	}
	return func(src reg.Register, disp int) Op {
		v := YMM()
		VMOVUPS(Mem{Base: src, Disp: disp}, v)
		// Places 0, 2 of v and 1, 3 of memory, in either half.
		VSHUFPS(Imm(0xd8), Mem{Base: src, Disp: disp + 28}, v, v)
		VPERMPD(Imm(0xd8), v, v)
		return v
	}
}

var evenIndexData Mem

func evenIndex() Mem {
	if evenIndexData.Symbol.Name != "" {
		return evenIndexData
	}
	evenIndexData = GLOBL("evenIndex", RODATA|NOPTR)
	for i := range 16 {
		at := 2 * i
		if i >= 8 {
			at = 16 + 2*(i-8) + 1
		}
		DATA(4*i, U32(at))
	}
	return evenIndexData
}
