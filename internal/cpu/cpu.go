// Package cpu tells which instructions the processor has, as one of a few tiers
// for which assembly kernels are written.
package cpu

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// Tier is a set of instructions. A higher tier has those of the lower ones.
type Tier int

const (
	// Generic is pure Go: every platform, and the reference for all others.
	Generic Tier = iota
	// AVX2 is x86-64 with AVX2 and FMA.
	AVX2
	// AVX512 is x86-64 with AVX-512 F, BW, DQ and VL.
	AVX512
	// AVX512VNNI is AVX512 with VNNI, the int8 dot product.
	AVX512VNNI
)

var tierNames = [...]string{"generic", "avx2", "avx512", "avx512vnni"}

func (t Tier) String() string {
	if t < 0 || int(t) >= len(tierNames) {
		return fmt.Sprintf("Tier(%d)", int(t))
	}
	return tierNames[t]
}

// ParseTier returns the tier that String calls name.
func ParseTier(name string) (Tier, error) {
	for t, n := range tierNames {
		if n == name {
			return Tier(t), nil
		}
	}
	return Generic, fmt.Errorf("unknown CPU tier %q; there are %s", name, strings.Join(tierNames[:], ", "))
}

// Detected is the highest tier that the processor and operating system support.
var Detected = sync.OnceValue(detect)

// Active is the tier to use: the detected one, or a lower one that the
// environment variable ETGO_CPU names. A name that is unknown or a tier that the
// processor lacks is ignored; Override tells.
var Active = sync.OnceValue(func() Tier {
	t, _ := Override(os.Getenv("ETGO_CPU"))
	return t
})

// Override returns the tier that a value of ETGO_CPU asks for, and an error where
// that cannot be had.
func Override(value string) (Tier, error) {
	have := Detected()
	if value == "" {
		return have, nil
	}
	t, err := ParseTier(value)
	if err != nil {
		return have, err
	}
	if t > have {
		return have, fmt.Errorf("this processor has tier %v, not %v", have, t)
	}
	return t, nil
}

// Tiers returns the tiers that the processor supports, from Generic on: what
// tests run each kernel on.
func Tiers() []Tier {
	var list []Tier
	for t := Generic; t <= Detected(); t++ {
		list = append(list, t)
	}
	return list
}
