// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"encoding/binary"
	"math"
)

// This file has Thrift's compact protocol. One method of each structure names its fields,
// for reading and for writing. Of a file that is read nothing is trusted: neither the
// lengths of lists nor the depth of structures.

// The types of the compact protocol.
const (
	typeTrue   = 1
	typeFalse  = 2
	typeI8     = 3
	typeI16    = 4
	typeI32    = 5
	typeI64    = 6
	typeDouble = 7
	typeBinary = 8
	typeList   = 9
	typeSet    = 10
	typeStruct = 12
	typeUUID   = 13
)

// mostDepth bounds the nesting of structures; those of files are at most seven deep.
const mostDepth = 16

// structure is what the protocol reads and writes.
type structure interface {
	// fields calls a method of p for each field, in the order of their numbers.
	fields(p *protocol)
}

// protocol reads structures from in, or writes them to out.
type protocol struct {
	reading bool
	in      []byte // what is not read yet
	out     []byte
	before  int // bytes of in at the start
	err     error
	depth   int
	budget  *budget // of the memory for lists and texts, if any

	number int16 // of the field before, or of the one that is read
	kind   byte  // the type of the field that is read
	taken  bool  // whether a method has read it
}

// unmarshal reads a structure at the start of data. It returns its length in bytes.
func unmarshal(data []byte, s structure, b *budget) (int, error) {
	p := protocol{reading: true, in: data, before: len(data), budget: b}
	p.structure(s)
	return len(data) - len(p.in), p.err
}

// marshal appends a structure.
func marshal(dst []byte, s structure) []byte {
	p := protocol{out: dst}
	p.structure(s)
	return p.out
}

func (p *protocol) fail(err error) {
	if p.err == nil {
		p.err = err
	}
	p.in = nil
}

func (p *protocol) errEnd() error {
	return corruptf("a structure goes beyond its end at byte %d", p.before-len(p.in))
}

// take returns the next n bytes, or nil after an error.
func (p *protocol) take(n uint64) []byte {
	if p.err == nil && n > uint64(len(p.in)) {
		p.fail(p.errEnd())
	}
	if p.err != nil {
		return nil
	}
	b := p.in[:n]
	p.in = p.in[n:]
	return b
}

