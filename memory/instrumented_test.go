//go:build race || asan || msan

package memory

func init() { instrumented = true }
