package grid

import (
	"fmt"

	"varve.dev/zarr/internal/checked"
)

// Concat returns the axis of all axes one behind the other: extents are joined, and every cell stays a cell. Cells beyond the extent
// are kept of the last axis only. Axes without elements leave no trace, except for the edges that the last one lists.
// Regular axes of one step stay regular where all but the last end with a full chunk; else the result is a list.
//
// A last chunk that stores more than belongs to its axis can stand only at the end: elsewhere it wraps [ErrUnsupported].
// An extent or a sum of edges beyond 64 bits is [ErrOverflow].
func (a Axis) Concat(others ...Axis) (Axis, error) {
	all := append([]Axis{a}, others...)
	var parts []Axis
	before := 0 // the part that comes before
	for i, p := range all {
		if p.extent == 0 && (i < len(all)-1 || p.IsRegular()) {
			continue
		}
		if len(parts) > 0 {
			if err := all[before].endsWhole(); err != nil {
				return Axis{}, fmt.Errorf("part %d: %w", before, err)
			}
		}
		parts, before = append(parts, p), i
	}
	switch len(parts) {
	case 0:
		return all[len(all)-1], nil
	case 1:
		return parts[0], nil
	}
	return join(parts)
}

// endsWhole refuses an axis that nothing can follow.
func (a Axis) endsWhole() error {
	c, ok := a.Cell(a.chunks - 1)
	if !ok || !c.IsBoundary() {
		return nil
	}
	return fmt.Errorf("%w: chunk %d stores %d elements of which %d belong to the array; with chunks behind it that needs encoded edges",
		ErrUnsupported, c.Index, c.Encoded, c.Logical)
}

// join joins axes, all but the last of which end with a whole chunk.
func join(parts []Axis) (Axis, error) {
	last := parts[len(parts)-1]
	extent, step := int64(0), last.step
	for _, p := range parts {
		if p.step != step {
			step = 0
		}
		var ok bool
		if extent, ok = checked.Add(extent, p.extent); !ok {
			return Axis{}, fmt.Errorf("%w: the sum of the extents", ErrOverflow)
		}
	}
	if step > 0 {
		return NewAxis(extent, Every(step))
	}
	var runs []Run
	for _, p := range parts[:len(parts)-1] {
		for _, r := range p.Sizes() {
			runs = appendRun(runs, r)
		}
	}
	for r := range last.Edges() {
		runs = appendRun(runs, r)
	}
	return NewAxis(extent, Runs(runs...))
}

// Concat returns the grid of arrays one behind the other along an axis, joined as [Axis.Concat] does it. All other axes
// have to be equal, in extent and in cut, else it wraps [ErrInvalid]; an axis that the grid does not have wraps [ErrOutOfRange].
func (g *Grid) Concat(axis int, others ...*Grid) (*Grid, error) {
	if err := g.has(axis); err != nil {
		return nil, err
	}
	parts := make([]Axis, len(others))
	for n, o := range others {
		if len(o.axes) != len(g.axes) {
			return nil, invalid("part %d has %d axes, part 0 has %d", n+1, len(o.axes), len(g.axes))
		}
		for i := range g.axes {
			if i != axis && !g.axes[i].Equal(o.axes[i]) {
				return nil, onAxis(i, invalid("part %d has another extent or is cut otherwise than part 0", n+1))
			}
		}
		parts[n] = o.axes[axis]
	}
	return g.onOne(axis, func(a Axis) (Axis, error) { return a.Concat(parts...) })
}
