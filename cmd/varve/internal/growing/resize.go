// SPDX-License-Identifier: Apache-2.0

package growing

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/dimensions"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
)

// NewResize returns the command resize.
func NewResize() *cobra.Command {
	c := &cobra.Command{
		Use:   "resize NODE --shape SHAPE, resize NODE|GROUP DIMENSION=N …",
		Short: "Change the shape of an array, or of the arrays of a group; elements outside the new shape are deleted",
		Long: `Change the shape of an array, or of the arrays of a group. Elements outside the new shape are
deleted; before that, resize asks on a terminal, and needs --yes elsewhere.

With DIMENSION=N, such as time=100, the dimension gets that length: in an array, or in all arrays
directly below a group that have it. First all arrays are checked, then they are changed one after
another. If the command is interrupted, repeat it.`,
		Example: `  varve resize era5.zarr/tp --shape 90,36,72
  varve resize era5.zarr time=90 --yes
  varve resize era5.zarr/t2m --shape 1900,36,72 --grow calendar:month --time time --alone
  varve resize station.zarr --shape 5,2 --shrink trim-edges --dry-run`,
		Args:              nodeAndLengths,
		ValidArgsFunction: node.Complete,
	}
	var shape, shrink string
	argument.ShapeFlag(c, &shape, "the new `LENGTHS` of all axes, such as 60,100; empty for rank 0")
	flagtext.Var(c.Flags(), &shrink, "shrink", "keep-edges", "the `POLICY` for listed chunks beyond the extent: keep-edges, trim-edges or trim-exact",
		flagtext.OneOf("keep-edges", "trim-edges", "trim-exact"))
	flagtext.Propose(c, "shrink", "keep-edges", "trim-edges", "trim-exact")
	keepStale := c.Flags().Bool("keep-stale", false, "keep the values that chunks hold beyond the extent, as zarr-python does")
	yes := c.Flags().Bool("yes", false, "do not ask before elements are deleted")
	change := growth.Flags(c)
	c.RunE = func(cmd *cobra.Command, args []string) (err error) {
		named := len(args) > 1
		switch {
		case named && cmd.Flags().Changed("shape"):
			return failure.BadUsage("--shape and %s exclude each other", args[1])
		case !named && !cmd.Flags().Changed("shape"):
			return failure.BadUsage("--shape is missing, or a dimension and its new length, such as time=100")
		}
		opt := &zarr.ResizeOptions{KeepStale: *keepStale, RoundUp: change.RoundUp}
		if opt.Shrink, err = grid.ParseShrink(shrink); err != nil {
			return failure.BadUsage("--shrink: %w", err)
		}
		if opt.Expect, err = change.Expected(cmd); err != nil {
			return err
		}
		if named {
			return resizeNamed(cmd, args[0], args[1:], *yes, change, opt)
		}
		return resize(cmd, args[0], shape, *yes, change, opt)
	}
	return c
}

// nodeAndLengths checks the arguments: a node, and lengths of dimensions. For a shape
// without its flag, the error names the flag.
func nodeAndLengths(cmd *cobra.Command, args []string) error {
	if len(args) > 1 && !strings.Contains(args[1], "=") && usage.FlagMeant(cmd, args, 1) != "" {
		return usage.Arguments("NODE")(cmd, args)
	}
	return usage.Arguments("NODE")(cmd, args[:min(1, len(args))])
}

func resize(cmd *cobra.Command, location, text string, yes bool, c *growth.Change, opt *zarr.ResizeOptions) error {
	shape, err := argument.ParseShape(text)
	if err != nil {
		return err
	}
	p, err := c.Policy(cmd)
	if err != nil {
		return err
	}
	a, err := zarr.OpenArray(cmd.Context(), location, c.Options(cmd))
	if err != nil {
		return err
	}
	defer a.Close()
	if err := growth.Met(a, opt.Expect); err != nil {
		return err
	}
	if err := node.CheckOwn(cmd.Context(), location, a); err != nil {
		return err
	}
	before := a.Shape()
	if err := dimensions.CheckAgree(c, cmd, a, shape); err != nil {
		return err
	}
	if opt.Grow, err = policies(c, cmd, p, location, a, shape); err != nil {
		return err
	}
	if err := chunking.CheckResize(cmd, a, shape, opt.Grow...); err != nil {
		return err
	}
	// Report before the question what would fail after it.
	if lost := lostElements(before, shape); lost > 0 && !yes {
		if err := (&resized{location, location, a, before, shape, *opt}).fits(cmd.Context()); err != nil {
			return failure.On(cmd.Name(), location, err)
		}
		what := fmt.Sprintf("deletes %s of %s, which is %s and becomes %s", phrase.Plural(lost, "element"), location, phrase.Shape(before), phrase.Shape(shape))
		if err := place.Confirm(cmd, what); err != nil {
			return err
		}
	}
	bar := progress.NewTally(cmd, "resizing", touchedBy(a.Grid(), shape), progress.TouchedChunks)
	err = a.Resize(cmd.Context(), shape, opt)
	bar.End()
	if err != nil {
		return err
	}
	noteNew(cmd, location, before, a)
	return growth.ReshapedTo(location, before, a).Tell(cmd)
}

