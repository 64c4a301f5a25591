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
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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

// WriteFile writes values to path and their description to the .json file beside
// it. Both appear when they are complete: a file that is being replaced, perhaps
// the one that a model is mapped from, stays as it was until then. A .json file
// that describes no values is somebody else's and not replaced.
func WriteFile(path string, values []Value) error {
	if !strings.HasSuffix(path, ".npz") {
		return errs.InvalidArgument.Errorf("%s: values are written to a file named .npz", path)
	}
	side := sidecarPath(path)
	if err := checkReplaceable(side); err != nil {
		return err
	}
	var sidecar []byte
	err := replace(path, func(w io.Writer) (err error) {
		sidecar, err = write(w, values)
		return err
	})
	if err != nil {
		return errs.AccessFailed.Errorf("%s: %w", path, err)
	}
	err = replace(side, func(w io.Writer) error {
		_, err := w.Write(sidecar)
		return err
	})
	if err != nil {
		return errs.AccessFailed.Errorf("%s: %w", side, err)
	}
	return nil
}

// checkReplaceable returns an error if there is a file that is no sidecar.
func checkReplaceable(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return errs.AccessFailed.Wrap(err)
	}
	var s struct {
		Values json.RawMessage `json:"values"`
	}
	if json.Unmarshal(text, &s) != nil || s.Values == nil {
		return errs.InvalidArgument.Errorf("%s describes no values and would be overwritten; choose another name for the outputs", path)
	}
	return nil
}

// replace writes a file beside path and renames it when it is complete.
func replace(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	err = write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
