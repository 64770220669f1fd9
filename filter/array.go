// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	core "varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
)

// array is an array that is filtered.
type array struct {
	path   string // below the node
	axis   int
	of     *zarr.Array
	from   *core.Session   // of it
	source *snapshot.Array // as it was opened
	doc    *metadata.Array // of the result
	kept   *rows
	pieces []piece        // along the axis of the result
	slabs  []slab         // along that of the source
	stored *staging.Table // the stored chunks of the source, nil if the store cannot list
	staged map[int64]bool // the chunks of the result that are finished, by number

	// An array of a ragged set has, in place of rows of the table, their elements, or
	// their offsets, which are those of the kept rows in the result.
	elementsOf, offsetsOf *set
}

// newArray describes an array as it was opened. Reads hold up to budget bytes.
func newArray(a *zarr.Array, path string, axis int, budget int64) (*array, error) {
	r := &array{path: path, axis: axis, of: a, from: a.Core().Begin()}
	var err error
	r.source, err = r.from.Bind(a.Metadata(), false, func(e *engine.Array) {
		e.Store, e.Budget, e.RequireChunks = staging.Witness{Store: e.Store}, budget, false
	})
	if err != nil {
		return nil, err
	}
	for i := range r.source.Grid.Rank() {
		if r.source.Grid.Axis(i).IsEncoded() {
			return nil, &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: chunks that are stored longer than their edges are not filtered", zarr.ErrUnsupported)}
		}
	}
	return r, nil
}

// extent returns the length of the filtered axis.
func (r *array) extent() int64 { return r.source.Grid.Axis(r.axis).Extent() }

// plan cuts the kept rows into chunks, and makes the document of the result.
func (r *array) plan(kept *rows) (err error) {
	a, every := r.source.Grid.Axis(r.axis), int64(0)
	if r.source.Doc.Format() == 2 { // which has chunks of one length
		every = a.Step()
	}
	r.kept, r.pieces = kept, cut(a, kept, r.innerStep(), every)
	is, err := axisOf(a, r.pieces, every)
	if err == nil {
		r.doc, err = r.recut(is)
	}
	if err != nil {
		return &grid.AxisError{Axis: r.axis, Err: err}
	}
	if !r.copies() || r.offsetsOf != nil {
		for i := range r.pieces {
			r.pieces[i].whole = -1
		}
	}
	r.slabs = slabsOf(a, kept, r.pieces)
	return nil
}

// copies reports whether chunks of one shape have the same bytes in source and result.
func (r *array) copies() bool {
	for i := range r.source.Grid.Rank() {
		// The result stores such chunks at their full length.
		if i != r.axis && r.source.Grid.Axis(i).IsTrimmed() {
			return false
		}
	}
	return slices.EqualFunc(r.source.Document().Codecs, r.doc.Codecs, metadata.Extension.Equal)
}

// innerStep returns the length of inner chunks along the axis, or 1 if there are none, or
// if they need not divide shards.
func (r *array) innerStep() int64 {
	cuts := r.source.Engine.Chain.Cuts()
	if cuts == nil {
		return 1
	}
	a, err := grid.NewAxis(0, cuts[r.axis])
	if err != nil || a.IsTrimmed() || !a.IsRegular() {
		return 1
	}
	return a.Step()
}

// recut returns the document with another axis.
func (r *array) recut(is grid.Axis) (*metadata.Array, error) {
	shape, cuts := r.source.Grid.Shape(), make([]grid.Cut, r.source.Grid.Rank())
	shape[r.axis] = is.Extent()
	for i := range cuts {
		a := r.source.Grid.Axis(i)
		if i == r.axis {
			a = is
		}
		if cuts[i] = grid.Every(a.Step()); !a.IsRegular() {
			cuts[i] = grid.Runs(slices.Collect(a.Edges())...)
		}
	}
	g, err := grid.New(shape, cuts...)
	if err != nil {
		return nil, err
	}
	doc, err := r.source.Document().Recut(shape, snapshot.GridExtension(g, 0))
	if err != nil {
		return nil, err
	}
	return withoutStart(doc)
}

// withoutStart removes a stored growth policy whose times are counted from a start with
// one step. The rows that are kept have no step, so they would begin months elsewhere.
func withoutStart(doc *metadata.Array) (*metadata.Array, error) {
	raw, found, err := metadata.Attribute(doc.Attributes, own.Growth)
	var stored struct {
		Start string `json:"start"`
	}
	if err != nil || !found || json.Unmarshal(raw, &stored) != nil || stored.Start == "" {
		return doc, nil
	}
	object, err := metadata.UnsetAttribute(doc.Attributes, own.Growth)
	if err != nil {
		return nil, err
	}
	return doc.WithAttributes(object)
}

// confirm returns an error if the source has changed since it was opened, except by
// growth.
func (r *array) confirm(ctx context.Context) error {
	now, err := r.from.Unmoved(ctx)
	if errors.Is(err, zarr.ErrConflict) {
		return fmt.Errorf("%w: elements were dropped or inserted since filtering began; filter it again", zarr.ErrSourceChanged)
	}
	if err != nil {
		return err
	}
	chunks := grid.BoxOf(r.source.Grid.Chunks())
	if why := r.source.ChangedFor(now, chunks); why != "" {
		return fmt.Errorf("%w: %s since filtering began; filter it again", zarr.ErrSourceChanged, why)
	}
	if !r.source.GrewTo(now, chunks) {
		return fmt.Errorf("%w: it became shorter since filtering began; filter it again", zarr.ErrSourceChanged)
	}
	return nil
}
