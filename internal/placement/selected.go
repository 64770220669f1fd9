// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/backdoor"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
)

// NewPlan returns a plan for reading r chunk by chunk. r must be resolved for the shape
// of g.
var NewPlan = backdoor.Use[func(r *selection.Resolved, g *grid.Grid) strided.Plan]("selection.NewPlan")

// Group adapts a part of a block to a grid of that block, such as the inner chunks of a
// shard. It groups the points of the part by cell and renumbers them within their cells.
// shape is the encoded shape of the block, which the numbers of the points refer to. A
// part without points is returned as it is.
var Group = backdoor.Use[func(p strided.Part, shape []int64, g *grid.Grid) strided.Part]("selection.Group")

// OfPart returns the selection that a part makes. Its points must be grouped; see
// [Group].
var OfPart = backdoor.Use[func(p strided.Part) *selection.Resolved]("selection.OfPart")

// Place returns a block with the shape of the selection as plans see it: with every axis
// of the array, in the order of the array, and with ascending elements. For points and
// masks it returns v.
var Place = backdoor.Use[func(r *selection.Resolved, v strided.View) strided.View]("selection.Place")

// Through returns the selection of only the given bytes of every element.
var Through = backdoor.Use[func(r *selection.Resolved, windows []strided.Window) *selection.Resolved]("selection.Through")

// Layer returns two sizes in bytes, for elements of size bytes. chunk is the size of the
// selected elements in the longest touched chunk. layer is the size that a slab must have
// at least, if it ends at chunk boundaries, so that no chunk is touched by two slabs. It
// spans one chunk along the first axis where chunks are longer than one element, and all
// of the axes after it.
//
// Sizes that overflow are the largest int64. Points and masks have no such slabs: both
// sizes are 0.
var Layer = backdoor.Use[func(r *selection.Resolved, g *grid.Grid, size int64) (chunk, layer int64)]("selection.Layer")

// Scatter copies a block with the shape of the selection to the selected elements of dst.
// dst is an array of the shape that the selection was resolved for.
var Scatter = backdoor.Use[func(r *selection.Resolved, dst, src strided.View) error]("selection.Scatter")
