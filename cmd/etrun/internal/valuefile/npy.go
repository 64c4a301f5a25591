package valuefile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"codeberg.org/sbinet/npyio/npy"

	"github.com/etgo-ml/etgo/tensor"
)

// maxHeader bounds the header of an array, a line of text that says little.
const maxHeader = 64 << 10

// descrs are NumPy's names of the types, without the byte order.
var descrs = map[tensor.DType]string{
	tensor.Bool: "b1",
	tensor.U8:   "u1", tensor.U16: "u2", tensor.U32: "u4", tensor.U64: "u8",
	tensor.I8: "i1", tensor.I16: "i2", tensor.I32: "i4", tensor.I64: "i8",
	tensor.F16: "f2", tensor.F32: "f4", tensor.F64: "f8",
	tensor.C64: "c8", tensor.C128: "c16",
}

// bitsOf returns the type in which NumPy stores d: d itself, or for a type that
// NumPy lacks the unsigned integer of its size.
func bitsOf(d tensor.DType) tensor.DType {
	if descrs[d] != "" {
		return d
	}
	switch d.Size() {
	case 2:
		return tensor.U16
	case 4:
		return tensor.U32
	}
	return tensor.U8
}

// parseDescr returns the type that a header names, as in "'<f4'", and whether it
// is stored in big-endian order.
func parseDescr(s string) (d tensor.DType, swap bool, err error) {
	if strings.HasPrefix(s, "[") {
		return 0, false, fmt.Errorf("an array of records, %s", s)
	}
	s = strings.Trim(s, `'"`)
	order, name := "", s
	if s != "" && strings.Contains("<>|=", s[:1]) {
		order, name = s[:1], s[1:]
	}
	if strings.HasPrefix(name, "O") {
		return 0, false, fmt.Errorf("an array of Python objects, which is never read as it may run code")
	}
	for d, n := range descrs {
		if n == name {
			return d, order == ">" && d.Size() > 1, nil
		}
	}
	return 0, false, fmt.Errorf("elements of NumPy type %q, which no tensor has", s)
}

// readHeader reads the header of an array and returns its length too.
func readHeader(r io.Reader) (h npy.Header, length int, err error) {
	b := make([]byte, 10, 12)
	if _, err := io.ReadFull(r, b); err != nil || !bytes.HasPrefix(b, npy.Magic[:]) {
		return h, 0, fmt.Errorf("not a NumPy array")
	}
	n := int(binary.LittleEndian.Uint16(b[8:]))
	if major := b[6]; major > 1 {
		b = b[:12]
		if _, err := io.ReadFull(r, b[10:]); err != nil {
			return h, 0, fmt.Errorf("header cut off")
		}
		n = int(min(binary.LittleEndian.Uint32(b[8:]), maxHeader+1))
	}
	if n > maxHeader {
		return h, 0, fmt.Errorf("a header of more than %d bytes", maxHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, 0, fmt.Errorf("header cut off")
	}
	h, err = parseHeader(append(b, text...))
	return h, len(b) + n, err
}

// parseHeader leaves it to npyio, which takes for granted what a hostile file may
// lack and panics then.
func parseHeader(b []byte) (h npy.Header, err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("malformed header")
		}
	}()
	r, err := npy.NewReader(bytes.NewReader(b))
	if err != nil {
		return h, err
	}
	return r.Header, nil
}

// readArray reads an array that takes size bytes with its header. The result is
// contiguous.
func readArray(r io.Reader, size uint64) (*tensor.Tensor, error) {
	h, length, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	dtype, swap, err := parseDescr(h.Descr.Type)
	if err != nil {
		return nil, err
	}
	shape := h.Descr.Shape
	if len(shape) > tensor.MaxRank {
		return nil, fmt.Errorf("rank %d is above the limit of %d", len(shape), tensor.MaxRank)
	}
	nbytes, err := tensor.NBytes(dtype, shape)
	if err != nil {
		return nil, err
	}
	if want := uint64(length) + uint64(nbytes); want != size {
		return nil, fmt.Errorf("%d bytes where %s takes %d", size, tensor.Describe(dtype, shape), want)
	}
	order := slices.Clone(tensor.Contiguous(len(shape)))
	if h.Descr.Fortran {
		slices.Reverse(order)
	}
	t, err := tensor.New(dtype, shape, tensor.WithDimOrder(order))
	if err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(r, t.Bytes()); err != nil {
		return nil, fmt.Errorf("reading %v: %w", t, err)
	}
	if swap {
		swapBytes(t)
	}
	t = t.Contiguous()
	return t, t.Err()
}

// swapBytes reverses the bytes of each number in t.
func swapBytes(t *tensor.Tensor) {
	size := t.DType().Size()
	if t.DType().IsComplex() {
		size /= 2
	}
	for b := t.Bytes(); len(b) > 0; b = b[size:] {
		slices.Reverse(b[:size])
	}
}

// writeArray writes a tensor in logical order.
func writeArray(w io.Writer, t *tensor.Tensor) error {
	t = t.Contiguous()
	if err := t.Err(); err != nil {
		return err
	}
	if _, err := w.Write(header(t.DType(), t.Shape())); err != nil {
		return err
	}
	_, err := w.Write(t.Bytes())
	return err
}

// header returns an array's header as NumPy writes it: version 1, padded to a
// multiple of 64 bytes. npyio only writes those of nested slices.
func header(dtype tensor.DType, shape []int) []byte {
	dtype = bitsOf(dtype)
	order := "<"
	if dtype.Size() == 1 {
		order = "|"
	}
	sizes := make([]string, len(shape))
	for i, s := range shape {
		sizes[i] = fmt.Sprint(s)
	}
	tuple := strings.Join(sizes, ", ")
	if len(shape) == 1 {
		tuple += ","
	}
	dict := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", order, descrs[dtype], tuple)
	const fixed = len("\x93NUMPY") + 4
	dict += strings.Repeat(" ", 63-(fixed+len(dict))%64) + "\n"
	b := append(slices.Clone(npy.Magic[:]), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(dict)))
	return append(b, dict...)
}
