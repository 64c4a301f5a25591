//go:build unix

package ukernel

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// guarded is memory between two pages that nobody may touch, so that a kernel that
// goes too far in either direction crashes the test.
type guarded struct{ all []float32 }

func newGuarded(t testing.TB, n int) *guarded {
	page := unix.Getpagesize()
	size := (4*n + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	require.NoError(t, unix.Mprotect(mem[:page], unix.PROT_NONE))
	require.NoError(t, unix.Mprotect(mem[page+size:], unix.PROT_NONE))
	return &guarded{unsafe.Slice((*float32)(unsafe.Pointer(&mem[page])), size/4)}
}

// slice returns n elements right behind the first guard page, or right before the
// last one, filled with small integers.
func (g *guarded) slice(n int, last bool) []float32 {
	s := g.all[:n:n]
	if last {
		s = g.all[len(g.all)-n:]
	}
	for i := range s {
		s[i] = float32(rand.IntN(19) - 9)
	}
	return s
}
