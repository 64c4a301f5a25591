//go:build !unix

package main

// peakBytes is not known on this system.
func peakBytes() int64 { return 0 }
