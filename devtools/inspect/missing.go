package inspect

import (
	"slices"
	"strings"

	"github.com/etgo-ml/etgo/runtime"
)

// Missing lists what a registry lacks of what a program's methods call.
type Missing struct {
	Operators []string `json:"operators"`
	Backends  []string `json:"backends"`
}

// Any reports whether something is missing.
func (m *Missing) Any() bool { return len(m.Operators) > 0 || len(m.Backends) > 0 }

// Missing returns what reg lacks, sorted.
func (f *File) Missing(reg *runtime.Registry) Missing {
	m := Missing{Operators: []string{}, Backends: []string{}}
	for i := range f.Methods {
		for _, c := range f.Methods[i].Operators {
			if reg.Kernel(c.Name) == nil {
				m.Operators = append(m.Operators, c.Name)
			}
		}
		for _, c := range f.Methods[i].Backends {
			if reg.Backend(c.Name) == nil {
				m.Backends = append(m.Backends, c.Name)
			}
		}
	}
	slices.Sort(m.Operators)
	slices.Sort(m.Backends)
	m.Operators, m.Backends = slices.Compact(m.Operators), slices.Compact(m.Backends)
	return m
}

// Delegated returns which share of a method's calls goes to backends, from 0 to
// 1. The prim operators, which move sizes and numbers around, do not count; a
// delegate counts as one call whatever it holds.
func (m *Method) Delegated() float64 {
	kernels, delegates := 0, 0
	for _, c := range m.Operators {
		if !strings.HasPrefix(c.Name, "executorch_prim::") {
			kernels += c.Calls
		}
	}
	for _, c := range m.Backends {
		delegates += c.Calls
	}
	if delegates == 0 {
		return 0
	}
	return float64(delegates) / float64(kernels+delegates)
}
