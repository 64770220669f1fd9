// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"errors"
	"fmt"
	"sort"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// attribute is an attribute of an object (specification, IV.A.2.m).
type attribute struct {
	name  string
	order uint64 // of creation
	typ   *datatype
	space dataspace
	data  []byte
	// refused is why its value is not known, or nil. Only name and order are set then.
	refused error
}

// attributes returns the attributes of an object in the order of the file.
func (r *reader) attributes(o *object) (list []attribute, err error) {
	for i := range o.messages {
		m := &o.messages[i]
		switch m.kind {
		case kindAttribute:
			var b []byte
			if b, err = r.body(m); err == nil {
				list, err = r.addAttribute(list, b, uint64(i))
			}
		case kindAttributeInfo:
			list, err = r.denseAttributes(m, list)
		}
		if err != nil {
			return nil, within(err, "attributes of the object", o.address)
		}
	}
	return list, nil
}

// denseAttributes adds the attributes that lie in a heap (specification, IV.A.2.v).
func (r *reader) denseAttributes(m *message, list []attribute) ([]attribute, error) {
	c := r.over(m.data)
	if _, err := c.version(0); err != nil {
		return nil, err
	}
	ordered := c.byte()&1 != 0
	if ordered {
		c.skip(2) // the greatest order of creation
	}
	heap, names := c.address(), c.address()
	if err := c.err(); err != nil || heap == undefined {
		return list, err
	}
	// Kind 8 indexes attributes by name. Kind 9, by order of creation, is optional.
	const byName = 8
	begin := len(list)
	h, err := r.fractalHeap(heap)
	if err != nil {
		return nil, err
	}
	err = r.tree2(names, byName, func(record []byte) (err error) {
		list, err = r.denseAttribute(r.over(record), h, list)
		return err
	})
	// The records are in the order of the hashes of names, which means nothing to users.
	sort.Slice(list[begin:], func(i, j int) bool {
		a, b := &list[begin+i], &list[begin+j]
		if ordered {
			return a.order < b.order
		}
		return a.name < b.name
	})
	return list, err
}

// denseAttribute adds the attribute of a record (specification, III.A.2, records of the
// kind 8).
func (r *reader) denseAttribute(c *cursor, h *fractalHeap, list []attribute) ([]attribute, error) {
	id, shared, order := c.take(8), c.byte()&flagShared != 0, uint64(c.uint32())
	err := c.err()
	var object []byte
	switch {
	case err != nil:
	case shared:
		object, err = r.fromSharedHeap(id, kindAttribute)
	default:
		object, err = h.object(id)
	}
	if err != nil {
		return nil, err
	}
	return r.addAttribute(list, object, order)
}

// addAttribute adds an attribute.
func (r *reader) addAttribute(list []attribute, b []byte, order uint64) ([]attribute, error) {
	a, err := r.parseAttribute(r.over(b))
	switch {
	case errors.Is(err, scan.ErrUnsupported):
		a = attribute{name: a.name, refused: err}
	case err != nil:
		return nil, fmt.Errorf("attribute %q: %w", a.name, err)
	}
	a.order = order
	return append(list, a), nil
}

func (r *reader) parseAttribute(c *cursor) (a attribute, err error) {
	version, err := c.version(1, 2, 3)
	if err != nil {
		return a, err
	}
	flags := c.byte() // reserved in version 1
	name, typ, space := int(c.uint16()), int(c.uint16()), int(c.uint16())
	if version == 3 {
		c.skip(1) // the characters of the name
	}
	// Version 1 pads each part to a multiple of 8 bytes, which the sizes do not count.
	take := func(n int) []byte {
		b := c.take(n)
		if version == 1 {
			c.skip(-n & 7)
		}
		return b
	}
	a.name = trimZeros(take(name))
	types, spaces := take(typ), take(space)
	a.data = c.take(c.rest())
	if err := c.err(); err != nil {
		return a, err
	}
	// Bit 0: the type is a named datatype, and this is only a reference to it. Bit 1 says
	// so of the dataspace.
	if version > 1 && flags&1 != 0 {
		if types, err = r.sharedBody(r.over(types), kindDatatype); err != nil {
			return a, err
		}
	}
	if version > 1 && flags&2 != 0 {
		if spaces, err = r.sharedBody(r.over(spaces), kindDataspace); err != nil {
			return a, err
		}
	}
	err = r.complete(&a, types, spaces)
	return a, err
}

// complete reads the type and the extent of an attribute, and checks that it has all of
// its values.
func (r *reader) complete(a *attribute, types, spaces []byte) (err error) {
	if a.typ, err = parseDatatype(r.over(types), 0); err != nil {
		return err
	}
	if a.space, err = parseDataspace(r.over(spaces)); err != nil {
		return err
	}
	n, err := a.space.bytes(a.typ.size)
	if err == nil && n > int64(len(a.data)) {
		err = scan.Corruptf("%s of values, want %d", quantity.Count(len(a.data), "bytes"), n)
	}
	if err != nil {
		return err
	}
	// Headers of version 1 pad messages to a multiple of 8 bytes.
	a.data = a.data[:n]
	return nil
}
