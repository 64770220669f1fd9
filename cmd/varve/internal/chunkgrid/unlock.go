// SPDX-License-Identifier: Apache-2.0

package chunkgrid

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/rehearsal"
)

// NewUnlock returns the command unlock.
func NewUnlock() *cobra.Command {
	c := &cobra.Command{
		Use:   "unlock NODE",
		Short: "Make the regular chunk grid of an array, or of all arrays of a group, rectilinear",
		Long: `Turn the regular chunk grid of an array, or some axes of it, into a rectilinear one, so that the array can grow by any
length. Only the metadata changes; no chunk is moved or written.

In a group, all arrays below it are changed one after another. With --axis and the name of a dimension, only the arrays
that have this dimension are changed. Arrays behind links that lead out of the group are not changed.

If the last chunk of an axis is not full, it reaches beyond the extent. Appends then fill it, and write it again each
time. With --trim it is cut at the extent and written once; appends never touch it again.`,
		Example: `  varve unlock era5.zarr/t2m --axis time
  varve unlock era5.zarr/t2m --trim`,
		Args:              usage.Arguments("NODE"),
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
	before := facts.GridJSON(a.Grid())
	err := a.MakeRectilinear(cmd.Context(), how)
	// The library does not know the command that converts.
	if errors.Is(err, zarr.ErrUnsupported) && a.Format() == 2 {
		return nil, failure.Unsupported("format 2 has only regular chunks; convert it first (varve convert %s --to 3)", phrase.Word(node.RootOf(location, a)))
	}
	if err != nil {
		return nil, err
	}
	after := facts.GridJSON(a.Grid())
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

// candidate is an array of a group that is about to be unlocked.
type candidate struct {
	location string
	array    *zarr.Array
	how      zarr.RectilinearOptions
}

// unlockGroup unlocks the arrays below a group that have the axes. It checks all of them
// before it changes the first one. Repeating the command after a failure is safe.
func unlockGroup(cmd *cobra.Command, location string, g *zarr.Group, axes []string, how *zarr.RectilinearOptions) error {
	arrays, err := candidates(cmd, location, g, axes, how)
	if err != nil {
		return err
	}
	p := progress.NewCount(cmd, "unlocking arrays", int64(len(arrays)))
	defer p.End()
	done := make([]*unlocked, 0, len(arrays))
	for _, l := range arrays {
		u, err := unlockArray(cmd, l.location, l.array, &l.how)
		if err != nil {
			return someUnlocked(failure.On(cmd.Name(), l.location, err), len(done), len(arrays))
		}
		p.Add(1)
		done = append(done, u)
		if session.WantsJSON(cmd) {
			continue
		}
		if err := u.print(cmd); err != nil {
			return err
		}
	}
	p.End()
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, map[string]any{"path": location, "arrays": done})
	}
	return printReaders(cmd, done...)
}

// someUnlocked adds to an error how many arrays of a group are already unlocked.
func someUnlocked(err error, done, all int) error {
	if done == 0 {
		return err
	}
	return failure.Leftover(err, "%d of %s were unlocked; repeat the command for the others", done, phrase.Plural(int64(all), "array"))
}

// candidates returns the arrays below a group that have any of the axes, or all arrays if
// no axes are given.
func candidates(cmd *cobra.Command, location string, g *zarr.Group, axes []string, how *zarr.RectilinearOptions) (arrays []candidate, err error) {
	p := progress.NewCount(cmd, "reading nodes", 0)
	defer p.End()
	var names []string
	for m, err := range node.Arrays(cmd, location, g, nil, node.Filter{Deep: true}) {
		if err != nil {
			return nil, err
		}
		p.Add(1)
		l := candidate{location: m.Location, array: m.Array, how: *how}
		if level, err := node.LevelText(cmd.Context(), l.location, l.array); level != "" || err != nil {
			if err != nil {
				return nil, failure.On(cmd.Name(), l.location, err)
			}
			session.Remark(cmd, l.location, "it is "+level+", and is left as it is")
			continue
		}
		names = append(names, l.array.DimensionNames()...)
		// try finds failures before the first array changes.
		if err = l.find(axes); err == nil {
			err = l.try(cmd, g)
		}
		concerned := len(axes) == 0 && l.array.Rank() > 0 || len(l.how.Axes) > 0
		if err == nil && concerned {
			err = node.CheckOwn(cmd.Context(), l.location, l.array)
		}
		if err != nil {
			return nil, failure.On(cmd.Name(), l.location, err)
		}
		if concerned {
			arrays = append(arrays, l)
		}
	}
	if len(axes) > 0 && len(arrays) == 0 {
		return nil, failure.BadArgument("no array of the group has an axis %s%s", strings.Join(axes, " or "), spelling.Meant(axes[0], names))
	}
	return arrays, nil
}

// try rehearses a change that trims chunks. It fails if shards would not consist of whole
// inner chunks.
func (l *candidate) try(cmd *cobra.Command, g *zarr.Group) error {
	if !l.how.Trim {
		return nil
	}
	opt := session.Writing(cmd)
	opt.Rehearsal, opt.Observer = new(rehearsal.Ledger), nil
	a, err := l.array.Location().OpenArray(cmd.Context(), opt)
	if err != nil {
		return err
	}
	return errors.Join(a.MakeRectilinear(cmd.Context(), &l.how), a.Close())
}

// find finds the axes of the array. It ignores names and numbers of axes that the array
// does not have, because other arrays of the group may have them. It fails for an array
// of format 2 that has any of the axes.
func (l *candidate) find(axes []string) error {
	a := l.array
	for _, text := range axes {
		if !argument.IsNumber(text) && !slices.Contains(a.DimensionNames(), text) {
			continue
		}
		i, err := argument.AxisOfArray(text, a)
		if err != nil {
			return err
		}
		if i >= 0 && i < a.Rank() {
			l.how.Axes = append(l.how.Axes, i)
		}
	}
	if a.Format() == 2 && a.Rank() > 0 && (len(axes) == 0 || len(l.how.Axes) > 0) {
		return failure.Unsupported("format 2 has only regular chunks; convert it first (varve convert %s --to 3)", phrase.Word(node.RootOf(l.location, a)))
	}
	return nil
}
