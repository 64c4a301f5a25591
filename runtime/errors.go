package runtime

import "github.com/etgo-ml/etgo/internal/errs"

// ErrorCode is the number that ExecuTorch's runtime gives an error.
type ErrorCode = errs.Code

// Error classes, for errors.Is. Code tells an error's number.
var (
	ErrInternal               error = errs.Internal
	ErrInvalidState           error = errs.InvalidState
	ErrNotSupported           error = errs.NotSupported
	ErrInvalidArgument        error = errs.InvalidArgument
	ErrInvalidType            error = errs.InvalidType
	ErrOperatorMissing        error = errs.OperatorMissing
	ErrNotFound               error = errs.NotFound
	ErrMemoryAllocationFailed error = errs.MemoryAllocationFailed
	ErrAccessFailed           error = errs.AccessFailed
	ErrInvalidProgram         error = errs.InvalidProgram
	ErrInvalidExternalData    error = errs.InvalidExternalData
	ErrOutOfResources         error = errs.OutOfResources

	ErrDelegateInvalidCompatibility   error = errs.DelegateInvalidCompatibility
	ErrDelegateMemoryAllocationFailed error = errs.DelegateMemoryAllocationFailed
	ErrDelegateInvalidHandle          error = errs.DelegateInvalidHandle

	// ErrBackendUnavailable is an ErrNotFound: a delegate's backend is not registered.
	ErrBackendUnavailable error = errs.BackendUnavailable
	// ErrMethodNotFound is an ErrInvalidArgument: the program has no such method.
	ErrMethodNotFound error = errs.MethodNotFound
	// ErrBusy is an ErrInvalidState: a method is already running.
	ErrBusy error = errs.Busy
	// ErrClosed is an ErrInvalidState: the program, method or module is closed.
	ErrClosed error = errs.Closed
	// ErrLimitExceeded is an ErrMemoryAllocationFailed: the caller's limit is reached.
	ErrLimitExceeded error = errs.LimitExceeded
)

// Code returns ExecuTorch's number for err: 0 for nil, 0x01 (Internal) for an
// error that has none.
func Code(err error) ErrorCode { return errs.CodeOf(err) }
