// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"fmt"

	"varve.dev/zarr/internal/checked"
)

// Shifted returns the axis with elements added or removed at its start. If by is
// positive, by elements are added as one cell. If it is negative, the first -by elements
// are removed, and a cell that is cut through keeps the rest. Cells beyond the extent
// stay.
//
// A regular axis stays regular if its boundaries do. Otherwise the result lists its
// edges. It has no encoded lengths. An axis that would lose all its edges keeps the last,
// because it needs one.
//
// Shifted returns an error that wraps [ErrOutOfRange] if there are fewer elements than
// are to be removed, and [ErrOverflow] if the extent or the sum of the edges overflows
// int64.
func (a Axis) Shifted(by int64) (Axis, error) {
	switch {
	case by == 0:
		return a, nil
	case by < -a.extent:
		// The conversion is right even if by is the smallest int64, which -by leaves
		// unchanged.
		return Axis{}, fmt.Errorf("%w: an axis with extent %d cannot lose %d elements", ErrOutOfRange, a.extent, uint64(-by))
	case by < 0:
		return a.without(-by)
	}
	extent, ok := checked.Add(a.extent, by)
	if !ok {
		return Axis{}, fmt.Errorf("%w: %d elements before %d", ErrOverflow, by, a.extent)
	}
	// A cell of the same length keeps a regular axis regular. The step of a list is 0.
	if by == a.step {
		return NewAxis(extent, Every(a.step))
	}
	if err := a.listable(); err != nil {
		return Axis{}, err
	}
	runs := []Run{{by, 1}}
	for r := range a.Edges() {
		runs = append(runs, r)
	}
	return NewAxis(extent, Runs(runs...))
}

// without returns the axis without its first n elements.
func (a Axis) without(n int64) (Axis, error) {
	left := a.extent - n
	if a.IsRegular() && (left == 0 || n%a.step == 0) {
		return NewAxis(left, Every(a.step))
	}
	if err := a.listable(); err != nil {
		return Axis{}, err
	}
	rest, _ := tail(a.Edges(), n)
	// An axis needs an edge even if it has no elements.
	if len(rest) == 0 {
		last, _ := a.Cell(a.Cells() - 1)
		rest = []Run{{last.Edge, 1}}
	}
	return NewAxis(left, Runs(rest...))
}

// Shifted returns the grid with elements added or removed at the start of one axis
// ([Axis.Shifted]).
func (g *Grid) Shifted(axis int, by int64) (*Grid, error) {
	return g.onOne(axis, func(a Axis) (Axis, error) { return a.Shifted(by) })
}