// noteNew prints a note if the new elements of an array may be mistaken for values: if
// its fill value is not a missing value, or if they are times.
func noteNew(cmd *cobra.Command, location string, before []int64, a *zarr.Array) {
	if cf.IsCoordinate(a) {
		noteTimes(cmd, location, before, a)
		return
	}
	more := lostElements(a.Shape(), before)
	d, err := cf.NewDecoding(cmd.Context(), a, cf.UnitsOf(a))
	if more == 0 || err != nil || d == nil || len(d.Missing()) == 0 {
		return // the array has no missing values
	}
	if fill := cf.FillOf(a); d.HasValue(fill) {
		session.Remark(cmd, location, fmt.Sprintf("%s %s the fill value %s%s, not missing", phrase.Plural(more, "new element"), phrase.AreOrIs(more),
			a.Type().AppendText(nil, fill), meaningOfElement(d, a, fill)))
	}
}

// meaningOfElement returns the decoded value of an element, with units. It returns "" if
// the array is not packed.
func meaningOfElement(d *cf.Decoding, a *zarr.Array, elem []byte) string {
	if !d.IsScaled() {
		return ""
	}
	return strings.TrimRight(fmt.Sprintf(", which is %s %s", d.Packing.Text(elem), phrase.Shorten(cf.TextAttribute(a, "units"), 20)), " ") + " decoded"
}

// noteTimes prints a note if a coordinate of times has grown: its new times are not yet
// written.
func noteTimes(cmd *cobra.Command, location string, before []int64, a *zarr.Array) {
	if !cf.IsCoordinate(a) || len(before) != 1 || a.Shape()[0] <= before[0] {
		return
	}
	if _, is := source.TimesOf(a); !is && a.Type().Kind() != dtype.KindDatetime {
		return
	}
	more := a.Shape()[0] - before[0]
	session.Remark(cmd, location, fmt.Sprintf("%s %s the fill value; write them with varve write %s --select %d: FILE",
		phrase.Plural(more, "new time"), phrase.AreOrIs(more), phrase.Word(location), before[0]))
}

// lostElements returns the number of elements that an array loses by a change of its
// shape. It returns 0 if the ranks differ.
func lostElements(before, after []int64) int64 {
	if len(before) != len(after) {
		return 0 // the library refuses the shape
	}
	stays := make([]int64, len(before))
	for i, n := range before {
		stays[i] = min(n, after[i])
	}
	all, ok := checked.Product(before...)
	rest, fits := checked.Product(stays...)
	if !ok || !fits {
		return math.MaxInt64
	}
	return all - rest
}

// touchedBy returns the number of chunks of a grid that a new shape deletes or rewrites,
// if all are stored: those that do not lie completely within both shapes. It returns 0 if
// the number is unknown.
func touchedBy(g *grid.Grid, after []int64) int64 {
	if len(after) != g.Rank() {
		return 0
	}
	all, fits := g.NumChunks()
	stays := g.Chunks()
	for i, extent := range after {
		a := g.Axis(i)
		// Along this axis all chunks stay.
		if extent == a.Extent() {
			continue
		}
		first, within, ok := a.Locate(min(extent, a.Extent()) - 1)
		if c, isCell := a.Cell(first); !ok || !isCell || within+1 < c.Encoded {
			first-- // it is cut, or reaches beyond the extent
		}
		stays[i] = max(0, first+1)
	}
	rest, ok := checked.Product(stays...)
	if !fits || !ok {
		return 0
	}
	return all - rest
}

// policies returns the growth of all axes of an array. A calendar policy applies to the
// axis of its times, and a stored policy to its own axis; other axes then follow
// append-one.
func policies(c *growth.Change, cmd *cobra.Command, p growth.Policy, location string, a *zarr.Array, to []int64) ([]grid.Growth, error) {
	_, axis, _, err := growth.Of(a)
	if err != nil || cmd.Flags().Changed("grow") {
		axis = 0 // Along reports an invalid attribute if it is needed
		if axis, err = c.CalendarAxis(cmd, p, a, location); err != nil {
			return nil, err
		}
	}
	shape := a.Shape()
	shrinks := len(to) == len(shape) && axis < len(shape) && to[axis] <= shape[axis]
	var when growth.Times
	if !shrinks || !cmd.Flags().Changed("grow") {
		// An array that shrinks does not use --grow, so do not compare it with a stored
		// policy.
		p, when, err = c.Along(cmd, p, a, location, axis)
	}
	if err != nil {
		return nil, err
	}
	if at := p.AxisWithoutEffect(a, axis, to); at >= 0 {
		return nil, p.Listed(a, at, location)
	}
	if p.Unit == 0 && !p.Stored {
		return []grid.Growth{p.Growth}, nil
	}
	if len(shape) == 0 {
		return nil, failure.BadArgument("--grow calendar:%v: the array has no axis", p.Unit)
	}
	if shrinks {
		return nil, nil // do not read times that the change may be about to remove
	}
	l, err := when.Timeline(cmd.Context(), p.Unit, location, nil)
	if err == nil {
		err = l.Describes(a.DimensionNames(), axis)
	}
	if err != nil {
		return nil, err
	}
	b, err := l.Buckets(shape[axis])
	all := make([]grid.Growth, len(shape))
	all[axis] = p.Along(l, b, shape[axis])
	return all, err
}
