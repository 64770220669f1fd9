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
// Marshal returns a canonical document. It parses its own output and refuses whatever
// Parse would refuse. Parsed values that were not changed keep their spelling, including
// that of numbers: attributes, the fill value, extensions, unknown members and
// consolidated documents. Format version, node type, shape and dimension names always
// have the canonical form.
//
// Do not modify arrays and groups: methods whose names begin with With return a changed
// copy. Parsed values refer to the document, which must not be changed afterwards.
package metadata
