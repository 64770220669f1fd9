package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/grid"
)

func newUnlockCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "unlock NODE",
		Short: "List the chunk lengths of an array, so that it can grow by any length",
		Long: `List the chunk lengths of an array, so that it can grow by any length: a regular chunk grid becomes a rectilinear one, or
some axes of it. That changes the metadata alone; no chunk is moved or written.

The last chunk of an axis reaches beyond the extent where it is not full. Appends fill it, and write it again for that, until
it is. With --trim it is written once, just as far as the array reaches, and appends never touch it again.`,
		Example: `  varve unlock era5.zarr/t2m --axis 0
  varve unlock era5.zarr/t2m --trim`,
		Args:              arguments("NODE"),
		ValidArgsFunction: completeNode,
	}
	opt := new(zarr.UnlockOptions)
	c.Flags().BoolVar(&opt.Trim, "trim", false, "store the last chunks again, without what reaches beyond the array")
	c.Flags().IntSliceVar(&opt.Axes, "axis", nil, "the `AXES` that are listed, as 0,2; -1 is the last; all by default")
	singleWriter := singleWriterFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		o := writing(cmd)
		o.SingleWriter = *singleWriter
		return unlock(cmd, args[0], opt, o)
	}
	return c
}

func unlock(cmd *cobra.Command, location string, how *zarr.UnlockOptions, opt *zarr.Options) error {
	a, err := zarr.OpenArray(cmd.Context(), location, opt)
	if err != nil {
		return err
	}
	defer a.Close()
	for i, axis := range how.Axes {
		if axis < 0 && axis >= -a.Rank() {
			how.Axes[i] += a.Rank()
		}
	}
	before := describeGrid(a.Grid())
	if err := a.Unlock(cmd.Context(), how); err != nil {
		return err
	}
	after := describeGrid(a.Grid())
	changed := string(before.ChunkGrid) != string(after.ChunkGrid)
	if wantsJSON(cmd) {
		return printJSON(cmd, map[string]any{
			"path": location, "changed": changed, "chunk_grid_before": before.ChunkGrid, "chunk_grid": after.ChunkGrid,
		})
	}
	note := ""
	switch {
	case !changed:
		note = "  (nothing to do)"
	case overhangs(a.Grid()):
		note = "  (the last chunks reach beyond the array until appends have filled them; --trim cuts them)"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s  %s chunks %s%s\n", printable(location), a.Grid().Name(), chunksText(a.Grid()), note)
	return err
}

// overhangs reports whether the last chunk of an axis is stored beyond the extent.
func overhangs(g *grid.Grid) bool {
	for i := range g.Rank() {
		a := g.Axis(i)
		if last, ok := a.Cell(a.Chunks() - 1); ok && last.IsBoundary() {
			return true
		}
	}
	return false
}
