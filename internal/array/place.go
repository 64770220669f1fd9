// SPDX-License-Identifier: Apache-2.0

package array

import (
	"errors"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
)

// Place says where in a node an error is. Fields that do not apply are empty, and Axis is
// -1.
type Place struct {
	Key   string
	Chunk []int64
	Axis  int
	Codec string
}

// PlaceOf returns the place that an error names.
func PlaceOf(err error) Place {
	p := Place{Axis: -1}
	var chunk *engine.ChunkError
	if errors.As(err, &chunk) {
		p.Key, p.Chunk = chunk.Key, chunk.Index
	}
	var file *fault.FileError
	if errors.As(err, &file) {
		p.Key = file.Key
	}
	var axis *grid.AxisError
	if errors.As(err, &axis) {
		p.Axis = axis.Axis
	}
	var coder *coding.Error
	if errors.As(err, &coder) {
		p.Codec = coder.Codec
	}
	return p
}