func (p *protocol) byte() byte {
	if b := p.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (p *protocol) uvarint() uint64 {
	x, n := binary.Uvarint(p.in)
	if n <= 0 {
		p.fail(p.errEnd())
		return 0
	}
	p.in = p.in[n:]
	return x
}

// structure reads or writes the fields of a structure.
func (p *protocol) structure(s structure) {
	number := p.number
	p.number = 0
	if !p.reading {
		s.fields(p)
		p.out = append(p.out, 0)
		p.number = number
		return
	}
	if p.depth++; p.depth > mostDepth {
		p.fail(unsupportedf("structures more than %d deep", mostDepth))
	}
	for p.err == nil && p.head() {
		p.taken = false
		s.fields(p)
		if !p.taken {
			p.skip(p.kind, false)
		}
	}
	p.depth--
	p.number, p.taken = number, true
}

// head reads the number and the type of the next field. It returns false at the end.
func (p *protocol) head() bool {
	head := p.byte()
	if head == 0 {
		return false
	}
	// The upper bits are the difference to the number of the field before, if small.
	if head>>4 == 0 {
		x := p.uvarint()
		p.number = int16(x>>1) ^ -int16(x&1)
	} else {
		p.number += int16(head >> 4)
	}
	p.kind = head & 15
	return p.err == nil
}

// skip goes over a value.
func (p *protocol) skip(kind byte, inList bool) {
	switch kind {
	case typeTrue, typeFalse:
		// A boolean in a list takes a byte. In a structure its type is its value.
		if inList {
			p.byte()
		}
	case typeI8:
		p.byte()
	case typeI16, typeI32, typeI64:
		p.uvarint()
	case typeDouble:
		p.take(8)
	case typeUUID:
		p.take(16)
	case typeBinary:
		p.take(p.uvarint())
	case typeStruct:
		p.structure(nothing{})
	case typeList, typeSet:
		if p.depth++; p.depth > mostDepth {
			p.fail(unsupportedf("structures more than %d deep", mostDepth))
		}
		n, kind := p.list()
		for ; n > 0 && p.err == nil; n-- {
			p.skip(kind, true)
		}
		p.depth--
	default:
		// Maps are the only other type, and the metadata of Parquet have none.
		p.fail(unsupportedf("a structure with a value of type %d", kind))
	}
}

// nothing is a structure without fields, or one that is skipped.
type nothing struct{}

func (nothing) fields(*protocol) {}

// list reads the head of a list. Each element takes a byte at least.
func (p *protocol) list() (n int, kind byte) {
	head := p.byte()
	x := uint64(head >> 4)
	if x == 15 { // the length of longer lists follows
		x = p.uvarint()
	}
	if p.err == nil && x > uint64(len(p.in)) {
		p.fail(p.errEnd())
	}
	if p.err != nil {
		return 0, 0
	}
	return int(x), head & 15
}

// field begins a field. In reading it reports whether this is the field to read, and in
// writing it writes the head of a field that is there.
func (p *protocol) field(number int16, kind byte, present bool) bool {
	if p.reading {
		if p.taken || p.number != number || p.kind != kind {
			return false
		}
		p.taken = true
		return true
	}
	if !present {
		return false
	}
	if d := number - p.number; d < 16 {
		p.out = append(p.out, byte(d)<<4|kind)
	} else {
		p.out = binary.AppendUvarint(append(p.out, kind), uint64(number)<<1)
	}
	p.number = number
	return true
}

// int is a field with a number. Without present it is written unless it is 0.
func (p *protocol) int(number int16, kind byte, x *int64, present bool) {
	if p.field(number, kind, present || *x != 0) {
		p.integer(kind, x)
	}
}

func (p *protocol) integer(kind byte, x *int64) {
	switch {
	case kind == typeI8 && p.reading:
		*x = int64(int8(p.byte()))
	case kind == typeI8:
		p.out = append(p.out, byte(*x))
	case p.reading:
		u := p.uvarint()
		*x = int64(u>>1) ^ -int64(u&1)
		if kind == typeI32 && (*x < math.MinInt32 || *x > math.MaxInt32) {
			p.fail(corruptf("the number %d in a field of 32 bits", *x))
		}
	default:
		p.out = binary.AppendVarint(p.out, *x)
	}
}

// flag is a boolean field, 0 for none.
type flag byte

const (
	yes flag = typeTrue
	no  flag = typeFalse
)

func flagOf(b bool) flag {
	if b {
		return yes
	}
	return no
}

func (p *protocol) flag(number int16, f *flag) {
	if !p.reading {
		p.field(number, byte(*f), *f != 0)
		return
	}
	for _, x := range []flag{yes, no} {
		if p.field(number, byte(x), false) {
			*f = x
		}
	}
}

// bytes is a field with bytes, nil for none. It may share the memory of the input.
func (p *protocol) bytes(number int16, b *[]byte) {
	if p.field(number, typeBinary, *b != nil) {
		p.binary(b)
	}
}

func (p *protocol) binary(b *[]byte) {
	if p.reading {
		*b = p.take(p.uvarint())
		return
	}
	p.out = append(binary.AppendUvarint(p.out, uint64(len(*b))), *b...)
}

// text is a field with text. Without present it is written unless it is empty.
func (p *protocol) text(number int16, s *string, present bool) {
	if p.field(number, typeBinary, present || *s != "") {
		p.string(s)
	}
}

func (p *protocol) string(s *string) {
	b := []byte(*s)
	p.binary(&b)
	if p.reading && p.reserve(int64(len(b))) {
		*s = string(b)
	}
}

// reserve takes memory for what is read.
func (p *protocol) reserve(n int64) bool {
	if p.budget != nil && p.err == nil {
		if err := p.budget.reserve(n); err != nil {
			p.fail(err)
		}
	}
	return p.err == nil
}

// sub is a field with a structure. It reports whether it was read.
func (p *protocol) sub(number int16, s structure, present bool) bool {
	if !p.field(number, typeStruct, present) {
		return false
	}
	p.structure(s)
	return p.reading
}

// listOf is a field with a list, of elements that take so many bytes in memory.
func listOf[T any](p *protocol, number int16, kind byte, list *[]T, bytes int64, present bool, each func(x *T)) {
	if !p.field(number, typeList, present || len(*list) != 0) {
		return
	}
	if !p.reading {
		if n := len(*list); n < 15 {
			p.out = append(p.out, byte(n)<<4|kind)
		} else {
			p.out = binary.AppendUvarint(append(p.out, 0xf0|kind), uint64(n))
		}
		for i := range *list {
			each(&(*list)[i])
		}
		return
	}
	n, found := p.list()
	if found != kind && n > 0 {
		p.fail(corruptf("a list of type %d, where %d is needed", found, kind))
	}
	*list = nil
	for ; n > 0 && p.err == nil; n-- {
		// A slice that grows is twice as large for a while.
		if p.reserve(2 * bytes) {
			*list = append(*list, *new(T))
			each(&(*list)[len(*list)-1])
		}
	}
}
