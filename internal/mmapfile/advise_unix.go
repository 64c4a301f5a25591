//go:build unix && !aix && !solaris && !illumos

package mmapfile

import "golang.org/x/sys/unix"

func willNeed(data []byte) error { return unix.Madvise(data, unix.MADV_WILLNEED) }
