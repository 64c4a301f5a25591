// Package fb reads flatbuffers that nobody vouches for.
//
// Every offset is checked when it is followed, so a Reader never panics, never
// reads outside its buffer and needs no separate verification pass. It checks
// what flatbuffers' own verifier checks, bounds and alignment of tables,
// vtables, vectors and strings, and one thing more: the buffer must not unfold.
//
// A flatbuffer unfolds when many offsets lead to one object: a file of a few
// kilobytes can refer ten thousand times to a vector of ten thousand elements.
// A Reader therefore has a budget in proportion to its buffer. Everything that
// is decoded is charged to it, in bytes of decoded memory.
//
// The first fault sticks: later reads give zero values, and Err tells what was
// wrong and where. Scalars are assembled from bytes, so neither the buffer nor
// anything in it has to be aligned in memory.
package fb

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"unicode/utf8"
)

const (
	// maxDepth bounds how deep tables may be nested, as flatbuffers' verifier does.
	maxDepth = 64
	// budgetBase and budgetFactor give the budget of a buffer. Programs take 2 to 5
	// bytes of decoded memory for each of theirs.
	budgetBase   = 64 << 10
	budgetFactor = 16
	// tableCost is charged for looking at a table.
	tableCost = 16
	// stringCost is what a string takes beside its bytes.
	stringCost = 64
	// rootMin is the least offset of the root table: behind it stands the file
	// identifier.
	rootMin = 8
)

// Reader reads one flatbuffer. It is not safe for concurrent use.
type Reader struct {
	buf     []byte
	left    int64
	err     error
	strings map[int]text // by position: what is shared in the file stays shared
}

type text struct {
	s     string
	valid bool // UTF-8
}

// NewReader returns a Reader for buf, which it keeps.
func NewReader(buf []byte) *Reader {
	return &Reader{buf: buf, left: budgetBase + budgetFactor*int64(len(buf)), strings: map[int]text{}}
}

// Err returns the first fault that was found, or nil.
func (r *Reader) Err() error { return r.err }

func (r *Reader) fail(pos int, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("byte %d: %s", pos, fmt.Sprintf(format, args...))
	}
}

// charge takes n bytes from the budget.
func (r *Reader) charge(n int64) bool {
	if r.err != nil {
		return false
	}
	if n > r.left {
		r.err = fmt.Errorf("%d bytes refer to the same data again and again: they unfold to more than %d bytes",
			len(r.buf), budgetBase+budgetFactor*int64(len(r.buf)))
		return false
	}
	r.left -= n
	return true
}

// Make returns a slice of n elements and charges it to the budget. It returns
// nil for no elements, and after a fault.
func Make[T any](r *Reader, n int) []T {
	if n <= 0 || !r.charge(int64(n)*int64(reflect.TypeFor[T]().Size())) {
		return nil
	}
	return make([]T, n)
}

// New returns a new T and charges it to the budget, nil after a fault.
func New[T any](r *Reader) *T {
	if !r.charge(int64(reflect.TypeFor[T]().Size())) {
		return nil
	}
	return new(T)
}

// Root returns the root table.
func (r *Reader) Root() Table {
	if len(r.buf) < rootMin+4 {
		r.fail(0, "a flatbuffer has at least %d bytes, this one has %d", rootMin+4, len(r.buf))
		return Table{}
	}
	pos := binary.LittleEndian.Uint32(r.buf)
	if pos < rootMin {
		r.fail(0, "root offset %d leads into the file's head", pos)
		return Table{}
	}
	return r.table(uint64(pos), 0, 0)
}

// follow returns the target of the offset that is stored at pos, of which at
// least 4 bytes are in the buffer.
func (r *Reader) follow(pos int) (uint64, bool) {
	off := binary.LittleEndian.Uint32(r.buf[pos:])
	if off == 0 {
		r.fail(pos, "offset is 0")
		return 0, false
	}
	target := uint64(pos) + uint64(off)
	if target > uint64(len(r.buf)-4) {
		r.fail(pos, "offset leads to byte %d of %d", target, len(r.buf))
		return 0, false
	}
	if target%4 != 0 {
		r.fail(pos, "offset leads to byte %d, which is not a multiple of 4", target)
		return 0, false
	}
	return target, true
}

