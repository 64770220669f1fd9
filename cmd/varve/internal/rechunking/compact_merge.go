// SPDX-License-Identifier: Apache-2.0

package rechunking

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
)

// merging is the flags of compact that merge chunks.
type merging struct {
	Change
	to, axes []string // goal i is along axis i
	tail     int64
	times    growth.Times
}

// goal is one --to with its --axis.
type goal struct {
	text, axis string // axis is empty if that of the calendar is meant
	rechunk.Compaction
	unit calendar.Unit // 0 without a calendar
}

func (m *merging) flags(c *cobra.Command) {
	m.Change.flags(c)
	f := c.Flags()
	f.StringArrayVar(&m.to, "to", nil, "merge neighbouring chunks to `GOAL`: max:365, 64MiB, calendar:month, align:30, or lengths such as [31,28,31]")
	f.StringArrayVar(&m.axes, "axis", nil, "the `AXIS` along which chunks are merged: a number, or the name of a dimension; by default that of the times of a calendar, and otherwise 0. Several axes have a --to each")
	f.Int64Var(&m.tail, "leave-tail", 0, "leave the last `N` chunks as they are")
	m.times.Flags(c)
}

// goals returns what --to and --axis say.
func (m *merging) goals(cmd *cobra.Command) (list []*goal, err error) {
	alone := m.axes == nil && len(m.to) == 1
	if !alone && len(m.axes) != len(m.to) {
		return nil, failure.BadUsage("there are %d --to and %d --axis: each axis needs a goal", len(m.to), len(m.axes))
	}
	for i, text := range m.to {
		g := &goal{text: text}
		if err := g.parse(); err != nil {
			return nil, err
		}
		switch {
		case !alone:
			g.axis = m.axes[i]
			if _, err := argument.ParseAxis(g.axis); err != nil {
				return nil, failure.BadUsage("--axis: %w", err)
			}
		case g.unit == 0:
			g.axis = "0"
		}
		if g.LeaveTail = m.tail; g.Edges != nil && m.tail > 0 {
			return nil, failure.BadUsage("--leave-tail does not go with --to %s, which lists the chunks at the end, too", phrase.Word(text))
		}
		list = append(list, g)
	}
	if slices.ContainsFunc(list, func(g *goal) bool { return g.unit != 0 }) {
		return list, nil
	}
	return list, m.times.Check(cmd, 0, "--to")
}

// parse parses the text of a goal.
func (g *goal) parse() (err error) {
	word, rest, _ := strings.Cut(g.text, ":")
	switch {
	case word == "max" || word == "align":
		n, parseErr := strconv.ParseInt(rest, 10, 64)
		if parseErr != nil || n < 1 {
			return failure.BadUsage("--to %s: want a number of elements of at least 1, as in %s:30", g.text, word)
		}
		if word == "max" {
			g.UpTo = n
		} else {
			g.Multiple = n
		}
	case word == "calendar":
		if g.unit, err = calendar.ParseUnit(rest); err != nil {
			return failure.BadUsage("--to %s: %w", g.text, err)
		}
	case strings.HasPrefix(g.text, "["):
		if g.Edges, err = edges(g.text); err != nil {
			return failure.BadUsage("--to %s: %w", phrase.Shorten(g.text, 40), err)
		}
	default:
		if g.Bytes, err = phrase.ParseSize(g.text); err != nil || g.Bytes < 1 {
			return failure.BadUsage("--to %s: want max:N, a size such as 64MiB, calendar:month, calendar:year, align:N, or a list of lengths", phrase.Shorten(g.text, 40))
		}
	}
	return nil
}

// edges parses a list of lengths and of runs.
func edges(text string) ([]grid.Run, error) {
	cuts, err := grid.ParseCuts([]int64{0}, "["+text+"]")
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(rechunk.Cuts(cuts))
	if err != nil {
		return nil, err
	}
	var lists [][][2]int64
	if err := json.Unmarshal(raw, &lists); err != nil {
		return nil, err
	}
	var runs []grid.Run
	for _, r := range lists[0] {
		runs = append(runs, grid.Run{Length: r[0], Count: r[1]})
	}
	return runs, nil
}

