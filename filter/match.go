// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
)

// Matches are the rows for which a condition holds, of arrays that share a dimension. It
// takes a bit for each row, and is safe for concurrent use.
type Matches struct {
	// Dimension is that of the arrays which the condition names, "" if they name none.
	Dimension string
	kept      *rows
}

// Match finds the rows for which a condition holds. It names arrays with one axis in the
// group at a location. Chunks whose statistics decide the condition are not read.
//
// If a name is that of no array, or if the arrays differ in their dimension or length,
// the error wraps [zarr.ErrInvalidArgument].
func Match(ctx context.Context, group *zarr.Location, where *Expression, opt *Options) (*Matches, error) {
	t := &table{
		Options: opt.orZero(), src: group, cachedRoot: group.Root(), request: Request{Where: where}, columns: map[string]*column{}, nameless: true,
	}
	err := t.openColumns(ctx, "/"+group.Path())
	if err == nil {
		err = t.checkColumns()
	}
	if err == nil {
		err = t.loadStatistics(ctx)
	}
	if err != nil {
		return nil, fail(group, err)
	}
	kept, err := t.kept(ctx)
	return &Matches{t.dimension, kept}, fail(group, err)
}

// checkColumns returns an error unless all columns have the same number of rows.
func (t *table) checkColumns() error {
	names := slices.Sorted(maps.Keys(t.columns))
	for _, name := range names {
		a := t.columns[name].array
		switch n := a.Shape()[0]; {
		case name == names[0]:
			t.n = n
		case n != t.n:
			return fmt.Errorf("%w: the length of %s is %d, and that of %s is %d; if they are growing, try again", zarr.ErrInvalidArgument, name, n, names[0], t.n)
		}
		of := a.DimensionNames()
		if of == nil || of[0] == "" {
			continue
		}
		if t.dimension != "" && t.dimension != of[0] {
			return fmt.Errorf("%w: %s has the dimension %s, and others have %s", zarr.ErrInvalidArgument, name, of[0], t.dimension)
		}
		t.dimension = of[0]
	}
	if t.n/8 > t.memory()/2 {
		return fmt.Errorf("%w: a bit for each row, of which there are %d, takes more than half of the memory", zarr.ErrLimit, t.n)
	}
	return nil
}

// Rows returns the number of rows of the arrays.
func (m *Matches) Rows() int64 { return m.kept.n }

// Len returns the number of rows for which the condition holds.
func (m *Matches) Len() int64 { return m.kept.count(grid.Interval{Stop: m.kept.n}) }

// Contains reports whether the condition holds for a row.
func (m *Matches) Contains(row int64) bool {
	return row >= 0 && row < m.kept.n && m.kept.bits[row/64]>>(row%64)&1 != 0
}
