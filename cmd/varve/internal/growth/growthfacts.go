// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/grid"
)

// Facts is how one array has changed its shape, as programs read it.
type Facts struct {
	Path   string       `json:"path"` // relative to the group where several change
	Before []int64      `json:"shape_before"`
	Shape  []int64      `json:"shape"`
	Sizes  output.Sizes `json:"chunk_sizes,omitempty"` // after the change, as runs
	Files  []input.File `json:"files,omitempty"`
	Notes  []string     `json:"notes,omitempty"`

	grid *grid.Grid
}

// ReshapedTo returns how an array has changed from a shape to the one it has now.
func ReshapedTo(path string, before []int64, a *zarr.Array) Facts {
	g := a.Grid()
	return Facts{Path: path, Before: before, Shape: a.Shape(), Sizes: output.SizesOf(g), grid: g}
}

// Tell prints how an array has changed its shape.
func (f Facts) Tell(cmd *cobra.Command) error {
	if session.WantsJSON(cmd) {
		f.Notes = append(f.Notes, session.TakeRemarks(cmd)...)
		return session.PrintJSON(cmd, f)
	}
	return f.print(cmd, f.Path)
}

// print shows people how the array at a location has changed its shape, and in a dry run
// how it would be cut.
func (f Facts) print(cmd *cobra.Command, location string) error {
	out := cmd.OutOrStdout()
	_, err := fmt.Fprintf(out, "%s  %s → %s\n", phrase.Printable(location), phrase.Shape(f.Before), phrase.Shape(f.Shape))
	if session.IsDryRun(cmd) && f.grid != nil && err == nil {
		_, err = fmt.Fprintf(out, "  %-13s %s\n", "chunks", phrase.Chunks(f.grid))
	}
	return err
}

// TellAll prints how arrays of the group at a location have changed their shapes.
func TellAll(cmd *cobra.Command, location string, arrays []Facts) (err error) {
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, map[string]any{"path": location, "arrays": arrays})
	}
	for _, f := range arrays {
		err = errors.Join(err, f.print(cmd, node.Clean(location)+"/"+f.Path))
	}
	return err
}
