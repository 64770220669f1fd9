// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/store/rehearsal"
)

// locked is an array of a group that is about to be unlocked.
type locked struct {
	location string
	array    *zarr.Array
	how      zarr.RectilinearOptions
}

// unlockGroup unlocks the arrays below a group that have the axes. All of them are looked
// at before the first one is changed, so that an array that cannot be unlocked changes
// nothing. To repeat the command after a failure is safe.
func unlockGroup(cmd *cobra.Command, location string, g *zarr.Group, axes []string, how *zarr.RectilinearOptions) error {
	arrays, err := lockedArrays(cmd, location, g, axes, how)
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

// someUnlocked returns an error with how far the unlocking of a group came.
func someUnlocked(err error, done, all int) error {
	if done == 0 {
		return err
	}
	return failure.Leftover(err, "%d of %s were unlocked; repeat the command for the others", done, phrase.Plural(int64(all), "array"))
}

// lockedArrays returns the arrays below a group that have any of the axes, or all arrays
// where none are named.
func lockedArrays(cmd *cobra.Command, location string, g *zarr.Group, axes []string, how *zarr.RectilinearOptions) (arrays []locked, err error) {
	p := progress.NewCount(cmd, "reading nodes", 0)
	defer p.End()
	var names []string
	for m, err := range g.Members(cmd.Context(), true) {
		if err == nil {
			err = m.Err
		}
		if err != nil {
			return nil, err
		}
		p.Add(1)
		if _, ok := m.Node.(*zarr.Array); !ok {
			continue
		}
		other, err := node.IsOther(cmd, location, g, m.Path, true)
		if err != nil {
			return nil, err
		}
		if other {
			continue
		}
		l := locked{location: node.Clean(location) + "/" + m.Path, how: *how}
		if l.array, err = g.At(m.Path).OpenArray(cmd.Context(), nil); err != nil {
			return nil, err
		}
		names = append(names, l.array.DimensionNames()...)
		if err = l.find(axes); err == nil {
			err = l.try(cmd, g)
		}
		if err != nil {
			return nil, failure.On(cmd.Name(), l.location, err)
		}
		if len(axes) == 0 && l.array.Rank() > 0 || len(l.how.Axes) > 0 {
			arrays = append(arrays, l)
		}
	}
	if len(axes) > 0 && len(arrays) == 0 {
		return nil, failure.BadArgument("no array of the group has an axis %s%s", strings.Join(axes, " or "), spelling.Meant(axes[0], names))
	}
	return arrays, nil
}

// try rehearses a change that trims chunks, since shards may have no whole number of
// inner chunks afterwards.
func (l *locked) try(cmd *cobra.Command, g *zarr.Group) error {
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

// find finds the axes that texts mean. Names that the array does not have, and numbers
// beyond its axes, are those of other arrays of the group. An array that is meant and
// whose format has no lists is refused.
func (l *locked) find(axes []string) error {
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
		return failure.Unsupported("format 2 has regular chunks only; convert it first (varve convert %s --to 3)", phrase.Word(node.RootOf(l.location, a)))
	}
	return nil
}
