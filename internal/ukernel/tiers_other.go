//go:build !amd64 || noasm

package ukernel

import "github.com/etgo-ml/etgo/internal/cpu"

// ForF32 returns nil: there are no kernels, and nobody has an F32 to call the
// methods of.
func ForF32(cpu.Tier) *F32 { return nil }

const none = "ukernel: no kernels"

func (f *F32) axpy(int, *float32, *float32, *float32, int)                     { panic(none) }
func (f *F32) axpy1(int, *float32, float32, *float32)                          { panic(none) }
func (f *F32) dot(int, *float32, *float32, int, *float32)                      { panic(none) }
func (f *F32) taps(int, int, *float32, *float32, int, *int, *float32, float32) { panic(none) }
func (f *F32) transpose4(int, *float32, int, *float32, int)                    { panic(none) }
func (f *F32) transpose8(int, *float32, int, *float32, int)                    { panic(none) }
