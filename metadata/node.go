// SPDX-License-Identifier: Apache-2.0

// Package metadata represents the documents of a Zarr hierarchy: the zarr.json of arrays
// and groups in format 3 (zarr-specs v3.1 core, "Array metadata" and "Group metadata"),
// and the documents of format 2, which [ParseV2] reads.
//
//	node, err := metadata.Parse(document, metadata.Limits{})
//	switch n := node.(type) {
//	case *metadata.Array:
//		fmt.Println(n.Shape, n.DataType.Name)
//	case *metadata.Group:
//		fmt.Println(string(n.Attributes))
//	}
//
// Parsing is strict, but accepts all forms that the specification permits. [Parse]
// accepts short-hand strings for extension points, unknown members with
// "must_understand": false, and consolidated metadata. It refuses duplicate names, values
// of the wrong kind, and unknown members that must be understood. Known deviations of
// other writers are repaired and reported ([Array.Notes]). Data types, grids, codecs and
// fill values stay JSON here. The packages that implement them check their meaning.
//
// Marshal returns a canonical document. It parses its own output and refuses documents
// that Parse would refuse. Parsed values that were not changed keep their spelling,
// including that of numbers: attributes, the fill value, extensions, unknown members
// and consolidated documents. Format version, node type, shape and dimension names
// always have the canonical form.
//
// Do not modify arrays and groups: methods whose names begin with With return a changed
// copy. Parsed values refer to the document, which must not be changed afterwards.
package metadata

import (
	"bytes"
	"errors"
	"slices"

	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
)

// Node is an [*Array] or a [*Group].
type Node interface {
	// Marshal returns the canonical document of the node. Its errors are those of Parse.
	Marshal(l Limits) ([]byte, error)
	// MarshalAttributes returns the document of the attributes. It returns nil in format
	// 3, where they are part of the document of the node.
	MarshalAttributes(l Limits) ([]byte, error)
	// Format returns the version of the storage format: 2 or 3.
	Format() int
	// Document returns the name of the document that Marshal returns.
	Document() string

	node()
}

// Parse parses a zarr.json document of either node type. Errors are of type [*Error] and
// match [ErrInvalid], or [ErrUnsupported] if the document requires something that this
// library does not support. If only storage transformers or unknown members are at fault,
// Parse returns the node together with the error, so that it can be described. A bare NaN
// or Infinity in attributes, as zarr-python writes it, is repaired (see [Array.Notes]).
func Parse(data []byte, l Limits) (Node, error) {
	n, err := parse(nonfinite.Text(data), l, false)
	return n, located(err)
}

// ParseArray is [Parse] for the document of an array. It returns an error for a group.
func ParseArray(data []byte, l Limits) (*Array, error) {
	n, err := Parse(data, l)
	if _, other := n.(*Group); other {
		return nil, &Error{"/node_type", errors.New("node is a group, not an array")}
	}
	a, _ := n.(*Array)
	return a, err
}

// ParseGroup is [Parse] for the document of a group. It returns an error for an array.
func ParseGroup(data []byte, l Limits) (*Group, error) {
	n, err := Parse(data, l)
	if _, other := n.(*Array); other {
		return nil, &Error{"/node_type", errors.New("node is an array, not a group")}
	}
	g, _ := n.(*Group)
	return g, err
}

// parse reads a document whose text is plain. For an entry of consolidated metadata it
// ignores consolidated metadata within the entry.
func parse(data []byte, l Limits, entry bool) (Node, error) {
	limits := l.json()
	if !entry {
		// A repeated path there must not make the whole group unreadable.
		limits = l.consolidated(consolidatedEntries)
	}
	root, err := strictjson.Parse(data, limits)
	repaired := false
	if err != nil {
		// Bare NaN and Infinity are the only invalid JSON that is read.
		if root, repaired = reparse(data, limits); !repaired {
			return nil, err
		}
	}
	d, err := newDocument(root)
	if err != nil {
		return nil, err
	}
	// An entry may have been repaired with the document of the group.
	if repaired || entry {
		if err := d.onlyAttributesRepaired(); err != nil {
			return nil, err
		}
	}
	if repaired {
		d.repairs = append(d.repairs, bareNumbers)
	}
	kind, err := d.nodeType()
	if err != nil {
		return nil, err
	}
	if kind == "array" {
		return d.array(l)
	}
	return d.group(entry)
}

