package mmapfile

import "unsafe"

// alignment is what ExecuTorch aligns segments to within a file, so that an
// aligned copy has aligned segments. Mappings start at a page.
const alignment = 128

// alignedBytes returns size bytes that start at a multiple of alignment.
func alignedBytes(size int) []byte {
	b := make([]byte, size+alignment-1)
	pad := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (alignment - 1))
	return b[pad : pad+size : pad+size]
}
