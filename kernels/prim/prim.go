// Package prim holds the operators of ExecuTorch's runtime itself: arithmetic on
// the numbers of a program (symbolic sizes, loop counters), queries of tensors,
// and the two operators behind views and the map loop.
//
// They store their result in their last argument.
package prim

import (
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/runtime"
)

// Register adds all operators of the package to reg.
func Register(reg *runtime.Registry) error {
	return reg.Register(
		Add, Sub, Mul, FloorDiv, Mod, TrueDiv, Neg,
		Eq, Gt, Lt, Ge, Le,
		SymFloat, SymInt, SymIte, SymMax, SymMin, SymNot,
		Ceil, Round, Trunc,
		LocalScalarDense, SymSize, SymNumel,
		View, CopyIndex,
	)
}

// wrongKinds is the error of an operator on numbers it has no meaning for.
func wrongKinds(args ...*runtime.EValue) error {
	if len(args) == 1 {
		return errs.InvalidType.Errorf("not defined for %v", args[0].Kind())
	}
	return errs.InvalidType.Errorf("not defined for %v and %v", args[0].Kind(), args[1].Kind())
}

func isInt(e *runtime.EValue) bool { return e.Kind() == runtime.KindInt }

func isBool(e *runtime.EValue) bool { return e.Kind() == runtime.KindBool }

// isNumber reports whether e is an int or a float.
func isNumber(e *runtime.EValue) bool { return isInt(e) || e.Kind() == runtime.KindDouble }
