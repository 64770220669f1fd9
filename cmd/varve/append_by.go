// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/rechunk"
)

// byFlags adds the flags of --by.
func byFlags(c *cobra.Command, change *growth.Change) {
	f := c.Flags()
	f.StringVar(&change.By, "by", "", "append only planes that are new, by coordinate `COORD`")
	words := []string{string(growth.Skip), string(growth.Replace), string(growth.Refuse)}
	flagtext.Var(f, &change.OnDuplicate, "on-duplicate", string(growth.Refuse), "`DO` this with planes stored before: skip, replace or error", flagtext.OneOf(words...))
	flagtext.Var(f, &change.Grace, "grace", "", "with --by, first delete chunks of grids superseded this `TIME` ago",
		flagtext.Syntax(flagtext.ParseDuration))
	f.BoolVar(&change.Unlock, "unlock", false, "with --by, give a regular axis listed chunks for late planes")
	flagtext.Propose(c, "on-duplicate", words...)
}

// checkBy refuses flags that contradict each other.
func checkBy(cmd *cobra.Command, c *growth.Change) error {
	given := cmd.Flags().Changed
	switch {
	case given("by") && c.By == "":
		return failure.BadUsage("--by is empty; give the name of a coordinate")
	case c.By == "":
		for _, name := range []string{"on-duplicate", "grace", "unlock"} {
			if given(name) {
				return failure.BadUsage("--%s is for --by COORD", name)
			}
		}
		return nil
	case given("by") && given("expect"):
		return failure.BadUsage("--by and --expect exclude each other: with --by, a repeated command finds what is there")
	}
	_, err := newLatecomers(cmd, c, nil, "").options() // of --grace
	return err
}

// mostLooks bounds how often --by looks again because other writers append.
const mostLooks = 16

// longestPause is the longest pause before --by looks again.
const longestPause = 250 * time.Millisecond

