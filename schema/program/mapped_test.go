//go:build linux || darwin

package program

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A mapped file of many gigabytes must not be paged in when it is opened.
func TestSegmentsAreNotRead(t *testing.T) {
	p := everything()
	page := os.Getpagesize()
	b := encode(t, p)
	h := decodeOK(t, b).Header

	// The same file, with segments that begin at a page and cannot be read.
	base := (int(h.ProgramSize) + page - 1) / page * page
	size := base + int(h.SegmentDataSize)
	m, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(m)) }()
	copy(m, b[:h.ProgramSize])
	table{b: m}.put64(24, uint64(base))
	require.NoError(t, syscall.Mprotect(m[base:], syscall.PROT_NONE))

	got := decodeOK(t, m)
	require.Len(t, got.Plans[0].Values[12].Tensor.Data, 24)
}
