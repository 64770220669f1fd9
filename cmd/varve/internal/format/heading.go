// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/selection"
)

// appendHeading appends the cell of a heading for element i. Floats keep their ".0": they
// are labels, and other programs compare their text.
func appendHeading(dst []byte, h source.Heading, i int64) []byte {
	switch {
	case !h.Cells.Type.IsZero():
		from := len(dst)
		return quoted(h.Cells.Type.AppendText(dst, h.Cells.At(int(i))), from)
	case h.Index != nil:
		i = h.Index[i]
	}
	return strconv.AppendInt(dst, i, 10)
}

// AddHeadings adds a line of names and the values of coordinates to the CSV of a source.
// note gets one line about each coordinate that cannot be used.
func AddHeadings(ctx context.Context, s *source.Source, note func(text string)) error {
	s.Headings = make([]source.Heading, len(s.Shape))
	axes, names := s.Selection.Axes(), s.Array.DimensionNames()
	for i := range s.Headings {
		h := &s.Headings[i]
		h.Name = fmt.Sprintf("index_%d", i)
		if i >= len(axes) {
			continue // points are not along an axis
		}
		// The values of a coordinate itself are in the table anyway.
		coordinate := len(names) > 0 && names[axes[i]] != "" && names[axes[i]] != nameOf(s)
		if coordinate {
			h.Name = names[axes[i]]
		}
		if s.Selection.Len() == 0 {
			continue
		}
		if err := findAlong(h, s, axes[i], i); err != nil {
			return err
		}
		if !coordinate {
			continue
		}
		var unfit *cf.UnfitError
		if err := readHeading(ctx, h, s.Array); errors.As(err, &unfit) {
			// Indices look like labels, so say that they are none.
			note(fmt.Sprintf("%s, so the column %s has indices", unfit.Reason, h.Name))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// nameOf returns the name of the array.
func nameOf(s *source.Source) string {
	if at := path.Base(s.Array.Path()); at != "." && at != "/" {
		return at
	}
	return "value"
}

// valueNameOf returns the title of the values: the name of the array, or of the one
// selected field of its structs.
func valueNameOf(s *source.Source) string {
	if f := s.Selection.Fields(); len(f) == 1 {
		return strings.Join(f[0], ".")
	}
	return nameOf(s)
}

// findAlong sets the indices of the selected elements along an axis of an array. i is the
// axis of the source.
func findAlong(h *source.Heading, s *source.Source, axis, i int) error {
	if s.Shape[i] > cf.MaxCoordinate {
		return fmt.Errorf("%w: --header supports axes of at most %s, but axis %d has %s selected; select a part (--select)",
			zarr.ErrLimit, phrase.Plural(cf.MaxCoordinate, "element"), axis, phrase.Count(s.Shape[i]))
	}
	line := make(selection.Basic, len(s.Shape))
	for k := range line {
		line[k] = selection.At(0)
	}
	line[i] = selection.Span(0, s.Shape[i])
	r, err := s.Selection.Select(line, nil)
	if err != nil {
		return err
	}
	shape := s.Array.Shape()
	if _, ok := checked.Product(shape...); !ok { // places in the whole array must not overflow
		return fmt.Errorf("%w: --header takes arrays of less than 2^63 elements", zarr.ErrOverflow)
	}
	// Reduce each place in the whole array to its index along this axis.
	step, _ := checked.Product(shape[axis:]...)
	h.Index = r.Places()
	for k, place := range h.Index {
		h.Index[k] = place % step / (step / shape[axis])
	}
	return nil
}

// readHeading reads the values of the coordinate of a dimension, if it exists.
func readHeading(ctx context.Context, h *source.Heading, a *zarr.Array) error {
	c, err := cf.Coordinate(ctx, a, h.Name)
	if errors.Is(err, zarr.ErrInvalidArgument) && !errors.As(err, new(*cf.UnfitError)) {
		return nil // there is no coordinate of that name
	}
	if err != nil {
		return err
	}
	defer c.Close()
	v, err := c.View(selection.Orthogonal{selection.List(h.Index...)})
	if err != nil {
		return err
	}
	s, err := source.Of(ctx, v, true)
	if err == nil {
		err = s.Settle(ctx)
	}
	if err != nil {
		return err
	}
	h.Cells, h.Index = element.Values{Type: s.Type}, nil
	return s.Blocks(ctx, func(e element.Values) error {
		h.Cells.Data = append(h.Cells.Data, e.Data...)
		for _, w := range e.Words {
			// The next block reuses the memory of this one.
			h.Cells.Words = append(h.Cells.Words, bytes.Clone(w))
		}
		return nil
	})
}
