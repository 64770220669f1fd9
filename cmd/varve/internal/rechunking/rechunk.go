// SPDX-License-Identifier: Apache-2.0

package rechunking

import (
	"cmp"
	"math"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/cost"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
)

// rechunking is the command rechunk.
type rechunking struct {
	Change
	chunks, shards, codecs, compressor, fill, keys string
	sel                                            *string
	calendar                                       string // the growth policy of chunks that are cut by the calendar
	times                                          growth.Times
}

// NewRechunk returns the command rechunk.
func NewRechunk() *cobra.Command {
	c := &cobra.Command{
		Use:   "rechunk NODE [DST]",
		Short: "Cut an array in another way, pack chunks into shards, or change codecs",
		Long: `Cut an array in another way: in place, or into a new array at DST, of which --select takes a part.
--shards packs chunks into shards, and --shards none makes chunks of the inner chunks of shards. What
is not given stays as it is. Chunks that keep their shape and codecs are copied as they are encoded;
all others are decoded and encoded again, within --memory. Readers see the old array or the new one.
varve revert goes back until varve vacuum has deleted the old chunks.`,
		Example: `  varve rechunk era5.zarr/t2m --chunks 365,72,72
  varve rechunk era5.zarr/t2m --shards none
  varve rechunk era5.zarr/t2m by-place.zarr/t2m --chunks 1826,6,12 --memory 4GiB`,
		Args:              usage.Arguments("NODE", "[DST]"),
		ValidArgsFunction: node.Complete,
	}
	r := new(rechunking)
	r.flags(c)
	f := c.Flags()
	flagtext.Var(f, &r.chunks, "chunks", "", "`CHUNKS`: 8MiB, 10,20, [[10,20,30],25], calendar:month …: see varve help chunks", flagtext.Syntax(chunking.Parse))
	f.StringVar(&r.shards, "shards", "", "`SHARDS`: 512MiB, 100,200 …, with chunks as inner chunks; none unpacks shards")
	flagtext.Var(f, &r.codecs, "codecs", "", "the codec chain as `JSON`, of inner chunks if there are any", flagtext.Syntax(argument.Codecs))
	flagtext.Var(f, &r.compressor, "compressor", "", "another `COMPRESSOR`, with the other codecs as they are: zstd:3, zstd:3:nochecksum, gzip:5, auto or none", argument.CheckCompressor)
	f.StringVar(&r.fill, "fill", "", "the fill `VALUE`, as for varve create; all elements stay")
	flagtext.Var(f, &r.keys, "chunk-key-encoding", "", "the `ENCODING` of chunk keys: default/, default., v2. or v2/", flagtext.Syntax(argument.KeyEncoding))
	r.sel = source.SelectionFlag(c)
	f.BoolVar(&r.follow, "follow", false, "keep DST in step with NODE: make it, or bring it up to date")
	r.times.Flags(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := r.checkFollow(args); err != nil {
			return err
		}
		if r.isEmpty() && len(args) == 1 {
			return failure.BadUsage("say what is to change: --chunks, --shards, --codecs, --compressor, --fill or --chunk-key-encoding")
		}
		if err := flagtext.Exclusive(cmd, "codecs", "compressor"); err != nil {
			return err
		}
		if r.chunks+r.shards == "" {
			if err := r.times.Check(cmd, 0, "--chunks"); err != nil {
				return err
			}
		}
		return r.run(cmd, args, func(at string, a *zarr.Array) (rechunk.Request, error) {
			if at == args[0] {
				return r.request(cmd, at, a)
			}
			return r.member(cmd, at, a)
		})
	}
	return c
}

// member returns what is wanted of an array of a group. One without the axis of the times
// keeps its chunks if a calendar cuts that.
func (r *rechunking) member(cmd *cobra.Command, location string, a *zarr.Array) (rechunk.Request, error) {
	rest := *r
	for _, text := range []*string{&rest.chunks, &rest.shards} {
		c, err := chunking.Parse(*text)
		if err != nil || !c.FollowsTimes() {
			continue // a wrong text is reported later
		}
		if a.Rank() == 0 {
			*text = ""
			continue
		}
		if r.times.Start != "" {
			return nil, failure.BadUsage("--start does not say which dimension of the arrays has the times: name one array, or give --time COORD")
		}
		switch axis, err := r.times.AxisOf(cmd, a, location); {
		case err != nil:
			return nil, err
		case axis < 0 && r.times.Coordinate != "":
			*text = ""
		}
	}
	if rest.shards == "" && r.shards != "" {
		rest.chunks = "" // the length of inner chunks
	}
	if rest.chunks+rest.shards == "" && r.chunks+r.shards != "" && rest.isEmpty() {
		return nil, nil
	}
	return rest.request(cmd, location, a)
}

