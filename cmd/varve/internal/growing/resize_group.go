// SPDX-License-Identifier: Apache-2.0

package growing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/dimensions"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/grid"
)

// parseLengths parses arguments of the form DIMENSION=N.
func parseLengths(args []string) ([]dimensions.Length, error) {
	var list []dimensions.Length
	for _, arg := range args {
		name, text, found := strings.Cut(arg, "=")
		n, err := strconv.ParseInt(text, 10, 64)
		if _, wrong := argument.ParseShape(arg); wrong == nil && !found {
			return nil, failure.BadUsage("%q: give a dimension and its new length, such as time=100; did you mean --shape %s?", arg, arg)
		}
		if !found || name == "" || err != nil || n < 0 {
			return nil, failure.BadUsage("%q: give a dimension and its new length, such as time=100", arg)
		}
		if slices.ContainsFunc(list, func(d dimensions.Length) bool { return d.Name == name }) {
			return nil, failure.BadUsage("%q: the dimension is named twice", arg)
		}
		list = append(list, dimensions.Length{Name: name, Length: n})
	}
	return list, nil
}

// reshape returns the shape of an array with new lengths of dimensions, and the number of
// these dimensions that it has. It fails if two axes share one of the names.
func reshape(a *zarr.Array, lengths []dimensions.Length) (shape []int64, has int, err error) {
	shape = a.Shape()
	names := a.DimensionNames()
	for _, d := range lengths {
		i := slices.Index(names, d.Name)
		if i < 0 {
			continue
		}
		if slices.Contains(names[i+1:], d.Name) {
			return nil, 0, failure.BadArgument("dimension %q: several axes have that name; give --shape", d.Name)
		}
		shape[i] = d.Length
		has++
	}
	return shape, has, nil
}

// resizeNamed changes the lengths of dimensions of an array, or of all arrays directly
// below a group.
func resizeNamed(cmd *cobra.Command, location string, args []string, yes bool, c *growth.Change, opt *zarr.ResizeOptions) error {
	lengths, err := parseLengths(args)
	if err != nil {
		return err
	}
	many, err := node.IsGroup(cmd, location)
	if err != nil {
		return err
	}
	if many {
		return resizeGroup(cmd, location, lengths, yes, c, opt)
	}
	a, err := node.OpenArray(cmd, location)
	if err != nil {
		return err
	}
	shape, has, err := reshape(a, lengths)
	names := a.DimensionNames()
	if err := cmp.Or(err, a.Close()); err != nil {
		return err
	}
	if has < len(lengths) {
		return notDimension(lengths, names)
	}
	text := make([]string, len(shape))
	for i, n := range shape {
		text[i] = fmt.Sprint(n)
	}
	return resize(cmd, location, strings.Join(text, ","), yes, c, opt)
}

// notDimension returns the error for the first of several dimensions that an array does
// not have. known are the names of its dimensions.
func notDimension(lengths []dimensions.Length, known []string) error {
	i := slices.IndexFunc(lengths, func(d dimensions.Length) bool { return !slices.Contains(known, d.Name) })
	known = slices.DeleteFunc(slices.Clone(known), func(n string) bool { return n == "" })
	name := lengths[max(i, 0)].Name
	if len(known) == 0 {
		return failure.BadArgument("there is no dimension %q: its dimensions have no names; give --shape", name)
	}
	return failure.BadArgument("there is no dimension %q%s; its dimensions are %s", name, spelling.Meant(name, known), phrase.Shorten(strings.Join(known, ", "), 200))
}

// resized is an array that gets another shape.
type resized struct {
	name, location string
	array          *zarr.Array
	before, shape  []int64
	opt            zarr.ResizeOptions
}

