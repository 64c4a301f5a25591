package valuefmt

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/etgo-ml/etgo/tensor"
)

const (
	firstCount = 8  // elements shown of a tensor
	topCount   = 5  // largest elements shown of scores
	topMin     = 10 // elements from which on a float vector is taken for scores
)

// Summarize writes what a tensor holds, in a few lines that start with indent:
// its first elements in logical order, the range and mean of its numbers, and the
// largest ones with their indices where it looks like the scores of classes.
func Summarize(w io.Writer, indent string, t *tensor.Tensor) {
	t = t.Contiguous()
	if t.Err() != nil || t.Numel() == 0 {
		return
	}
	d, size, b := t.DType(), t.DType().Size(), t.Bytes()
	var list []string
	for i := range min(t.Numel(), firstCount) {
		list = append(list, Format(d, b[i*size:(i+1)*size]))
	}
	if t.Numel() > firstCount {
		list = append(list, "...")
	}
	fmt.Fprintf(w, "%s%s\n", indent, strings.Join(list, " "))
	if t.Numel() <= firstCount || d.IsComplex() || d == tensor.Bool {
		return
	}
	at := func(i int) float64 { return real(Value(d, b[i*size:(i+1)*size])) }
	fmt.Fprintf(w, "%s%s\n", indent, statistics(t.Numel(), at))
	// [1,1000] are scores of classes, [1,3,224,224] are not.
	if d.IsFloat() && t.Numel() >= topMin && t.Size(-1) == t.Numel() {
		fmt.Fprintf(w, "%stop %s\n", indent, top(t.Numel(), at))
	}
}

// statistics describes n numbers; those that are NaN or infinite are counted and
// otherwise left out.
func statistics(n int, at func(int) float64) string {
	lo, hi, sum, finite := math.Inf(1), math.Inf(-1), 0.0, 0
	for i := range n {
		if v := at(i); !math.IsNaN(v) && !math.IsInf(v, 0) {
			lo, hi, sum = min(lo, v), max(hi, v), sum+v
			finite++
		}
	}
	if finite == 0 {
		return "no finite elements"
	}
	s := fmt.Sprintf("min %.6g max %.6g mean %.6g", lo, hi, sum/float64(finite))
	if finite < n {
		s += fmt.Sprintf(", %d not finite", n-finite)
	}
	return s
}

// top lists the largest of n numbers with their indices.
func top(n int, at func(int) float64) string {
	var best []int
	for i := range n {
		v := at(i)
		k := len(best)
		for k > 0 && v > at(best[k-1]) {
			k--
		}
		if best = slices.Insert(best, k, i); len(best) > topCount {
			best = best[:topCount]
		}
	}
	list := make([]string, len(best))
	for k, i := range best {
		list[k] = fmt.Sprintf("%d: %.6g", i, at(i))
	}
	return strings.Join(list, ", ")
}
