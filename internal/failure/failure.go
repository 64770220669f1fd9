// SPDX-License-Identifier: Apache-2.0

// Package failure gives errors of the packages above the root package the form that those
// of the root package have.
package failure

import (
	"errors"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/array"
)

// On returns err as a [*zarr.Error] of an operation on an array. An error that names its
// operation already, and nil, stay as they are.
func On(a *zarr.Array, op string, err error) error {
	if err == nil || errors.As(err, new(*zarr.Error)) {
		return err
	}
	at := array.PlaceOf(err)
	return &zarr.Error{Op: op, Path: a.Core().Name, Key: at.Key, Chunk: at.Chunk, Axis: at.Axis, Codec: at.Codec, Err: err}
}
