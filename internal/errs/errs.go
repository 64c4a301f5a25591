// Package errs holds etgo's error classes. Each has the number that
// ExecuTorch's runtime gives the same condition, so that a caller who knows
// one runtime can read the other's errors.
//
// It is a leaf: every layer may import it. Package runtime re-exports what
// users need.
package errs

import (
	"errors"
	"fmt"
)

// Code is an error number of ExecuTorch's runtime/core/error.h.
type Code uint32

// String formats the number as ExecuTorch writes it, as in "0x12".
func (c Code) String() string { return fmt.Sprintf("0x%02x", uint32(c)) }

// The numbers, in ExecuTorch's groups: system, logical, resource, delegate.
const (
	CodeOK                             Code = 0x00
	CodeInternal                       Code = 0x01
	CodeInvalidState                   Code = 0x02
	CodeEndOfMethod                    Code = 0x03
	CodeNotSupported                   Code = 0x10
	CodeNotImplemented                 Code = 0x11
	CodeInvalidArgument                Code = 0x12
	CodeInvalidType                    Code = 0x13
	CodeOperatorMissing                Code = 0x14
	CodeNotFound                       Code = 0x20
	CodeMemoryAllocationFailed         Code = 0x21
	CodeAccessFailed                   Code = 0x22
	CodeInvalidProgram                 Code = 0x23
	CodeInvalidExternalData            Code = 0x24
	CodeOutOfResources                 Code = 0x25
	CodeDelegateInvalidCompatibility   Code = 0x30
	CodeDelegateMemoryAllocationFailed Code = 0x31
	CodeDelegateInvalidHandle          Code = 0x32
)

// Class is a sentinel error: errors.Is(err, errs.InvalidProgram) tells whether
// err is of that class. Several classes may share a number.
type Class struct {
	code   Code
	text   string
	parent *Class
}

func (c *Class) Error() string { return c.text }

// Code returns the class's number.
func (c *Class) Code() Code { return c.code }

// Unwrap returns the wider class, so that errors.Is matches it too.
func (c *Class) Unwrap() error {
	if c.parent == nil {
		return nil
	}
	return c.parent
}

// Errorf makes an error of class c. The text is formatted as by fmt.Errorf and
// may wrap further errors with %w.
func (c *Class) Errorf(format string, args ...any) error {
	return &classified{class: c, err: fmt.Errorf(format, args...)}
}

// Wrap gives err the class c and leaves its text alone. It returns nil for nil.
func (c *Class) Wrap(err error) error {
	if err == nil {
		return nil
	}
	return &classified{class: c, err: err}
}

type classified struct {
	class *Class
	err   error
}

func (e *classified) Error() string   { return e.err.Error() }
func (e *classified) Unwrap() []error { return []error{e.class, e.err} }

// The classes.
var (
	Internal               = &Class{code: CodeInternal, text: "internal error"}
	InvalidState           = &Class{code: CodeInvalidState, text: "invalid state"}
	NotSupported           = &Class{code: CodeNotSupported, text: "not supported"}
	NotImplemented         = &Class{code: CodeNotImplemented, text: "not implemented"}
	InvalidArgument        = &Class{code: CodeInvalidArgument, text: "invalid argument"}
	InvalidType            = &Class{code: CodeInvalidType, text: "invalid type"}
	OperatorMissing        = &Class{code: CodeOperatorMissing, text: "operator missing"}
	NotFound               = &Class{code: CodeNotFound, text: "not found"}
	MemoryAllocationFailed = &Class{code: CodeMemoryAllocationFailed, text: "memory allocation failed"}
	AccessFailed           = &Class{code: CodeAccessFailed, text: "access failed"}
	InvalidProgram         = &Class{code: CodeInvalidProgram, text: "invalid program"}
	InvalidExternalData    = &Class{code: CodeInvalidExternalData, text: "invalid external data"}
	OutOfResources         = &Class{code: CodeOutOfResources, text: "out of resources"}

	DelegateInvalidCompatibility   = &Class{code: CodeDelegateInvalidCompatibility, text: "delegate incompatible"}
	DelegateMemoryAllocationFailed = &Class{code: CodeDelegateMemoryAllocationFailed, text: "delegate memory allocation failed"}
	DelegateInvalidHandle          = &Class{code: CodeDelegateInvalidHandle, text: "delegate handle invalid"}

	// BackendUnavailable is the NotFound of a delegate whose backend is not registered.
	BackendUnavailable = &Class{code: CodeNotFound, text: "backend unavailable", parent: NotFound}
	// MethodNotFound is the InvalidArgument of a method name the program lacks.
	MethodNotFound = &Class{code: CodeInvalidArgument, text: "method not found", parent: InvalidArgument}
	// Busy is the InvalidState of a module or method used by two goroutines at once.
	Busy = &Class{code: CodeInvalidState, text: "busy", parent: InvalidState}
	// Closed is the InvalidState of a module or program used after Close.
	Closed = &Class{code: CodeInvalidState, text: "closed", parent: InvalidState}
	// LimitExceeded is the MemoryAllocationFailed of a request beyond the caller's limits.
	LimitExceeded = &Class{code: CodeMemoryAllocationFailed, text: "limit exceeded", parent: MemoryAllocationFailed}
)

// CodeOf returns the number of the first class found in err's tree, CodeOK for
// nil and CodeInternal for an error without a class.
func CodeOf(err error) Code {
	if err == nil {
		return CodeOK
	}
	var c *Class
	if errors.As(err, &c) {
		return c.code
	}
	return CodeInternal
}
