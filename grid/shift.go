package grid

import (
	"fmt"

	"varve.dev/zarr/internal/checked"
)

// Shifted returns the axis with more or fewer elements before what is there: by elements as one cell where by is positive, else without
// the first -by elements, the rest of a cell that is cut through being a shorter cell. Cells beyond the extent stay. A regular axis
// stays regular where its boundaries do; else the result is a list. An axis that loses all its edges keeps the last, for it needs one.
// Fewer elements than there are wrap [ErrOutOfRange]; an extent or a sum of edges beyond 64 bits is [ErrOverflow].
func (a Axis) Shifted(by int64) (Axis, error) {
	switch {
	case by == 0:
		return a, nil
	case by < -a.extent:
		return Axis{}, fmt.Errorf("%w: an axis with extent %d has no %d elements to lose", ErrOutOfRange, a.extent, uint64(-by))
	case by < 0:
		return a.without(-by)
	}
	extent, ok := checked.Add(a.extent, by)
	if !ok {
		return Axis{}, fmt.Errorf("%w: %d elements before %d", ErrOverflow, by, a.extent)
	}
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
	if len(rest) == 0 {
		last, _ := a.Cell(a.Cells() - 1)
		rest = []Run{{last.Edge, 1}}
	}
	return NewAxis(left, Runs(rest...))
}

// Shifted returns the grid with more or fewer elements before those of one axis ([Axis.Shifted]).
func (g *Grid) Shifted(axis int, by int64) (*Grid, error) {
	return g.onOne(axis, func(a Axis) (Axis, error) { return a.Shifted(by) })
}
