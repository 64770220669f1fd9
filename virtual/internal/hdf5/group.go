// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// isGroup reports whether an object is a group.
func (o *object) isGroup() bool {
	return slices.ContainsFunc(o.messages, func(m message) bool {
		return m.kind == kindSymbolTable || m.kind == kindLinkInfo || m.kind == kindLink || m.kind == kindGroupInfo
	})
}

// links returns the links of a group in the order of their names.
func (r *reader) links(o *object) (list []link, err error) {
	for i := range o.messages {
		m := &o.messages[i]
		var more []link
		switch m.kind {
		case kindSymbolTable:
			more, err = r.symbolTable(m)
		case kindLinkInfo:
			more, err = r.denseLinks(m)
		case kindLink:
			more, err = r.linkMessage(m)
		}
		if err != nil {
			return nil, within(err, "group", o.address)
		}
		list = append(list, more...)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].name < list[j].name })
	for i, l := range list {
		if l.name == "" || strings.Contains(l.name, "/") || i > 0 && l.name == list[i-1].name {
			return nil, within(scan.Corruptf("a link named %q, which is no name or there twice", l.name), "group", o.address)
		}
	}
	return list, nil
}

// symbolTable reads the links of a group of the old kind (specification, IV.A.2.r).
func (r *reader) symbolTable(m *message) (list []link, err error) {
	c := r.over(m.data)
	tree, heap := c.address(), c.address()
	if err := c.err(); err != nil {
		return nil, err
	}
	names, err := r.localHeap(heap)
	if err != nil {
		return nil, err
	}
	// Keys are offsets of names in the heap, and as wide as lengths.
	t := tree1{reader: r, kind: treeOfLinks, key: r.sizes.length}
	t.leaf = func(_ []byte, child int64) error {
		list, err = r.symbols(child, names, list)
		return within(err, "symbol table node", child)
	}
	err = t.visit(tree, anyLevel)
	return list, err
}

