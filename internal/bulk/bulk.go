// Package bulk copies memory.
package bulk

// block is the length in bytes of the pieces in which Copy copies.
const block = 2048

// Copy copies src to dst, which must be as long and must not overlap it except
// that both may be the same.
//
// It is copy in pieces of 2 KiB: on AMD's processors Go's copy moves what is
// longer with REP MOVS, at about half the speed of the vector loop that it has for
// less (measured on Zen 5 with Go 1.26).
func Copy[T any](dst, src []T, size int) {
	n := max(1, block/size)
	for len(src) > n {
		copy(dst[:n], src[:n])
		dst, src = dst[n:], src[n:]
	}
	copy(dst, src)
}
