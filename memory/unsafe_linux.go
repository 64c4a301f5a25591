package memory

import (
	"strings"
	"unsafe"
)

// dirtyBytes returns n > 0 bytes of Go's heap, collected as any other, that
// nobody has cleared. strings.Builder is the one way to have them; should that
// change and the bytes be zero, the cost is that of make.
func dirtyBytes(n int) []byte {
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0)
	// No one else ever sees this string, so its bytes may be written.
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}
