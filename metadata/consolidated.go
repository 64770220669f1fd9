// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"errors"
	"iter"
	"slices"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/strictjson"
)

// Consolidated is a copy of the documents of all nodes below a group. It is for listing
// and for opening many nodes at once. In format 3 it is part of the group's own document
// (zarr-specs v3.1 core, "Additional fields"; kind "inline"). In format 2 it is the
// document .zmetadata; as a node has several documents there, its entry is their
// record: an object of the documents by their names.
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
	group   []byte   // record of the group itself, nil if there is none; format 2 only
	unowned []member // metadata that belongs to no node; format 2 only
}

func (c *Consolidated) entryError(path string, err error) error {
	at := consolidatedEntries
	if c.v2 {
		// Pointers of format 2 begin with the name of the document.
		at = strictjson.Token(nodename.V2Consolidated) + "/metadata"
	}
	return prefixPointer(err, at+strictjson.Token(path))
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
		case array != "" && isBelow(e.path, array):
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
			if e := c.entries[i]; !yield(e.path, nonfinite.Bare(e.raw)) {
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
	return nonfinite.Bare(c.entries[c.order[at]].raw)
}

// Below returns the entries below the group at path. Their paths are relative to that
// group.
func (c *Consolidated) Below(path string) *Consolidated {
	at, ok := c.find(path)
	b := &Consolidated{v2: c.v2, refused: c.refusedBelow(path)}
	if ok {
		b.group = c.entries[c.order[at]].raw
		at++
	}
	for _, i := range c.order[at:] {
		e := c.entries[i]
		// In tree order the nodes below a group follow it directly.
		if !isBelow(e.path, path) {
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

// refuseFlawed sorts the entries of a document and sets aside those that cannot be part
// of the tree: an illegal path, a path that is given twice, so that it is unknown which
// entry holds, and a path below an array.
func (c *Consolidated) refuseFlawed() {
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
	if err := nodename.CheckBelow(e.path); err != nil {
		return err
	}
	switch {
	case e.repeated != nil:
		return errTwice
	case array != "" && isBelow(e.path, array):
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
	// documents is a bit set of the documents in the record, by their index in
	// recordNames. It is only used while a document of format 2 is read.
	documents uint8
	repeated  *[]member // documents that the record already had, nil if there are none
}

// repeats returns the documents that the record already had.
func (e *entry) repeats() []member {
	if e.repeated == nil {
		return nil
	}
	return *e.repeated
}

// addRepeat adds a document that the record already had. Hardly any entry has one, so
// each keeps no more than a pointer: there may be millions.
func (e *entry) addRepeat(m member) {
	list := append(e.repeats(), m)
	e.repeated = &list
}

// NewConsolidated returns the consolidated metadata of nodes, which are pairs of a path
// and a document. It returns an error if a path is not legal, is given twice or lies
// below an array, or if a document is invalid ([ErrInvalid]). A document with unsupported
// extensions that [Parse] still describes is accepted.
func NewConsolidated(nodes iter.Seq2[string, []byte], l Limits) (*Consolidated, error) {
	return new(Consolidated).addNodes(nodes, l)
}

// addNodes adds nodes to c, which must be empty.
func (c *Consolidated) addNodes(nodes iter.Seq2[string, []byte], l Limits) (*Consolidated, error) {
	for path, raw := range nodes {
		e, err := c.newEntry(path, raw, l)
		if err != nil {
			return nil, err
		}
		c.entries = append(c.entries, e)
	}
	if err := c.index(); err != nil {
		return nil, err
	}
	return c, nil
}

// consolidated reads the member of a group. Early writers of format 3 left a null there,
// which counts as none. An unknown kind that may be ignored is kept as it is.
func (d *document) consolidated(v strictjson.Value) (*Consolidated, error) {
	if v.Kind() == strictjson.Null {
		// Early writers left a null here, which means none.
		return nil, nil
	}
	var kind, nodes, must strictjson.Value
	c := new(Consolidated)
	// A single pass: looking up each member would walk over all nodes again.
	for name, m := range v.Named() {
		switch string(name) {
		case "kind":
			kind = m
		case "metadata":
			nodes = m
		case "must_understand":
			must = m
		default:
			c.kept = append(c.kept, member{string(name), m.Raw()})
		}
	}
	// Other kinds may be added. They are kept if they may be ignored.
	if name, err := kind.Str(); err == nil && name != "inline" {
		d.unknown(consolidatedMetadata.String(), v)
		return nil, nil
	}
	if kind.IsZero() || nodes.Kind() != strictjson.Object {
		return nil, v.Errorf(`consolidated metadata must be an object with "kind": "inline" and an object "metadata"`)
	}
	if _, err := must.Bool(); err != nil && !must.IsZero() {
		return nil, err
	}
	c.read(nodes)
	c.refuseFlawed()
	return c, nil
}

// read reads the entries of the member "metadata". It only looks at as much of each
// document as the tree needs.
func (c *Consolidated) read(nodes strictjson.Value) {
	c.entries = make([]entry, 0, nodes.Len())
	for path, m := range nodes.Members() {
		// Entry reports damaged entries. They must not hide the sound ones.
		kind, _ := m.Member("node_type")
		name, _ := kind.Str()
		c.entries = append(c.entries, entry{path: path, raw: m.Raw(), array: name == "array"})
	}
}

func (c *Consolidated) newEntry(path string, raw []byte, l Limits) (entry, error) {
	if err := nodename.CheckBelow(path); err != nil {
		return entry{}, c.entryError(path, err)
	}
	// The document comes from outside this package, so it has not been admitted yet.
	raw = nonfinite.Admit(raw)
	// A node with unsupported parts comes with an error. It can still be described.
	n, err := c.parse(raw, l)
	if n == nil {
		return entry{}, c.entryError(path, err)
	}
	_, array := n.(*Array)
	return entry{path: path, raw: raw, array: array}, nil
}

// parse reads the document of an entry, in format 2 its record.
func (c *Consolidated) parse(raw []byte, l Limits) (Node, error) {
	if c.v2 {
		return parseRecord(raw, l)
	}
	return parse(raw, l, true)
}

// Entry parses the document at path. It returns nil and no error if there is no such
// entry. If the entry is damaged, the error is an [*Error] whose pointer names it.
// Entry ignores consolidated metadata within the entry, which may be stale. The nodes
// below it are entries of c.
func (c *Consolidated) Entry(path string, l Limits) (Node, error) {
	at, ok := c.find(path)
	if !ok {
		return nil, nil
	}
	n, err := c.parse(c.entries[c.order[at]].raw, l)
	if err != nil {
		err = c.entryError(path, err)
	}
	return n, err
}

// With returns a copy of c with the document raw for the entry at path. An existing entry
// keeps its place; a new one comes last. Errors are those of [NewConsolidated].
func (c *Consolidated) With(path string, raw []byte, l Limits) (*Consolidated, error) {
	return c.WithAll(func(yield func(string, []byte) bool) { yield(path, raw) }, l)
}

// WithAll is with for several entries.
func (c *Consolidated) WithAll(nodes iter.Seq2[string, []byte], l Limits) (*Consolidated, error) {
	// Consolidated metadata is immutable: readers may hold c.
	b := c.copy(slices.Clone(c.entries), nil)
	for path, raw := range nodes {
		e, err := c.newEntry(path, raw, l)
		if err != nil {
			return nil, err
		}
		if at, ok := c.find(path); ok {
			b.entries[c.order[at]] = e
		} else {
			b.entries = append(b.entries, e)
		}
	}
	if err := b.index(); err != nil {
		return nil, err
	}
	// A new entry replaces refused ones with the same path.
	b.dropRefused(func(path string) bool { _, ok := b.find(path); return ok })
	return b, nil
}

// Without returns a copy of c without the entry at path. Entries below it stay, except
// for those that are not part of the tree.
func (c *Consolidated) Without(path string) *Consolidated {
	b := c.copy(slices.Clone(c.entries), slices.Clone(c.order))
	b.dropRefused(func(p string) bool { return p == path || isBelow(p, path) })
	at, ok := c.find(path)
	if !ok {
		return b
	}
	// All entries after the deleted one move up.
	gone := b.order[at]
	b.entries = slices.Delete(b.entries, int(gone), int(gone)+1)
	b.order = slices.Delete(b.order, at, at+1)
	for i, n := range b.order {
		if n > gone {
			b.order[i]--
		}
	}
	return b
}

// Refused yields the entries of the document that are not part of the tree, each once:
// the verbatim path and an [*Error] whose pointer names the entry. These are illegal
// paths, paths that occur twice, and paths below an array. Never use such a path in a
// key: it may lead out of the group.
func (c *Consolidated) Refused() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, f := range c.refused {
			if !yield(f.path, c.entryError(f.path, f.err)) {
				return
			}
		}
	}
}

// refusedBelow returns the refused entries below path. Their paths are relative to it.
func (c *Consolidated) refusedBelow(path string) []flaw {
	var list []flaw
	for _, f := range c.refused {
		if isBelow(f.path, path) {
			f.path = f.path[len(path)+1:]
			list = append(list, f)
		}
	}
	return list
}

// dropRefused removes refused entries whose paths are gone.
func (c *Consolidated) dropRefused(isGone func(path string) bool) {
	c.refused = slices.DeleteFunc(slices.Clone(c.refused), func(f flaw) bool { return isGone(f.path) })
}

// comparePaths orders paths as in a walk over the tree: each node is followed by all
// nodes below it.
func comparePaths(a, b string) int {
	// The slash sorts before all other bytes: "a/b" comes before "a-b".
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return treeOrder(a[i]) - treeOrder(b[i])
		}
	}
	return len(a) - len(b)
}

// treeOrder orders bytes with the slash before all others.
func treeOrder(c byte) int {
	if c == '/' {
		return -1
	}
	return int(c)
}

// isBelow reports whether path lies below the node parent.
func isBelow(path, parent string) bool {
	return len(path) > len(parent) && path[len(parent)] == '/' && path[:len(parent)] == parent
}
