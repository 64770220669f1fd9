// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"varve.dev/zarr/internal/quantity"
)

// object is a group or a dataset.
type object interface {
	place() *int64 // of the address of its header
	// messages returns the messages of the header but its attributes.
	messages() ([]message, error)
	attributes() []Attribute
}

// Group is a group of a file. It has links to other objects.
type Group struct {
	Attributes []Attribute
	links      []link
	address    int64
}

// link is a hard link.
type link struct {
	name string
	to   object
}

// MaxMembers bounds the members of a group, and the attributes of an object.
const MaxMembers = math.MaxUint16

// AddGroup makes a group in g.
func (g *Group) AddGroup(name string, below *Group) { g.links = append(g.links, link{name, below}) }

// AddDataset adds a dataset to g.
func (g *Group) AddDataset(name string, d *Dataset) { g.links = append(g.links, link{name, d}) }

func (g *Group) place() *int64           { return &g.address }
func (g *Group) attributes() []Attribute { return g.Attributes }

// Dataset is an array of a file.
type Dataset struct {
	Type  Type
	Shape []int64 // empty for a single element
	// Unlimited says which axes can grow; nil for none. Such a dataset has chunks.
	Unlimited []bool
	// Chunk is the shape of chunks, or nil for contiguous elements.
	Chunk   []int64
	Filters []Filter
	// Fill is the value of elements without a chunk, in the bytes of the file; nil for
	// zeros.
	Fill       []byte
	Attributes []Attribute
	// ScaleName makes the dataset a dimension scale of this name.
	ScaleName string

	chunks  []chunk
	at      int64 // of the index of chunks or of the elements; 0 for none
	bytes   int64 // of contiguous elements
	address int64
	uses    []use
	scales  []*Dataset
}

// Filter is a filter of chunks (IV.A.2.l).
type Filter struct {
	ID     uint16
	Values []uint32
}

// The filters that every library has.
const (
	FilterDeflate = 1
	FilterShuffle = 2
)

// MaxChunk bounds the bytes of a chunk, before and after filters.
const MaxChunk = math.MaxUint32

// AddChunk adds a chunk: its number in C order, and where its encoded bytes are.
func (d *Dataset) AddChunk(number, at int64, bytes int) {
	d.chunks = append(d.chunks, chunk{number, at, uint32(bytes)})
}

// SetElements says where the elements are if there are no chunks.
func (d *Dataset) SetElements(at, bytes int64) { d.at, d.bytes = at, bytes }

func (d *Dataset) place() *int64           { return &d.address }
func (d *Dataset) attributes() []Attribute { return append(d.dimensionAttributes(), d.Attributes...) }

// message is a message of an object header.
type message struct {
	kind  byte
	flags byte
	order uint16 // in which attributes were made
	data  []byte
}

// The kinds of messages (IV.A.2).
const (
	kindDataspace  = 0x01
	kindLinkInfo   = 0x02
	kindDatatype   = 0x03
	kindFill       = 0x05
	kindLink       = 0x06
	kindLayout     = 0x08
	kindGroupInfo  = 0x0a
	kindFilters    = 0x0b
	kindAttribute  = 0x0c
	kindAttributes = 0x15
)

const (
	constant = 1      // a message never changes
	ordered  = 1 | 2  // the creation order is tracked, and indexed
	compact  = 8      // as many links or attributes a header has unless it says more
	dense    = 6      // below which the library moves them back into the header
	utf8Text = 1 << 4 // in link messages: the character set is stated
)

