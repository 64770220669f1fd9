// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/strictjson"
)

// Node is an [*Array] or a [*Group].
type Node interface {
	// Marshal returns the canonical document of the node. Its errors are those of Parse.
	Marshal(l Limits) ([]byte, error)
	// MarshalAttributes returns the document of the attributes. It returns nil in format
	// 3, where they are part of the document of the node.
	MarshalAttributes(l Limits) ([]byte, error)
	// Record returns the entry of the node in consolidated metadata.
	Record(l Limits) ([]byte, error)
	// Format returns the version of the storage format: 2 or 3.
	Format() int
	// Document returns the name of the document that Marshal returns.
	Document() string

	node()
}

// NodeType returns the type of the node in a zarr.json document, "array" or "group". It
// returns "" if the document has neither.
func NodeType(data []byte) string {
	data = admit(data)
	root, _ := strictjson.Parse(data, strictjson.Limits{Size: int64(len(data)), Repeated: consolidatedEntries})
	kind, _ := root.Member(nodeType.String())
	if s, _ := kind.Str(); s == "array" || s == "group" {
		return s
	}
	return ""
}

// Names of the documents of a node. There is one in format 3, and several in format 2
// (zarr-specs v2, "Metadata").
const (
	V3Node         = nodename.V3Node
	V2Array        = nodename.V2Array
	V2Group        = nodename.V2Group
	V2Attributes   = nodename.V2Attributes
	V2Consolidated = nodename.V2Consolidated
)
