// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"errors"
	"iter"
	"slices"

	"varve.dev/zarr/internal/strictjson"
)

// Consolidated is a copy of the documents of all nodes below a group. It is for listing
// and for opening many nodes at once. In format 3 it is part of the group's own document
// (zarr-specs v3.1 core, "Additional fields"; kind "inline"). In format 2 it is the
// document [V2Consolidated]; as a node has several documents there, its entry is their
// record, see [RecordV2].
//
// Paths are relative to the group, such as "a/b". No two entries have the same path, and
// none lies below an array. Entries of a document that break these rules are not part of
// the tree; see [Consolidated.Refused]. An entry whose parents are missing is permitted.
// The zero Consolidated is empty.
type Consolidated struct {
	entries []entry // in the order of the document
	order   []int32 // indices of the entries in tree order, sorted by path
	refused []flaw  // entries of the document that are not part of the tree
	kept    []member
	v2      bool
	own     []byte   // record of the group itself, nil if there is none; format 2 only
	other   []member // metadata that belongs to no node; format 2 only
}

func (c *Consolidated) entryError(path string, err error) error {
	at := consolidatedEntries
	if c.v2 {
		// Pointers of format 2 begin with the name of the document.
		at = strictjson.Token(V2Consolidated) + "/metadata"
	}
	return under(err, at+strictjson.Token(path))
}

// copy returns a copy of c with other entries.
func (c *Consolidated) copy(entries []entry, order []int32) *Consolidated {
	b := *c
	b.entries, b.order = entries, order
	return &b
}

// sort sorts the entries in tree order.
func (c *Consolidated) sort() {
	c.order = make([]int32, len(c.entries))
	for i := range c.order {
		c.order[i] = int32(i)
	}
	slices.SortStableFunc(c.order, func(i, j int32) int { return comparePaths(c.entries[i].path, c.entries[j].path) })
}

// index sorts the entries and checks that they form a tree. In tree order all nodes below
// an array follow it directly.
func (c *Consolidated) index() error {
	c.sort()
	last, array := "", ""
	for _, i := range c.order {
		e := c.entries[i]
		switch {
		case e.path == last:
			return c.entryError(e.path, errTwice)
		// In tree order nothing comes between an array and the nodes below it.
		case array != "" && below(e.path, array):
			return c.entryError(e.path, errBelowArray)
		case e.array:
			array = e.path
		}
		last = e.path
	}
	return nil
}

// Len returns the number of entries.
func (c *Consolidated) Len() int { return len(c.entries) }

// Nodes yields the entries in tree order, each node before those below it: the path and
// the raw document.
func (c *Consolidated) Nodes() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, i := range c.order {
			if e := c.entries[i]; !yield(e.path, bareNonFinite(e.raw)) {
				return
			}
		}
	}
}

// find returns the index of path in tree order, or that of the first entry after it and
// false.
func (c *Consolidated) find(path string) (int, bool) {
	return slices.BinarySearchFunc(c.order, path, func(i int32, path string) int {
		return comparePaths(c.entries[i].path, path)
	})
}

// Raw returns the document at path verbatim, in format 2 the record. It returns nil if
// there is no such entry.
func (c *Consolidated) Raw(path string) []byte {
	at, ok := c.find(path)
	if !ok {
		return nil
	}
	return bareNonFinite(c.entries[c.order[at]].raw)
}

// Below returns the entries below the group at path. Their paths are relative to that
// group.
func (c *Consolidated) Below(path string) *Consolidated {
	at, ok := c.find(path)
	b := &Consolidated{v2: c.v2, refused: c.refusedBelow(path)}
	if ok {
		b.own = c.entries[c.order[at]].raw
		at++
	}
	for _, i := range c.order[at:] {
		e := c.entries[i]
		// In tree order the nodes below a group follow it directly.
		if !below(e.path, path) {
			break
		}
		b.order = append(b.order, int32(len(b.entries)))
		b.entries = append(b.entries, entry{path: e.path[len(path)+1:], raw: e.raw, array: e.array})
	}
	return b
}

// flaw is an entry of consolidated metadata that is not part of the tree. It is written
// again as it was found.
type flaw struct {
	entry
	err error
}

// sift sorts the entries of a document and sets aside those that cannot be part of the
// tree: an illegal path, a path that is given twice, so that it is unknown which entry
// holds, and a path below an array.
func (c *Consolidated) sift() {
	c.sort()
	var sound []entry
	bad := map[int32]bool{}
	array := ""
	for i := 0; i < len(c.order); {
		at := c.order[i]
		e := &c.entries[at]
		// Entries with the same path are neighbours. The first one keeps the others, so
		// that all of them are written again.
		for i++; i < len(c.order) && c.entries[c.order[i]].path == e.path; i++ {
			e.addRepeat(member{e.path, c.entries[c.order[i]].raw})
			bad[c.order[i]] = true
		}
		err := e.fault(array)
		switch {
		case err != nil:
			bad[at] = true
			c.refused = append(c.refused, flaw{*e, err})
		case e.array:
			array = e.path
		}
	}
	// Nearly all documents are sound.
	if len(bad) == 0 {
		return
	}
	for i, e := range c.entries {
		if !bad[int32(i)] {
			sound = append(sound, e)
		}
	}
	c.entries = sound
	c.sort()
}

// fault returns why the entry cannot be part of the tree. array is the path of the last
// array before it in tree order.
func (e *entry) fault(array string) error {
	if err := CheckPath(e.path); err != nil {
		return err
	}
	switch {
	case e.again != nil:
		return errTwice
	case array != "" && below(e.path, array):
		return errBelowArray
	}
	return nil
}

var (
	errTwice      = errors.New("there are two entries with this path")
	errBelowArray = errors.New("the node lies below an array")
)

type entry struct {
	path  string
	raw   []byte
	array bool
	// has is a bit set of the documents in the record, by their index in recordNames. It
	// is only used while a document of format 2 is read.
	has   uint8
	again *[]member // documents that the record already had, nil if there are none
}

// repeats returns the documents that the record already had.
func (e *entry) repeats() []member {
	if e.again == nil {
		return nil
	}
	return *e.again
}

// addRepeat adds a document that the record already had. Hardly any entry has one, so
// each keeps no more than a pointer: there may be millions.
func (e *entry) addRepeat(m member) {
	list := append(e.repeats(), m)
	e.again = &list
}