// resizeGroup changes all arrays directly below a group that have one of the dimensions.
// It first checks all of them, then changes one after another. After an interrupt the
// command can be repeated, because an array that has its new shape does not change.
func resizeGroup(cmd *cobra.Command, location string, lengths []dimensions.Length, yes bool, c *growth.Change, opt *zarr.ResizeOptions) error {
	if opt.Expect != nil {
		return failure.BadUsage("--expect is for one array, and this is a group")
	}
	g, err := zarr.OpenGroup(cmd.Context(), location, c.Options(cmd))
	if err != nil {
		return err
	}
	defer g.Close()
	session.RehearseIn(cmd, g.Location().Root())
	arrays, err := withDimensions(cmd, g, location, lengths, opt)
	if err != nil {
		return err
	}
	relaxTrim(arrays)
	if err := setPolicies(c, cmd, arrays); err != nil {
		return err
	}
	lost := int64(0)
	for _, r := range arrays {
		lost += lostElements(r.before, r.shape)
	}
	if lost > 0 && !yes {
		if err := place.Confirm(cmd, fmt.Sprintf("deletes %s of %s of %s", phrase.Plural(lost, "element"), phrase.Plural(int64(len(arrays)), "array"), location)); err != nil {
			return err
		}
	}
	facts := make([]growth.Facts, len(arrays))
	for i, r := range arrays {
		if err := r.array.Resize(cmd.Context(), r.shape, &r.opt); err != nil {
			if i > 0 {
				err = failure.Leftover(err, "%s of %s have their new shapes: repeat the command for the others", phrase.Count(int64(i)), phrase.Plural(int64(len(arrays)), "array"))
			}
			return err
		}
		noteNew(cmd, r.location, r.before, r.array)
		facts[i] = growth.ReshapedTo(r.name, r.before, r.array)
	}
	dimensions.NoteInherited(cmd, location, g.Unconsolidated(), lengths)
	return growth.TellAll(cmd, location, facts, nil)
}

// withDimensions opens the arrays directly below a group that have any of the dimensions.
func withDimensions(cmd *cobra.Command, g *zarr.Group, location string, lengths []dimensions.Length, opt *zarr.ResizeOptions) ([]*resized, error) {
	which := node.Filter{}
	for _, d := range lengths {
		which.Dimensions = append(which.Dimensions, d.Name)
	}
	var arrays []*resized
	for m, err := range node.Arrays(cmd, location, g, nil, which) {
		if err != nil {
			return nil, err
		}
		shape, _, err := reshape(m.Array, lengths)
		if err == nil {
			err = node.CheckOwn(cmd.Context(), m.Location, m.Array)
		}
		if err != nil {
			return nil, failure.On(cmd.Name(), m.Location, err)
		}
		r := &resized{m.Name, m.Location, m.Array, m.Array.Shape(), shape, *opt}
		r.opt.Expect = r.before // do not undo the growth of a concurrent writer
		arrays = append(arrays, r)
	}
	return arrays, nil
}

// fits returns an error if the array cannot get its new shape. It is called before any
// array of a group is changed, and before the command asks.
func (r *resized) fits(ctx context.Context) error {
	held, err := r.array.Reservation(ctx)
	if err == nil {
		return fmt.Errorf("%w: it has the reservation %s of %v, which must be published or cancelled first", zarr.ErrConflict, held.ID(), held.Holder())
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// A new shape may shrink some axes and grow others.
	smaller, err := r.array.Grid().Shrunk(r.shape, r.opt.Shrink)
	if err == nil {
		_, err = smaller.Grown(r.shape, r.opt.Grow...)
	}
	return err
}

// relaxTrim replaces trim-exact by keep-edges for regular arrays, which cannot have a cut
// chunk, if the group also has an array that is not regular. The library treats the axes
// of one array in the same way.
func relaxTrim(arrays []*resized) {
	isRegular := func(r *resized) bool { return r.array.Grid().IsRegular() }
	if !slices.ContainsFunc(arrays, func(r *resized) bool { return !isRegular(r) }) {
		return
	}
	for _, r := range arrays {
		if isRegular(r) && r.opt.Shrink == grid.TrimExact {
			r.opt.Shrink = grid.KeepEdges
		}
	}
}

// setPolicies sets the growth in the options of all arrays, and checks that they fit. A
// policy of --grow is not used for regular arrays, which need none, if another array of
// the group can use it.
func setPolicies(c *growth.Change, cmd *cobra.Command, arrays []*resized) error {
	p, err := c.Policy(cmd)
	if err != nil {
		return err
	}
	useful := slices.ContainsFunc(arrays, func(r *resized) bool { return p.AxisWithoutEffect(r.array, 0, r.shape) < 0 })
	for _, r := range arrays {
		if useful && cmd.Flags().Changed("grow") && p.AxisWithoutEffect(r.array, 0, r.shape) >= 0 {
			r.opt.Grow = []grid.Growth{grid.AppendOne()}
			continue
		}
		if r.opt.Grow, err = policies(c, cmd, p, r.location, r.array, r.shape); err == nil {
			err = chunking.CheckResize(cmd, r.array, r.shape, r.opt.Grow...)
		}
		if err == nil {
			err = r.fits(cmd.Context())
		}
		if err != nil {
			return failure.On(cmd.Name(), r.location, err)
		}
	}
	return nil
}
