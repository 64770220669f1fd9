// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

// column is an array that a condition names.
type column struct {
	array    *zarr.Array
	comparer *cf.Comparer
	units    grid.Axis // what is decoded alone: inner chunks, or chunks
}

func newColumn(ctx context.Context, a *zarr.Array) (*column, error) {
	c := &column{array: a, units: a.Grid().Axis(0)}
	if inner := a.Inner(); inner != nil {
		g, err := inner.Grid()
		if err != nil {
			return nil, err
		}
		c.units = g.Axis(0)
	}
	var err error
	if c.comparer, err = cf.ComparerOf(ctx, a); err != nil {
		return nil, fmt.Errorf("%s: %w", a.Path(), err)
	}
	return c, nil
}

// unit returns the rows of the unit that has a row.
func (c *column) unit(row int64) grid.Interval {
	k, _, _ := c.units.Locate(row)
	cell, _ := c.units.Cell(k)
	return grid.Interval{Start: cell.Start, Stop: cell.Start + cell.Logical}
}

// bytes returns how many bytes of elements the longest unit has.
func (c *column) bytes() int64 {
	size := int64(c.array.Type().Size())
	if c.array.Type().Variable() {
		size = 64 // a guess
	}
	return c.units.Longest(grid.Interval{Stop: c.units.Chunks()}) * size
}

// page is the unit of a column that was decoded last.
type page struct {
	*column
	rows  grid.Interval
	data  []byte
	words [][]byte // of elements of variable length
}

// load decodes the unit that has a row, unless it is the present one.
func (p *page) load(ctx context.Context, row int64) error {
	if row >= p.rows.Start && row < p.rows.Stop {
		return nil
	}
	in := p.unit(row)
	sel := selection.Box{{in.Start, in.Stop}}
	p.rows = grid.Interval{}
	if p.array.Type().Variable() {
		b, err := zarr.Read[[]byte](ctx, p.array, sel)
		if err != nil {
			return err
		}
		p.words = b.Data
	} else {
		n := int(in.Len()) * p.array.Type().Size()
		p.data = slices.Grow(p.data[:0], n)[:n]
		if err := p.array.ReadBytes(ctx, sel, p.data); err != nil {
			return err
		}
	}
	p.rows = in
	return nil
}

// compare sets dst to the orders of rows, which lie in one unit.
func (p *page) compare(ctx context.Context, dst []cf.Order, in grid.Interval, v cf.Value) error {
	if err := p.load(ctx, in.Start); err != nil {
		return err
	}
	from, to := in.Start-p.rows.Start, in.Stop-p.rows.Start
	if p.array.Type().Variable() {
		p.comparer.CompareWords(dst, p.words[from:to], v)
		return nil
	}
	size := int64(p.array.Type().Size())
	p.comparer.Compare(dst, p.data[from*size:to*size], v)
	return nil
}

// value parses a value that a column is compared with.
func (c *column) value(t token) (cf.Value, error) {
	v, err := c.comparer.Value(t.text)
	if err != nil {
		return v, &SyntaxError{t.at, fmt.Sprintf("%s: %v", c.array.Path(), err)}
	}
	return v, nil
}
