//go:build !unix || aix || solaris || illumos

package mmapfile

func willNeed([]byte) error { return nil }
