// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"bytes"
	"context"
	"fmt"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Array is a node that has elements: a large block that is cut into chunks.
//
// Any number of goroutines may use an Array at the same time, also while it grows. A call
// works on one published version of the array. Within this process, writers of one chunk
// wait for each other, and a change of the extent waits for writes that have begun.
// Between processes, a change of the extent excludes other such changes, and writes to
// boundary chunks. The last writer of any other chunk wins, unless
// [Options.SharedWriters] is set.
//
// Indices mean the elements that the array had when it was opened, also after another
// process has dropped or inserted elements. Calls that are given indices then read those
// elements as long as they are stored, or return an error that wraps [ErrConflict].
// [Array.Refresh], and calls that append or change the array otherwise, take over the new
// indices.
type Array struct {
	node
	core *array.Array
}

// newArray returns the array that a document of the given version describes.
func newArray(base node, doc *metadata.Array, version store.Version) (*Array, error) {
	o := &base.options
	core, err := array.New(array.Setup{
		Node: base.place(), Name: base.hierarchy.name(base.path), Refusal: base.writable(),
		Budget: o.Budget, MaxChunk: o.Limits.chunk(), Gap: o.Shards.Gap, Span: o.Shards.Span,
		KeepFill: o.StoreFill, RequireChunks: o.RequireChunks, Observer: base.hierarchy.observer,
		Codecs: *o.environment(), Grids: grid.ParseOptions{EncodedShapes: o.Experimental.EncodedShapes},
		Block: o.Limits.block(), Rehearsed: base.hierarchy.ledger != nil,
	}, doc, version)
	if err != nil {
		return nil, err
	}
	return &Array{base, core}, nil
}

// Core returns what the array is inside, for the other packages of this module: its type
// is internal. It is the same for every call.
func (a *Array) Core() *array.Array { return a.core }

// Shape returns the length of every axis in elements.
func (a *Array) Shape() []int64 { return a.core.State().Grid.Shape() }

// Rank returns the number of axes.
func (a *Array) Rank() int { return a.core.State().Grid.Rank() }

// Grid returns the chunk grid.
func (a *Array) Grid() *grid.Grid { return a.core.State().Grid }

// Type returns the data type of the elements.
func (a *Array) Type() dtype.Type { return a.core.State().Type }

// FillValue returns the value of elements that were never written.
func (a *Array) FillValue() FillValue {
	s := a.core.State()
	return fillValueOf(s.Type, s.Fill, s.Doc.HasNullFill())
}

// Attributes returns the user attributes as a JSON object, in their stored spelling.
func (a *Array) Attributes() []byte { return bytes.Clone(a.core.State().Doc.Attributes) }

// Metadata returns a copy of the document that describes the array.
func (a *Array) Metadata() *metadata.Array { return a.core.State().Doc.Clone() }

// String describes the array in one line: data type, shape, chunks and location.
func (a *Array) String() string {
	s := a.core.State()
	return fmt.Sprintf("%s %s at %s", s.Type, s.Grid, a.Location())
}

// DimensionNames returns the name of every axis, "" for an axis without one. It is nil if
// the array names none.
func (a *Array) DimensionNames() []string { return a.core.State().DimensionNames() }

// Refresh reads the document again. Later calls see what other processes have published.
// If they have dropped or inserted elements, indices mean other elements from now on.
func (a *Array) Refresh(ctx context.Context) error {
	_, err := a.core.Reload(ctx, a.core.State())
	return a.fail("refresh", err)
}
