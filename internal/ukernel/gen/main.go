// Command gen writes the assembly of package ukernel. Run it by "go generate" in
// that package.
package main

import (
	"bytes"
	"flag"
	"log"
	"os"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set with its vector registers.
type isa struct {
	name  string
	bytes int
	vec   func() reg.VecVirtual
}

var (
	avx2   = isa{"AVX2", 32, func() reg.VecVirtual { return YMM() }}
	avx512 = isa{"AVX512", 64, func() reg.VecVirtual { return ZMM() }}
)

// lanes returns how many float32 a vector has.
func (s isa) lanes() int { return s.bytes / 4 }

func main() {
	ConstraintExpr("amd64,!noasm")
	for _, mr := range []int{12, 8, 4} {
		gemmF32(avx512, mr, 12, 2)
	}
	for _, mr := range []int{6, 4, 2} {
		gemmF32(avx2, mr, 6, 2)
	}
	for _, set := range []isa{avx512, avx2} {
		axpyF32(set, 4)
		axpyF32(set, 1)
		dotF32(set)
		for _, step := range []int{1, 2} {
			tapsF32(set, step)
		}
		elementwiseF32(set)
	}
	transposeF32(4)
	transposeF32(8)
	Generate()
	for _, f := range []string{"out", "stubs"} {
		nameCommand(flag.Lookup(f).Value.String())
	}
}

// nameCommand makes the header of a generated file name the command that was run.
// avo assumes that it was "go run main.go".
func nameCommand(file string) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, bytes.Replace(text, []byte("go run main.go"), []byte("go run -C gen ."), 1), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}
