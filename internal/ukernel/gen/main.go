// Command gen writes the assembly of package ukernel. Run it by "go generate" in
// that package.
package main

import (
	. "github.com/mmcloughlin/avo/build"
)

func main() {
	ConstraintExpr("amd64")
	gemmF32(avx512, 12, 2)
	gemmF32(avx2, 6, 2)
	Generate()
}
