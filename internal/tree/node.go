// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Node is a node in a store: the document that makes it, and how the document is changed.
type Node struct {
	publish.Node
	Limits metadata.Limits // Document must be set
}

// IsV2 reports whether the node is of format 2.
func (n Node) IsV2() bool { return n.Document != metadata.V3Node }

// Format returns the version of the Zarr format of the node, 2 or 3.
func (n Node) Format() int {
	if n.IsV2() {
		return 2
	}
	return 3
}

// Key returns the key of the document that makes the node.
func (n Node) Key() store.Key { return n.Path.MustKey(n.Document) }

// Reader returns a reader of documents in the store of the node.
func (n Node) Reader() Reader { return Reader{Store: n.Store, Limits: n.Limits} }
