// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"cmp"
	"slices"
	"strings"

	"varve.dev/zarr/virtual/scan"
)

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
	n := c.uint(1 << (flags & 3))
	if n > uint64(c.rest()) {
		return l, scan.Corruptf("link: a name of %d bytes", n)
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
		return 0, scan.Unsupportedf("a link to %q, which leads through more than %d other links", l.target, mostSoft)
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
