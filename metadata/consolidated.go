package metadata

import (
	"errors"
	"iter"
	"slices"

	"varve.dev/zarr/internal/strictjson"
)

// Consolidated is a copy of the documents of all nodes below a group, held in the group's own document
// (zarr-specs v3.1 core, "Additional fields"; kind "inline"), or in format 2 in [V2Consolidated], where a node has several
// documents: its entry is their record, see [RecordV2]. It is for listing and for opening many nodes at once.
// Paths are relative to the group, as "a/b", and no two entries have one path or a path below an array: entries of a document that
// do are no part of the tree, see [Consolidated.Refused]. An entry whose parents are missing is permitted. The zero
// Consolidated is empty.
type Consolidated struct {
	entries []entry // in the order of the document
	order   []int32 // of the entries by path: a walk over the tree
	refused []flaw  // entries of the document that fit into no tree
	kept    []member
	v2      bool
	own     []byte   // the record of the group itself, nil where there is none; format 2 only
	other   []member // of the metadata that belongs to no node; format 2 only
}

var (
	errTwice      = errors.New("there are two entries with this path")
	errBelowArray = errors.New("the node lies below an array")
)

type entry struct {
	path  string
	raw   []byte
	array bool
	has   uint8    // documents of the record, by their places in recordNames; only while a document of format 2 is read
	again []member // documents whose place was taken
}

// NewConsolidated returns the consolidated metadata of nodes: pairs of a path and the document found there.
// A path that is not legal, given twice or below an array, and a document that is [ErrInvalid], are errors;
// one that [Parse] describes in spite of an extension that it does not support is none.
func NewConsolidated(nodes iter.Seq2[string, []byte], l Limits) (*Consolidated, error) {
	return new(Consolidated).with(nodes, l)
}

// with fills an empty c.
func (c *Consolidated) with(nodes iter.Seq2[string, []byte], l Limits) (*Consolidated, error) {
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

// consolidated reads the member of a group. Null, which early writers of format 3 left there, is none; a kind
// that is not known but may be ignored is kept as it is.
func (d *document) consolidated(v strictjson.Value) (*Consolidated, error) {
	if v.Kind() == strictjson.Null {
		return nil, nil
	}
	var kind, nodes, must strictjson.Value
	c := new(Consolidated)
	for name, m := range v.Named() { // once: a walk goes over all nodes
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
	c.sift()
	return c, nil
}

// read takes the entries of the member "metadata". Only as much of each document is looked at as the tree needs.
func (c *Consolidated) read(nodes strictjson.Value) {
	c.entries = make([]entry, 0, nodes.Len())
	for path, m := range nodes.Members() {
		kind, _ := m.Member("node_type") // a damaged entry is for Entry to tell: its neighbours are sound
		name, _ := kind.Str()
		c.entries = append(c.entries, entry{path: path, raw: m.Raw(), array: name == "array"})
	}
}

func (c *Consolidated) newEntry(path string, raw []byte, l Limits) (entry, error) {
	if err := checkPath(path); err != nil {
		return entry{}, c.entryError(path, err)
	}
	raw, _ = quoteNonFinite(raw)
	n, err := c.parse(raw, l)
	if n == nil {
		return entry{}, c.entryError(path, err)
	}
	_, array := n.(*Array)
	return entry{path: path, raw: raw, array: array}, nil
}

// parse reads the document of an entry, or its record.
func (c *Consolidated) parse(raw []byte, l Limits) (Node, error) {
	if c.v2 {
		return parseRecord(raw, l)
	}
	return parse(raw, l, true)
}

func (c *Consolidated) entryError(path string, err error) error {
	at := "/consolidated_metadata/metadata"
	if c.v2 {
		at = strictjson.Token(V2Consolidated) + "/metadata"
	}
	return under(err, at+strictjson.Token(path))
}

// copy returns a copy of c that has other entries.
func (c *Consolidated) copy(entries []entry, order []int32) *Consolidated {
	b := *c
	b.entries, b.order = entries, order
	return &b
}

// sort puts the paths in tree order.
func (c *Consolidated) sort() {
	c.order = make([]int32, len(c.entries))
	for i := range c.order {
		c.order[i] = int32(i)
	}
	slices.SortStableFunc(c.order, func(i, j int32) int { return comparePaths(c.entries[i].path, c.entries[j].path) })
}

// index sorts the paths and checks that they make a tree. In tree order all nodes below an array follow it at once.
func (c *Consolidated) index() error {
	c.sort()
	last, array := "", ""
	for _, i := range c.order {
		e := c.entries[i]
		switch {
		case e.path == last:
			return c.entryError(e.path, errTwice)
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

// Nodes returns the entries in tree order, each node before those below it: the path and the raw document.
func (c *Consolidated) Nodes() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, i := range c.order {
			if e := c.entries[i]; !yield(e.path, e.raw) {
				return
			}
		}
	}
}

// find returns the place in the tree order of path, or of the first entry behind it, and whether path is there.
func (c *Consolidated) find(path string) (int, bool) {
	return slices.BinarySearchFunc(c.order, path, func(i int32, path string) int {
		return comparePaths(c.entries[i].path, path)
	})
}

// Entry reads the document at path. It returns nil and no error where there is no such entry. An entry that is
// damaged is an [*Error] whose pointer names it. Consolidated metadata within the entry is ignored:
// Below returns the part of c that is the same and up to date.
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

// Raw returns the document at path as it is spelled, or in format 2 the record; nil where there is no such entry.
func (c *Consolidated) Raw(path string) []byte {
	at, ok := c.find(path)
	if !ok {
		return nil
	}
	return c.entries[c.order[at]].raw
}

// Below returns the entries below the group at path, with paths relative to it.
func (c *Consolidated) Below(path string) *Consolidated {
	at, ok := c.find(path)
	b := &Consolidated{v2: c.v2, refused: c.refusedBelow(path)}
	if ok {
		b.own = c.entries[c.order[at]].raw
		at++
	}
	for _, i := range c.order[at:] {
		e := c.entries[i]
		if !below(e.path, path) {
			break
		}
		b.order = append(b.order, int32(len(b.entries)))
		b.entries = append(b.entries, entry{path: e.path[len(path)+1:], raw: e.raw, array: e.array})
	}
	return b
}

// With returns a copy of c in which the entry at path is the document raw: in its old place, or behind all others.
// A path or a document that [NewConsolidated] refuses is refused here too.
func (c *Consolidated) With(path string, raw []byte, l Limits) (*Consolidated, error) {
	return c.WithAll(func(yield func(string, []byte) bool) { yield(path, raw) }, l)
}

// WithAll is [Consolidated.With] for several entries.
func (c *Consolidated) WithAll(nodes iter.Seq2[string, []byte], l Limits) (*Consolidated, error) {
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
	b.forgive(func(path string) bool { _, ok := b.find(path); return ok })
	return b, nil
}

// Without returns a copy of c without the entry at path. Entries below it stay, but for those that are refused.
func (c *Consolidated) Without(path string) *Consolidated {
	b := c.copy(slices.Clone(c.entries), slices.Clone(c.order))
	b.forgive(func(p string) bool { return p == path || below(p, path) })
	at, ok := c.find(path)
	if !ok {
		return b
	}
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
