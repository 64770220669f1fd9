// SPDX-License-Identifier: Apache-2.0

package growing

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/dimensions"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/rechunking"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/selection"
)

// stitchFlags are the flags of varve stitch.
type stitchFlags struct {
	axis, order         string
	alone, singleWriter *bool
}

// NewStitch returns the command stitch.
func NewStitch() *cobra.Command {
	c := &cobra.Command{
		Use:   "stitch NODE SEGMENT…",
		Short: "Append the chunks of segments, which parallel writers have filled on their own, to an array or a group",
		Long: `Append the chunks of segments, which parallel writers have filled on their own, to an array or a group. So writers need
not know how long the batches of others are: each writes an array, or a group of arrays, of its own, in any store.

All segments are published by one change: readers see none of them, or all. Along a listed axis the chunks of the
segments become chunks of the array. A chunk is copied as it is stored, by the store if it can, if codecs, fill value
and the chunks along all other axes are the same; others are decoded and encoded again. In a group, either all arrays
grow or none: all that have the dimension, in the group and in each segment. Units and packing must be the same, and so
must the names of axes and the coordinates of all other axes, where they are known.

The segments are taken in the order given, with --sort name in that of their names, and with --sort COORD in that of
the first value of a coordinate beside or in each. They stay where they are; varve rm removes them. The writer of a
segment that crashed can continue where its last checkpoint is, or its segment is left out and removed.

If the lengths are known beforehand, varve reservations and the call Reserve need no second step.`,
		Example: `  varve stitch all.zarr/value segment-0.zarr/value segment-1.zarr/value --alone
  varve stitch all.zarr segment-1.zarr segment-0.zarr --sort time`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 3 {
				return usage.Arguments("NODE", "SEGMENT")(cmd, args)
			}
			return nil
		},
		ValidArgsFunction: node.Complete,
	}
	f := &stitchFlags{}
	c.Flags().StringVar(&f.axis, "axis", "0", "the `AXIS` that grows, a number or the name of a dimension; -1 is the last")
	c.Flags().StringVar(&f.order, "sort", "given", "the `ORDER` of segments: given, name, or a coordinate")
	f.alone, f.singleWriter = growth.AloneFlag(c), growth.SingleWriterFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1:]) }
	return c
}

// stitched is the result for one array, in the form of --json.
type stitched struct {
	Path   string  `json:"path"`
	Shape  []int64 `json:"shape"` // afterwards
	Planes int64   `json:"planes"`
	Chunks int64   `json:"chunks"` // of the segments

	disorder string // of a coordinate, "" for none
}

// segment is a node whose elements are appended.
type segment struct {
	location string
	node     zarr.Node
	first    float64 // of the coordinate that segments are sorted by
}

func (f *stitchFlags) run(cmd *cobra.Command, location string, locations []string) (err error) {
	defer func() { err = failure.InOperation(cmd.Name(), err) }()
	if _, err := argument.ParseAxis(f.axis); err != nil {
		return failure.BadUsage("--axis: %w", err)
	}
	opt := session.Writing(cmd)
	opt.SingleWriter = *f.singleWriter
	n, err := zarr.Open(cmd.Context(), location, opt)
	if err != nil {
		return err
	}
	defer n.Close()
	segments, err := f.open(cmd, locations)
	defer func() {
		for _, s := range segments {
			err = errors.Join(err, s.node.Close())
		}
	}()
	if err != nil {
		return err
	}
	var done []stitched
	if g, ok := n.(*zarr.Group); ok {
		done, err = f.group(cmd, location, g, segments)
	} else {
		done, err = f.array(cmd, location, n.(*zarr.Array), segments)
	}
	if err != nil {
		return err
	}
	for _, one := range done {
		if one.disorder != "" {
			session.Remark(cmd, one.Path, one.disorder)
		}
	}
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, struct {
			Path     string     `json:"path"`
			Segments int        `json:"segments"`
			Arrays   []stitched `json:"arrays"`
		}{location, len(segments), done})
	}
	return session.Print(cmd, func(w *bufio.Writer) error {
		for _, a := range done {
			fmt.Fprintf(w, "%s  %s from %s, %s: now %s\n", phrase.Printable(a.Path), phrase.Plural(a.Planes, "plane"),
				phrase.Plural(int64(len(segments)), "segment"), phrase.Plural(a.Chunks, "chunk"), strings.Trim(strings.ReplaceAll(fmt.Sprint(a.Shape), " ", "×"), "[]"))
		}
		return nil
	})
}

