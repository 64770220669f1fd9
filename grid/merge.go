// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"fmt"

	"varve.dev/zarr/internal/checked"
)

// Merged returns the axis with the cells in the interval joined into one. If there are
// fewer than two, it returns the axis unchanged. Otherwise the result lists its edges and
// has no encoded lengths besides them. Merged returns an error that wraps [ErrOutOfRange]
// if a cell does not exist, and [ErrOverflow] if the new cell ends beyond the largest
// int64.
func (a Axis) Merged(cells Interval) (Axis, error) {
	if cells.Start < 0 || cells.Stop > a.Cells() || cells.Start > cells.Stop {
		return Axis{}, fmt.Errorf("%w: cells %d to %d of an axis with %d cells", ErrOutOfRange, cells.Start, cells.Stop, a.Cells())
	}
	if cells.Len() < 2 {
		return a, nil
	}
	if err := a.listable(); err != nil {
		return Axis{}, err
	}
	first, _ := a.Cell(cells.Start)
	last, _ := a.Cell(cells.Stop - 1)
	span, ok := checked.Add(last.Start-first.Start, last.Edge)
	if !ok {
		return Axis{}, ErrOverflow
	}
	// A run may hold cells before the interval, in it and after it.
	var runs []Run
	at := int64(0)
	for r := range a.Edges() {
		end := at + r.Count
		if before := min(r.Count, cells.Start-at); before > 0 {
			runs = appendRun(runs, Run{r.Length, before})
		}
		if at <= cells.Start && cells.Start < end {
			runs = appendRun(runs, Run{span, 1})
		}
		if after := min(r.Count, end-cells.Stop); after > 0 {
			runs = appendRun(runs, Run{r.Length, after})
		}
		at = end
	}
	return NewAxis(a.extent, Runs(runs...))
}

// MergedUpTo returns the axis with neighbouring chunks joined, from the first on, as long
// as the result has at most longest elements. It never splits a cell, so a longer chunk
// stays as it is. Cells beyond the extent stay, too. A regular axis stays regular: its
// step becomes the largest multiple that fits, but does not exceed all chunks together.
// MergedUpTo returns an error that wraps [ErrInvalid] if longest is below 1.
func (a Axis) MergedUpTo(longest int64) (Axis, error) {
	if longest < 1 {
		return Axis{}, invalid("the longest cell must have at least 1 element, got %d", longest)
	}
	if a.IsRegular() {
		// At least one chunk: a cell is never split.
		n := max(1, min(longest/a.step, a.chunks))
		return NewAxis(a.extent, Every(n*a.step))
	}
	if err := a.listable(); err != nil {
		return Axis{}, err
	}
	m := merger{longest: longest}
	left := a.chunks
	for r := range a.Edges() {
		// Only chunks are merged. Cells beyond the extent keep their edges.
		in := min(r.Count, left)
		if in > 0 {
			m.add(Run{r.Length, in})
		}
		if left -= in; left == 0 {
			m.flush()
		}
		if r.Count > in {
			m.runs = appendRun(m.runs, Run{r.Length, r.Count - in})
		}
	}
	return NewAxis(a.extent, Runs(m.runs...))
}

// merger joins neighbouring cells up to a length.
type merger struct {
	longest int64
	runs    []Run // finished cells
	open    int64 // length of the cell that may still grow
}

// flush finishes the open cell.
func (m *merger) flush() {
	if m.open > 0 {
		m.runs = appendRun(m.runs, Run{m.open, 1})
	}
	m.open = 0
}

// add adds cells of one length. The last cell that it makes stays open.
func (m *merger) add(r Run) {
	// Fill the open cell as far as it goes.
	if fit := min(r.Count, (m.longest-m.open)/r.Length); fit > 0 {
		m.open += fit * r.Length
		r.Count -= fit
	}
	if r.Count == 0 {
		return
	}
	m.flush()
	// A cell that is too long by itself stays as it is.
	each := max(1, min(r.Count, m.longest/r.Length))
	// At least one cell is left over for the open one, so that it can still grow.
	if whole := (r.Count - 1) / each; whole > 0 {
		m.runs = appendRun(m.runs, Run{each * r.Length, whole})
		r.Count -= whole * each
	}
	m.open = r.Count * r.Length
}

// Merged returns the grid with cells of one axis joined into one ([Axis.Merged]).
func (g *Grid) Merged(axis int, cells Interval) (*Grid, error) {
	return g.onOne(axis, func(a Axis) (Axis, error) { return a.Merged(cells) })
}

// MergedUpTo returns the grid with neighbouring chunks along one axis joined up to a
// length in elements ([Axis.MergedUpTo]).
func (g *Grid) MergedUpTo(axis int, longest int64) (*Grid, error) {
	return g.onOne(axis, func(a Axis) (Axis, error) { return a.MergedUpTo(longest) })
}
