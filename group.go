// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"bytes"

	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
)

// Group is a node that has nodes below it.
type Group struct {
	node
	doc    *metadata.Group
	listed bool          // consolidated metadata is not used
	copied snapshot.Copy // when the consolidated metadata was written
}

// Unconsolidated returns the group without its consolidated metadata, which another
// program may have left stale. Members and CheckDimensions then list the store and read
// the documents of nodes. In a store that cannot list, Members fails with
// [store.ErrUnsupported]. Closing g closes the store of both.
func (g *Group) Unconsolidated() *Group {
	u := &Group{node: g.node, doc: g.doc.WithConsolidated(nil), listed: true}
	u.owner = false
	return u
}

// Attributes returns the user attributes as a JSON object, in their stored spelling.
func (g *Group) Attributes() []byte { return bytes.Clone(g.doc.Attributes) }

// Metadata returns the document that describes the group. It must not be changed.
func (g *Group) Metadata() *metadata.Group { return g.doc }

// String describes the group in one line.
func (g *Group) String() string { return "group at " + g.Location().String() }

// At returns the location of a path below the group. Options that a call there does not
// set are those of the group. Nodes are created there only if the group is open for
// writing.
func (g *Group) At(path string) *Location { return g.Location().At(path) }

// newGroup returns a group of a format with the given attributes.
func newGroup(base node, attributes []byte, format int) *Group {
	doc := tree.NewGroup(attributes, format)
	base.document = doc.Document()
	return &Group{node: base, doc: doc}
}
