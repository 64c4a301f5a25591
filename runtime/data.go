package runtime

import (
	"slices"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/schema/flattensor"
	"github.com/etgo-ml/etgo/schema/program"
)

// DataFile is the content of a .ptd file: tensors and other data by name. It is
// immutable and may be used by any number of programs and goroutines.
type DataFile struct {
	file *flattensor.File
}

// NewDataFile decodes and verifies the bytes of a .ptd file. The result aliases
// them. An error is ErrInvalidExternalData.
func NewDataFile(file []byte) (*DataFile, error) {
	f, err := flattensor.Decode(file)
	if err != nil {
		return nil, err
	}
	return &DataFile{file: f}, nil
}

// Keys returns the names in the file, sorted.
func (d *DataFile) Keys() []string {
	keys := make([]string, len(d.file.Data))
	for i := range d.file.Data {
		keys[i] = d.file.Data[i].Key
	}
	slices.Sort(keys)
	return keys
}

// DataSet is a program's named data together with data files: what external
// tensors and delegates find by name. Methods loaded with the same DataSet share
// what kernels pack of it.
type DataSet struct {
	entries map[string]dataEntry
	shared  SharedCache
}

type dataEntry struct {
	bytes  []byte
	layout *flattensor.TensorLayout
}

// newDataSet merges. A key that two sources have is an error, as ExecuTorch
// could not tell which is meant.
func newDataSet(p *program.Program, files []*DataFile) (*DataSet, error) {
	d := &DataSet{entries: make(map[string]dataEntry, len(p.NamedData))}
	for _, n := range p.NamedData {
		d.entries[n.Key] = dataEntry{bytes: p.Segments[n.Segment]}
	}
	for _, f := range files {
		for i := range f.file.Data {
			n := &f.file.Data[i]
			if _, ok := d.entries[n.Key]; ok {
				return nil, errs.InvalidArgument.Errorf("data key %q is in more than one of the program and its data files", n.Key)
			}
			d.entries[n.Key] = dataEntry{bytes: n.Bytes, layout: n.Layout}
		}
	}
	return d, nil
}

func (d *DataSet) lookup(key string) ([]byte, *flattensor.TensorLayout, error) {
	e, ok := d.entries[key]
	if !ok {
		return nil, nil, errs.NotFound.Errorf("no data with the key %q in the program or its data files", key)
	}
	return e.bytes, e.layout, nil
}
