// Package metadata holds the documents of a Zarr hierarchy as values: the zarr.json of arrays and groups
// (zarr-specs v3.1 core, "Array metadata" and "Group metadata").
//
// Reading is tolerant of whatever the specification allows and strict about everything else. [Parse] accepts
// short-hand strings for extension points, unknown members that say "must_understand": false and consolidated
// metadata; it refuses duplicate names, wrong kinds of values and unknown members that have to be understood.
// What a data type, grid, codec or fill value means is judged where it is implemented: here they stay JSON.
//
//	node, err := metadata.Parse(document, metadata.Limits{})
//	switch n := node.(type) {
//	case *metadata.Array:
//		fmt.Println(n.Shape, n.DataType.Name)
//	case *metadata.Group:
//		fmt.Println(string(n.Attributes))
//	}
//
// Writing is strict: Marshal makes a canonical document, reads it again, and refuses what Parse would refuse.
// What was read and not changed is written as it was spelled, numbers included: attributes, fill value, extensions,
// unknown members and consolidated documents. Format version, node type, shape and dimension names are spelled anew.
//
// Values are immutable in use: methods that begin with With return a changed copy. Parsed values point into the
// document, which must not be changed afterwards.
package metadata
