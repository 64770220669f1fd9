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
	"varve.dev/zarr/internal/rehearsal"
)

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
		l := candidate{location: node.Clean(location) + "/" + m.Path, how: *how}
		if l.array, err = g.At(m.Path).OpenArray(cmd.Context(), nil); err != nil {
			return nil, err
		}
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
