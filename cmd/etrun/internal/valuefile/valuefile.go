// Package valuefile reads and writes the inputs and outputs of a method as
// files that NumPy reads and writes: NAME.npz with the arrays arr_0, arr_1, ...
// in logical shape, and beside it NAME.json, which lists the values in order
// with what NumPy cannot say: None, numbers and strings, types such as bfloat16
// and the order of a tensor's dimensions in memory.
//
//	{"values": [
//	    {"kind": "tensor", "array": "arr_0", "dtype": "float32", "sizes": [1, 3, 8, 8], "dim_order": [0, 2, 3, 1]},
//	    {"kind": "none"},
//	    {"kind": "bool", "value": true},
//	    {"kind": "int", "value": 5},
//	    {"kind": "float", "value": 1.5},
//	    {"kind": "string", "value": "x"},
//	    {"kind": "int_list", "value": [1, 2]},
//	    {"kind": "tensor_list", "items": [{"kind": "tensor", "array": "arr_1"}]}
//	]}
//
// Infinities and NaN are the strings "inf", "-inf" and "nan". A type that NumPy
// lacks is stored as the unsigned integers of its bits. dim_order is the layout
// that a tensor has in memory, whatever the array's; absent it is 0, 1, 2, ...
// Without a sidecar all arrays are read in order, with NumPy's types.
//
// Files may come from anywhere: reading one takes no more memory than the file
// has bytes, or [maxInflated] where it is compressed.
package valuefile

import (
	"os"
	"strings"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/runtime"
)

// Value is a value and, for a mutable buffer, its name.
type Value struct {
	runtime.EValue
	Name   string // fully qualified name of a mutable buffer
	Method string // the method whose buffer it is
}

const (
	// maxInflated bounds what the compressed arrays of a file may take together.
	maxInflated = 1 << 30
	// maxSidecar bounds the size of a sidecar.
	maxSidecar = 4 << 20
)

// sidecarPath returns where the sidecar of a value file is.
func sidecarPath(path string) string { return strings.TrimSuffix(path, ".npz") + ".json" }

// ReadFile reads the values of an .npz file with its sidecar, if there is one,
// or the tensor of an .npy file. What the file is tell its first bytes.
func ReadFile(path string) ([]runtime.EValue, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, errs.AccessFailed.Wrap(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, errs.AccessFailed.Wrap(err)
	}
	var sidecar []byte
	if s, err := os.Stat(sidecarPath(path)); err == nil && s.Mode().IsRegular() && path != sidecarPath(path) {
		if s.Size() > maxSidecar {
			return nil, errs.InvalidArgument.Errorf("%s: a sidecar of %d bytes, at most %d are read", sidecarPath(path), s.Size(), maxSidecar)
		}
		if sidecar, err = os.ReadFile(sidecarPath(path)); err != nil {
			return nil, errs.AccessFailed.Wrap(err)
		}
	}
	values, err := read(f, info.Size(), sidecar)
	if err != nil {
		return nil, errs.InvalidArgument.Errorf("%s: %w", path, err)
	}
	return values, nil
}

// WriteFile writes values to an .npz file and its sidecar.
func WriteFile(path string, values []Value) error {
	sidecar, err := writeTo(path, values)
	if err != nil {
		return errs.AccessFailed.Errorf("%s: %w", path, err)
	}
	if err := os.WriteFile(sidecarPath(path), sidecar, 0o666); err != nil {
		return errs.AccessFailed.Wrap(err)
	}
	return nil
}

func writeTo(path string, values []Value) (sidecar []byte, err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	sidecar, err = write(f, values)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return sidecar, err
}
