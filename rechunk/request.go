// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
)

// Request is a rechunk that is wanted. It is computed anew for every state of the
// array, because the array may grow before the result is published.
type Request interface {
	// operation is the name of the command.
	operation() string
	// target returns the grid and the codecs that the array gets, or nil if it has
	// them already.
	target(s *snapshot.Array) (*target, error)
}

// target is what a request makes of an array.
type target struct {
	doc  *metadata.Array // with the new grid, codecs and fill value; the keys are the old ones
	grid *grid.Grid      // that of doc, if the extent changes
	move staging.Move
	keys *metadata.KeyEncoding // that are wanted; nil for any
}
