// SPDX-License-Identifier: Apache-2.0

package format

import (
	"encoding/binary"
	"fmt"
	"iter"
	"unicode/utf8"
)

// buffer is a FlatBuffer that is not trusted. It keeps the first error; after one, all
// that is read is zero and empty.
type buffer struct {
	data []byte
	left int // tables that may still be visited
	room int // bytes of lists that may still be visited; some programs share lists
	// later means that a table has fields of a later version of the specification.
	later bool
	err   error
}

func newBuffer(data []byte) *buffer {
	return &buffer{data: data, left: len(data)/4 + 1, room: 4*len(data) + 1<<16}
}

// visit counts the bytes of a list: a short object must not have a long content, in which
// many tables share one list.
func (b *buffer) visit(n int) bool {
	if b.room -= n; b.room < 0 {
		b.fail("its lists have more bytes than it")
	}
	return b.err == nil
}

// fail keeps an error.
func (b *buffer) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
	}
}

// covers reports whether n bytes from a place on are in the buffer.
func (b *buffer) covers(at, n int) bool {
	if b.err == nil && at > 0 && n >= 0 && at <= len(b.data)-n {
		return true
	}
	b.fail("an offset leads out of it")
	return false
}

func (b *buffer) uint16(at int) int { return int(binary.LittleEndian.Uint16(b.data[at:])) }

func (b *buffer) uint32(at int) uint32 { return binary.LittleEndian.Uint32(b.data[at:]) }

// offset returns the place to which the offset at a place leads.
func (b *buffer) offset(at int) int {
	if n := int64(b.uint32(at)); n > 0 && n < int64(len(b.data)-at) {
		return at + int(n)
	}
	b.fail("an offset leads out of it")
	return 0
}

// table is a table of a buffer. The zero value has no fields.
type table struct {
	b  *buffer
	at int
	// slots is where the offsets of the fields are, and count how many.
	slots, count int
}

// table returns the table at a place.
func (b *buffer) table(at int) table {
	if !b.covers(at, 4) {
		return table{}
	}
	if b.left--; b.left < 0 {
		b.fail("it has more tables than bytes")
		return table{}
	}
	v := int64(at) - int64(int32(b.uint32(at)))
	if v < 0 || v > int64(len(b.data)-4) {
		b.fail("a table leads out of it")
		return table{}
	}
	slots := b.uint16(int(v))
	if slots < 4 || slots%2 != 0 || !b.covers(max(1, int(v)), slots) {
		b.fail("a table leads out of it")
		return table{}
	}
	return table{b: b, at: at, slots: int(v) + 4, count: slots/2 - 2}
}

// known says how many slots the tables of a kind have in the version that this package
// knows.
func (t table) known(slots int) table {
	for i := slots; i < t.count; i++ {
		if t.b.uint16(t.slots+2*i) != 0 {
			t.b.later = true
		}
	}
	return t
}

// field returns the place of a field of some bytes, or 0 if the table does not have it.
func (t table) field(slot, bytes int) int {
	if slot >= t.count {
		return 0
	}
	o := t.b.uint16(t.slots + 2*slot)
	if o == 0 {
		return 0
	}
	// The length of a table is not compared: the builder for Go lets tables share what
	// describes them if they differ only in that.
	if !t.b.covers(t.at+o, bytes) {
		return 0
	}
	return t.at + o
}

// number returns a field of 1, 2, 4 or 8 bytes, or what it is without one.
func (t table) number(slot, bytes int, without uint64) uint64 {
	at := t.field(slot, bytes)
	if at == 0 {
		return without
	}
	n := uint64(0)
	for i := range bytes {
		n |= uint64(t.b.data[at+i]) << (8 * i)
	}
	return n
}

// structure returns the bytes of a structure, nil if the table does not have it.
func (t table) structure(slot, bytes int) []byte {
	at := t.field(slot, bytes)
	if at == 0 {
		return nil
	}
	return t.b.data[at : at+bytes]
}

// to returns the place to which a field leads, 0 if the table does not have it.
func (t table) to(slot int) int {
	at := t.field(slot, 4)
	if at == 0 {
		return 0
	}
	return t.b.offset(at)
}

// contains reports whether the table has a field.
func (t table) contains(slot int) bool { return t.field(slot, 1) != 0 }

// below returns the table to which a field leads. ok is false without one.
func (t table) below(slot int) (is table, ok bool) {
	at := t.to(slot)
	if at == 0 {
		return table{}, false
	}
	is = t.b.table(at)
	return is, t.b.err == nil
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
		return vector{}
	}
	n := int64(t.b.uint32(at))
	if n > int64(len(t.b.data)-at-4)/int64(size) {
		t.b.fail("a list leads out of it")
		return vector{}
	}
	if !t.b.visit(int(n) * size) {
		return vector{}
	}
	return vector{t.b, at + 4, int(n), size}
}

// element returns the bytes of an element.
func (v vector) element(i int) []byte {
	at := v.at + i*v.size
	return v.b.data[at : at+v.size]
}

// table returns the table to which an element leads.
func (v vector) table(i int) table {
	at := v.b.offset(v.at + i*v.size)
	if v.b.err != nil {
		return table{}
	}
	return v.b.table(at)
}

// tables yields the tables to which the elements lead, up to the first error. What is
// parsed of a short object must not be long, so nothing is collected after an error.
func (v vector) tables() iter.Seq2[int, table] {
	return func(yield func(int, table) bool) {
		for i := range v.len {
			if t := v.table(i); v.b.err != nil || !yield(i, t) {
				return
			}
		}
	}
}

// all returns the bytes of all elements.
func (v vector) all() []byte {
	if v.b == nil {
		return nil
	}
	return v.b.data[v.at : v.at+v.len*v.size]
}

// bytes returns a list of bytes, nil without one.
func (t table) bytes(slot int) []byte { return t.vector(slot, 1).all() }

// utf8 returns the bytes of a string, which is UTF-8.
func (t table) utf8(slot int) []byte {
	raw := t.bytes(slot)
	if !utf8.Valid(raw) {
		t.b.fail("a text is not UTF-8")
		return nil
	}
	return raw
}

// text returns a string.
func (t table) text(slot int) string { return string(t.utf8(slot)) }

// text returns the string to which an element leads.
func (v vector) text(i int) string {
	at := v.b.offset(v.at + i*v.size)
	if v.b.err != nil || !v.b.covers(at, 4) {
		return ""
	}
	n := v.b.uint32(at)
	if !v.b.visit(int(min(n, 1<<30))) {
		return ""
	}
	if int64(n) > int64(len(v.b.data)-at-4) || !utf8.Valid(v.b.data[at+4:at+4+int(n)]) {
		v.b.fail("a text is not UTF-8, or leads out of it")
		return ""
	}
	return string(v.b.data[at+4 : at+4+int(n)])
}

// objectID returns a field that every object of this kind has.
func (t table) objectID(slot int, what string) (id ObjectID) {
	if raw := t.structure(slot, len(id)); raw != nil {
		return ObjectID(raw)
	}
	t.need(false, what)
	return id
}

// need fails unless a field is there.
func (t table) need(is bool, what string) {
	if !is && t.b != nil {
		t.b.fail("it has no %s", what)
	}
}