// reparse parses a document after it has replaced bare non-finite numbers by strings. It
// returns false if there are none, or if the document is invalid for other reasons.
func reparse(data []byte, l strictjson.Limits) (root strictjson.Value, ok bool) {
	quoted, found := nonfinite.Quote(data)
	if !found {
		return root, false
	}
	root, err := strictjson.Parse(quoted, l)
	return root, err == nil
}

// onlyAttributesRepaired returns an error if there were bare non-finite numbers in
// members that describe the node.
func (d *document) onlyAttributesRepaired() error {
	// The replacements have an escape.
	if bytes.IndexByte(d.root.Raw(), '\\') < 0 {
		return nil
	}
	for f, v := range d.fields[:attributes] {
		if !bytes.Equal(nonfinite.Bare(v.Raw()), v.Raw()) {
			return d.fields[f].Errorf("NaN and Infinity are not JSON, although some writers produce them; write them as strings, in quotes")
		}
	}
	return nil
}

// field identifies a member that the specification names, in the order of writing.
type field int

const (
	zarrFormat field = iota
	nodeType
	shape
	dataType
	chunkGrid
	chunkKeyEncoding
	fillValue
	codecs
	storageTransformers
	dimensionNames
	attributes
	consolidatedMetadata
	numFields
)

var fieldNames = [numFields]string{
	"zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs",
	"storage_transformers", "dimension_names", "attributes", "consolidated_metadata",
}

func (f field) String() string { return fieldNames[f] }

// member is an unknown member of a document.
type member struct {
	name string
	raw  []byte
}

// document is the outermost object of a zarr.json, split into members in one pass.
type document struct {
	root    strictjson.Value
	fields  [numFields]strictjson.Value
	kept    []member // unknown members to be written again
	refused error    // error for the first unknown member that must be understood
	repairs []repair
}

func newDocument(root strictjson.Value) (*document, error) {
	if root.Kind() != strictjson.Object {
		return nil, root.Errorf("document must be an object, got %s", root.Kind())
	}
	d := &document{root: root}
	for name, v := range root.Named() {
		// Messages quote names, so they must have a limit.
		if len(name) > maxText {
			return nil, root.Errorf("a member has a name of %s, more than %d: %s", quantity.Count(len(name), "bytes"), maxText, strictjson.Abbreviate(name))
		}
		if i := slices.IndexFunc(fieldNames[:], func(f string) bool { return f == string(name) }); i >= 0 {
			d.fields[i] = v
		} else {
			d.unknown(string(name), v)
		}
	}
	return d, nil
}

// unknown keeps a member with "must_understand": false and refuses any other (zarr-specs
// v3.1 core, "Additional fields"). The first refused member is kept as well. A node that
// is described in spite of it then cannot be written without it.
func (d *document) unknown(name string, v strictjson.Value) {
	must, _ := v.Member("must_understand")
	b, err := must.Bool()
	// Only an explicit false permits ignoring the member.
	keep := err == nil && !b
	if !keep && d.refused == nil {
		text := `unknown member; it may be ignored only if it is an object with "must_understand": false`
		d.refused = v.Errorf("%w", unsupported(text))
		keep = true
	}
	if keep {
		d.kept = append(d.kept, member{name, v.Raw()})
	}
}

// disown treats the fields in [from, to) as unknown members, because they belong to the
// other node type.
func (d *document) disown(from, to field) {
	for f := from; f < to; f++ {
		if v := d.fields[f]; !v.IsZero() {
			d.unknown(f.String(), v)
		}
	}
}

// required returns a required field.
func (d *document) required(f field) (strictjson.Value, error) {
	v := d.fields[f]
	if v.IsZero() {
		return v, d.root.Errorf("member %q is missing", f)
	}
	return v, nil
}

// nodeType returns "array" or "group". It also checks the format version.
func (d *document) nodeType() (string, error) {
	v, err := d.required(zarrFormat)
	if err != nil {
		return "", err
	}
	n, err := v.Int64()
	if err != nil {
		return "", err
	}
	if n != 3 {
		return "", v.Errorf("%w", unsupportedf("format version %d; only version 3 is known here", n))
	}
	if v, err = d.required(nodeType); err != nil {
		return "", err
	}
	kind, err := v.Str()
	if err == nil && kind != "array" && kind != "group" {
		err = v.Errorf(`node type must be "array" or "group", got %q`, strictjson.Abbreviate(kind))
	}
	return kind, err
}

