// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/strictjson"
)

// RecordV2 returns the entry of a node of format 2 in consolidated metadata: an object of
// its documents by their names. These are document, under the given name .zarray or
// .zgroup, and attributes, under .zattrs, unless attributes is nil. If a
// document is not JSON, the error wraps [ErrInvalid].
func RecordV2(name string, document, attributes []byte, l Limits) ([]byte, error) {
	w := &writer{buf: []byte{'{'}, limits: l}
	w.named(name).raw(nonfinite.Text(document))
	if attributes != nil {
		w.named(nodename.V2Attributes).raw(nonfinite.Admit(attributes))
	}
	return nonfinite.Bare(append(w.buf, '}')), w.err
}

// Record returns the entry of a node in consolidated metadata: its document, or in format
// 2 the [RecordV2] of its documents. That of a group has no consolidated metadata.
func Record(n Node, l Limits) ([]byte, error) {
	document, err := n.Marshal(l)
	if err != nil || n.Format() == 3 {
		return document, err
	}
	attributes, err := n.MarshalAttributes(l)
	if err != nil {
		return nil, err
	}
	return RecordV2(n.Document(), document, attributes, l)
}

// parseRecord parses a record.
func parseRecord(raw []byte, l Limits) (Node, error) {
	v, err := object(raw)
	if err != nil {
		return nil, err
	}
	attributes, _ := v.Member(nodename.V2Attributes)
	for _, name := range [...]string{nodename.V2Array, nodename.V2Group} {
		if m, ok := v.Member(name); ok {
			return parseV2(name, m.Raw(), attributes.Raw(), l)
		}
	}
	return nil, v.Errorf("there is neither %s nor %s", nodename.V2Array, nodename.V2Group)
}

// consolidatedFormat is the member with the version of the layout of .zmetadata.
// Only version 1 exists (zarr-python 2 and 3).
const consolidatedFormat = "zarr_consolidated_format"

// ParseConsolidatedV2 parses the document .zmetadata of a group of format 2.
// Unknown keys are kept. Keys that are illegal or repeated, and nodes below an array, are
// refused one by one; see [Consolidated.Refused].
func ParseConsolidatedV2(data []byte, l Limits) (*Consolidated, error) {
	root, err := strictjson.Parse(nonfinite.Admit(data), l.consolidated("/metadata"))
	if err == nil && root.Kind() != strictjson.Object {
		err = root.Errorf("document must be an object, got %s", root.Kind())
	}
	c := &Consolidated{v2: true}
	if err == nil {
		err = c.readV2(root)
	}
	if err != nil {
		return nil, prefixPointer(err, strictjson.Token(nodename.V2Consolidated))
	}
	c.refuseFlawed()
	return c, nil
}

func (c *Consolidated) readV2(root strictjson.Value) error {
	nodes, format := strictjson.Value{}, strictjson.Value{}
	for name, m := range root.Members() {
		switch name {
		case "metadata":
			nodes = m
		case consolidatedFormat:
			format = m
		default:
			c.kept = append(c.kept, member{name, m.Raw()})
		}
	}
	if nodes.Kind() != strictjson.Object || format.IsZero() {
		return root.Errorf("it must have %q and an object %q", consolidatedFormat, "metadata")
	}
	if n, err := format.Int64(); err != nil || n != 1 {
		return format.Errorf("%w", unsupportedf("layout %s; only 1 is known here", format.Brief()))
	}
	c.gather(nodes)
	return nil
}

// gather makes records of the documents, whose keys are in any order.
func (c *Consolidated) gather(nodes strictjson.Value) {
	// Count the nodes first, roughly: growing the slice step by step would take several
	// times the memory.
	count := 0
	for key := range nodes.Named() {
		if !bytes.HasSuffix(key, []byte(nodename.V2Attributes)) {
			count++
		}
	}
	c.entries = make([]entry, 0, count)
	// Indices of entries by key, without the name of the document.
	at := make(map[string]int32, count)
	for key, m := range nodes.Members() {
		// A key is the path of a node and the name of one of its documents.
		slash := strings.LastIndexByte(key, '/')
		dir, name := key[:slash+1], key[slash+1:]
		if name != nodename.V2Array && name != nodename.V2Group && name != nodename.V2Attributes {
			c.unowned = append(c.unowned, member{key, m.Raw()})
			continue
		}
		i, ok := at[dir]
		if !ok {
			i = int32(len(c.entries))
			at[dir] = i
			c.entries = append(c.entries, entry{path: strings.TrimSuffix(dir, "/")})
		}
		c.entries[i].put(key, name, m.Raw())
	}
	own, ok := at[""]
	if !ok {
		own = -1
	}
	c.finishRecords(int(own))
}

