//go:build amd64 || arm64

package parallel

// pause executes n > 0 pause instructions, some tens of cycles each at most.
//
//go:noescape
func pause(n uint32)