// followsCalendar reports whether a calendar cuts --chunks or --shards.
func (r *rechunking) followsCalendar() bool {
	return slices.ContainsFunc([]string{r.chunks, r.shards}, func(text string) bool {
		c, err := chunking.Parse(text)
		return err == nil && c.Unit() != 0
	})
}

// isEmpty reports whether nothing is to change.
func (r *rechunking) isEmpty() bool {
	return r.chunks+r.shards+r.codecs+r.compressor+r.fill+r.keys == ""
}

// request returns what is wanted of an array.
func (r *rechunking) request(cmd *cobra.Command, location string, a *zarr.Array) (rechunk.Request, error) {
	var want rechunk.Rechunking
	var err error
	if r.codecs != "" {
		if want.Codecs, err = argument.Codecs(r.codecs); err != nil {
			return nil, err
		}
	}
	if r.compressor != "" {
		compressor, err := argument.Compressor(r.compressor, a.Type())
		if err != nil {
			return nil, err
		}
		want.Compressor = append([]metadata.Extension{}, compressor...) // none is not nil
		want.Adapt = argument.IsAdaptive(r.compressor)
	}
	if err := r.rename(&want); err != nil {
		return nil, err
	}
	if err := r.refill(cmd, location, &want, a); err != nil {
		return nil, err
	}
	if want.Region, err = r.region(cmd, a); err != nil {
		return nil, err
	}
	inner := func() ([]grid.Cut, error) { return cutsOf(a.Grid()), nil }
	if r.chunks != "" {
		g, err := r.grid(cmd, location, a, want, "chunks", r.chunks)
		if err != nil {
			return nil, err
		}
		inner = func() ([]grid.Cut, error) { return cutsOf(g), nil }
	}
	switch {
	case r.shards == "none":
		want.Unpack = true
	case r.shards != "":
		g, err := r.grid(cmd, location, a, want, "shards", r.shards)
		if err != nil {
			return nil, err
		}
		want.Chunks, want.Calendar = cutsOf(g), r.calendar
		if r.chunks == "" && a.Inner() != nil { // the inner chunks stay
			return want, nil
		}
		want.Inner, err = inner()
		return want, err
	}
	if r.chunks != "" {
		if a.Inner() != nil && !want.Unpack {
			return nil, failure.BadUsage("the chunks of this array are shards: give --shards too, with --chunks as inner chunks, or --shards none")
		}
		want.Chunks, err = inner()
		want.Calendar = r.calendar
	}
	return want, err
}

// region returns the part of the array that --select selects, or nil. A range without an
// end grows with its axis.
func (r *rechunking) region(cmd *cobra.Command, a *zarr.Array) (grid.Box, error) {
	if *r.sel == "" {
		return nil, nil
	}
	if r.into == "" {
		return nil, failure.BadUsage("--select needs DST, a new array that gets the selected elements")
	}
	v, err := source.Selected(cmd.Context(), a, *r.sel)
	if err != nil {
		return nil, err
	}
	region, ok := BoxOf(v.Selection())
	if n, all := region.Len(); !ok || all && n == 0 {
		return nil, failure.BadArgument("--select %s: an array gets one range of each axis, such as 0:10; varve export and varve filter take others", *r.sel)
	}
	// A range without an end has that of any longer array.
	sel, err := source.Parsed(cmd.Context(), a, *r.sel)
	if err != nil {
		return nil, err
	}
	n, _ := region.Len()
	for i := range region {
		longer := a.Shape()
		// So long that the number of selected elements still fits 64 bits.
		longer[i] = math.MaxInt64 / (n / region[i].Len())
		longest, err := selection.Resolve(sel, longer)
		if err != nil {
			return nil, err
		}
		in := longest.Bounds()[i]
		if in.Start != region[i].Start {
			return nil, failure.BadArgument("--select %s: count from the beginning of axis %d, because its end may move", *r.sel, i)
		}
		if region[i].Stop = in.Stop; in.Stop == longer[i] {
			region[i].Stop = 0
		}
	}
	return region, nil
}

// BoxOf returns the box of a selection of one range of each axis.
func BoxOf(sel *selection.Resolved) (grid.Box, bool) {
	e, bounds := (*subset.Elements)(sel), sel.Bounds()
	axes := e.Axes() // nil for points
	if !slices.Equal(bounds.Shape(), sel.Shape()) || len(axes) != len(bounds) {
		return nil, false
	}
	for i, axis := range axes {
		a, ok := e.Along(i)
		if !ok || axis != i || a.Count > 1 && (a.Flip || !ascending(a.Given())) {
			return nil, false
		}
	}
	return bounds, true
}

// ascending reports whether a list names elements that follow each other. It is nil for
// elements at equal distances.
func ascending(list []int64) bool {
	for i := range list {
		if list[i] != list[0]+int64(i) {
			return false
		}
	}
	return true
}

