package mmapfile

import "unsafe"

// viewBytes returns the bytes of a view. The address is not one of Go's heap,
// so to convert it is safe; to go through a pointer to it says so to go vet.
func viewBytes(addr uintptr, size int) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&addr))), size)
}

// viewAddr returns the address of a view's first byte.
func viewAddr(data []byte) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(data)))
}
