//go:build unix

package ukernel

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/cpu"
)

var scalarOps = [numOps]func(a, b float32) float32{
	Add: func(a, b float32) float32 { return a + b },
	Sub: func(a, b float32) float32 { return a - b },
	Mul: func(a, b float32) float32 { return a * b },
	Div: func(a, b float32) float32 { return a / b },
}

func TestElements(t *testing.T) {
	var mem [3]*guarded
	for i := range mem {
		mem[i] = newGuarded(t, 256)
	}
	inf := float32(math.Inf(1))
	for _, tier := range cpu.Tiers() {
		e := ForElements(tier)
		if e == nil {
			continue
		}
		for n := range 150 {
			for _, last := range []bool{false, true} {
				dst, a, b := mem[0].slice(n, last), mem[1].slice(n, last), mem[2].slice(n, last)
				if n > 20 {
					a[3], a[17], b[5], b[9] = float32(math.NaN()), inf, 0, -inf
				}
				check := func(what string, got int, want func(i int) float32) {
					require.Equal(t, n/e.lanes*e.lanes, got)
					for i := range got {
						w := want(i)
						if w != w {
							require.True(t, dst[i] != dst[i], "%v, %s, %d of %d", tier, what, i, n)
							continue
						}
						require.Equal(t, w, dst[i], "%v, %s, %d of %d", tier, what, i, n)
					}
				}
				for op, f := range scalarOps {
					op := Op(op)
					check(fmt.Sprint(op), e.Binary(op, dst, a, b), func(i int) float32 { return f(a[i], b[i]) })
					check(fmt.Sprint(op, "const"), e.Const(op, dst, a, 1.5), func(i int) float32 { return f(a[i], 1.5) })
					check(fmt.Sprint("const", op), e.ConstLeft(op, dst, 1.5, a), func(i int) float32 { return f(1.5, a[i]) })
				}
				check("clamp", e.Clamp(dst, a, -2, 6), func(i int) float32 { return min(max(a[i], -2), 6) })
			}
		}
	}
	var none *Elements
	require.Zero(t, none.Binary(Add, make([]float32, 64), make([]float32, 64), make([]float32, 64)))
}
