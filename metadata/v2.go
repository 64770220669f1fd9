// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"

	"varve.dev/zarr/internal/strictjson"
)

// ParseV2 parses a node of format 2. name is the name of document: [V2Array] or
// [V2Group]. attributes is the document [V2Attributes], nil if the node has none. The
// pointers of errors begin with the name of the document at fault.
//
// ParseV2 describes an array as format 3 would. Byte order, axis order, filters and
// compressor become codecs, and the attribute of xarray that names the dimensions becomes
// DimensionNames. The array keeps its format: Marshal returns a document of format 2.
// Unknown members are ignored and written again. Unknown codecs and data types keep their
// names.
//
// Fill values take the form of format 3 too. Null, which leaves the value of missing
// chunks open ([Array.HasNullFill]), becomes the zero of the type, or NaT for times, as
// in zarr-python 3.4.1.
//
// Known deviations of Python writers are repaired (see [Array.Notes]): a bare NaN or
// Infinity in attributes or as a fill value, and the fill value 0 of elements that are
// not numbers.
func ParseV2(name string, document, attributes []byte, l Limits) (Node, error) {
	return parseV2(name, PlainText(document), PlainText(attributes), l)
}

// parseV2 is ParseV2 for documents whose text is plain.
func parseV2(name string, document, attributes []byte, l Limits) (Node, error) {
	object, found, err := attributesV2(attributes, l)
	if err != nil {
		return nil, under(err, strictjson.Token(V2Attributes))
	}
	root, err := strictjson.Parse(document, l.json())
	bare := false
	if err != nil {
		var quoted []byte
		// The strings that replace bare numbers are valid as fill values.
		// Elsewhere in the document they are refused.
		if quoted, bare = quoteFill(document); bare {
			root, err = strictjson.Parse(quoted, l.json())
		}
	}
	if err != nil {
		return nil, under(err, strictjson.Token(name))
	}
	n, err := nodeV2(name, root, object, found, l)
	if a, ok := n.(*Array); ok && bare {
		a.repairs = append(a.repairs, bareFill)
	}
	return n, err
}

// ParseArrayV2 is [ParseV2] for an array.
func ParseArrayV2(document, attributes []byte, l Limits) (*Array, error) {
	n, err := ParseV2(V2Array, document, attributes, l)
	a, _ := n.(*Array)
	return a, err
}

// nodeV2 reads the parsed document of a node.
func nodeV2(name string, root strictjson.Value, attributes []byte, found []repair, l Limits) (n Node, err error) {
	if err = formatV2(root); err == nil && name == V2Group {
		return newGroupV2(root, attributes, found), nil
	}
	var a *Array
	if err == nil {
		a, err = newArrayV2(root, attributes, found, l)
	}
	if a != nil {
		n = a
	}
	if err != nil {
		err = under(err, strictjson.Token(name))
	}
	return n, err
}

// formatV2 checks that a document is of format 2.
func formatV2(root strictjson.Value) error {
	if root.Kind() != strictjson.Object {
		return root.Errorf("document must be an object, got %s", root.Kind())
	}
	v, ok := root.Member(zarrFormat.String())
	if !ok {
		return root.Errorf("member %q is missing", zarrFormat)
	}
	n, err := v.Int64()
	if err == nil && n != 2 {
		err = v.Errorf("%w", unsupportedf("format version %d in a document of version 2", n))
	}
	return err
}

// attributesV2 parses the attributes of a node. It returns the object and the repairs.
func attributesV2(raw []byte, l Limits) (object []byte, found []repair, err error) {
	if raw == nil {
		return []byte("{}"), nil, nil
	}
	raw, bare := quoteNonFinite(raw)
	if bare {
		found = append(found, bareNumbersV2)
	}
	v, err := strictjson.Parse(raw, l.json())
	switch {
	// Writers in Go and Java encode a missing map as null.
	case err == nil && v.Kind() == strictjson.Null:
		return []byte("{}"), append(found, nullAttributes), nil
	case err == nil && v.Kind() != strictjson.Object:
		err = v.Errorf("attributes must be an object, got %s", v.Kind())
	}
	return v.Raw(), found, err
}