// optional returns an optional field. If it is null, the writer had no value for it:
// optional records the repair r and treats the field as missing.
func (d *document) optional(f field, r repair) strictjson.Value {
	v := d.fields[f]
	if !v.IsZero() && v.Kind() == strictjson.Null {
		d.repairs = append(d.repairs, r)
		return strictjson.Value{}
	}
	return v
}

// attributes returns the raw attributes, {} if there are none.
func (d *document) attributes() ([]byte, error) {
	v := d.optional(attributes, nullAttributes)
	if v.IsZero() {
		return []byte("{}"), nil
	}
	if v.Kind() != strictjson.Object {
		return nil, v.Errorf("attributes must be an object, got %s", v.Kind())
	}
	return v.Raw(), nil
}

// Limits bounds what is read and written. A field that is not positive stands for the
// default.
type Limits struct {
	// Document is the largest size of a document in bytes, including consolidated
	// metadata. The default is 64 MiB.
	Document int64
	// Depth is the largest depth of nested JSON. The default is 64.
	Depth int
	// Rank is the largest number of dimensions of an array. The default is 64.
	Rank int
}

const (
	defaultRank = 64
	// maxChain bounds the number of codecs and of storage transformers, which take more
	// memory than their JSON.
	maxChain = 256
	// maxName bounds the bytes of a name of an extension. Names are quoted in messages,
	// in one for each place that adds where it is, so that a name of many megabytes would
	// take a multiple of the document.
	maxName = 256
	// maxText bounds the bytes of a text within a configuration, and of the name of a
	// member that the specification does not name, for the same reason. Configurations
	// themselves may be long: they have lists of chunk sizes.
	maxText = 64 << 10
)

func (l Limits) json() strictjson.Limits { return strictjson.Limits{Size: l.Document, Depth: l.Depth} }

// consolidatedEntries is the pointer of the entries of consolidated metadata in format 3.
const consolidatedEntries = "/consolidated_metadata/metadata"

// consolidated returns the limits for a document with consolidated metadata at pointer.
// Names that are repeated there do not make the document invalid: such entries are
// refused one by one.
func (l Limits) consolidated(pointer string) strictjson.Limits {
	j := l.json()
	j.Repeated = pointer
	return j
}

func (l Limits) rank() int {
	if l.Rank <= 0 {
		return defaultRank
	}
	return l.Rank
}

// Group is the metadata of a group (zarr-specs v3.1 core, "Group metadata").
type Group struct {
	// Attributes is a JSON object, verbatim; see [Array.Attributes] for a bare NaN.
	Attributes []byte
	// Consolidated is the metadata of the nodes below, nil if the document has none.
	Consolidated *Consolidated
	// Damaged is set if the group has a document .zmetadata that cannot be
	// read. Consolidated is then nil, the nodes below must be found without it, and
	// writing the document again repairs it.
	Damaged error

	kept    []member
	repairs []repair
	v2      *groupV2 // nil in format 3
}

func (d *document) group(entry bool) (Node, error) {
	d.disown(shape, attributes)
	g := new(Group)
	var err error
	if g.Attributes, err = d.attributes(); err != nil {
		return nil, err
	}
	// Within consolidated metadata another copy would be redundant and possibly stale.
	if v := d.fields[consolidatedMetadata]; !entry && !v.IsZero() {
		if g.Consolidated, err = d.consolidated(v); err != nil {
			return nil, err
		}
	}
	g.kept, g.repairs = d.kept, d.repairs
	return g, d.refused
}

// WithAttributes returns a copy of g with other attributes. If raw is not a JSON object,
// the error wraps [ErrInvalid].
func (g *Group) WithAttributes(raw []byte) (*Group, error) {
	v, err := object(raw)
	if err != nil {
		return nil, prefixPointer(err, "/attributes")
	}
	h := *g
	h.Attributes = v.Raw()
	h.repairs = rewritten(g.repairs)
	return &h, nil
}

// WithConsolidated returns a copy of g with other consolidated metadata, or without any
// if c is nil.
func (g *Group) WithConsolidated(c *Consolidated) *Group {
	h := *g
	h.Consolidated, h.Damaged = c, nil
	return &h
}

// groupV2 holds the parts of a document of format 2 that a group has no field for.
type groupV2 struct {
	kept []member
}

func (g *Group) node() {}
