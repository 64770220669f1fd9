package main

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
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/selection"
)

// heading is what CSV with --header says of an axis: its name, and a cell for every
// element along it. That is the value of the coordinate, or the index in the array where
// there is no coordinate.
type heading struct {
	name  string
	index []int64  // of the elements; nil where they are along no axis of the array, and with cells
	cells elements // values of the coordinate, none where there is none
}

// appendCell appends the cell of element i.
func (h heading) appendCell(dst []byte, i int64) []byte {
	switch {
	case !h.cells.typ.IsZero():
		return appendCell(dst, h.cells.typ, h.cells.at(int(i)))
	case h.index != nil:
		i = h.index[i]
	}
	return strconv.AppendInt(dst, i, 10)
}

// entitle gives CSV of a source a line of names, and values of coordinates.
func (s *source) entitle(ctx context.Context) error {
	s.headings = make([]heading, len(s.shape))
	axes, names := s.resolved.Axes(), s.array.DimensionNames()
	for i := range s.headings {
		h := &s.headings[i]
		h.name = fmt.Sprintf("index_%d", i)
		if i >= len(axes) {
			continue // points are along none of the axes
		}
		coordinate := len(names) > 0 && names[axes[i]] != "" && names[axes[i]] != s.name()
		if coordinate {
			h.name = names[axes[i]]
		}
		if s.resolved.Len() == 0 {
			continue
		}
		if err := h.along(s, axes[i], i); err != nil {
			return err
		}
		if !coordinate {
			continue
		}
		if err := h.read(ctx, s.array); err != nil {
			return err
		}
	}
	return nil
}

// name returns the name of the array.
func (s *source) name() string {
	if at := path.Base(s.array.Path()); at != "." && at != "/" {
		return at
	}
	return "value"
}

// valueName returns what the values are called: as the array, or the one field of its
// structs that is selected.
func (s *source) valueName() string {
	if f := s.resolved.Fields(); len(f) == 1 {
		return strings.Join(f[0], ".")
	}
	return s.name()
}

// along finds the elements along an axis of an array, which is axis i of a source.
func (h *heading) along(s *source, axis, i int) error {
	if s.shape[i] > cf.MaxCoordinate {
		return fmt.Errorf("%w: --header takes axes of at most %s, axis %d has %s selected; select a part (--select)",
			zarr.ErrLimit, phrase.Plural(cf.MaxCoordinate, "element"), axis, phrase.Count(s.shape[i]))
	}
	line := make(selection.Basic, len(s.shape))
	for k := range line {
		line[k] = selection.At(0)
	}
	line[i] = selection.Span(0, s.shape[i])
	r, err := s.resolved.Select(line, nil)
	if err != nil {
		return err
	}
	shape := s.array.Shape()
	if _, ok := checked.Product(shape...); !ok { // places are counted in all of the array
		return fmt.Errorf("%w: --header takes arrays of less than 2^63 elements", zarr.ErrOverflow)
	}
	step, _ := checked.Product(shape[axis:]...)
	h.index = r.Places()
	for k, place := range h.index {
		h.index[k] = place % step / (step / shape[axis])
	}
	return nil
}

// read reads the values of the coordinate of a dimension, if there is one.
func (h *heading) read(ctx context.Context, a *zarr.Array) error {
	c, err := cf.Coordinate(ctx, a, h.name)
	if errors.Is(err, zarr.ErrInvalidArgument) {
		return nil // there is none, or what has the name is none
	}
	if err != nil {
		return err
	}
	defer c.Close()
	v, err := c.View(selection.Orthogonal{selection.List(h.index...)})
	if err != nil {
		return err
	}
	s, err := sourceOf(ctx, v, true)
	if err == nil {
		err = s.settle(ctx)
	}
	if err != nil {
		return err
	}
	h.cells, h.index = elements{typ: s.typ}, nil
	return s.blocks(ctx, func(e elements) error {
		h.cells.data = append(h.cells.data, e.data...)
		for _, w := range e.words {
			h.cells.words = append(h.cells.words, bytes.Clone(w))
		}
		return nil
	})
}