// newGroupV2 reads a group. It ignores consolidated_metadata: zarr-python 3 writes an
// empty one of format 3 into the groups within [V2Consolidated], but not into their own
// documents.
func newGroupV2(root strictjson.Value, attributes []byte, found []repair) *Group {
	g := &Group{Attributes: attributes, repairs: found, v2: new(groupV2)}
	for name, m := range root.Members() {
		if name != zarrFormat.String() && name != consolidatedMetadata.String() {
			g.v2.kept = append(g.v2.kept, member{name, m.Raw()})
		}
	}
	return g
}

// Format returns the version of the storage format: 2 or 3.
func (g *Group) Format() int { return format(g.v2 != nil) }

// Format returns the version of the storage format: 2 or 3.
func (a *Array) Format() int { return format(a.v2 != nil) }

func format(isV2 bool) int {
	if isV2 {
		return 2
	}
	return 3
}

// Document returns the name of the document that Marshal returns: [V3Node] or [V2Group].
func (g *Group) Document() string {
	if g.v2 != nil {
		return V2Group
	}
	return V3Node
}

// Document returns the name of the document that Marshal returns: [V3Node] or [V2Array].
func (a *Array) Document() string {
	if a.v2 != nil {
		return V2Array
	}
	return V3Node
}

// MarshalAttributes returns the document [V2Attributes] of an array of format 2. It
// returns nil in format 3, where the attributes are part of the array's document.
func (a *Array) MarshalAttributes(l Limits) ([]byte, error) {
	if a.v2 == nil {
		return nil, nil
	}
	return MarshalAttributesV2(a.Attributes, l)
}

// MarshalAttributes returns the document [V2Attributes] of a group of format 2. It
// returns nil in format 3, where the attributes are part of the group's document.
func (g *Group) MarshalAttributes(l Limits) ([]byte, error) {
	if g.v2 == nil {
		return nil, nil
	}
	return MarshalAttributesV2(g.Attributes, l)
}

// ParseAttributesV2 parses the document [V2Attributes] of a node of format 2. It returns
// the object verbatim, except for the repairs of [ParseV2].
func ParseAttributesV2(data []byte, l Limits) (object []byte, err error) {
	object, _, err = attributesV2(PlainText(data), l)
	if err != nil {
		err = under(err, strictjson.Token(V2Attributes))
	}
	return object, err
}

// MarshalAttributesV2 returns the document [V2Attributes] for an object of attributes.
// Bare numbers that [ParseV2] repaired are written as they were.
func MarshalAttributesV2(raw []byte, l Limits) ([]byte, error) {
	w := &writer{at: strictjson.Token(V2Attributes), limits: l}
	w.object(raw)
	// The attributes are the whole document, so they must be one object.
	if _, err := object(w.buf); err != nil {
		w.fail(err)
	}
	if w.err != nil {
		return nil, w.err
	}
	doc, err := w.finish()
	return bareNonFinite(doc), err
}

// marshalV2 returns the document of a group of format 2.
func (g *Group) marshalV2(l Limits) ([]byte, error) {
	w := &writer{buf: []byte(`{"zarr_format":2`), limits: l}
	w.kept(g.v2.kept)
	return w.documentV2(V2Group)
}

// documentV2 ends a document and parses it as a check.
func (w *writer) documentV2(name string) ([]byte, error) {
	if w.err != nil {
		return nil, under(w.err, strictjson.Token(name))
	}
	w.buf = append(w.buf, '}')
	// Write only what this package can read again.
	if _, err := ParseV2(name, w.buf, nil, w.limits); err != nil {
		return nil, err
	}
	return w.finish()
}

// Notes returns one sentence for each way in which the group as read differs from its
// stored documents.
func (g *Group) Notes() []string {
	notes := texts(g.repairs)
	if g.Damaged != nil {
		notes = append(notes, fmt.Sprintf("%s is damaged and was not read (%v): varve consolidate rebuilds it", V2Consolidated, g.Damaged))
	}
	return notes
}
