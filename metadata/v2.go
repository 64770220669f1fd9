package metadata

import (
	"fmt"

	"varve.dev/zarr/internal/strictjson"
)

// The names of the documents of a node: one in format 3, several in format 2 (zarr-specs v2, "Metadata").
const (
	V3Node         = "zarr.json"
	V2Array        = ".zarray"
	V2Group        = ".zgroup"
	V2Attributes   = ".zattrs"
	V2Consolidated = ".zmetadata"
)

// ParseV2 reads a node of format 2. The name says what document is: [V2Array] or [V2Group]. attributes is the document of that
// name, nil where the node has none. The pointers of errors begin with the name of the document at fault. Members that are
// not known are kept, as the specification has it; a codec or data type that is not known stays what it was.
//
// An array is the one that format 3 would describe: its byte order, axis order, filters and compressor are codecs, and
// [V2Attributes] may name its dimensions. It remembers how it is stored: Marshal returns a document of format 2.
//
// Fill values are those of format 3 too. Null, which promises nothing ([Array.HasNullFill]), is the zero of the type, and NaT for dates:
// zarr-python 3.4.1 reads chunks that are missing so.
//
// What Python writers leave is repaired (see [Array.Notes]): a bare NaN or Infinity in the attributes or as the fill value, and 0 as that of
// elements that are no numbers.
func ParseV2(name string, document, attributes []byte, l Limits) (Node, error) {
	object, found, err := attributesV2(attributes, l)
	if err != nil {
		return nil, under(err, strictjson.Token(V2Attributes))
	}
	root, err := strictjson.Parse(document, l.json())
	bare := false
	if err != nil {
		var quoted []byte
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

// nodeV2 reads a document that is JSON.
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

// formatV2 refuses documents that do not say that they are of format 2.
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

// attributesV2 reads the attributes of a node: the object, and what was repaired in it.
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
	case err == nil && v.Kind() == strictjson.Null:
		return []byte("{}"), append(found, nullAttributes), nil
	case err == nil && v.Kind() != strictjson.Object:
		err = v.Errorf("attributes must be an object, got %s", v.Kind())
	}
	return v.Raw(), found, err
}

// groupV2 is how a group of format 2 is stored.
type groupV2 struct {
	kept []member
}

// newGroupV2 reads a group. zarr-python 3 writes an empty member of format 3 into the groups of [V2Consolidated], which those groups'
// own documents do not have and which says nothing here.
func newGroupV2(root strictjson.Value, attributes []byte, found []repair) *Group {
	g := &Group{Attributes: attributes, repairs: found, v2: new(groupV2)}
	for name, m := range root.Members() {
		if name != zarrFormat.String() && name != consolidatedMetadata.String() {
			g.v2.kept = append(g.v2.kept, member{name, m.Raw()})
		}
	}
	return g
}

// Format returns the version of the format in which the group is stored, 2 or 3.
func (g *Group) Format() int { return format(g.v2 != nil) }

// Format returns the version of the format in which the array is stored, 2 or 3.
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

// MarshalAttributes returns the document [V2Attributes] of an array of format 2, nil in format 3, whose document has the attributes.
func (a *Array) MarshalAttributes(l Limits) ([]byte, error) {
	if a.v2 == nil {
		return nil, nil
	}
	return MarshalAttributesV2(a.Attributes, l)
}

// MarshalAttributes returns the document [V2Attributes] of a group of format 2, nil in format 3, whose document has the attributes.
func (g *Group) MarshalAttributes(l Limits) ([]byte, error) {
	if g.v2 == nil {
		return nil, nil
	}
	return MarshalAttributesV2(g.Attributes, l)
}

// ParseAttributesV2 reads the document [V2Attributes] of a node of format 2: the object as it is spelled, but for what [ParseV2] repairs.
func ParseAttributesV2(data []byte, l Limits) (object []byte, err error) {
	object, _, err = attributesV2(data, l)
	if err != nil {
		err = under(err, strictjson.Token(V2Attributes))
	}
	return object, err
}

// MarshalAttributesV2 returns the document [V2Attributes] for an object of attributes. What [ParseV2] has repaired is written as it was.
func MarshalAttributesV2(raw []byte, l Limits) ([]byte, error) {
	w := &writer{at: strictjson.Token(V2Attributes), limits: l}
	w.object(raw)
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

// documentV2 ends a document and reads it again.
func (w *writer) documentV2(name string) ([]byte, error) {
	if w.err != nil {
		return nil, under(w.err, strictjson.Token(name))
	}
	w.buf = append(w.buf, '}')
	if _, err := ParseV2(name, w.buf, nil, w.limits); err != nil {
		return nil, err
	}
	return w.finish()
}

// Notes says in what respects the document was not read as it is stored: one sentence each.
func (g *Group) Notes() []string {
	notes := texts(g.repairs)
	if g.Damaged != nil {
		notes = append(notes, fmt.Sprintf("%s is damaged and was not read (%v): varve consolidate makes it new", V2Consolidated, g.Damaged))
	}
	return notes
}
