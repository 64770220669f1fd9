// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"iter"
	"slices"

	"varve.dev/zarr/internal/strictjson"
)

// NewConsolidated returns the consolidated metadata of nodes, which are pairs of a path
// and a document. It returns an error if a path is not legal, is given twice or lies
// below an array, or if a document is invalid ([ErrInvalid]). A document with unsupported
// extensions that [Parse] still describes is accepted.
func NewConsolidated(nodes iter.Seq2[string, []byte], l Limits) (*Consolidated, error) {
	return new(Consolidated).with(nodes, l)
}

// with adds nodes to c, which must be empty.
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
	c.sift()
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
	if err := checkPath(path); err != nil {
		return entry{}, c.entryError(path, err)
	}
	// The document comes from outside this package, so it has not been admitted yet.
	raw = admit(raw)
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
// entry. If the entry is damaged, the error is an [*Error] whose pointer names it. Entry
// ignores consolidated metadata within the entry, which may be stale: use
// [Consolidated.Below].
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
	// A new entry replaces refused ones with the same path.
	b.forgive(func(path string) bool { _, ok := b.find(path); return ok })
	return b, nil
}

// Without returns a copy of c without the entry at path. Entries below it stay, except
// for those that are not part of the tree.
func (c *Consolidated) Without(path string) *Consolidated {
	b := c.copy(slices.Clone(c.entries), slices.Clone(c.order))
	b.forgive(func(p string) bool { return p == path || below(p, path) })
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
