//go:build unix

package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// peakBytes returns the largest resident size of the process so far.
func peakBytes() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss) // in bytes there
	}
	return int64(u.Maxrss) * 1024
}
