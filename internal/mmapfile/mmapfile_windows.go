package mmapfile

import (
	"os"

	"golang.org/x/sys/windows"
)

const canMap = true

// mmap maps size > 0 bytes of f. The view keeps the mapping object alive, and
// that the file, so both handles can be closed.
func mmap(f *os.File, size int) ([]byte, error) {
	mapping, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, windows.PAGE_READONLY,
		uint32(uint64(size)>>32), uint32(size), nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateFileMapping", err)
	}
	defer windows.CloseHandle(mapping)
	addr, err := windows.MapViewOfFile(mapping, windows.FILE_MAP_READ, 0, 0, uintptr(size))
	if err != nil {
		return nil, os.NewSyscallError("MapViewOfFile", err)
	}
	return viewBytes(addr, size), nil
}

func munmap(data []byte) error {
	return os.NewSyscallError("UnmapViewOfFile", windows.UnmapViewOfFile(viewAddr(data)))
}