// put adds a document to the record of an entry. The record lacks only its last brace.
func (e *entry) put(key, name string, document []byte) {
	// Each document may occur once per node.
	bit := uint8(1) << slices.Index(recordNames, name)
	if e.documents&bit != 0 {
		e.addRepeat(member{key, document})
		return
	}
	w := &writer{buf: e.raw}
	if e.documents == 0 {
		// Most nodes have one or two documents. Begin with the exact size of one.
		w.buf = append(make([]byte, 0, len(`{"":}`)+len(name)+len(document)), '{')
	}
	w.entry(name, document)
	e.raw = w.buf
	e.documents |= bit
	e.array = e.array || name == nodename.V2Array
}

// recordNames are the documents that a record may have.
var recordNames = []string{nodename.V2Array, nodename.V2Group, nodename.V2Attributes}

// finishRecords completes the records. The record of the group itself is not an entry,
// nor are attributes without a node.
func (c *Consolidated) finishRecords(own int) {
	entries := c.entries[:0]
	for i, e := range c.entries {
		e.raw = append(e.raw, '}')
		v, err := object(e.raw)
		_, isGroup := v.Member(nodename.V2Group)
		switch {
		case i == own:
			c.group = e.raw
			if e.repeated != nil {
				c.refused = append(c.refused, flaw{entry{raw: []byte("{}"), repeated: e.repeated}, errTwice})
			}
		// Attributes without a node are kept as they are.
		case err == nil && !e.array && !isGroup:
			m, _ := v.Member(nodename.V2Attributes)
			c.unowned = append(c.unowned, member{e.path + "/" + nodename.V2Attributes, m.Raw()})
			c.unowned = append(c.unowned, e.repeats()...)
		default:
			entries = append(entries, e)
		}
	}
	c.entries = entries
}

// NewConsolidatedV2 is [NewConsolidated] for records of a group of format 2. own is the
// record of the group itself.
func NewConsolidatedV2(own []byte, nodes iter.Seq2[string, []byte], l Limits) (*Consolidated, error) {
	return (&Consolidated{v2: true, group: nonfinite.Admit(own)}).addNodes(nodes, l)
}

// WithOwn returns a copy of c with another record of the group itself.
func (c *Consolidated) WithOwn(record []byte) *Consolidated {
	b := c.copy(c.entries, c.order)
	b.group = nonfinite.Admit(record)
	return b
}

// Marshal returns the document .zmetadata of a group of format 2, indented by two
// spaces and ending with a newline.
func (c *Consolidated) Marshal(l Limits) ([]byte, error) {
	w := &writer{buf: []byte(`{"metadata":{`), limits: l}
	if c.group != nil {
		w.documents("", c.group)
	}
	for _, i := range c.order {
		w.documents(c.entries[i].path+"/", c.entries[i].raw)
	}
	// Refused entries may come from another program, so they are kept.
	for _, f := range c.refused {
		w.documents(f.path+"/", f.raw)
		w.entries(f.repeats())
	}
	w.entries(c.unowned)
	w.buf = fmt.Appendf(w.buf, `},%q:1`, consolidatedFormat)
	w.entries(c.kept)
	w.buf = append(w.buf, '}')
	if w.err != nil {
		return nil, w.err
	}
	if _, err := ParseConsolidatedV2(w.buf, l); err != nil {
		return nil, err
	}
	doc, err := w.finish()
	return nonfinite.Bare(doc), err
}

// documents writes the documents of a record with keys that begin with path.
func (w *writer) documents(path string, record []byte) {
	v, err := object(record)
	w.fail(err)
	for name, m := range v.Members() {
		w.entry(path+name, m.Raw())
	}
}
