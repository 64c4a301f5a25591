//go:build !amd64

package cpu

func detect() Tier { return Generic }
