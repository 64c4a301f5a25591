// Package ukernel holds the innermost loops of the computations, in the assembly
// of each CPU tier.
//
// A kernel is a loop over memory that its caller has laid out for it. The methods
// that call it check the bounds, so that a caller's mistake is a panic and no
// kernel reads or writes outside of the slices it is given. The build tag noasm
// leaves the assembly out; callers have loops in Go for tiers without kernels.
//
// The assembly is written by the program in gen, a module of its own so that the
// generator's dependencies are not those of users of etgo.
package ukernel

//go:generate go run -C gen . -out ../f32_amd64.s -stubs ../f32_amd64.go -pkg ukernel