// table checks the table at pos, to which the offset at from leads.
func (r *Reader) table(pos uint64, from, depth int) Table {
	if !r.charge(tableCost) {
		return Table{}
	}
	if depth > maxDepth {
		r.fail(from, "tables are nested more than %d deep", maxDepth)
		return Table{}
	}
	if pos%4 != 0 || pos > uint64(len(r.buf)-4) {
		r.fail(from, "offset leads to byte %d of %d, where no table can be", pos, len(r.buf))
		return Table{}
	}
	p := int(pos)
	vt := int64(p) - int64(int32(binary.LittleEndian.Uint32(r.buf[p:])))
	if vt < 0 || vt%2 != 0 || vt > int64(len(r.buf)-4) {
		r.fail(p, "table has its vtable at byte %d of %d", vt, len(r.buf))
		return Table{}
	}
	v := int(vt)
	vsize := int(binary.LittleEndian.Uint16(r.buf[v:]))
	if vsize < 4 || vsize%2 != 0 || vsize > len(r.buf)-v {
		r.fail(v, "vtable has a size of %d", vsize)
		return Table{}
	}
	// The table's size, which follows, says nothing: where writers in Python and Go
	// share a vtable between tables they compare all of it but this.
	return Table{r: r, pos: p, vtable: v, vsize: vsize, depth: depth}
}

// Table is a table of the buffer. The zero Table has no fields; it stands for a
// table that is absent or that could not be read.
type Table struct {
	r      *Reader
	pos    int
	vtable int
	vsize  int
	depth  int
}

// Present reports whether t is there.
func (t Table) Present() bool { return t.r != nil }

// Has reports whether the field with the given id is set.
func (t Table) Has(id int) bool {
	_, ok := t.field(id, 0)
	return ok
}

// field returns the position of a field of width bytes, false if it is not set.
func (t Table) field(id, width int) (int, bool) {
	if t.r == nil || t.r.err != nil || 4+2*id+2 > t.vsize {
		return 0, false
	}
	off := int(binary.LittleEndian.Uint16(t.r.buf[t.vtable+4+2*id:]))
	if off == 0 {
		return 0, false
	}
	if off < 4 || off+width > len(t.r.buf)-t.pos {
		t.r.fail(t.pos, "field %d of %d bytes has the offset %d in a table with %d bytes behind it", id, width, off, len(t.r.buf)-t.pos)
		return 0, false
	}
	return t.pos + off, true
}

// Bool returns a field of type bool.
func (t Table) Bool(id int) bool { return t.Uint8(id) != 0 }

// Uint8 returns a field of type ubyte or of a union's type, 0 if it is not set.
func (t Table) Uint8(id int) uint8 {
	if p, ok := t.field(id, 1); ok {
		return t.r.buf[p]
	}
	return 0
}

// Int8 returns a field of type byte.
func (t Table) Int8(id int) int8 { return int8(t.Uint8(id)) }

// Uint32 returns a field of type uint.
func (t Table) Uint32(id int) uint32 {
	if p, ok := t.field(id, 4); ok {
		return binary.LittleEndian.Uint32(t.r.buf[p:])
	}
	return 0
}

// Int32 returns a field of type int.
func (t Table) Int32(id int) int32 { return int32(t.Uint32(id)) }

// Uint64 returns a field of type ulong.
func (t Table) Uint64(id int) uint64 {
	if p, ok := t.field(id, 8); ok {
		return binary.LittleEndian.Uint64(t.r.buf[p:])
	}
	return 0
}

// Int64 returns a field of type long.
func (t Table) Int64(id int) int64 { return int64(t.Uint64(id)) }

// Float64 returns a field of type double.
func (t Table) Float64(id int) float64 { return math.Float64frombits(t.Uint64(id)) }

// Table returns a field that is a table, the zero Table if it is not set.
func (t Table) Table(id int) Table {
	p, ok := t.field(id, 4)
	if !ok {
		return Table{}
	}
	target, ok := t.r.follow(p)
	if !ok {
		return Table{}
	}
	return t.r.table(target, p, t.depth+1)
}

// Union returns the number of the union's member and its table. id is the field
// of the member's number; the table is in the field behind. The number 0 stands
// for no member.
func (t Table) Union(id int) (uint8, Table) {
	kind := t.Uint8(id)
	if kind == 0 {
		return 0, Table{}
	}
	return kind, t.Table(id + 1)
}

