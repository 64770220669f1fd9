// SPDX-License-Identifier: Apache-2.0

// Package zarrjson has what package metadata knows about the JSON of documents and of
// consolidated metadata but does not tell its users.
package zarrjson

import (
	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/strictjson"
)

// NodeType returns the type of the node in a zarr.json document, "array" or "group". It
// returns "" if the document has neither.
func NodeType(data []byte) string {
	data = nonfinite.Admit(data)
	root, _ := strictjson.Parse(data, strictjson.Limits{Size: int64(len(data)), Repeated: "/consolidated_metadata/metadata"})
	kind, _ := root.Member("node_type")
	if s, _ := kind.Str(); s == "array" || s == "group" {
		return s
	}
	return ""
}
