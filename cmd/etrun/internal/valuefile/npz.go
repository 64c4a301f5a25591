package valuefile

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"codeberg.org/sbinet/npyio/npy"

	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/schema"
	"github.com/etgo-ml/etgo/tensor"
)

// arrays are the arrays of an .npz file, a zip archive of .npy files.
type arrays struct {
	names []string // without ".npy", in order
	files map[string]*zip.File
	used  map[string]bool
	left  uint64 // bytes that compressed arrays may still take
}

// read reads a value file of either kind. sidecar is nil where there is none.
func read(r io.ReaderAt, size int64, sidecar []byte) ([]runtime.EValue, error) {
	head := make([]byte, min(size, schema.SniffLen))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, npy.Magic[:]):
		t, err := readArray(io.NewSectionReader(r, 0, size), uint64(size))
		if err != nil {
			return nil, err
		}
		return []runtime.EValue{runtime.TensorValue(t)}, nil
	case !bytes.HasPrefix(head, []byte("PK")):
		return nil, fmt.Errorf("not an .npz or .npy file: %v", schema.Sniff(head, size))
	}
	a, err := openArrays(r, size)
	if err != nil {
		return nil, err
	}
	if sidecar != nil {
		return readValues(a, sidecar)
	}
	values := make([]runtime.EValue, len(a.names))
	for i, name := range a.names {
		t, err := a.read(name)
		if err != nil {
			return nil, err
		}
		values[i] = runtime.TensorValue(t)
	}
	return values, nil
}

// openArrays lists the arrays of an archive.
func openArrays(r io.ReaderAt, size int64) (*arrays, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, err
	}
	a := &arrays{files: map[string]*zip.File{}, used: map[string]bool{}, left: maxInflated}
	var stored uint64
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			return nil, fmt.Errorf("%q is no NumPy array", f.Name)
		}
		if a.files[name] != nil {
			return nil, fmt.Errorf("two arrays with the name %q", name)
		}
		// Entries may overlap in a hostile archive, so that it looks larger than it is.
		if stored += f.CompressedSize64; stored > uint64(size) || f.CompressedSize64 > uint64(size) {
			return nil, fmt.Errorf("arrays of more bytes than the file has")
		}
		a.files[name] = f
		a.names = append(a.names, name)
	}
	// savez writes arr_0, arr_1, ... in order; other writers may not.
	number := func(name string) int {
		s, ok := strings.CutPrefix(name, "arr_")
		n, err := strconv.Atoi(s)
		if !ok || err != nil {
			return -1
		}
		return n
	}
	if !slices.ContainsFunc(a.names, func(s string) bool { return number(s) < 0 }) {
		slices.SortFunc(a.names, func(x, y string) int { return number(x) - number(y) })
	}
	return a, nil
}

// read reads an array, which may be done once.
func (a *arrays) read(name string) (*tensor.Tensor, error) {
	f := a.files[name]
	if f == nil {
		return nil, fmt.Errorf("there is no array %q", name)
	}
	if a.used[name] {
		return nil, fmt.Errorf("array %q is used twice", name)
	}
	a.used[name] = true
	size := f.UncompressedSize64
	if f.Method == zip.Store {
		if size != f.CompressedSize64 {
			return nil, fmt.Errorf("array %q: sizes in the archive differ", name)
		}
	} else {
		if size > a.left {
			return nil, fmt.Errorf("array %q: compressed arrays of more than %d bytes together; store them with numpy.savez", name, maxInflated)
		}
		a.left -= size
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("array %q: %w", name, err)
	}
	defer r.Close()
	t, err := readArray(r, size)
	if err != nil {
		return nil, fmt.Errorf("array %q: %w", name, err)
	}
	return t, nil
}
