// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"slices"
	"sort"

	"varve.dev/zarr/virtual/scan"
)

// The kinds of messages (specification, IV.A.2).
const (
	kindDataspace     = 0x01
	kindLinkInfo      = 0x02
	kindDatatype      = 0x03
	kindOldFill       = 0x04
	kindFill          = 0x05
	kindLink          = 0x06
	kindExternal      = 0x07
	kindLayout        = 0x08
	kindGroupInfo     = 0x0a
	kindFilters       = 0x0b
	kindAttribute     = 0x0c
	kindSharedTable   = 0x0f
	kindContinuation  = 0x10
	kindSymbolTable   = 0x11
	kindDriver        = 0x14
	kindAttributeInfo = 0x15
	kindLast          = 0x18
)

// The flags of messages.
const (
	flagShared = 1 << 1
	flagNeeded = 1 << 7 // a reader who does not know the message must not continue
)

// message is a message of an object header.
type message struct {
	kind  uint16
	flags byte
	order uint16 // of creation, if the header counts it
	data  []byte
}

// object is an object header: a group, an array or a named type (specification, IV.A).
type object struct {
	address  int64
	messages []message
}

// find returns the first message of a kind, or nil.
func (o *object) find(kind uint16) *message {
	i := slices.IndexFunc(o.messages, func(m message) bool { return m.kind == kind })
	if i < 0 {
		return nil
	}
	return &o.messages[i]
}

// object reads the object header at an address.
func (r *reader) object(address int64) (*object, error) {
	o := &object{address: address}
	// Version 1 has no signature. It begins with its version (IV.A.1.a).
	mark, err := r.bytes(address, 4)
	if err == nil && string(mark) == "OHDR" {
		err = r.newHeader(o)
	} else if err == nil {
		err = r.oldHeader(o)
	}
	if err != nil {
		return nil, within(err, "object header", address)
	}
	// Bit 7 forbids readers, too, to skip a message that they do not know (IV.A.2). Bits
	// 3 to 5 concern writers only.
	for _, m := range o.messages {
		if m.kind > kindLast && m.flags&flagNeeded != 0 {
			return nil, within(scan.Unsupportedf("a message of the kind %d", m.kind), "object header", address)
		}
	}
	return o, nil
}

// span is a part of an object header.
type span struct{ address, n int64 }

// oldHeader reads an object header of version 1 (specification, IV.A.1.a).
func (r *reader) oldHeader(o *object) error {
	// The prefix has 12 bytes, and 4 that align the first message to 8.
	const prefix = 16
	c, err := r.cursor(o.address, prefix)
	if err != nil {
		return err
	}
	if _, err := c.version(1); err != nil {
		return err
	}
	c.skip(1 + 2 + 4) // reserved, numbers of messages and links
	parts := []span{{o.address + prefix, int64(c.uint32())}}
	for i := 0; i < len(parts); i++ {
		c, err := r.cursor(parts[i].address, parts[i].n)
		if err != nil {
			return err
		}
		for c.rest() >= 8 {
			m := message{kind: c.uint16()}
			n := int(c.uint16())
			m.flags = c.byte()
			c.skip(3)
			m.data = c.take(n)
			if err := c.err(); err != nil {
				return err
			}
			if parts, err = r.addMessage(o, m, parts); err != nil {
				return err
			}
		}
	}
	return nil
}

// newHeader reads an object header of version 2 (specification, IV.A.1.b).
func (r *reader) newHeader(o *object) error {
	head, n, flags, err := r.newPrefix(o.address)
	if err != nil {
		return err
	}
	ordered := flags&(1<<2) != 0
	// n counts the messages only. The checksum covers the prefix, too.
	parts := []span{{o.address, head + n + checksum}}
	for i := 0; i < len(parts); i++ {
		c, err := r.summed(parts[i].address, parts[i].n)
		if err != nil {
			return err
		}
		if i == 0 {
			c.skip(int(head))
		} else if err := c.signature("OCHK"); err != nil {
			return err
		}
		if parts, err = r.newMessages(o, c, ordered, parts); err != nil {
			return err
		}
	}
	if ordered {
		// Writers put a message into any gap that is large enough. netCDF tracks the
		// order of creation, and numbers attributes by it.
		sort.SliceStable(o.messages, func(i, j int) bool { return o.messages[i].order < o.messages[j].order })
	}
	return nil
}

// newPrefix returns the bytes before the messages of a header of version 2, the bytes of
// the messages, and the flags.
func (r *reader) newPrefix(address int64) (head, n int64, flags byte, err error) {
	// Signature, version and flags, four times, two limits of dense attributes, and the
	// size of the messages in up to 8 bytes.
	const most = 4 + 2 + 16 + 4 + 8
	at, err := r.place(address)
	if err != nil {
		return 0, 0, 0, err
	}
	c, err := r.cursor(address, min(most, r.file.Size()-at))
	if err != nil {
		return 0, 0, 0, err
	}
	c.skip(4)
	if _, err := c.version(2); err != nil {
		return 0, 0, 0, err
	}
	flags = c.byte()
	if flags&(1<<5) != 0 {
		c.skip(16) // times
	}
	if flags&(1<<4) != 0 {
		c.skip(4) // when attributes become dense
	}
	n = int64(c.uint(1 << (flags & 3)))
	if err := c.err(); err != nil {
		return 0, 0, 0, err
	}
	if n < 0 || n > r.file.Size() {
		return 0, 0, 0, scan.Corruptf("its length is %d", n)
	}
	return int64(c.position), n, flags, nil
}

// newMessages reads the messages of a part of a header of version 2.
func (r *reader) newMessages(o *object, c *cursor, ordered bool, parts []span) ([]span, error) {
	head := 4
	if ordered {
		head = 6
	}
	// Fewer bytes than a message begins with are a gap (IV.A.1.b).
	for c.rest() >= head {
		m := message{kind: uint16(c.byte())}
		n := int(c.uint16())
		m.flags = c.byte()
		if ordered {
			m.order = c.uint16()
		}
		m.data = c.take(n)
		err := c.err()
		if err == nil {
			parts, err = r.addMessage(o, m, parts)
		}
		if err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// addMessage adds a message to an object, or the part that it continues with to parts.
func (r *reader) addMessage(o *object, m message, parts []span) ([]span, error) {
	switch m.kind {
	case 0: // a gap
		return parts, nil
	case kindContinuation:
		c := r.over(m.data)
		p := span{c.address(), c.length()}
		if err := c.err(); err != nil {
			return nil, err
		}
		return append(parts, p), nil // the budget ends a circle
	}
	o.messages = append(o.messages, m)
	return parts, nil
}
