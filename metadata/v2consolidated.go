package metadata

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"

	"varve.dev/zarr/internal/strictjson"
)

// RecordV2 returns the documents of a node of format 2 as consolidated metadata has them: an object of the documents by their names,
// here [V2Array] or [V2Group] and [V2Attributes], where attributes is not nil. Documents that are no JSON are [ErrInvalid].
func RecordV2(name string, document, attributes []byte, l Limits) ([]byte, error) {
	w := &writer{buf: []byte{'{'}, limits: l}
	w.first(name).raw(document)
	if attributes != nil {
		quoted, _ := quoteNonFinite(attributes)
		w.named(V2Attributes).raw(quoted)
	}
	return append(w.buf, '}'), w.err
}

// Record returns what consolidated metadata has of the array: its document, or in format 2 what [RecordV2] makes of its documents.
func (a *Array) Record(l Limits) ([]byte, error) { return record(a, l) }

// Record returns what consolidated metadata has of the group: its document, or in format 2 what [RecordV2] makes of its documents.
// In format 2 its own consolidated metadata is no part of it.
func (g *Group) Record(l Limits) ([]byte, error) { return record(g, l) }

func record(n Node, l Limits) ([]byte, error) {
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

// parseRecord reads a record.
func parseRecord(raw []byte, l Limits) (Node, error) {
	v, err := object(raw)
	if err != nil {
		return nil, err
	}
	attributes, _ := v.Member(V2Attributes)
	for _, name := range [...]string{V2Array, V2Group} {
		if m, ok := v.Member(name); ok {
			return ParseV2(name, m.Raw(), attributes.Raw(), l)
		}
	}
	return nil, v.Errorf("there is neither %s nor %s", V2Array, V2Group)
}

// consolidatedFormat is the member that says how the rest of [V2Consolidated] is laid out; there is one way (zarr-python 2 and 3).
const consolidatedFormat = "zarr_consolidated_format"

// ParseConsolidatedV2 reads the document [V2Consolidated] of a group of format 2. Keys that name nothing that it knows are kept.
// Keys that are no legal paths, those that are given twice, and nodes below an array are refused one by one, see [Consolidated.Refused].
func ParseConsolidatedV2(data []byte, l Limits) (*Consolidated, error) {
	data, _ = quoteNonFinite(data)
	root, err := strictjson.Parse(data, l.consolidated("/metadata"))
	if err == nil && root.Kind() != strictjson.Object {
		err = root.Errorf("document must be an object, got %s", root.Kind())
	}
	c := &Consolidated{v2: true}
	if err == nil {
		err = c.readV2(root)
	}
	if err != nil {
		return nil, under(err, strictjson.Token(V2Consolidated))
	}
	c.sift()
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
		return format.Errorf("%w", unsupportedf("layout %s; only 1 is known here", strictjson.Abbreviate(string(format.Raw()))))
	}
	c.gather(nodes)
	return nil
}

// gather makes records of the documents, which stand under their keys in any order.
func (c *Consolidated) gather(nodes strictjson.Value) {
	count := 0 // of nodes, or a few more: memory that grows step by step takes several times as much
	for key := range nodes.Named() {
		if !bytes.HasSuffix(key, []byte(V2Attributes)) {
			count++
		}
	}
	c.entries = make([]entry, 0, count)
	at := make(map[string]int32, count) // by the key without the name of the document
	for key, m := range nodes.Members() {
		slash := strings.LastIndexByte(key, '/')
		dir, name := key[:slash+1], key[slash+1:]
		if name != V2Array && name != V2Group && name != V2Attributes {
			c.other = append(c.other, member{key, m.Raw()})
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
	c.settle(int(own))
}

// put adds a document to the record of an entry, which is complete but for its last brace.
func (e *entry) put(key, name string, document []byte) {
	bit := uint8(1) << slices.Index(recordNames, name)
	if e.has&bit != 0 {
		e.again = append(e.again, member{key, document})
		return
	}
	w := &writer{buf: e.raw}
	if e.has == 0 {
		w.buf = append(make([]byte, 0, len(`{"":}`)+len(name)+len(document)), '{')
		w.first(name)
	} else {
		w.named(name)
	}
	e.raw = append(w.buf, document...)
	e.has |= bit
	e.array = e.array || name == V2Array
}

// recordNames are the documents that a record may have.
var recordNames = []string{V2Array, V2Group, V2Attributes}

// settle completes the records. That of the group itself is no entry, and attributes of no node are none either.
func (c *Consolidated) settle(own int) {
	entries := c.entries[:0]
	for i, e := range c.entries {
		e.raw = append(e.raw, '}')
		v, err := object(e.raw)
		_, isGroup := v.Member(V2Group)
		switch {
		case i == own:
			c.own = e.raw
			if len(e.again) > 0 {
				c.refused = append(c.refused, flaw{entry{raw: []byte("{}"), again: e.again}, errTwice})
			}
		case err == nil && !e.array && !isGroup:
			m, _ := v.Member(V2Attributes)
			c.other = append(c.other, member{e.path + "/" + V2Attributes, m.Raw()})
			c.other = append(c.other, e.again...)
		default:
			entries = append(entries, e)
		}
	}
	c.entries = entries
}

// NewConsolidatedV2 is [NewConsolidated] for a group of format 2: of records. own is that of the group itself.
func NewConsolidatedV2(own []byte, nodes iter.Seq2[string, []byte], l Limits) (*Consolidated, error) {
	return (&Consolidated{v2: true, own: own}).with(nodes, l)
}

// Own returns the record of the group itself, in format 2; nil where there is none.
func (c *Consolidated) Own() []byte { return c.own }

// WithOwn returns a copy of c that has another record of the group itself.
func (c *Consolidated) WithOwn(record []byte) *Consolidated {
	b := c.copy(c.entries, c.order)
	b.own = record
	return b
}

// Marshal returns the document [V2Consolidated] of a group of format 2: indented by two spaces, with a final newline.
func (c *Consolidated) Marshal(l Limits) ([]byte, error) {
	w := &writer{buf: []byte(`{"metadata":{`), limits: l}
	if c.own != nil {
		w.documents("", c.own)
	}
	for _, i := range c.order {
		w.documents(c.entries[i].path+"/", c.entries[i].raw)
	}
	for _, f := range c.refused {
		w.documents(f.path+"/", f.raw)
		w.entries(f.again)
	}
	w.entries(c.other)
	w.buf = fmt.Appendf(w.buf, `},%q:1`, consolidatedFormat)
	w.kept(c.kept)
	w.buf = append(w.buf, '}')
	if w.err != nil {
		return nil, w.err
	}
	if _, err := ParseConsolidatedV2(w.buf, l); err != nil {
		return nil, err
	}
	doc, err := w.finish()
	return bareNonFinite(doc), err
}

// documents writes the documents of a record below a path.
func (w *writer) documents(path string, record []byte) {
	v, err := object(record)
	w.fail(err)
	for name, m := range v.Members() {
		w.entry(path+name, m.Raw())
	}
}

// entries writes members.
func (w *writer) entries(list []member) {
	for _, m := range list {
		w.entry(m.name, m.raw)
	}
}

// entry writes a member, whether it is the first or not.
func (w *writer) entry(name string, raw []byte) {
	if w.buf[len(w.buf)-1] == '{' {
		w.first(name)
	} else {
		w.named(name)
	}
	w.buf = append(w.buf, raw...)
}
