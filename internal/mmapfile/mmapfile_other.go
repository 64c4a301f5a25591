//go:build !unix && !windows

package mmapfile

import (
	"errors"
	"os"
)

const canMap = false

// mmap is not called.
func mmap(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func munmap([]byte) error { return nil }