// open opens the segments and sorts them.
func (f *stitchFlags) open(cmd *cobra.Command, locations []string) (segments []segment, err error) {
	if f.order == "name" {
		locations = slices.Sorted(slices.Values(locations))
	}
	for _, location := range locations {
		n, err := node.Open(cmd, location)
		if err != nil {
			return segments, err
		}
		segments = append(segments, segment{location: location, node: n})
	}
	if f.order == "given" || f.order == "name" {
		return segments, nil
	}
	return segments, f.byCoordinate(cmd, segments)
}

// byCoordinate sorts segments by the first value of a coordinate.
func (f *stitchFlags) byCoordinate(cmd *cobra.Command, segments []segment) error {
	units := ""
	for i := range segments {
		s := &segments[i]
		location := node.Beside(s.location, f.order)
		if _, isGroup := s.node.(*zarr.Group); isGroup {
			location = node.Clean(s.location) + "/" + f.order
		}
		a, err := node.OpenArray(cmd, location)
		if err != nil {
			return err
		}
		unit := cf.TextAttribute(a, "units")
		if i == 0 {
			units = unit
		}
		s.first, err = firstValue(cmd, a)
		if err = errors.Join(err, a.Close()); err != nil {
			return err
		}
		if unit != units {
			return failure.BadArgument("%s counts in units %s, and that of the first segment in %s: give the segments in order, without --sort", location, unit, units)
		}
	}
	sort.SliceStable(segments, func(i, j int) bool { return segments[i].first < segments[j].first })
	return nil
}

// array stitches segments to one array.
func (f *stitchFlags) array(cmd *cobra.Command, location string, a *zarr.Array, segments []segment) ([]stitched, error) {
	axis, err := argument.AxisIn(f.axis, a)
	if err == nil {
		err = node.CheckOwn(cmd.Context(), location, a)
	}
	if err != nil {
		return nil, err
	}
	arrays := make([]*zarr.Array, len(segments))
	for i, s := range segments {
		part, ok := s.node.(*zarr.Array)
		if !ok {
			return nil, failure.BadArgument("%s is a group, and %s is an array", s.location, location)
		}
		arrays[i] = part
	}
	if err := sameMeaning(cmd, a, arrays, axis); err != nil {
		return nil, err
	}
	done := stitchedOf(cmd, location, a, axis, arrays)
	if !*f.alone {
		if err := rechunking.MovedTogether(cmd, dimensions.CheckShape(cmd.Context(), a, done.Shape)); err != nil {
			return nil, err
		}
	}
	return []stitched{done}, a.Stitch(cmd.Context(), axis, arrays, nil)
}

// sameMeaning returns an error if the numbers of a segment mean something else in the
// array, for example because their times have other units, or if its axes are others.
func sameMeaning(cmd *cobra.Command, a *zarr.Array, segments []*zarr.Array, axis int) error {
	for _, segment := range segments {
		if err := input.CheckSegment(cmd.Context(), segment.Location().String(), segment, a, axis); err != nil {
			return err
		}
	}
	return nil
}

