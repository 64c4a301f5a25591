package runtime

import (
	"slices"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/memory"
)

// Pass rewrites the steps of a method while it is loaded: it folds, fuses or
// removes calls. A pass must keep what the method computes. The values of the
// method may be read, those that are constant for their content.
type Pass interface {
	// Name names the pass in errors.
	Name() string
	// Run rewrites the steps.
	Run(s *Steps) error
}

// Steps is a method's list of steps in the hands of a pass. Steps keep their
// index while passes run; a removed one is only marked.
type Steps struct {
	l     *loader
	steps []planStep
}

// Len returns the number of steps, removed ones included.
func (s *Steps) Len() int { return len(s.steps) }

// Op returns the name of the operator that step i calls; empty for a step that
// is no kernel call, or is removed.
func (s *Steps) Op(i int) string {
	if st := &s.steps[i]; st.kind == stepKernel && !st.removed {
		return st.kernel.Name()
	}
	return ""
}

// Args returns the indices of the values that step i, a kernel or delegate call,
// has as arguments. The slice must not be changed.
func (s *Steps) Args(i int) []int32 { return s.steps[i].args }

// Impure reports whether step i does more than compute its outputs: it is no
// kernel call, its kernel says so, or it writes more than its last arguments.
func (s *Steps) Impure(i int) bool {
	st := &s.steps[i]
	return st.kind != stepKernel || st.kernel.Impure
}

// IsJumpTarget reports whether a jump leads to step i, which must then stay
// separate from those before it.
func (s *Steps) IsJumpTarget(i int) bool { return s.l.targets[i] }

// IsJump reports whether step i may go on elsewhere than at the next.
func (s *Steps) IsJump(i int) bool { return s.steps[i].kind == stepJumpFalse }

// Value returns value v. Only a constant's content is meaningful.
func (s *Steps) Value(v int32) *EValue { return &s.l.m.values[v] }

// Constant reports whether value v never changes: it is no input, no mutable
// buffer and written by no instruction.
func (s *Steps) Constant(v int32) bool { return s.l.constant(v) }

// Input reports whether value v is an input of the method.
func (s *Steps) Input(v int32) bool { return s.l.isInput[v] }

// Output reports whether value v is an output of the method or an element of one.
func (s *Steps) Output(v int32) bool { return s.l.isOutput[v] }

// Uses returns the steps, not removed, that have value v among their arguments,
// themselves or as an element of a list.
func (s *Steps) Uses(v int32) []int {
	var uses []int
	for i := range s.steps {
		st := &s.steps[i]
		if st.removed {
			continue
		}
		used := false
		switch st.kind {
		case stepMove:
			used = st.index == v || st.to == v
		case stepJumpFalse, stepFree:
			used = st.index == v
		default:
			for _, a := range st.args {
				if a == v || slices.Contains(s.l.plan.Values[a].Items, v) {
					used = true
					break
				}
			}
		}
		if used {
			uses = append(uses, i)
		}
	}
	return uses
}

// MayAlias reports whether two tensor values may share memory, as planned memory
// is reused for values that do not live at the same time.
func (s *Steps) MayAlias(a, b int32) bool {
	if a == b {
		return true
	}
	x, y := s.l.plan.Values[a].Tensor, s.l.plan.Values[b].Tensor
	if x == nil || y == nil || s.l.dynamic[a] || s.l.dynamic[b] {
		return true
	}
	if x.Allocation == nil || y.Allocation == nil {
		return false
	}
	if x.Allocation.MemoryID != y.Allocation.MemoryID {
		return false
	}
	ax, ay := x.Allocation.Offset, y.Allocation.Offset
	return ax < ay+uint64(y.NBytes) && ay < ax+uint64(x.NBytes)
}

// Remove takes step i away.
func (s *Steps) Remove(i int) { s.steps[i].removed = true }

// Replace lets step i, a kernel call, run run on other arguments of the same
// kernel kind: they are not checked against its schema again except where their
// kinds change at run time. nil args keep the arguments.
func (s *Steps) Replace(i int, run KernelFunc, args []int32) error {
	st := &s.steps[i]
	if st.kind != stepKernel {
		return errs.Internal.Errorf("step %d is no kernel call", i)
	}
	if args != nil {
		if err := st.kernel.sig.checkCount(len(args)); err != nil {
			return errs.Internal.Errorf("%s %w", st.kernel.Name(), err)
		}
		old := st.args
		st.args = args
		if err := s.l.checkCall(st); err != nil {
			st.args = old
			return errs.Internal.Wrap(err)
		}
	}
	st.run = run
	return nil
}

// Shared returns the cache for what clones of the method may share.
func (s *Steps) Shared() *SharedCache { return &s.l.opts.data.shared }

// Budget returns the account that folded constants are charged to; it may be nil.
func (s *Steps) Budget() *memory.Budget { return s.l.opts.budget }
