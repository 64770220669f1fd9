// SPDX-License-Identifier: Apache-2.0

package array

import (
	"context"
	"runtime"

	"varve.dev/zarr/internal/dimension"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/store"
)

// Reshaping describes a change of the shape to package dimension.
func (a *Array) Reshaping(after func(shape []int64) []int64) dimension.Change {
	now := func() dimension.Array {
		s := a.state.Load()
		return dimension.Array{Path: a.Node.Path, Names: s.DimensionNames(), Shape: s.Grid.Shape()}
	}
	return dimension.Change{Path: a.Node.Path, Current: now, Refresh: a.refresh, After: after}
}

// refresh reads the document again.
func (a *Array) refresh(ctx context.Context) error {
	_, err := a.Reload(ctx, a.State())
	return err
}

// DimensionsOf returns the group at a path for package dimension, without its document.
// concurrency bounds the requests, as [engine.InFlight] does.
func DimensionsOf(r tree.Reader, p store.Path, concurrency int) dimension.Group {
	return dimension.Group{Reader: r, Path: p, InFlight: engine.InFlight(r.Store, concurrency, runtime.GOMAXPROCS(0))}
}

// CheckShared returns an error if arrays of one group would differ along a dimension
// after the changes, of which there is one for each array. at is the array that it is
// about.
func CheckShared(ctx context.Context, arrays []*Array, changes []dimension.Change) (at int, err error) {
	if len(arrays) == 0 {
		return 0, nil
	}
	n := arrays[0].Node
	return dimension.Changes{
		List:  changes,
		Group: func(p store.Path) dimension.Group { return DimensionsOf(n.Reader(), p, n.Concurrency) },
		Finish: func(ctx context.Context, p store.Path) {
			if arrays[0].Writable() != nil {
				return
			}
			other := n
			other.Path = p
			// Errors do not matter: the document is read afterwards.
			_ = other.FinishPending(ctx)
		},
	}.Check(ctx)
}

// CheckDimensions returns an error that wraps [fault.ErrInvalidArgument] if the array,
// with the given shape, would differ in length from other arrays of its group along a
// shared dimension whose length changes. It looks at what zarr.Group.CheckDimensions
// compares.
func (a *Array) CheckDimensions(ctx context.Context, shape []int64) error {
	if rank := a.State().Grid.Rank(); len(shape) != rank {
		return fault.Argument("the shape %v has %s, the array has %d", shape, quantity.Count(len(shape), "axes"), rank)
	}
	change := a.Reshaping(func([]int64) []int64 { return shape })
	_, err := CheckShared(ctx, []*Array{a}, []dimension.Change{change})
	return err
}
