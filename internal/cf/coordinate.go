// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/packed"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/selection"
)

// MaxCoordinate is the largest number of elements that this package reads from a
// coordinate: the hours of 1,900 years.
const MaxCoordinate = 1 << 24

// IsCoordinate reports whether an array is the coordinate of a dimension: it has one
// axis, and its name is that of the dimension.
func IsCoordinate(a *zarr.Array) bool {
	names := a.DimensionNames()
	return a.Rank() == 1 && len(names) == 1 && names[0] != "" && names[0] == path.Base(a.Path())
}

// Coordinate opens the coordinate of a dimension of an array: the array with one axis
// that has the name of the dimension, in the same group or in the nearest group above.
// The caller closes it. If there is no coordinate, or if it does not fit the dimension
// ([UnfitError]), the error wraps [zarr.ErrInvalidArgument]. If it has more than
// [MaxCoordinate] elements, the error wraps [zarr.ErrLimit].
func Coordinate(ctx context.Context, a *zarr.Array, dimension string) (*zarr.Array, error) {
	axis := slices.Index(a.DimensionNames(), dimension)
	if axis < 0 {
		return nil, invalid("there is no dimension %q", dimension)
	}
	c, err := Beside(ctx, a, dimension)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, invalid("dimension %q has no coordinate (an array of that name beside this one); select by index, as %s=0:10", dimension, dimension)
	}
	if err != nil {
		return nil, fmt.Errorf("the coordinate of dimension %q: %w", dimension, err)
	}
	// Array and coordinate must belong to one version. If the array still has the shape
	// with which it was opened, it had that shape when the coordinate was opened.
	_, err = a.Core().Begin().Unmoved(ctx)
	if err == nil {
		err = fitsDimension(c, dimension, a.Shape()[axis])
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Beside opens the array with a name in the group of a, or in the nearest group above, as
// in hierarchies of xarray's DataTree. The caller closes it. If there is none, the error
// wraps [fs.ErrNotExist].
func Beside(ctx context.Context, a *zarr.Array, name string) (*zarr.Array, error) {
	// Any error but a missing node ends the search: an array above has another meaning.
	for at := a.Path(); at != "" && at != "."; {
		at = path.Dir(at)
		c, err := a.Location().Root().At(path.Join(at, name)).OpenArray(ctx, readOptions(a))
		if !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
	}
	return nil, fs.ErrNotExist
}

// GroupAttributes returns the attributes of a group above an array, or nil if there is
// none there that can be read: such a group describes nothing.
func GroupAttributes(ctx context.Context, a *zarr.Array, at string) ([]byte, error) {
	g, err := a.Location().Root().At(at).OpenGroup(ctx, readOptions(a))
	switch {
	case err == nil:
		return g.Attributes(), nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, zarr.ErrInvalidMetadata), errors.Is(err, zarr.ErrUnsupported):
		return nil, nil
	}
	return nil, err
}

// readOptions returns the options for reading arrays beside a: its limits, codecs,
// observer and so on. It omits options that apply to a alone.
func readOptions(a *zarr.Array) *zarr.Options {
	o := a.Options()
	o.Write, o.Finish, o.RequireChunks = false, false, false
	return &o
}

// fitsDimension returns an error if c is not a usable coordinate of a dimension with
// the given extent.
func fitsDimension(c *zarr.Array, dimension string, extent int64) error {
	names := c.DimensionNames()
	switch {
	case c.Rank() != 1:
		return unfit("array %s has shape %v: the coordinate of a dimension has one axis", c.Path(), c.Shape())
	// An array without dimension names may still be a coordinate.
	case names != nil && names[0] != "" && names[0] != dimension:
		return unfit("array %s has dimension %q, so it is not the coordinate of %q", c.Path(), names[0], dimension)
	case c.Shape()[0] != extent:
		return unfit("coordinate %s has %s, dimension %q has %d", c.Path(), quantity.Count(c.Shape()[0], "elements"), dimension, extent)
	case extent > MaxCoordinate:
		return fmt.Errorf("%w: coordinate %s has %s, but at most %d are read; select by index", zarr.ErrLimit, c.Path(), quantity.Count(extent, "elements"), MaxCoordinate)
	}
	return nil
}

// Instants reads the times of a coordinate and returns them with their calendar. ok is
// false if the elements are not times, or if one of them has no value.
func Instants(ctx context.Context, c *zarr.Array) (at []calendar.Instant, in calendar.Calendar, ok bool, err error) {
	in = calendar.ProlepticGregorian
	parse := func(text string) (calendar.Instant, error) { return calendar.ParseInstant(text, in) }
	switch {
	case c.Type().Kind() == dtype.KindDatetime:
	case IsNumeric(c.Type()):
		t, tickScale := UnitsOf(c).Times()
		if !tickScale {
			return nil, in, false, nil
		}
		in, parse = t.Calendar(), t.Instant
	default:
		return nil, in, false, nil
	}
	missing := false
	err = eachText(ctx, c, func(text string) error {
		t, err := parse(text)
		// Continue after an element that is no time. The caller needs to know only that
		// there was one.
		missing = missing || err != nil
		at = append(at, t)
		return nil
	})
	return at, in, err == nil && !missing, err
}

// blockBytes bounds the bytes of a coordinate that are in memory at a time.
const blockBytes = 16 << 20

// eachElement calls use with every element of a coordinate, in order. It reuses the
// memory of elem for the next element.
func eachElement(ctx context.Context, c *zarr.Array, use func(elem []byte) error) error {
	t := c.Type()
	slabs, err := c.Slabs(nil, blockBytes)
	if err != nil {
		return err
	}
	// All slabs share one buffer, so a long coordinate takes little memory.
	var data []byte
	for slab := range slabs {
		part, err := c.Select(slab)
		if err != nil {
			return err
		}
		if t.Variable() {
			if err := eachWord(ctx, c, part, use); err != nil {
				return err
			}
			continue
		}
		n := t.Size()
		data = slices.Grow(data[:0], int(part.Len())*n)[:int(part.Len())*n]
		if err := c.ReadBytes(ctx, part, data); err != nil {
			return err
		}
		for rest := data; len(rest) > 0; rest = rest[n:] {
			if err := use(rest[:n:n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachWord calls use with the selected elements of an array with a variable-length
// type.
func eachWord(ctx context.Context, c *zarr.Array, part selection.Selection, use func(elem []byte) error) error {
	words, err := zarr.Read[[]byte](ctx, c, part)
	if err != nil {
		return err
	}
	for _, w := range words.Data {
		if err := use(w); err != nil {
			return err
		}
	}
	return nil
}

// eachText calls use with every element of a coordinate as text. Numbers are unpacked,
// and missing ones are "NaN". Padding of fixed-length bytes is removed.
func eachText(ctx context.Context, c *zarr.Array, use func(text string) error) error {
	t := c.Type()
	text := func(elem []byte) string { return string(t.AppendText(nil, elem)) }
	switch k := t.Kind(); {
	case IsNumeric(t):
		p, err := PackingOf(ctx, c)
		if err != nil {
			return err
		}
		// A zero is a real value here, even if it is the fill value.
		p = p.OfCoordinate()
		text = func(elem []byte) string {
			if !p.HasValue(elem) {
				return "NaN"
			}
			return p.Text(elem)
		}
	case k == dtype.KindBytes || k == dtype.KindTerminated:
		text = func(elem []byte) string { return string(packed.TrimPadding(t, elem)) }
	}
	return eachElement(ctx, c, func(elem []byte) error { return use(text(elem)) })
}
