// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"context"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/session"
)

// Times are the flags for the times of the elements along an axis.
type Times struct {
	Coordinate, Start, Step, Calendar string
	reading                           func() *zarr.Options // options for reading the coordinate
}

// Flags adds the flags of times to a command: --start, --step, --calendar and --time.
func (t *Times) Flags(c *cobra.Command) {
	f := c.Flags()
	t.reading = func() *zarr.Options { return session.Reading(c) }
	f.StringVar(&t.Coordinate, "time", "", "for calendars: the coordinate `COORD` with the times")
	f.StringVar(&t.Start, "start", "", "for calendars: the `DATE` of element 0, such as 1979-01-01")
	flagtext.Var(f, &t.Step, "step", "", "for calendars: the `TIME` between elements: 1d, 6h, 30min or 1mo", flagtext.Syntax(calendar.ParseStep))
	flagtext.Var(f, &t.Calendar, "calendar", "", "the `NAME` of the calendar: standard, noleap, 360_day …", flagtext.Syntax(calendar.Parse))
	flagtext.Propose(c, "step", "1d", "6h", "1h", "1mo")
	flagtext.Propose(c, "calendar", "standard", "proleptic_gregorian", "noleap", "all_leap", "360_day", "julian")
}

// Check returns an error if flags contradict each other, if the unit needs times that are
// not given, or if the unit is 0 and times are given.
func (t *Times) Check(cmd *cobra.Command, unit calendar.Unit, flag string) error {
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	if unit == 0 {
		for _, name := range []string{"time", "start", "step", "calendar"} {
			if given(name) {
				return failure.BadUsage("--%s is only for %s calendar:month and calendar:year", name, flag)
			}
		}
		return nil
	}
	switch {
	case given("time") && (given("start") || given("step") || given("calendar")):
		return failure.BadUsage("--time excludes --start, --step and --calendar: the coordinate has all of these")
	case given("time") && t.Coordinate == "":
		return failure.BadUsage("--time is empty; give the name of a coordinate")
	case given("time"):
		return nil
	case !given("start") && !given("step"):
		return failure.BadUsage("%s calendar:%v needs the times of the elements: --time COORD, or --start DATE and --step 1d", flag, unit)
	case !given("start"):
		return failure.BadUsage("--start is missing: the DATE of element 0")
	case !given("step"):
		return failure.BadUsage("--step is missing: 1d, 6h or 1mo")
	}
	_, err := t.steps()
	return err
}

// For returns the times along an axis of an array: those of the flags or, without any,
// those that are stored with its growth policy. The axis must be the one they describe.
func (t *Times) For(cmd *cobra.Command, unit calendar.Unit, flag string, a *zarr.Array, location string, axis int) (*Times, error) {
	if unit == 0 || t.given(cmd) {
		return t, t.Check(cmd, unit, flag)
	}
	s, along, found, err := Of(a)
	if err != nil || !found || along != axis {
		return t, t.Check(cmd, unit, flag)
	}
	p, stored, err := s.policy(t.reading)
	if err != nil || p.Unit == 0 {
		return t, t.Check(cmd, unit, flag)
	}
	return &stored, nil
}

// steps returns the times for --start, --step and --calendar.
func (t *Times) steps() (calendar.Steps, error) {
	s, err := calendar.ParseSteps(t.Start, t.Step, t.Calendar)
	if err != nil {
		hint := ""
		// Only an invalid date gets the hint.
		if c, wrong := calendar.Parse(t.Calendar); wrong == nil {
			if _, wrong = calendar.ParseInstant(t.Start, c); wrong != nil {
				hint = calendar.Hint(t.Start, c)
			}
		}
		return s, failure.BadUsage("--start %s --step %s: %w%s", t.Start, t.Step, err, hint)
	}
	return s, nil
}

// Given has the new elements of arrays that are about to grow, by the location of the
// array.
type Given map[string]*Gain

// Timeline tells where months or years begin along axes with the same times.
type Timeline struct {
	unit       calendar.Unit // 0 if no policy needs times
	steps      calendar.Steps
	coordinate *coordinate // nil if times are given by steps
}

// Timeline returns the times for the flags, for arrays at or beside a location.
func (t *Times) Timeline(ctx context.Context, unit calendar.Unit, location string, g Given) (l Timeline, err error) {
	l.unit = unit
	switch {
	case unit == 0:
		return l, nil
	case t.Coordinate == "":
		l.steps, err = t.steps()
		return l, err
	}
	l.coordinate, err = readCoordinate(ctx, node.Beside(location, t.Coordinate), t.reading())
	if err != nil {
		return l, err
	}
	// If the coordinate grows in the same command, its new times are not stored yet.
	data, err := g[l.coordinate.name].data(ctx)
	if err == nil {
		err = l.coordinate.add(data)
	}
	return l, err
}

// Buckets returns the months or years along an axis of the given extent.
func (l Timeline) Buckets(extent int64) (calendar.Buckets, error) {
	switch {
	case l.unit == 0:
		return calendar.Buckets{}, nil
	case l.coordinate == nil:
		return l.steps.Buckets(l.unit), nil
	default:
		return l.coordinate.buckets(l.unit, extent)
	}
}