// rename adds --chunk-key-encoding.
func (r *rechunking) rename(want *rechunk.Rechunking) error {
	if r.keys == "" {
		return nil
	}
	keys, err := argument.KeyEncoding(r.keys)
	want.Keys = &keys
	return err
}

// refill adds --fill.
func (r *rechunking) refill(cmd *cobra.Command, location string, want *rechunk.Rechunking, a *zarr.Array) error {
	if r.fill == "" {
		return nil
	}
	elem, err := input.ParseGiven(a.Type(), r.fill)
	if err != nil {
		return failure.BadArgument("--fill %s: %w", r.fill, err)
	}
	input.NoteReading(cmd, location, a.Type(), "--fill", r.fill)
	text, err := a.Type().FormatFill(elem)
	want.FillValue = zarr.FillJSON(string(text))
	return err
}

// grid returns the grid of --chunks or --shards.
func (r *rechunking) grid(cmd *cobra.Command, location string, a *zarr.Array, want rechunk.Rechunking, flag, text string) (*grid.Grid, error) {
	c, err := chunking.Parse(text)
	if err != nil {
		return nil, failure.BadUsage("--%s: %w", flag, err)
	}
	c.Flag = "--" + flag
	r.calendar = ""
	if unit := c.Unit(); unit != 0 {
		r.calendar = "calendar:" + unit.String()
	}
	axis := c.CalendarAxis()
	if c.FollowsTimes() {
		if axis, err = r.times.AxisOf(cmd, a, location); err != nil {
			return nil, err
		}
	}
	times := &r.times
	// The times may be for shards that a calendar cuts: their inner chunks have lengths.
	if c.Unit() != 0 || !r.followsCalendar() {
		if times, err = r.times.For(cmd, c.Unit(), c.Flag, a, location, max(0, axis)); err != nil {
			return nil, err
		}
	}
	read := func(name string) ([]byte, error) { return localfile.ReadAll(cmd, name) }
	at := chunking.Site{Location: location, Names: a.DimensionNames(), Times: times, ReadFile: read, Options: session.GridOptions(cmd)}
	shape, err := want.Shape(a.Shape())
	if err != nil {
		return nil, err
	}
	if want.Region != nil && c.Unit() != 0 {
		return nil, failure.BadUsage("%s calendar:… does not go with --select: give the lengths of chunks", c.Flag)
	}
	return c.Grid(cmd.Context(), shape, a.Type(), at)
}

// cutsOf returns the cuts that make a grid.
func cutsOf(g *grid.Grid) rechunk.Cuts {
	cuts := make(rechunk.Cuts, g.Rank())
	for i := range cuts {
		if axis := g.Axis(i); axis.IsRegular() {
			cuts[i] = grid.Every(axis.Step())
		} else {
			var runs []grid.Run
			for r := range axis.Edges() {
				runs = append(runs, r)
			}
			cuts[i] = grid.Runs(runs...)
		}
	}
	return cuts
}

// checkFollow checks the use of --follow.
func (r *rechunking) checkFollow(args []string) error {
	switch {
	case !r.follow:
		return nil
	case len(args) < 2:
		return failure.BadUsage("--follow needs DST, the array that is kept in step")
	case node.IsRepository(args[1]):
		return failure.Unsupported("%s is in a repository of Icechunk, which has no place for what a follower has read: copy it (varve copy --sync), or let an array elsewhere follow", args[1])
	case r.PlanTo != "":
		return failure.BadUsage("--follow and --plan exclude each other: repeat the command in place of varve run")
	}
	return nil
}

// keepUp makes the array that follows, or brings it up to date.
func (r *Change) keepUp(cmd *cobra.Command, location string, a *zarr.Array, want rechunk.Rechunking, opt *rechunk.Options) (*Rechunked, error) {
	if r.Dry {
		plan, err := rechunk.NewFollowPlan(cmd.Context(), a, want, opt)
		if err != nil {
			return nil, err
		}
		d := r.planned(cmd.Name(), location, plan)
		cost.WarnOfSpace(cmd, d.Path, plan.Space)
		return d, nil
	}
	defer cost.LimitHeap(cmp.Or(opt.Memory, defaultFollowing))()
	lines := NewStageLines(cmd)
	defer lines.End()
	opt.Progress = lines.Reach
	report, err := rechunk.Follow(cmd.Context(), a, want, opt)
	if err != nil {
		return nil, err
	}
	to, err := opt.Into.OpenArray(cmd.Context(), nil)
	if err != nil {
		return nil, err
	}
	plan := &rechunk.Plan{Request: want, Grid: to.Grid(), Changes: report.Changed, Strategy: report.Strategy, Guarantee: "atomic", Space: rechunk.Space{Free: -1}}
	d := r.planned(cmd.Name(), location, plan)
	d.ReplaceCounts(report)
	return d, nil
}

// defaultFollowing is the default of --memory.
const defaultFollowing = 512 << 20
