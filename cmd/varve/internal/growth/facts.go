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

// Facts is the change of shape of one array, in JSON.
type Facts struct {
	Path    string       `json:"path"` // relative to the group if several arrays change
	Before  []int64      `json:"shape_before"`
	Shape   []int64      `json:"shape"`
	Sizes   output.Sizes `json:"chunk_sizes,omitempty"` // after the change, as runs of equal sizes
	Files   []input.File `json:"files,omitempty"`
	Notes   []string     `json:"notes,omitempty"`
	*Counts              // with --by

	grid *grid.Grid
}

// ReshapedTo returns the change of an array from the shape before to its present shape.
func ReshapedTo(path string, before []int64, a *zarr.Array) Facts {
	g := a.Grid()
	return Facts{Path: path, Before: before, Shape: a.Shape(), Sizes: output.SizesOf(g), grid: g}
}

// In returns the change with other chunks.
func (f Facts) In(g *grid.Grid) Facts {
	f.Sizes, f.grid = output.SizesOf(g), g
	return f
}

// Tell prints the change of shape of an array.
func (f Facts) Tell(cmd *cobra.Command) error {
	if session.WantsJSON(cmd) {
		f.Notes = append(f.Notes, session.TakeRemarks(cmd)...)
		return session.PrintJSON(cmd, f)
	}
	return f.print(cmd, f.Path)
}

// print prints the change of shape of the array at a location as text. In a dry run it
// also prints the new chunks.
func (f Facts) print(cmd *cobra.Command, location string) error {
	out := cmd.OutOrStdout()
	_, err := fmt.Fprintf(out, "%s  %s → %s\n", phrase.Printable(location), phrase.Shape(f.Before), phrase.Shape(f.Shape))
	if f.Counts != nil && err == nil {
		_, err = fmt.Fprintf(out, "  %v\n", *f.Counts)
	}
	if session.IsDryRun(cmd) && f.grid != nil && err == nil {
		_, err = fmt.Fprintf(out, "  %-13s %s\n", "chunks", phrase.Chunks(f.grid))
	}
	return err
}

// TellAll prints the changes of shape of arrays of the group at a location, and with --by
// what became of the new planes of each.
func TellAll(cmd *cobra.Command, location string, arrays []Facts, by *Counts) (err error) {
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, struct {
			Path   string   `json:"path"`
			Arrays []Facts  `json:"arrays"`
			Notes  []string `json:"notes,omitempty"` // about the group and its sources
			*Counts
		}{location, arrays, session.TakeRemarks(cmd), by})
	}
	for _, f := range arrays {
		err = errors.Join(err, f.print(cmd, node.Clean(location)+"/"+f.Path))
	}
	if by != nil && err == nil {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s  %v\n", phrase.Printable(location), *by)
	}
	return err
}
