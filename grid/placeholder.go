package grid

import "varve.dev/zarr/internal/strictjson"

// An axis of extent 0 may have no edges at all. zarr-python 3.4.1 refuses an empty list
// of edges, so documents have a placeholder instead: the run [1, 1]. Other programs read
// it as one edge of length 1. Varve and zarr-python write a single edge as an integer, so
// the placeholder cannot be confused with one.
const placeholder = "[[1, 1]]"

// noEdges is the list of every axis without edges.
var noEdges = &edges{isPlain: true}

// errNoEdges means that a list of edges is empty.
var errNoEdges = invalid("an axis needs at least one edge")

// isPlaceholder reports whether a list of edges stands for none. It reads at most two
// entries.
func isPlaceholder(list strictjson.Value) bool {
	found := false
	for i, v := range list.Elements() {
		length, count, err := edge(v)
		if found = i == 0 && v.Kind() == strictjson.Array && err == nil && length == 1 && count == 1; !found {
			break
		}
	}
	return found
}
