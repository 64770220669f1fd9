// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/grid"
)

func newUnlockCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "unlock NODE",
		Short: "Turn the regular chunk grid of an array, or of all arrays of a group, into a rectilinear one",
		Long: `Turn the regular chunk grid of an array, or some axes of it, into a rectilinear one, so that the array can grow by any
length. Only the metadata changes; no chunk is moved or written.

In a group, all arrays below it are changed one after another. With --axis and the name of a dimension, only the arrays
that have this dimension are changed. Arrays behind links that lead out of the group are not changed.

If the last chunk of an axis is not full, it reaches beyond the extent. Appends then fill it, and write it again each
time. With --trim it is cut at the extent and written once; appends never touch it again.`,
		Example: `  varve unlock era5.zarr/t2m --axis time
  varve unlock era5.zarr/t2m --trim`,
		Args:              arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	opt := new(zarr.RectilinearOptions)
	c.Flags().BoolVar(&opt.Trim, "trim", false, "cut the last chunks at the extent, and store them again")
	axes := c.Flags().StringSlice("axis", nil, "the `AXES` to change, such as 0,2 or time; -1 is the last; all by default")
	singleWriter := growth.SingleWriterFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		for _, text := range *axes {
			if _, err := argument.ParseAxis(text); err != nil {
				return failure.BadUsage("--axis: %w", err)
			}
		}
		o := session.Writing(cmd)
		o.SingleWriter = *singleWriter
		return unlock(cmd, args[0], *axes, opt, o)
	}
	return c
}

// unlocked is the result for one array, in the form of --json.
type unlocked struct {
	Path          string          `json:"path"`
	Changed       bool            `json:"changed"`
	Before        json.RawMessage `json:"chunk_grid_before"`
	After         json.RawMessage `json:"chunk_grid"`
	facts.Readers                 // afterwards

	grid *grid.Grid
}

func unlock(cmd *cobra.Command, location string, axes []string, how *zarr.RectilinearOptions, opt *zarr.Options) error {
	n, err := zarr.Open(cmd.Context(), location, opt)
	if err != nil {
		return err
	}
	defer n.Close()
	a, ok := n.(*zarr.Array)
	if !ok {
		return unlockGroup(cmd, location, n.(*zarr.Group), axes, how)
	}
	if err := node.CheckOwn(cmd.Context(), location, a); err != nil {
		return err
	}
	for _, text := range axes {
		i, err := argument.AxisOfArray(text, a)
		if err != nil {
			return err
		}
		how.Axes = append(how.Axes, i)
	}
	u, err := unlockArray(cmd, location, a, how)
	if err != nil {
		return err
	}
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, u)
	}
	return errors.Join(u.print(cmd), printReaders(cmd, u))
}

// printReaders prints which programs can read the unlocked arrays. It prints each text
// only once.
func printReaders(cmd *cobra.Command, arrays ...*unlocked) (err error) {
	var said []string
	for _, u := range arrays {
		if text := u.Readers.Text(); !slices.Contains(said, text) {
			said = append(said, text)
			_, printErr := fmt.Fprintf(cmd.OutOrStdout(), "  readable by %s\n", text)
			err = errors.Join(err, printErr)
		}
	}
	return err
}

// unlockArray unlocks one array.
func unlockArray(cmd *cobra.Command, location string, a *zarr.Array, how *zarr.RectilinearOptions) (*unlocked, error) {
	before := gridJSON(a.Grid())
	err := a.MakeRectilinear(cmd.Context(), how)
	// The library does not know the command that converts.
	if errors.Is(err, zarr.ErrUnsupported) && a.Format() == 2 {
		return nil, failure.Unsupported("format 2 has only regular chunks; convert it first (varve convert %s --to 3)", phrase.Word(node.RootOf(location, a)))
	}
	if err != nil {
		return nil, err
	}
	after := gridJSON(a.Grid())
	return &unlocked{location, !bytes.Equal(before, after), before, after, facts.ReadersOf(cmd.Context(), a), a.Grid()}, nil
}

func (u *unlocked) print(cmd *cobra.Command) error {
	note := ""
	switch {
	case !u.Changed:
		note = "  (nothing to do)"
	case overhangs(u.grid):
		note = "  (the last chunks reach beyond the array until appends fill them; --trim cuts them)"
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %s chunks %s%s\n", phrase.Printable(u.Path), u.grid.Name(), phrase.Chunks(u.grid), note)
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
