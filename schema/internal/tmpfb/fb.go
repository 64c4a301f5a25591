// Package tmpfb is a placeholder reader until the verifying one is there.
package tmpfb

import (
	"encoding/binary"
	"errors"
)

var ErrBad = errors.New("malformed flatbuffer")

type Table struct {
	B []byte
	P int
}

func u32(b []byte, p int) int {
	if p < 0 || p+4 > len(b) {
		panic(ErrBad)
	}
	return int(binary.LittleEndian.Uint32(b[p:]))
}
func Root(b []byte) Table { return Table{b, u32(b, 0)} }
func (t Table) field(i int) int {
	vt := t.P - int(int32(u32(t.B, t.P)))
	if vt < 0 || vt+4 > len(t.B) {
		panic(ErrBad)
	}
	n := int(binary.LittleEndian.Uint16(t.B[vt:]))
	o := 4 + 2*i
	if o+2 > n || vt+o+2 > len(t.B) {
		return 0
	}
	f := int(binary.LittleEndian.Uint16(t.B[vt+o:]))
	if f == 0 {
		return 0
	}
	return t.P + f
}
func (t Table) get(i, n int) []byte {
	p := t.field(i)
	if p == 0 {
		return nil
	}
	if p+n > len(t.B) {
		panic(ErrBad)
	}
	return t.B[p : p+n]
}
func (t Table) U8(i int) uint8 {
	if b := t.get(i, 1); b != nil {
		return b[0]
	}
	return 0
}
func (t Table) U32(i int) uint32 {
	if b := t.get(i, 4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}
func (t Table) U64(i int) uint64 {
	if b := t.get(i, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}
func (t Table) ref(i int) int {
	p := t.field(i)
	if p == 0 {
		return 0
	}
	return p + u32(t.B, p)
}
func (t Table) Sub(i int) (Table, bool) {
	p := t.ref(i)
	return Table{t.B, p}, p != 0
}
func (t Table) Vec(i, size int) ([]byte, int) {
	p := t.ref(i)
	if p == 0 {
		return nil, 0
	}
	n := u32(t.B, p)
	if p+4+n*size > len(t.B) {
		panic(ErrBad)
	}
	return t.B[p+4 : p+4+n*size], n
}
func (t Table) Str(i int) string { b, _ := t.Vec(i, 1); return string(b) }
func (t Table) I32s(i int) []int32 {
	b, n := t.Vec(i, 4)
	r := make([]int32, n)
	for k := range r {
		r[k] = int32(binary.LittleEndian.Uint32(b[4*k:]))
	}
	return r
}
func (t Table) U64s(i int) []uint64 {
	b, n := t.Vec(i, 8)
	r := make([]uint64, n)
	for k := range r {
		r[k] = binary.LittleEndian.Uint64(b[8*k:])
	}
	return r
}
func (t Table) Tables(i int) []Table {
	p := t.ref(i)
	if p == 0 {
		return nil
	}
	n := u32(t.B, p)
	r := make([]Table, n)
	for k := range r {
		q := p + 4 + 4*k
		r[k] = Table{t.B, q + u32(t.B, q)}
	}
	return r
}
