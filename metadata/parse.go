// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"bytes"
	"errors"

	"varve.dev/zarr/internal/strictjson"
)

// Parse parses a zarr.json document of either node type. Errors are of type [*Error] and
// match [ErrInvalid], or [ErrUnsupported] if the document requires something that this
// library does not support. If only storage transformers or unknown members are at fault,
// Parse returns the node together with the error, so that it can be described. A bare NaN
// or Infinity in attributes, as zarr-python writes it, is repaired (see [Array.Notes]).
func Parse(data []byte, l Limits) (Node, error) {
	n, err := parse(PlainText(data), l, false)
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
	quoted, found := quoteNonFinite(data)
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
		if !bytes.Equal(bareNonFinite(v.Raw()), v.Raw()) {
			return d.fields[f].Errorf("NaN and Infinity are not JSON, although some writers produce them; write them as strings, in quotes")
		}
	}
	return nil
}