// symbols adds the links of a node of a symbol table (specification, III.B and III.C).
func (r *reader) symbols(address int64, names []byte, list []link) ([]link, error) {
	c, err := r.cursor(address, 8)
	if err != nil {
		return nil, err
	}
	if err := c.signature("SNOD"); err != nil {
		return nil, err
	}
	if _, err := c.version(1); err != nil {
		return nil, err
	}
	c.skip(1)
	// A node has room for more entries. Only the first n are in use.
	n := int64(c.uint16())
	if c, err = r.cursor(address+8, n*int64(2*r.sizes.address+24)); err != nil {
		return nil, err
	}
	for range n {
		l, err := symbol(c, names)
		if err == nil {
			err = r.spend(int64(len(l.name) + len(l.target)))
		}
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, c.err()
}

// symbol reads an entry of a node of a symbol table (specification, III.C).
func symbol(c *cursor, names []byte) (l link, err error) {
	// The kind of the cache. For a soft link, the 16 bytes of scratch space begin with
	// the offset of its target in the heap.
	const soft = 2
	offset, address, kind := c.address(), c.address(), c.uint32()
	c.skip(4)
	target := c.uint32() // of a soft link
	c.skip(12)
	if l.name, err = nameAt(names, offset); err != nil {
		return l, err
	}
	if l.address = address; kind == soft {
		l.kind = linkSoft
		l.target, err = nameAt(names, int64(target))
	}
	return l, err
}

// linkMessage reads a link of a group of the new kind.
func (r *reader) linkMessage(m *message) ([]link, error) {
	b, err := r.body(m)
	if err != nil {
		return nil, err
	}
	l, err := parseLink(r.over(b))
	return []link{l}, err
}

// denseLinks reads the links that lie in a heap (specification, IV.A.2.c).
func (r *reader) denseLinks(m *message) (list []link, err error) {
	c := r.over(m.data)
	if _, err := c.version(0); err != nil {
		return nil, err
	}
	if c.byte()&1 != 0 {
		c.skip(8) // the greatest order of creation
	}
	heap, names := c.address(), c.address()
	if err := c.err(); err != nil || heap == undefined {
		return nil, err
	}
	h, err := r.fractalHeap(heap)
	if err != nil {
		return nil, err
	}
	// Kind 5 indexes links by name. Kind 6, by order of creation, is optional.
	const byName = 5
	err = r.tree2(names, byName, func(record []byte) error {
		c := r.over(record)
		c.skip(4) // the hash of the name
		object, err := h.object(c.take(7))
		if err != nil {
			return err
		}
		l, err := parseLink(r.over(object))
		list = append(list, l)
		return err
	})
	return list, err
}

// linkKind is the kind of a link (specification, IV.A.2.g).
type linkKind byte

const (
	linkHard     linkKind = 0
	linkSoft     linkKind = 1
	linkExternal linkKind = 64 // those from 65 on are of programs
)

// link is a name of a group.
type link struct {
	name    string
	kind    linkKind
	address int64  // of the object that a hard link names
	target  string // the path that a soft or an external link leads to
	file    string // of an external link
}

// parseLink reads a link (specification, IV.A.2.g).
func parseLink(c *cursor) (l link, err error) {
	if _, err := c.version(1); err != nil {
		return l, err
	}
	flags := c.byte()
	if flags&(1<<3) != 0 {
		l.kind = linkKind(c.byte())
	}
	if flags&(1<<2) != 0 {
		c.skip(8) // the order of creation
	}
	if flags&(1<<4) != 0 {
		c.skip(1) // the characters of the name
	}
	// Bits 0 and 1 are the logarithm of the bytes that the length of the name has.
	n := c.uint(1 << (flags & 3))
	if n > uint64(c.rest()) {
		return l, scan.Corruptf("link: a name of %s", quantity.Count(n, "bytes"))
	}
	l.name = string(c.take(int(n)))
	l.parseTarget(c)
	return l, c.err()
}

// parseTarget reads where a link leads.
func (l *link) parseTarget(c *cursor) {
	switch l.kind {
	case linkHard:
		l.address = c.address()
	case linkSoft:
		l.target = trimZeros(c.take(int(c.uint16())))
	case linkExternal:
		value := cursor{data: c.take(int(c.uint16()))}
		value.skip(1) // version and flags
		l.file, l.target = value.text(), value.text()
	}
}

// mostSoft bounds the soft links on the way to an object, as the HDF5 library does.
const mostSoft = 16

// resolve returns the address of the object that a link of a group leads to. The error
// wraps [scan.ErrUnsupported].
func (w *walk) resolve(group int64, l link) (int64, error) {
	left := mostSoft
	return w.follow(group, l, &left)
}

// follow is resolve with a number of soft links that may still be followed.
func (w *walk) follow(group int64, l link, left *int) (int64, error) {
	switch l.kind {
	case linkHard:
		return l.address, nil
	case linkExternal:
		return 0, scan.Unsupportedf("a link to %q of another file, %q; add that file to the command", l.target, l.file)
	case linkSoft:
	default:
		return 0, scan.Unsupportedf("a link of the kind %d, which only the program that has made it can follow", l.kind)
	}
	if *left--; *left < 0 {
		return 0, scan.Unsupportedf("a link to %q, which leads through more than %s", l.target, quantity.Count(mostSoft, "other links"))
	}
	if !w.mayAdd(int64(len(l.target))) { // a short file may have links to links with long paths
		return 0, errManyLinks
	}
	at := group
	if strings.HasPrefix(l.target, "/") {
		at = w.root
	}
	for name := range strings.SplitSeq(l.target, "/") {
		if name == "" || name == "." {
			continue
		}
		next, known := w.nodes[at].link(name)
		if !known {
			return 0, scan.Unsupportedf("a link to %q, which is not there", l.target)
		}
		to, err := w.follow(at, next, left)
		if err != nil {
			return 0, err
		}
		at = to
	}
	return at, nil
}

// link returns the link of a group with a name.
func (n *node) link(name string) (link, bool) {
	if n == nil {
		return link{}, false
	}
	i, ok := slices.BinarySearchFunc(n.links, name, func(l link, name string) int { return cmp.Compare(l.name, name) })
	if !ok {
		return link{}, false
	}
	return n.links[i], true
}
