package metadata

import (
	"bytes"
	"errors"

	"varve.dev/zarr/internal/strictjson"
)

// Node is an [*Array] or a [*Group].
type Node interface {
	// Marshal returns the canonical document of the node, or the error with which Parse would refuse it.
	Marshal(l Limits) ([]byte, error)
	// MarshalAttributes returns the document of the attributes, nil in format 3, where Marshal has them.
	MarshalAttributes(l Limits) ([]byte, error)
	// Record returns what consolidated metadata has of the node.
	Record(l Limits) ([]byte, error)
	// Format returns the version of the format in which the node is stored: 2 or 3.
	Format() int
	// Document returns the name of the document that Marshal returns.
	Document() string

	node()
}

func (a *Array) node() {}
func (g *Group) node() {}

// Parse reads a zarr.json document of either node type. Errors are of type [*Error]: [ErrInvalid], or
// [ErrUnsupported] where the document asks for more than this library knows. If only storage transformers or unknown
// members stand in the way, the node is returned with the error, so that it can be described. A bare NaN or Infinity in attributes,
// which zarr-python writes, is repaired (see [Array.Notes]).
func Parse(data []byte, l Limits) (Node, error) {
	n, err := parse(data, l, false)
	return n, located(err)
}

// ParseArray is [Parse] for the document of an array. A group is refused.
func ParseArray(data []byte, l Limits) (*Array, error) {
	n, err := Parse(data, l)
	if _, other := n.(*Group); other {
		return nil, &Error{"/node_type", errors.New("node is a group, not an array")}
	}
	a, _ := n.(*Array)
	return a, err
}

// ParseGroup is [Parse] for the document of a group. An array is refused.
func ParseGroup(data []byte, l Limits) (*Group, error) {
	n, err := Parse(data, l)
	if _, other := n.(*Array); other {
		return nil, &Error{"/node_type", errors.New("node is an array, not a group")}
	}
	g, _ := n.(*Group)
	return g, err
}

// parse reads a document. An entry of consolidated metadata has consolidated metadata of its own left alone.
func parse(data []byte, l Limits, entry bool) (Node, error) {
	limits := l.json()
	if !entry {
		limits = l.consolidated("/consolidated_metadata/metadata")
	}
	root, err := strictjson.Parse(data, limits)
	repaired := false
	if err != nil {
		if root, repaired = reparse(data, limits); !repaired {
			return nil, err
		}
	}
	d, err := newDocument(root)
	if err != nil {
		return nil, err
	}
	if repaired || entry { // of which the group's document was repaired
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

// reparse reads a document that has bare non-finite numbers, in place of which it gets texts.
func reparse(data []byte, l strictjson.Limits) (root strictjson.Value, ok bool) {
	quoted, found := quoteNonFinite(data)
	if !found {
		return root, false
	}
	root, err := strictjson.Parse(quoted, l)
	return root, err == nil
}

// onlyAttributesRepaired refuses bare non-finite numbers in members that say what the node is.
func (d *document) onlyAttributesRepaired() error {
	if bytes.IndexByte(d.root.Raw(), '\\') < 0 { // what was repaired is spelled with an escape
		return nil
	}
	for f, v := range d.fields[:attributes] {
		if !bytes.Equal(bareNonFinite(v.Raw()), v.Raw()) {
			return d.fields[f].Errorf("NaN and Infinity are not JSON, although some writers produce them; write them as strings, in quotes")
		}
	}
	return nil
}

// NodeType returns what a zarr.json document says of the type of its node, "array" or "group", and "" where it says nothing of the kind.
func NodeType(data []byte) string {
	data, _ = quoteNonFinite(data)
	raw, _, _ := Attribute(data, nodeType.String())
	switch s := string(raw); s {
	case `"array"`, `"group"`:
		return s[1 : len(s)-1]
	}
	return ""
}
