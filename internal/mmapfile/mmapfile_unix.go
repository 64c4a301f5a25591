//go:build unix

package mmapfile

import (
	"os"

	"golang.org/x/sys/unix"
)

const canMap = true

// mmap maps size > 0 bytes of f. The mapping is private, as some file systems
// (FUSE with direct I/O) know no shared one; for reading they are the same.
func mmap(f *os.File, size int) ([]byte, error) {
	conn, err := f.SyscallConn() // Fd would make f blocking
	if err != nil {
		return nil, err
	}
	var data []byte
	var mapErr error
	if err := conn.Control(func(fd uintptr) {
		data, mapErr = unix.Mmap(int(fd), 0, size, unix.PROT_READ, unix.MAP_PRIVATE)
	}); err != nil {
		return nil, err
	}
	return data, mapErr
}

func munmap(data []byte) error { return unix.Munmap(data) }
