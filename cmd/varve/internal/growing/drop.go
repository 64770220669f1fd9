// SPDX-License-Identifier: Apache-2.0

package growing

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/planfile"
	"varve.dev/zarr/cmd/varve/internal/rechunking"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
)

// dropping is the command drop.
type dropping struct {
	rechunking.Moving
	text  string
	sel   *string
	yes   bool
	noted bool // that no element is in the range
}

// NewDrop returns the command drop.
func NewDrop() *cobra.Command {
	c := &cobra.Command{
		Use:   "drop NODE|GROUP --axis AXIS --range LO:HI | drop NODE|GROUP --select DIMENSION=…",
		Short: "Take a range out of an array, or out of all arrays of a group that have the dimension",
		Long: `Take a range of an axis out of an array, or out of all arrays of a group that have the dimension,
such as the oldest days of a rolling window. What follows the range moves up. Before that, drop asks
on a terminal, and needs --yes elsewhere.

LO is part of the range and HI is not; one of them may be left out, as in :31. --select names the
range of one dimension by positions or, with two dots, by coordinate values, both ends included.`,
		Example: `  varve drop era5.zarr --axis time --range 0:31 --yes
  varve drop station.zarr --axis 0 --range 2:5 --unlock --dry-run`,
		Args:              usage.Arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	d := new(dropping)
	d.Flags(c)
	planfile.Flag(c, &d.PlanTo)
	f := c.Flags()
	f.StringVar(&d.text, "range", "", "the range `LO:HI` that is dropped, such as 0:31")
	d.sel = source.SelectionFlag(c)
	f.Lookup("select").Usage = "the `RANGE` of one dimension, such as time=0:31 or time=..2024-12-31, in place of --axis and --range"
	f.BoolVarP(&d.yes, "yes", "y", false, "do not ask")
	c.RunE = func(cmd *cobra.Command, args []string) error { return d.run(cmd, args[0]) }
	return c
}

// ends returns the range, with -1 for a part that is left out.
func (d *dropping) ends() (low, high int64, err error) {
	a, b, ok := strings.Cut(d.text, ":")
	end := func(text string) int64 {
		if text == "" {
			return -1
		}
		n, err := strconv.ParseInt(text, 10, 64)
		ok = ok && err == nil && n >= 0
		return n
	}
	low, high = end(a), end(b)
	switch {
	case d.text == "":
		return 0, 0, failure.BadUsage("say what to drop, as in --range 0:31 or --select time=..2024-12-31")
	case !ok:
		return 0, 0, failure.BadUsage("--range %s: give two positions, as in --range 0:31, or one, as in :31 or 31:", phrase.Word(d.text))
	case low < 0 && high < 0:
		return 0, 0, failure.BadUsage("--range : is everything: give at least one end, as in --range 0: if that is meant")
	case high >= 0 && high < low:
		return 0, 0, failure.BadUsage("--range %s ends before it begins", phrase.Word(d.text))
	}
	return max(0, low), high, nil
}

// selected returns the range of --select along the axis of an array.
func (d *dropping) selected(cmd *cobra.Command, one *rechunking.Moved) (r grid.Interval, err error) {
	v, err := source.Selected(cmd.Context(), one.Array, *d.sel)
	_, value, _ := strings.Cut(*d.sel, "=")
	isRange := strings.Contains(value, "..") || strings.Contains(value, ":")
	switch {
	case errors.Is(err, cf.ErrEmptyRange):
		// An earlier run has probably dropped it.
		if !d.noted {
			session.Remark(cmd, one.Location, "nothing to drop: "+failure.OneLine(err))
		}
		d.noted = true
		return r, nil
	case err != nil && isRange:
		return r, err
	case !isRange && (err != nil || v.Rank() < one.Array.Rank()):
		how := *d.sel + ".." + strings.TrimSpace(value) // it means the same when it is repeated
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n < 1000 {
			how = fmt.Sprintf("%s:%d", *d.sel, n+1) // an index
		}
		return r, failure.BadArgument("--select %s: give one range of one dimension, such as %s", phrase.Word(*d.sel), how)
	}
	box, ok := rechunking.BoxOf(v.Selection())
	for i, n := range one.Array.Shape() {
		ok = ok && (i == one.Axis || box[i] == grid.Interval{Stop: n})
	}
	if !ok {
		return r, d.severalRanges()
	}
	return box[one.Axis], nil
}

// severalRanges returns the error for a selection of more than one range.
func (d *dropping) severalRanges() error {
	return failure.BadArgument("--select %s: give one range of one dimension, such as time=0:31 or time=..2024-12-31", phrase.Word(*d.sel))
}

func (d *dropping) run(cmd *cobra.Command, location string) error {
	low, high := int64(0), int64(0)
	var err error
	if *d.sel == "" {
		low, high, err = d.ends()
	} else if name, _, ok := strings.Cut(*d.sel, "="); !ok || d.text != "" || cmd.Flags().Changed("axis") {
		err = failure.BadUsage("--select takes the place of --axis and --range: give one range of one dimension, such as --select time=0:31")
	} else if d.Axis = strings.TrimSpace(name); strings.Count(*d.sel, "=") > 1 {
		err = d.severalRanges() // an array of a group may have only one of the dimensions
	}
	if err != nil {
		return err
	}
	elements, what := int64(0), ""
	list, group, done, err := d.Open(cmd, location, func(one *rechunking.Moved) (bool, error) {
		shape := one.Array.Shape()
		r := grid.Interval{Start: low, Stop: high}
		if high < 0 {
			r.Stop = max(low, shape[one.Axis])
		}
		if *d.sel != "" {
			r, err = d.selected(cmd, one)
		}
		// Values of a coordinate mean the same elements, wherever they are.
		if err == nil && !strings.Contains(*d.sel, "..") && r.Stop <= shape[one.Axis] {
			err = d.checkUnmoved(cmd, one, r)
		}
		if err != nil {
			return false, err
		}
		one.Wanted = rechunk.Removal{Axis: one.Axis, Range: r, Expect: d.Expected(one), Unlock: d.Unlock}
		shape[one.Axis] = max(0, r.Len())
		n, _ := grid.BoxOf(shape).Len()
		elements, what = elements+n, one.Planes(r.Start, r.Stop)
		return true, nil
	})
	if done != nil {
		defer done()
	}
	if err != nil {
		return err
	}
	if !group {
		if err := d.Check(cmd, list[0], -list[0].Wanted.(rechunk.Removal).Range.Len()); err != nil {
			return err
		}
	}
	if !d.Dry && !d.yes && elements > 0 {
		// Report before the question what would fail after it.
		if err := d.rehearse(cmd, list); err != nil {
			return err
		}
		of := location
		if group {
			of = fmt.Sprintf("%s of %s", phrase.Plural(int64(len(list)), "array"), location)
		}
		if err := place.Confirm(cmd, fmt.Sprintf("drops %s of %s, %s", what, of, phrase.Plural(elements, "element"))); err != nil {
			return err
		}
	}
	return d.All(cmd, location, list, group)
}

// checkUnmoved returns an error if the range has other elements than when the command
// began.
func (d *dropping) checkUnmoved(cmd *cobra.Command, one *rechunking.Moved, r grid.Interval) error {
	of := func(_ context.Context, a *zarr.Array) (*zarr.View, error) {
		box := make(selection.Basic, a.Rank())
		for i, n := range a.Shape() {
			if box[i] = selection.Stepped(0, n, 1); i == one.Axis {
				stop := r.Stop
				if strings.HasSuffix(d.text, ":") {
					stop = n // to the end, wherever it was
				}
				box[i] = selection.Stepped(r.Start, stop, 1)
			}
		}
		return a.View(box)
	}
	now, err := of(cmd.Context(), one.Array)
	if err != nil {
		return err
	}
	return source.CheckUnmoved(cmd, one.Location, now, of)
}

// rehearse returns the error that the command would return, if that is known.
func (d *dropping) rehearse(cmd *cobra.Command, list []*rechunking.Moved) error {
	opt, err := d.Options()
	if err != nil {
		return err
	}
	for _, one := range list {
		p, err := rechunk.NewPlan(cmd.Context(), one.Array, one.Wanted, opt)
		if err == nil {
			err = failure.On(cmd.Name(), one.Location, p.Blocked)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
