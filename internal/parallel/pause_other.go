//go:build !amd64 && !arm64

package parallel

// pause does nothing: there is no such instruction, or no use for one.
func pause(uint32) {}
