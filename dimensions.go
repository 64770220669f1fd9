// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"runtime"

	"varve.dev/zarr/internal/dimension"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/store"
)

// CheckDimensions returns an error that wraps [ErrInvalidArgument] if the array, with the
// given shape, would differ in length from other arrays of its group along a shared
// dimension whose length changes. [Append] and [Array.Resize] do not check this. Call
// CheckDimensions before them, or use [Group.Append], which calls it.
//
// It compares the arrays directly below the same group. If the group has no coordinate
// for a dimension, it also compares the coordinate in the nearest group above. It does
// not compare levels of a pyramid (attribute multiscales). Without consolidated metadata
// it reads the documents of the coordinates of these dimensions and of the first 1,000
// members.
func (a *Array) CheckDimensions(ctx context.Context, shape []int64) error {
	if len(shape) != a.Rank() {
		return a.fail("compare", fault.Argument("the shape %v has %d axes, the array has %d", shape, len(shape), a.Rank()))
	}
	change := a.reshaping(func([]int64) []int64 { return shape })
	return checkShared(ctx, "check dimensions", []*Array{a}, []dimension.Change{change})
}

// CheckDimensions returns an error that wraps [ErrInvalidMetadata] if arrays directly
// below the group differ in length along a shared dimension. It joins one error for each
// such dimension. Some programs, such as xarray, do not open such a group. Levels of a
// pyramid (attribute multiscales) may differ. See [Array.CheckDimensions] for what is
// compared.
func (g *Group) CheckDimensions(ctx context.Context) error {
	of := g.hierarchy.dimensions(g.path, g.options)
	// Use the document that the group was opened with, as Members does.
	of.Doc, of.Listed = g.doc, g.listed
	return g.fail("check dimensions", of.Check(ctx))
}

// dimensions returns the group at a path for package dimension, without its document.
func (h *hierarchy) dimensions(p store.Path, opt Options) dimension.Group {
	inFlight := engine.InFlight(h.store, opt.Concurrency, runtime.GOMAXPROCS(0))
	return dimension.Group{Reader: h.reader(opt.Limits), Path: p, InFlight: inFlight}
}

// reshaping describes a change of the shape to package dimension.
func (a *Array) reshaping(after func(shape []int64) []int64) dimension.Change {
	now := func() dimension.Array {
		s := a.state.Load()
		return dimension.Array{Path: a.path, Names: s.DimensionNames(), Shape: s.Grid.Shape()}
	}
	return dimension.Change{Path: a.path, Now: now, Refresh: a.Refresh, After: after}
}

// checkShared returns an error if arrays of one group would differ along a dimension
// after the changes, of which there is one for each array.
func checkShared(ctx context.Context, op string, arrays []*Array, changes []dimension.Change) error {
	if len(arrays) == 0 {
		return nil
	}
	h, opt := arrays[0].hierarchy, arrays[0].options
	at, err := dimension.Changes{
		List:  changes,
		Group: func(p store.Path) dimension.Group { return h.dimensions(p, opt) },
		Finish: func(ctx context.Context, p store.Path) {
			// Opening for writing completes the transaction. Errors do not matter: the
			// document is read afterwards.
			_, _ = h.at(p).OpenArray(ctx, &opt)
		},
	}.Check(ctx)
	return arrays[at].fail(op, err)
}
