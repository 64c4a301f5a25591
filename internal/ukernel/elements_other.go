//go:build !amd64 || noasm

package ukernel

import "github.com/etgo-ml/etgo/internal/cpu"

// ForElements returns nil: there are no kernels.
func ForElements(cpu.Tier) *Elements { return nil }
