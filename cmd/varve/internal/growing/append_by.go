// SPDX-License-Identifier: Apache-2.0

package growing

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/internal/export"
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
	_, err := newLatecomers(cmd, c, nil, "").Options() // of --grace
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
		p, have, e, err := g.placing(cmd, source, more)
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

// placing returns where the planes of a source belong, by the coordinate of the array,
// with the present labels and the new ones.
func (g *appending) placing(cmd *cobra.Command, source string, more *growth.Gain) (p growth.Placing, have *growth.Labels, e export.Values, err error) {
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
			by, source, phrase.Plural(unknown, "value"), beside, phrase.Word(by))
	}
	// The coordinate may have grown before the array.
	sort.Slice(all.Present, func(i, j int) bool { return all.Present[i].Cell < all.Present[j].Cell })
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
// grow. ofSources is set if these are all that grow along the dimension.
func checkNamed(cmd *cobra.Command, location string, c *growth.Change, inputs []*addition, axis string, ofSources bool) error {
	var names []string
	for _, in := range inputs {
		names = append(names, in.name)
	}
	if c.By == "" || slices.Contains(names, c.By) {
		return nil
	}
	g, err := zarr.OpenGroup(cmd.Context(), location, session.Reading(cmd))
	if err != nil {
		return err
	}
	defer g.Close()
	var opened []*addition
	var coordinates []string
	for _, name := range names {
		a, err := g.At(name).OpenArray(cmd.Context(), nil)
		if err != nil {
			return err
		}
		if opened = append(opened, &addition{name: name, array: a}); a.Rank() == 1 {
			coordinates = append(coordinates, name)
		}
	}
	others := "; none of the arrays that grow has one axis, as a coordinate has"
	if len(coordinates) > 0 {
		others = "; the coordinates that grow are " + strings.Join(coordinates, ", ") + spelling.Meant(c.By, coordinates)
	}
	a, err := g.At(c.By).OpenArray(cmd.Context(), nil)
	dimension := growingDimension(opened, axis)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failure.BadArgument("--by %s: there is no such array in the group%s", c.By, others)
	case err != nil:
		return err
	case ofSources, dimension != "" && a.DimensionNames() != nil && !slices.Contains(a.DimensionNames(), dimension):
		return failure.BadArgument("--by %s: it does not grow along %s%s", c.By, phrase.Word(dimension), others)
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

// checkSource returns an error if a source cannot be appended to an array, or else the
// number of its planes, -1 if it is not known. It reads no values, unless the source is
// an array whose missing values may be ordinary numbers in this one. Streams, pipes and
// JSON are not checked: their shape is unknown until they are read.
func checkSource(cmd *cobra.Command, source, formatName string, a *zarr.Array, axis int) (planes int64, err error) {
	if source == "-" || source == "" {
		return -1, nil
	}
	if !node.IsLocation(source) {
		f, err := format.Of(formatName, source, true)
		if err != nil {
			return -1, err
		}
		// Reading a pipe here would take its bytes from the append.
		if info, err := os.Stat(source); err != nil || f == export.JSON || !info.Mode().IsRegular() {
			return -1, err
		}
	}
	v, err := input.Open(cmd, source, formatName, a.Type(), a)
	if err != nil {
		return -1, err
	}
	defer v.Close()
	if err := v.CheckEncoding(cmd.Context(), a); err != nil {
		return -1, err
	}
	if err := v.CheckAxes(cmd.Context(), a, axis); err != nil {
		return -1, err
	}
	shape := a.Shape()
	// If the length is unknown, or planes have no elements, only the append can count
	// planes.
	if err := growth.Continues(v, shape, axis); err != nil || v.Total < 0 || growth.HasEmptyPlanes(shape, axis) {
		return -1, err
	}
	return growth.WholePlanes(v, shape, axis, v.Total/export.Width(v.Type))
}

// checkRounds returns an error if a file of any round cannot be appended, before the
// first round is. A single round is checked by its append.
func checkRounds(cmd *cobra.Command, location string, rounds [][]*addition, formatName, axis string) error {
	if len(rounds) < 2 {
		return nil
	}
	g, err := zarr.OpenGroup(cmd.Context(), location, session.Reading(cmd))
	if err != nil {
		return err
	}
	defer g.Close()
	var names []*addition
	for _, in := range rounds[0] {
		names = append(names, &addition{name: in.name, column: in.column, items: in.items})
	}
	if err := openInputs(cmd, g, names, location, axis); err != nil {
		return err
	}
	for _, inputs := range rounds {
		var known []*addition
		for i, in := range inputs {
			one := *names[i]
			if one.axis < 0 || one.axis >= one.array.Rank() {
				return nil // the append reports it
			}
			planes, err := checkSource(cmd, in.file, formatName, one.array, one.axis)
			if err != nil {
				return failure.On(cmd.Name(), node.Clean(location)+"/"+one.name, err)
			}
			if one.more = (&growth.Gain{Planes: planes}); planes >= 0 {
				known = append(known, &one)
			}
		}
		if err := sameGrowth(known); err != nil {
			return failure.On(cmd.Name(), location, fromFile(err, inputs[0].file))
		}
	}
	return nil
}

// fromFile names the first file of a round in an error.
func fromFile(err error, file string) error {
	return failure.OfKind(zarr.ErrInvalidArgument, "%s: %w", file, err)
}

// restOf returns the arguments that are left of a command from a round on: the sources,
// if it was given any, or else NAME=FILE.
func restOf(rounds [][]*addition, sources []string, from int) (args []string) {
	if sources != nil {
		return sources[from:]
	}
	for _, inputs := range rounds[from:] {
		for _, in := range inputs {
			args = append(args, in.name+"="+in.file)
		}
	}
	return args
}
