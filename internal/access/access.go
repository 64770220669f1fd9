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
	"varve.dev/zarr/observe"
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
	// [coding.Adapter].
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

// The root package also sets the functions below, as [Of]. An array, group or location is
// a *zarr.Array, *zarr.Group or *zarr.Location, and options are a *zarr.Options.
var (
	// DeleteIf deletes the node at a location if check permits it. check runs while all
	// locks are held, so it sees what will be deleted. It must not change the nodes. If
	// check fails, nothing is deleted and the error wraps that of check.
	DeleteIf func(ctx context.Context, location, options any, check func(context.Context) error) error
	// DeleteAt is DeleteIf for a location that is written as a string.
	DeleteAt func(ctx context.Context, location string, options any, check func(context.Context) error) error
	// UpdateConsolidated makes the consolidated metadata of the groups above a location
	// agree with what is stored there and below it. It is for changes that store
	// documents themselves, such as copies. Groups without consolidated metadata stay
	// without.
	UpdateConsolidated func(ctx context.Context, location, options any) error
	// Shadowed returns the names of the documents of format 2 beside the document of a
	// node of format 3. Programs that know format 2 only see another node there.
	Shadowed func(ctx context.Context, node any) ([]string, error)
	// Misread returns those notes on an array that are about deviations for which other
	// programs return wrong values. Respell ends them.
	Misread func(array any) []string
	// Respell publishes the document of an array again, in the specified form. Elements
	// and attributes do not change.
	Respell func(ctx context.Context, array any) error
	// CheckDimensions returns an error that wraps zarr.ErrInvalidArgument if an array,
	// with the given shape, would differ in length from other arrays of its group along a
	// shared dimension whose length changes. It looks at what zarr.Group.CheckDimensions
	// compares.
	CheckDimensions func(ctx context.Context, array any, shape []int64) error
	// Observe returns a location with an observer; see [Observed].
	Observe func(location any, o observe.Observer) any
)

// Observed returns a *zarr.Location with an observer, which receives an event for every
// request to the store and for every chunk that is decoded or encoded. It replaces an
// earlier observer; nil keeps that one.
func Observed[L any](location L, o observe.Observer) L { return Observe(location, o).(L) }
