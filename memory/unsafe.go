package memory

import "unsafe"

// addr returns the address of b's first byte, also when b is empty but has
// capacity. Blocks live on the heap or outside it, where nothing moves them.
func addr(b []byte) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}