// header returns the header of an object (IV.A.1.b).
func header(o object, heap *Heap) ([]byte, error) {
	list, err := o.messages()
	if err != nil {
		return nil, err
	}
	attributes := o.attributes()
	if len(attributes) > MaxMembers {
		return nil, fmt.Errorf("hdf5: an object has at most %s", quantity.Count(MaxMembers, "attributes"))
	}
	info := binary.LittleEndian.AppendUint16([]byte{0, ordered}, uint16(len(attributes)))
	list = append(list, message{kind: kindAttributes, data: words(info, undefined, undefined, undefined)})
	for i, a := range attributes {
		b, err := a.message(heap)
		if err != nil {
			return nil, err
		}
		list = append(list, message{kind: kindAttribute, order: uint16(i), data: b})
	}
	const version, sizeOf4, tracked, indexed, limits = 2, 2, 1 << 2, 1 << 3, 1 << 4
	flags := byte(sizeOf4 | tracked | indexed)
	if len(attributes) > compact {
		flags |= limits
	}
	b := append([]byte("OHDR"), version, flags)
	if flags&limits != 0 {
		b = binary.LittleEndian.AppendUint16(b, MaxMembers)
		b = binary.LittleEndian.AppendUint16(b, dense)
	}
	var body []byte
	for _, m := range list {
		if len(m.data) > MaxMessage {
			return nil, fmt.Errorf("hdf5: a header message of %s, at most %d are possible", quantity.Count(len(m.data), "bytes"), MaxMessage)
		}
		body = append(body, m.kind)
		body = binary.LittleEndian.AppendUint16(body, uint16(len(m.data)))
		body = append(body, m.flags)
		body = binary.LittleEndian.AppendUint16(body, m.order)
		body = append(body, m.data...)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	return sum(append(b, body...)), nil
}

// MaxMessage bounds the bytes of a message, such as an attribute with its name, its type
// and its value.
const MaxMessage = math.MaxUint16 - 1

// messages returns the messages of a group (IV.A.2.c, g and k).
func (g *Group) messages() ([]message, error) {
	if len(g.links) > MaxMembers {
		return nil, fmt.Errorf("hdf5: a group has at most %s", quantity.Count(MaxMembers, "members"))
	}
	info := words([]byte{0, ordered}, uint64(len(g.links)), undefined, undefined, undefined)
	group := []byte{0, 0}
	if len(g.links) > compact {
		const limits = 1
		group = binary.LittleEndian.AppendUint16([]byte{0, limits}, MaxMembers)
		group = binary.LittleEndian.AppendUint16(group, dense)
	}
	list := []message{{kind: kindLinkInfo, data: info}, {kind: kindGroupInfo, flags: constant, data: group}}
	for i, l := range g.links {
		const version, lengthOf4, tracked, hasText, utf8 = 1, 2, 1 << 2, 1 << 4, 1
		b := words([]byte{version, lengthOf4 | tracked | hasText}, uint64(i))
		b = binary.LittleEndian.AppendUint32(append(b, utf8), uint32(len(l.name)))
		b = words(append(b, l.name...), uint64(*l.to.place()))
		list = append(list, message{kind: kindLink, data: b})
	}
	return list, nil
}

// messages returns the messages of a dataset.
func (d *Dataset) messages() ([]message, error) {
	layout, err := d.layout()
	if err != nil {
		return nil, err
	}
	list := []message{
		{kind: kindDataspace, data: dataspace(d.Shape, d.Unlimited)},
		{kind: kindDatatype, flags: constant, data: d.Type.message},
		{kind: kindFill, flags: constant, data: d.fill()},
		{kind: kindLayout, data: layout},
	}
	if len(d.Filters) > 0 {
		const version, optional = 2, 1
		b := []byte{version, byte(len(d.Filters))}
		for _, f := range d.Filters {
			for _, v := range []uint16{f.ID, optional, uint16(len(f.Values))} {
				b = binary.LittleEndian.AppendUint16(b, v)
			}
			for _, v := range f.Values {
				b = binary.LittleEndian.AppendUint32(b, v)
			}
		}
		list = append(list, message{kind: kindFilters, flags: constant, data: b})
	}
	return list, nil
}

// dataspace returns a dataspace (IV.A.2.b). A nil shape is a single element.
func dataspace(shape []int64, unlimited []bool) []byte {
	const version, scalar, simple = 2, 0, 1
	if len(shape) == 0 {
		return []byte{version, 0, 0, scalar}
	}
	var limits byte
	if unlimited != nil {
		limits = 1
	}
	b := []byte{version, byte(len(shape)), limits, simple}
	for _, n := range shape {
		b = words(b, uint64(n))
	}
	for i, grows := range unlimited {
		most := uint64(shape[i])
		if grows {
			most = undefined
		}
		b = words(b, most)
	}
	return b
}

// noElements is the dataspace of an attribute without a value.
func noElements() []byte { return []byte{2, 0, 0, 2} }

// fill returns the fill value message (IV.A.2.f).
func (d *Dataset) fill() []byte {
	const version, late, incremental, ifSet, defined = 3, 2, 3, 2 << 2, 1 << 5
	flags := byte(ifSet | late)
	if d.Chunk != nil {
		flags = ifSet | incremental
	}
	if d.Fill == nil {
		return []byte{version, flags}
	}
	b := binary.LittleEndian.AppendUint32([]byte{version, flags | defined}, uint32(len(d.Fill)))
	return append(b, d.Fill...)
}

// layout returns the layout message (IV.A.2.i).
func (d *Dataset) layout() ([]byte, error) {
	const version, contiguous, chunked = 3, 1, 2
	at := uint64(d.at)
	if d.at == 0 {
		at = undefined
	}
	if d.Chunk == nil {
		return words([]byte{version, contiguous}, at, uint64(d.bytes)), nil
	}
	if len(d.Chunk) != len(d.Shape) || len(d.Chunk) == 0 {
		return nil, fmt.Errorf("hdf5: chunks of the shape %v in an array of the shape %v", d.Chunk, d.Shape)
	}
	b := words([]byte{version, chunked, byte(len(d.Chunk) + 1)}, at)
	for _, n := range d.Chunk {
		if n <= 0 || n > math.MaxUint32 {
			return nil, fmt.Errorf("hdf5: chunks of the shape %v, a length is from 1 to %d", d.Chunk, uint32(math.MaxUint32))
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return binary.LittleEndian.AppendUint32(b, uint32(d.Type.Size)), nil
}

// isASCII reports whether text has only characters of ASCII.
func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