// group stitches all arrays of a group that grow along the axis.
func (f *stitchFlags) group(cmd *cobra.Command, location string, g *zarr.Group, segments []segment) ([]stitched, error) {
	arrays, err := arraysIn(cmd, g, location)
	if err != nil {
		return nil, err
	}
	inSegments := make([]map[string]*zarr.Array, len(segments))
	for i, s := range segments {
		below, ok := s.node.(*zarr.Group)
		if !ok {
			return nil, failure.BadArgument("%s is an array: stitch it to an array", s.location)
		}
		if inSegments[i], err = arraysIn(cmd, below, s.location); err != nil {
			return nil, err
		}
	}
	grown, err := f.growing(arrays, location)
	if err != nil {
		return nil, err
	}
	// An array that only a segment has would be lost.
	for i, s := range segments {
		all, err := f.growing(inSegments[i], s.location)
		if err != nil {
			return nil, err
		}
		for name := range all {
			if _, ok := grown[name]; !ok {
				return nil, failure.BadArgument("%s has an array %s along the axis %s, and %s has not: create it there, or remove it", s.location, name, f.axis, location)
			}
		}
	}
	var additions []zarr.Addition
	var done []stitched
	for _, name := range slices.Sorted(maps.Keys(grown)) {
		a, axis, parts := arrays[name], grown[name], make([]*zarr.Array, len(segments))
		at := node.Clean(location) + "/" + name
		if err := node.CheckOwn(cmd.Context(), at, a); err != nil {
			return nil, failure.On(cmd.Name(), at, err)
		}
		for i, s := range segments {
			if parts[i] = inSegments[i][name]; parts[i] == nil {
				return nil, failure.BadArgument("%s has no array %s, which grows with the others of %s", s.location, name, location)
			}
		}
		if err := sameMeaning(cmd, a, parts, axis); err != nil {
			return nil, err
		}
		additions = append(additions, zarr.Addition{Path: name, Axis: axis, Segments: parts, Alone: *f.alone})
		done = append(done, stitchedOf(cmd, at, a, axis, parts))
	}
	return done, g.Append(cmd.Context(), additions...)
}

// arraysIn returns the arrays directly below a group.
func arraysIn(cmd *cobra.Command, g *zarr.Group, location string) (map[string]*zarr.Array, error) {
	arrays := map[string]*zarr.Array{}
	for m, err := range node.Listed(cmd.Context(), location, g) {
		if err != nil {
			return nil, err
		}
		arrays[m.Name] = m.Array
	}
	if len(arrays) == 0 {
		return nil, failure.BadArgument("%s has no arrays", location)
	}
	return arrays, nil
}

// growing returns the axes of those arrays of a group that grow. As for varve append, a
// number gives the dimension of the array with the highest rank, if that has a name, and
// the arrays with this dimension grow.
func (f *stitchFlags) growing(arrays map[string]*zarr.Array, location string) (map[string]int, error) {
	var inputs []*addition
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		inputs = append(inputs, &addition{name: name, array: arrays[name]})
	}
	dimension := growingDimension(inputs, f.axis)
	grown := map[string]int{}
	for name, a := range arrays {
		if a.Rank() == 0 {
			continue // a single value, which has no dimension
		}
		if dimension != "" && a.DimensionNames() != nil {
			if axis := slices.Index(a.DimensionNames(), dimension); axis >= 0 {
				grown[name] = axis
			}
			continue
		}
		axis, err := argument.AxisIn(f.axis, a)
		if err != nil {
			return nil, failure.On("stitch", node.Clean(location)+"/"+name, err)
		}
		grown[name] = axis
	}
	if len(grown) == 0 {
		var known []string
		for _, a := range arrays {
			known = append(known, a.DimensionNames()...)
		}
		return nil, node.MissingDimension(f.axis, known)
	}
	return grown, nil
}

// stitchedOf describes an array after the change.
func stitchedOf(cmd *cobra.Command, location string, a *zarr.Array, axis int, segments []*zarr.Array) stitched {
	s := stitched{Path: location, Shape: a.Shape(), disorder: growth.DisorderOf(cmd, a, segments)}
	for _, part := range segments {
		if part.Rank() > axis { // else the call refuses it
			s.Planes += part.Shape()[axis]
		}
		n, _ := part.Grid().NumChunks()
		s.Chunks += n
	}
	s.Shape[axis] += s.Planes
	return s
}

// firstValue returns the first value of a coordinate as a number. An empty coordinate
// comes first.
func firstValue(cmd *cobra.Command, a *zarr.Array) (float64, error) {
	if a.Rank() != 1 {
		return 0, failure.BadArgument("%s has rank %d; segments are sorted by a coordinate with one axis", a.Location(), a.Rank())
	}
	if a.Shape()[0] == 0 {
		return math.Inf(-1), nil
	}
	first := selection.Basic{selection.At(0)}
	if a.Type().Kind() == dtype.KindDatetime {
		b, err := zarr.Read[time.Time](cmd.Context(), a, first)
		if err != nil {
			return 0, err
		}
		return float64(b.Data[0].Unix()) + float64(b.Data[0].Nanosecond())/1e9, nil
	}
	b, err := zarr.ReadAs[float64](cmd.Context(), a, first)
	if err != nil {
		return 0, err
	}
	return b.Data[0], nil
}
