// SPDX-License-Identifier: Apache-2.0

package grid

// An axis of extent 0 may have no edges at all. zarr-python 3.4.1 refuses an empty list
// of edges, so documents have a placeholder instead: the run [1, 1]. Other programs read
// it as one edge of length 1. Varve and zarr-python write a single edge as an integer, so
// the placeholder cannot be confused with one.
const placeholder = "[[1, 1]]"

// noEdges is the list of every axis without edges.
var noEdges = &edges{isPlain: true}