// vector returns the position of the first element of a vector, and their number.
func (t Table) vector(id, width int) (pos, n int, ok bool) {
	p, ok := t.field(id, 4)
	if !ok {
		return 0, 0, false
	}
	target, ok := t.r.follow(p)
	if !ok {
		return 0, 0, false
	}
	pos = int(target)
	count := binary.LittleEndian.Uint32(t.r.buf[pos:])
	pos += 4
	if uint64(count)*uint64(width) > uint64(len(t.r.buf)-pos) {
		t.r.fail(pos-4, "vector of %d elements of %d bytes does not fit into the %d bytes that follow", count, width, len(t.r.buf)-pos)
		return 0, 0, false
	}
	return pos, int(count), true
}

// Bytes returns a vector of bytes, which aliases the buffer; nil if it is empty
// or not set.
func (t Table) Bytes(id int) []byte {
	pos, n, ok := t.vector(id, 1)
	if !ok || n == 0 {
		return nil
	}
	return t.r.buf[pos : pos+n : pos+n]
}

// CopyBytes returns a copy of a vector of bytes; nil if it is empty or not set.
func (t Table) CopyBytes(id int) []byte {
	b := t.Bytes(id)
	if len(b) == 0 {
		return nil
	}
	c := Make[byte](t.r, len(b))
	copy(c, b)
	return c
}

// Int32s returns a copy of a vector of int; nil if it is empty or not set.
func (t Table) Int32s(id int) []int32 {
	return scalars(t, id, 4, func(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) })
}

// Int64s returns a copy of a vector of long.
func (t Table) Int64s(id int) []int64 {
	return scalars(t, id, 8, func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) })
}

// Uint64s returns a copy of a vector of ulong.
func (t Table) Uint64s(id int) []uint64 {
	return scalars(t, id, 8, binary.LittleEndian.Uint64)
}

// Float64s returns a copy of a vector of double.
func (t Table) Float64s(id int) []float64 {
	return scalars(t, id, 8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) })
}

// Bools returns a copy of a vector of bool.
func (t Table) Bools(id int) []bool {
	return scalars(t, id, 1, func(b []byte) bool { return b[0] != 0 })
}

func scalars[T any](t Table, id, width int, get func([]byte) T) []T {
	pos, n, ok := t.vector(id, width)
	if !ok {
		return nil
	}
	s := Make[T](t.r, n)
	for i := range s {
		s[i] = get(t.r.buf[pos+i*width:])
	}
	return s
}

// String returns a copy of a string, which may hold any bytes; empty if it is
// not set.
func (t Table) String(id int) string { return t.text(id).s }

// Name returns a string that must be valid UTF-8, because people will read it.
func (t Table) Name(id int) string {
	x := t.text(id)
	if !x.valid && t.r != nil && t.r.err == nil {
		t.r.fail(t.pos, "name %.64q in field %d is not valid UTF-8", x.s, id)
	}
	return x.s
}

func (t Table) text(id int) text {
	pos, n, ok := t.vector(id, 1)
	if !ok {
		return text{valid: true}
	}
	if x, ok := t.r.strings[pos]; ok {
		return x
	}
	if n == len(t.r.buf)-pos || t.r.buf[pos+n] != 0 {
		t.r.fail(pos-4, "string of %d bytes is not terminated by a zero", n)
		return text{}
	}
	if !t.r.charge(stringCost + int64(n)) {
		return text{}
	}
	s := string(t.r.buf[pos : pos+n])
	x := text{s: s, valid: utf8.ValidString(s)}
	t.r.strings[pos] = x
	return x
}

// Tables returns a vector of tables.
func (t Table) Tables(id int) Tables {
	pos, n, ok := t.vector(id, 4)
	if !ok {
		return Tables{}
	}
	return Tables{r: t.r, pos: pos, n: n, depth: t.depth + 1}
}

// Tables is a vector of tables.
type Tables struct {
	r     *Reader
	pos   int
	n     int
	depth int
}

// Len returns the number of tables.
func (v Tables) Len() int { return v.n }

// At returns the i-th table, the zero Table after a fault.
func (v Tables) At(i int) Table {
	if v.r == nil || v.r.err != nil || i < 0 || i >= v.n {
		return Table{}
	}
	p := v.pos + 4*i
	target, ok := v.r.follow(p)
	if !ok {
		return Table{}
	}
	return v.r.table(target, p, v.depth)
}
