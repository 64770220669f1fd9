package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/consolidated"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/grid"
)

// drawn is a grid that is to be shown, with what is known besides.
type drawn struct {
	title string
	grid  *grid.Grid
	inner *grid.Grid                                                     // nil where chunks are no shards
	array *zarr.Array                                                    // nil where the grid is of no array, or of one that cannot be opened
	each  func(ctx context.Context, use func(index []int64) error) error // visits the stored chunks; nil where they are not known
	names []string
	axes  []int // that are drawn
}

// drawn returns the grid that the command line means: of a node, or as the flags describe
// it.
func (f *gridFlags) drawn(cmd *cobra.Command, args []string) (*drawn, error) {
	shaped, described := cmd.Flags().Changed("shape"), cmd.Flags().Changed("chunk-grid")
	switch {
	case len(args) == 1 && (shaped || described):
		return nil, failure.BadUsage("NODE has a grid of its own: leave out --shape and --chunk-grid")
	case len(args) == 0 && !(shaped && described):
		return nil, failure.BadUsage("NODE is missing, or both --shape and --chunk-grid")
	case len(args) == 0:
		return f.described(session.GridOptions(cmd))
	}
	a, err := node.OpenArray(cmd, args[0])
	if err != nil {
		return drawnDocument(cmd, args[0], err)
	}
	return drawnArray(args[0], a), nil
}

func drawnArray(title string, a *zarr.Array) *drawn {
	each := func(ctx context.Context, use func([]int64) error) error {
		for index, err := range a.StoredChunks(ctx) {
			if err := cmp.Or(err, use(index)); err != nil {
				return err
			}
		}
		return nil
	}
	d := &drawn{title: title, grid: a.Grid(), array: a, each: each, names: a.DimensionNames()}
	if n := a.Inner(); n != nil {
		d.inner, _ = n.Grid() // too many lists are not drawn either
	}
	return d
}

// drawnDocument returns the grid of an array that cannot be opened for another reason.
func drawnDocument(cmd *cobra.Command, location string, reason error) (*drawn, error) {
	if !consolidated.Undecodable(reason) {
		return nil, reason
	}
	doc := facts.ReadDocument(cmd.Context(), location, session.Permitted(cmd))
	if doc == nil || doc.Grid == nil {
		return nil, reason
	}
	d := &drawn{title: location, grid: doc.Grid, inner: doc.Inner}
	for _, name := range doc.DimensionNames {
		if name == nil {
			name = new(string)
		}
		d.names = append(d.names, *name)
	}
	if doc.Counted {
		d.each = func(ctx context.Context, use func([]int64) error) error {
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

// described returns the grid that --shape and --chunk-grid describe.
func (f *gridFlags) described(how grid.ParseOptions) (*drawn, error) {
	shape, err := argument.ParseShape(f.shape)
	if err != nil {
		return nil, err
	}
	e, err := argument.ChunkGrid(f.chunkGrid)
	if err != nil {
		return nil, failure.On("parse", "--chunk-grid", err)
	}
	g, err := chunking.Named(shape, e, how)
	if err != nil {
		return nil, failure.On("parse", "--chunk-grid", err)
	}
	return &drawn{title: "array", grid: g}, nil
}

// chosenAxes returns the axes of --axes, nil where the choice is left to the drawing.
func (f *gridFlags) chosenAxes(d *drawn) (axes []int, err error) {
	texts, err := parseTwoAxes(f.axes)
	if err != nil {
		return nil, err
	}
	rank := d.grid.Rank()
	for _, text := range texts {
		i, err := argument.AxisOf(text, d.names, rank)
		if err != nil {
			return nil, err
		}
		if i < 0 || i >= rank {
			return nil, failure.BadArgument("--axes %s: there is no axis %s, the array has %s", f.axes, text, phrase.Plural(int64(rank), "axis"))
		}
		if slices.Contains(axes, i) {
			return nil, failure.BadArgument("--axes %s: both are axis %d", f.axes, i)
		}
		axes = append(axes, i)
	}
	return axes, nil
}

// parseTwoAxes reads one or two different axes; without text there are none.
func parseTwoAxes(text string) ([]string, error) {
	axes, err := argument.ParseAxes(text)
	if err == nil && (len(axes) > 2 || len(axes) == 2 && axes[0] == axes[1]) {
		err = errors.New("one or two different axes are needed, as numbers from 0 or names of dimensions")
	}
	return axes, err
}
