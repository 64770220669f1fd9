// SPDX-License-Identifier: Apache-2.0

package arrow

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"varve.dev/zarr/columnar"
)

// buffer is a FlatBuffer that is not trusted. It keeps the first error; after one, all
// that is read is zero and empty.
type buffer struct {
	data []byte
	// room is how many bytes of tables and lists may still be visited. Short metadata
	// must not have a long content, in which many tables share one list.
	room int
	err  error
}

// root returns the root table of a FlatBuffer.
func root(data []byte) table {
	b := &buffer{data: data, room: 4*len(data) + 1<<12}
	if len(data) < 8 {
		b.fail("the metadata is too short")
		return table{b: b}
	}
	return b.table(b.offset(0))
}

func (b *buffer) fail(text string) {
	if b.err == nil {
		b.err = fmt.Errorf("%w: %s", columnar.ErrCorrupt, text)
	}
}

// covers reports whether n bytes from a place on are in the buffer, and may be visited.
func (b *buffer) covers(at, n int) bool {
	if b.room -= n; b.err == nil && at > 0 && n >= 0 && at <= len(b.data)-n && b.room >= 0 {
		return true
	}
	b.fail("the metadata leads out of itself")
	return false
}

func (b *buffer) uint16(at int) int { return int(binary.LittleEndian.Uint16(b.data[at:])) }

func (b *buffer) uint32(at int) int64 { return int64(binary.LittleEndian.Uint32(b.data[at:])) }

// offset returns the place to which the offset at a place leads.
func (b *buffer) offset(at int) int {
	if n := b.uint32(at); n > 0 && n < int64(len(b.data)-at) {
		return at + int(n)
	}
	b.fail("the metadata leads out of itself")
	return 0
}

// table is a table of a buffer.
type table struct {
	b  *buffer
	at int // 0 for none, which has no fields
	// slots is where the offsets of the fields are, and count how many.
	slots, count int
}

// table returns the table at a place.
func (b *buffer) table(at int) table {
	none := table{b: b}
	if b.err != nil || !b.covers(at, 4) {
		return none
	}
	v := int64(at) - int64(int32(b.uint32(at)))
	if v <= 0 || v > int64(len(b.data)-4) {
		b.fail("the metadata leads out of itself")
		return none
	}
	size := b.uint16(int(v))
	if size < 4 || size%2 != 0 || !b.covers(int(v), size) {
		b.fail("the metadata leads out of itself")
		return none
	}
	return table{b: b, at: at, slots: int(v) + 4, count: size/2 - 2}
}

// field returns the place of a field of some bytes, or 0 if the table does not have it.
func (t table) field(slot, bytes int) int {
	if t.at == 0 || slot >= t.count || t.b.err != nil {
		return 0
	}
	o := t.b.uint16(t.slots + 2*slot)
	if o == 0 || !t.b.covers(t.at+o, bytes) {
		return 0
	}
	return t.at + o
}

// number returns a field of 1, 2, 4 or 8 bytes, or what it is without one.
func (t table) number(slot, bytes int, without int64) int64 {
	at := t.field(slot, bytes)
	if at == 0 {
		return without
	}
	return integer(t.b.data[at:], bytes)
}

// integer returns a signed number of 1, 2, 4 or 8 bytes.
func integer(p []byte, bytes int) int64 {
	switch bytes {
	case 1:
		return int64(int8(p[0]))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(p)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(p)))
	}
	return int64(binary.LittleEndian.Uint64(p))
}

// to returns the place to which a field leads, 0 if the table does not have it.
func (t table) to(slot int) int {
	at := t.field(slot, 4)
	if at == 0 {
		return 0
	}
	return t.b.offset(at)
}

// below returns the table to which a field leads. It has no fields without one.
func (t table) below(slot int) table {
	at := t.to(slot)
	if at == 0 {
		return table{b: t.b}
	}
	return t.b.table(at)
}

// vector is a list of elements of one size.
type vector struct {
	b       *buffer
	at, len int
	size    int // of an element, in bytes
}

// vector returns the list to which a field leads. It is empty without one.
func (t table) vector(slot, size int) vector {
	at := t.to(slot)
	if at == 0 || !t.b.covers(at, 4) {
		return vector{b: t.b}
	}
	n := t.b.uint32(at)
	if n > int64(len(t.b.data))/int64(size) || n > 0 && !t.b.covers(at+4, int(n)*size) {
		t.b.fail("the metadata leads out of itself")
		return vector{b: t.b}
	}
	return vector{t.b, at + 4, int(n), size}
}

// number returns the number of some bytes at a place in an element.
func (v vector) number(i, at, bytes int) int64 {
	return integer(v.b.data[v.at+i*v.size+at:], bytes)
}

// table returns the table to which an element leads.
func (v vector) table(i int) table {
	if v.b.err != nil {
		return table{b: v.b}
	}
	return v.b.table(v.b.offset(v.at + i*v.size))
}

// text returns a string. It is empty without one.
func (t table) text(slot int) string {
	v := t.vector(slot, 1)
	if v.len == 0 {
		return ""
	}
	raw := v.b.data[v.at : v.at+v.len]
	if !utf8.Valid(raw) {
		t.b.fail("a name is not UTF-8")
	}
	return string(raw)
}

// pairs returns a list of keys and values.
func (t table) pairs(slot int) (list []columnar.Pair) {
	v := t.vector(slot, 4)
	for i := 0; i < v.len && t.b.err == nil; i++ {
		p := v.table(i)
		list = append(list, columnar.Pair{Key: p.text(0), Value: p.text(1)})
	}
	return list
}
