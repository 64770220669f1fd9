package metadata

import (
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
// members stand in the way, the node is returned with the error, so that it can be described.
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
	if err != nil {
		return nil, err
	}
	d, err := newDocument(root)
	if err != nil {
		return nil, err
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
