package runtime

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/etgo-ml/etgo/tensor"
)

// Kind tells what an EValue holds.
type Kind uint8

// The kinds of values.
const (
	KindNone Kind = iota
	KindInt
	KindBool
	KindDouble
	KindString
	KindTensor
	KindIntList
	KindDoubleList
	KindBoolList
	KindTensorList
	KindOptionalTensorList
)

var kindNames = [...]string{
	"None", "int", "bool", "float", "string", "tensor", "int list", "float list", "bool list", "tensor list", "optional tensor list",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// EValue is a value of a program: a tensor, a number, a string, a list or None.
// The zero EValue is None. Copies share tensors and lists.
type EValue struct {
	kind   Kind
	bits   uint64 // Int, Bool, Double
	str    string
	tensor *tensor.Tensor
	list   *list
}

// list is the content of a list value. Elements of a program's int and tensor
// lists are other values of the program (refs), whose current content the loop
// copies into ints and tensors before a step uses the list.
type list struct {
	refs    []*EValue
	ints    []int64
	doubles []float64
	bools   []bool
	tensors []*tensor.Tensor // nil stands for None
}

// None returns the value None.
func None() EValue { return EValue{} }

// Int returns an integer value.
func Int(v int64) EValue { return EValue{kind: KindInt, bits: uint64(v)} }

// Double returns a floating-point value.
func Double(v float64) EValue { return EValue{kind: KindDouble, bits: math.Float64bits(v)} }

// Bool returns a boolean value.
func Bool(v bool) EValue {
	e := EValue{kind: KindBool}
	if v {
		e.bits = 1
	}
	return e
}

// String returns a string value.
func String(v string) EValue { return EValue{kind: KindString, str: v} }

// TensorValue returns a tensor value, None for a nil tensor.
func TensorValue(t *tensor.Tensor) EValue {
	if t == nil {
		return EValue{}
	}
	return EValue{kind: KindTensor, tensor: t}
}

// IntList returns a list of integers.
func IntList(v ...int64) EValue {
	return EValue{kind: KindIntList, list: &list{ints: v}}
}

// DoubleList returns a list of floating-point numbers.
func DoubleList(v ...float64) EValue {
	return EValue{kind: KindDoubleList, list: &list{doubles: v}}
}

// BoolList returns a list of booleans.
func BoolList(v ...bool) EValue {
	return EValue{kind: KindBoolList, list: &list{bools: v}}
}

// TensorList returns a list of tensors.
func TensorList(v ...*tensor.Tensor) EValue {
	return EValue{kind: KindTensorList, list: &list{tensors: v}}
}

// OptionalTensorList returns a list of tensors in which nil stands for None.
func OptionalTensorList(v ...*tensor.Tensor) EValue {
	return EValue{kind: KindOptionalTensorList, list: &list{tensors: v}}
}

// Kind tells what e holds.
func (e *EValue) Kind() Kind { return e.kind }

// IsNone reports whether e is None.
func (e *EValue) IsNone() bool { return e.kind == KindNone }

// Int returns an int's value, a bool's as 0 or 1, a double's truncated; 0 for
// every other kind.
func (e *EValue) Int() int64 {
	switch e.kind {
	case KindInt, KindBool:
		return int64(e.bits)
	case KindDouble:
		return truncToInt(math.Float64frombits(e.bits))
	}
	return 0
}

// truncToInt converts as x86 does: what does not fit becomes the smallest int64.
func truncToInt(f float64) int64 {
	if f >= -9.223372036854775808e18 && f < 9.223372036854775808e18 {
		return int64(f)
	}
	return math.MinInt64
}

// Double returns a double's value or that of an int or bool; 0 for every other kind.
func (e *EValue) Double() float64 {
	switch e.kind {
	case KindDouble:
		return math.Float64frombits(e.bits)
	case KindInt, KindBool:
		return float64(int64(e.bits))
	}
	return 0
}

// Bool returns a bool's value, and whether a number is not zero.
func (e *EValue) Bool() bool {
	switch e.kind {
	case KindBool, KindInt:
		return e.bits != 0
	case KindDouble:
		return math.Float64frombits(e.bits) != 0
	}
	return false
}

// Str returns a string's value.
func (e *EValue) Str() string { return e.str }

// Tensor returns the tensor, or nil where e is not one.
func (e *EValue) Tensor() *tensor.Tensor { return e.tensor }

// Ints returns an int list's elements. The slice is the value's own.
func (e *EValue) Ints() []int64 {
	if e.list == nil {
		return nil
	}
	return e.list.ints
}

// Doubles returns a float list's elements. The slice is the value's own.
func (e *EValue) Doubles() []float64 {
	if e.list == nil {
		return nil
	}
	return e.list.doubles
}

// Bools returns a bool list's elements. The slice is the value's own.
func (e *EValue) Bools() []bool {
	if e.list == nil {
		return nil
	}
	return e.list.bools
}

// Tensors returns a tensor list's elements; in an optional tensor list nil
// stands for None. The slice is the value's own.
func (e *EValue) Tensors() []*tensor.Tensor {
	if e.list == nil {
		return nil
	}
	return e.list.tensors
}

// IsScalar reports whether e is an int, a bool or a double.
func (e *EValue) IsScalar() bool {
	return e.kind == KindInt || e.kind == KindBool || e.kind == KindDouble
}

// String formats e for people, as in "float32[1,3]", "5" or "[1 2 3]"; a tensor's
// elements are not part of it.
func (e EValue) String() string {
	switch e.kind {
	case KindNone:
		return "None"
	case KindInt:
		return strconv.FormatInt(int64(e.bits), 10)
	case KindBool:
		return strconv.FormatBool(e.bits != 0)
	case KindDouble:
		return strconv.FormatFloat(math.Float64frombits(e.bits), 'g', -1, 64)
	case KindString:
		return strconv.Quote(e.str)
	case KindTensor:
		return e.tensor.String()
	case KindIntList:
		return fmt.Sprint(e.list.ints)
	case KindDoubleList:
		return fmt.Sprint(e.list.doubles)
	case KindBoolList:
		return fmt.Sprint(e.list.bools)
	case KindTensorList, KindOptionalTensorList:
		s := make([]string, len(e.list.tensors))
		for i, t := range e.list.tensors {
			s[i] = t.String()
			if t == nil {
				s[i] = "None"
			}
		}
		return "[" + strings.Join(s, " ") + "]"
	}
	return e.kind.String()
}
