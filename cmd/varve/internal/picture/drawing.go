// SPDX-License-Identifier: Apache-2.0

// Package picture prepares drawings of chunk grids. It finds stored chunks and the
// names of times.
package picture

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/consolidated"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/grid"
)

// Grid is a grid to draw, with what is known about its chunks.
type Grid struct {
	Title  string
	Chunks *grid.Grid
	Inner  *grid.Grid                                                     // nil if chunks are not shards
	Array  *zarr.Array                                                    // nil if there is no array, or it cannot be opened
	Each   func(ctx context.Context, use func(index []int64) error) error // visits the stored chunks; nil if they are unknown
	Names  []string
	Axes   []int // axes to draw
}

// OfArray returns the grid of an array.
func OfArray(title string, a *zarr.Array) *Grid {
	each := func(ctx context.Context, use func([]int64) error) error {
		for index, err := range a.StoredChunks(ctx) {
			if err := cmp.Or(err, use(index)); err != nil {
				return err
			}
		}
		return nil
	}
	d := &Grid{Title: title, Chunks: a.Grid(), Array: a, Each: each, Names: a.DimensionNames()}
	if n := a.Inner(); n != nil {
		d.Inner, _ = n.Grid() // nil if there are too many lists to draw
	}
	return d
}

// OfDocument returns the grid of an array that cannot be opened because of reason.
func OfDocument(cmd *cobra.Command, location string, reason error) (*Grid, error) {
	if !consolidated.Undecodable(reason) {
		return nil, reason
	}
	doc := facts.ReadDocument(cmd.Context(), location, session.Permitted(cmd))
	if doc == nil || doc.Grid == nil {
		return nil, reason
	}
	d := &Grid{Title: location, Chunks: doc.Grid, Inner: doc.Inner}
	for _, name := range doc.DimensionNames {
		if name == nil {
			name = new(string)
		}
		d.Names = append(d.Names, *name)
	}
	if doc.Counted {
		d.Each = func(ctx context.Context, use func([]int64) error) error {
			// Stored takes a function without an error. Cancelling is the way to stop it.
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			err := doc.Stored(ctx, func(index []int64, _ int64) {
				if err := use(index); err != nil {
					cancel(err)
				}
			})
			return cmp.Or(context.Cause(ctx), err)
		}
	}
	return d, nil
}

// ParseAxes parses one or two different axes. The empty text has none.
func ParseAxes(text string) ([]string, error) {
	axes, err := argument.ParseAxes(text)
	if err == nil && (len(axes) > 2 || len(axes) == 2 && axes[0] == axes[1]) {
		err = errors.New("give one or two different axes, as numbers from 0 or names of dimensions")
	}
	return axes, err
}
