// SPDX-License-Identifier: Apache-2.0

// Package access gives packages of this module that stand above the root package what an
// open array keeps to itself: its state, its locks, and the way to change its document.
// The root package provides it, see [Of].
package access

import (
	"context"

	"varve.dev/zarr/internal/comparison"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/nodelock"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
)

// Array is an open array.
type Array struct {
	// Node is the array, its limits, and the options for changing it.
	Node tree.Node
	// Lock orders the calls of this process on the array.
	Lock nodelock.Node
	// Writable returns an error if the array must not be changed.
	Writable func() error
	// Fresh returns the state of the present document. Elements may have other indices
	// there than in that of the array.
	Fresh func(ctx context.Context) (*snapshot.Array, error)
	// Unmoved is Fresh for a caller that is given indices. It returns a conflict if
	// elements have other indices by now than in the state that the array had when Of was
	// called.
	Unmoved func(ctx context.Context) (*snapshot.Array, error)
	// Bind describes the array by another document. change sets fields of the engine
	// that differ from those of the array; it may be nil.
	Bind func(doc *metadata.Array, change func(*engine.Array)) (*snapshot.Array, error)
	// BindAdapting is Bind with codecs that choose settings for each chunk; see
	// [codec.Adapter].
	BindAdapting func(doc *metadata.Array, change func(*engine.Array)) (*snapshot.Array, error)
	// Update publishes a change; see the method update of the root package. n is the
	// array, perhaps with a holder.
	Update func(ctx context.Context, n publish.Node, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) error
	// SetAttributes changes the attributes of an array of format 2, where they have a
	// document of their own.
	SetAttributes func(ctx context.Context, change func(object []byte) ([]byte, error)) error
	// Finish completes a transaction of several arrays that a crashed writer has left.
	Finish func(ctx context.Context) error
	// Join is Update as a part of a transaction of several arrays: it returns the
	// participant for [publish.UpdateAll].
	Join func(ctx context.Context, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) publish.Participant
	// Compared describes the array for comparisons.
	Compared comparison.Array
	// Fail adds the operation and the array to an error.
	Fail func(op string, err error) error
}

// CheckShared returns an error if arrays of one group, each a *zarr.Array, would differ
// in length along a dimension with the shapes that after returns. The root package sets
// it, as Of.
var CheckShared func(ctx context.Context, op string, arrays []any, after []func(shape []int64) []int64) error

// Of returns the inner side of a *zarr.Array. The root package sets it when it is
// initialized, because it cannot be imported from here.
var Of func(array any) *Array

// Place returns the place of an array that does not exist yet, given its *zarr.Location.
// The document of the node is not known yet. The root package sets it, as [Of].
var Place func(location any) (tree.Node, error)