// merge runs the command.
func (m *merging) merge(cmd *cobra.Command, location string) error {
	if m.tail < 0 {
		return failure.BadUsage("--leave-tail %d: want 0 or more", m.tail)
	}
	goals, err := m.goals(cmd)
	if err != nil {
		return err
	}
	concerned, failed := false, false
	var known []string // the dimensions of the arrays
	err = m.run(cmd, []string{location}, func(at string, a *zarr.Array) (_ rechunk.Request, err error) {
		defer func() { failed = failed || err != nil }()
		known = append(known, a.DimensionNames()...)
		var list rechunk.Compactions
		for _, g := range goals {
			axis, err := m.along(cmd, g, at, a, at != location)
			if err != nil {
				return nil, err
			}
			if axis < 0 {
				continue
			}
			c, err := m.compaction(cmd, g, at, a, axis)
			if err != nil {
				return nil, err
			}
			list, concerned = append(list, c), true
		}
		switch len(list) {
		case 0:
			return nil, nil
		case 1:
			return list[0], nil
		}
		return list, nil
	})
	if err != nil && known != nil && !concerned && !failed {
		return m.unconcerned(cmd, goals, known, err)
	}
	return err
}

// unconcerned returns the error if no array has the axis of a goal. known are the
// dimensions that they have. Times are missing if neither flags nor arrays have them.
func (m *merging) unconcerned(cmd *cobra.Command, goals []*goal, known []string, err error) error {
	for _, g := range goals {
		if g.axis != "" && !argument.IsNumber(g.axis) && !slices.Contains(known, g.axis) {
			return node.MissingDimension(g.axis, known)
		}
		if g.unit == 0 || g.axis != "" {
			continue
		}
		if missing := m.times.Check(cmd, g.unit, "--to"); missing != nil {
			return missing
		}
		if m.times.Coordinate != "" {
			return m.times.NoDimension(known)
		}
	}
	return err
}

// along returns the axis of an array that a goal is about. It is -1 if the array has no
// such axis and is left out, as a member of a group is.
func (m *merging) along(cmd *cobra.Command, g *goal, at string, a *zarr.Array, member bool) (int, error) {
	if g.axis != "" {
		if member && !g.concerns(a) {
			return -1, nil
		}
		axis, err := argument.AxisIn(g.axis, a)
		// A number means another dimension in every array of a group.
		if err == nil && member && g.unit != 0 && argument.IsNumber(g.axis) {
			if ok, err := m.times.MayDescribe(cmd.Context(), at, a.DimensionNames(), axis); err != nil || !ok {
				return -1, err
			}
		}
		return axis, err
	}
	if member && m.times.Start != "" {
		return -1, failure.BadUsage("--start does not say along which dimension the times are: give --axis, such as --axis time")
	}
	axis, err := m.times.AxisOf(cmd, a, at)
	switch {
	case err != nil || axis >= 0 && axis < a.Rank():
		return axis, err
	case member:
		return -1, nil
	}
	if err := m.times.Check(cmd, g.unit, "--to"); err != nil {
		return axis, err
	}
	if axis < 0 {
		return axis, m.times.NoDimension(a.DimensionNames())
	}
	return argument.AxisIn("0", a)
}

// compaction returns what a goal means along an axis of an array.
func (m *merging) compaction(cmd *cobra.Command, g *goal, at string, a *zarr.Array, axis int) (c rechunk.Compaction, err error) {
	c = g.Compaction
	if c.Axis = axis; g.unit == 0 {
		return c, nil
	}
	t, err := m.times.For(cmd, g.unit, "--to", a, at, axis)
	if err != nil {
		return c, err
	}
	c.Calendar, err = calendarBy(cmd, t, at, a, axis, g.unit)
	return c, err
}

// concerns reports whether an array of a group has the axis.
func (g *goal) concerns(a *zarr.Array) bool {
	if argument.IsNumber(g.axis) {
		_, err := argument.AxisIn(g.axis, a)
		return err == nil
	}
	return slices.Contains(a.DimensionNames(), g.axis)
}

// calendarBy returns where months or years begin along an axis of an array.
func calendarBy(cmd *cobra.Command, t *growth.Times, location string, a *zarr.Array, axis int, unit calendar.Unit) (*rechunk.Calendar, error) {
	extent := a.Shape()[axis]
	line, err := t.Timeline(cmd.Context(), unit, location, nil)
	if err == nil {
		err = line.Describes(a.DimensionNames(), axis)
	}
	if err != nil {
		return nil, err
	}
	b, err := line.Buckets(extent)
	if err != nil {
		return nil, err
	}
	lengths, err := b.Covering(extent)
	if err != nil {
		return nil, err
	}
	c := &rechunk.Calendar{Name: fmt.Sprintf("%v of %s%s by %s, %s", unit, t.Coordinate, t.Start, t.Step, t.Calendar), Until: extent}
	start := int64(0)
	for _, n := range lengths {
		c.Starts = append(c.Starts, start)
		start += n
	}
	return c, nil
}