// again calls try until no other writer comes between what it has found and what it
// appends. refresh brings arrays up to date.
//
// The pauses between attempts become longer. The documents of a group change one after
// the other, so the arrays differ in length until the other writer has changed the last
// one.
func again(ctx context.Context, try, refresh func() error) error {
	for k := 1; ; k++ {
		err := try()
		var there *growth.Duplicates
		isOurs := errors.Is(err, zarr.ErrConflict) && !errors.As(err, &there)
		// The attempt has waited a while for a rechunk that runs. One that does not,
		// or is not known to, may have a claim for ever.
		stays := errors.Is(err, rechunk.ErrClaimed) && !errors.Is(err, zarr.ErrLocked)
		if !isOurs || stays || k == mostLooks {
			return err
		}
		select {
		case <-time.After(min(time.Millisecond<<k, longestPause)):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := refresh(); err != nil {
			return err
		}
	}
}

// addBy appends those planes of a source that the array does not have.
func (g *appending) addBy(cmd *cobra.Command, source string, more *growth.Gain) (done input.File, err error) {
	a, axis := g.array, g.axis
	if axis < 0 || axis >= a.Rank() {
		return g.put(cmd, source, more, nil) // the library refuses the axis
	}
	var counts growth.Counts
	try := func() error {
		shape := a.Shape()
		p, have, e, err := g.placed(cmd, source, more)
		if err != nil {
			return err
		}
		targets := []growth.Target{{Array: a, Axis: axis, More: more}}
		if counts, err = growth.Merge(cmd, have, p.Present, source, targets, growth.On(g.change.OnDuplicate)); err != nil {
			return err
		}
		counts.Appended = int64(len(p.Appended))
		done = input.File{Source: source, Before: shape, Shape: shape}
		if len(p.Appended) > 0 {
			done, err = g.put(cmd, source, more.SelectPlanes(p.Appended, shape, axis), shape)
		}
		if err == nil {
			counts.Add(g.arrivals.waiting.Add(have, p, e, source, []*growth.Gain{more}))
		}
		return err
	}
	err = again(cmd.Context(), try, func() error { return a.Refresh(cmd.Context()) })
	g.arrivals.counts.Add(counts)
	return done, err
}

// placed returns where the planes of a source belong, by the coordinate of the array,
// with the present labels and the new ones.
func (g *appending) placed(cmd *cobra.Command, source string, more *growth.Gain) (p growth.Placing, have *growth.Labels, e element.Values, err error) {
	ctx, by, c := cmd.Context(), g.change.By, g.array
	beside := node.Beside(g.location, by)
	own := beside == node.Clean(g.location)
	if !own {
		if c, err = node.OpenSeen(ctx, beside, session.Reading(cmd)); err != nil {
			return p, nil, e, err
		}
		defer c.Close()
	}
	if have, err = growth.ReadLabels(ctx, c, by); err != nil {
		return p, nil, e, err
	}
	if own {
		if e, err = more.All(ctx); err == nil {
			p, err = g.arrivals.waiting.Place(have, e, source)
		}
		return p, have, e, err
	}
	if e, err = more.LabelsFor(ctx, by, c); err != nil {
		return p, nil, e, err
	}
	all, err := have.Place(e, source, 0)
	if unknown := int64(len(all.Appended) + len(all.Late)); err == nil && unknown > 0 {
		err = failure.BadArgument("--by %s: %s has %s that %s does not have: append to the group, with %s=FILE",
			by, source, phrase.Plural(unknown, "value"), beside, by)
	}
	// The coordinate may have grown before the array.
	slices.SortFunc(all.Present, func(a, b growth.Placed) int { return cmp.Compare(a.Cell, b.Cell) })
	for _, at := range all.Present {
		switch end := g.array.Shape()[g.axis]; {
		case at.Cell < end:
			p.Present = append(p.Present, at)
		case at.Cell == end+int64(len(p.Appended)):
			p.Appended = append(p.Appended, at.Plane)
		case err == nil:
			err = failure.BadArgument("--by %s: %s has a plane for index %d, and the array ends at %d: append what comes before it first", by, source, at.Cell, end)
		}
	}
	return p, have, e, err
}

// checkNamed returns an error if the coordinate of --by is not among the arrays that
// grow.
func checkNamed(c *growth.Change, inputs []*addition) error {
	var names []string
	for _, in := range inputs {
		names = append(names, in.name)
	}
	if c.By == "" || slices.Contains(names, c.By) {
		return nil
	}
	return failure.BadArgument("--by %s: %s=FILE is missing, with the new values of the coordinate%s", c.By, c.By, spelling.Meant(c.By, names))
}

// mergeAll appends those planes of several inputs that the arrays do not have, in one
// transaction, by put.
func mergeAll(cmd *cobra.Command, c *growth.Change, location string, inputs []*addition, m *arrivals, put func() error) error {
	i := slices.IndexFunc(inputs, func(in *addition) bool { return in.name == c.By })
	coordinate, full := inputs[i], make([]*growth.Gain, len(inputs))
	for k, in := range inputs {
		full[k] = in.more
	}
	var counts growth.Counts
	try := func() error {
		have, err := growth.ReadLabels(cmd.Context(), coordinate.array, c.By)
		if err != nil {
			return err
		}
		e, err := full[i].All(cmd.Context())
		if err != nil {
			return err
		}
		p, err := m.waiting.Place(have, e, coordinate.file)
		if err != nil {
			return failure.On(cmd.Name(), node.Clean(location)+"/"+coordinate.name, err)
		}
		targets := make([]growth.Target, len(inputs))
		for k, in := range inputs {
			if in.extent() != have.Len() || full[k].Planes != full[i].Planes {
				return failure.On(cmd.Name(), node.Clean(location)+"/"+in.name, failure.OfKind(zarr.ErrConflict,
					"it has %s and gets %d, %s has %d and gets %d: --by needs arrays that grow together",
					phrase.Plural(in.extent(), "plane"), full[k].Planes, c.By, have.Len(), full[i].Planes))
			}
			targets[k] = growth.Target{Array: in.array, Axis: in.axis, More: full[k]}
			in.more = full[k].SelectPlanes(p.Appended, in.array.Shape(), in.axis)
			in.opt.Expect, in.opt.Planes = in.array.Shape(), in.more.Planes
		}
		if counts, err = growth.Merge(cmd, have, p.Present, coordinate.file, targets, growth.On(c.OnDuplicate)); err != nil {
			return failure.On(cmd.Name(), node.Clean(location)+"/"+coordinate.name, err)
		}
		if counts.Appended = int64(len(p.Appended)); len(p.Appended) > 0 {
			err = put()
		}
		if err == nil {
			counts.Add(m.waiting.Add(have, p, e, coordinate.file, full))
		}
		return err
	}
	err := again(cmd.Context(), try, func() error {
		for _, in := range inputs {
			if err := in.array.Refresh(cmd.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	m.counts.Add(counts)
	return err
}
