package grid

import (
	"fmt"
	"iter"
	"slices"

	"varve.dev/zarr/internal/checked"
)

// Concat returns the axis of all axes one behind the other: extents are joined, and every cell stays a cell. Cells beyond the extent
// are kept of the last axis only. Axes without elements leave no trace, except for the edges that the last one lists.
// Regular axes of one step stay regular where all but the last end with a full chunk; else the result is a list.
//
// Where a chunk that stores more than belongs to its axis comes to stand before others, as the padded last chunk of a file does,
// the result has encoded lengths beside its edges ([Cut.EncodedAs]). An extent or a sum of edges beyond 64 bits is [ErrOverflow].
func (a Axis) Concat(others ...Axis) (Axis, error) {
	all := append([]Axis{a}, others...)
	var parts []Axis
	for i, p := range all {
		if p.extent > 0 || i == len(all)-1 && !p.IsRegular() {
			parts = append(parts, p)
		}
	}
	switch len(parts) {
	case 0:
		return all[len(all)-1], nil
	case 1:
		return parts[0], nil
	}
	return join(parts)
}

// join joins axes.
func join(parts []Axis) (Axis, error) {
	last := parts[len(parts)-1]
	extent, regular := int64(0), last.IsRegular()
	for i, p := range parts {
		if err := p.listable(); err != nil {
			return Axis{}, err
		}
		regular = regular && p.step == last.step && p.stored == last.stored && (i == len(parts)-1 || p.extent%p.step == 0)
		var ok bool
		if extent, ok = checked.Add(extent, p.extent); !ok {
			return Axis{}, fmt.Errorf("%w: the sum of the extents", ErrOverflow)
		}
	}
	if regular {
		last.extent, last.chunks = extent, checked.CeilDiv(extent, last.step)
		return last, nil
	}
	var edges, encoded []Run
	for _, p := range parts[:len(parts)-1] {
		edges = appendFirst(edges, slices.Values(p.Sizes()), p.chunks)
		encoded = appendFirst(encoded, p.Encoded(), p.chunks)
	}
	if last.IsTrimmed() {
		edges = appendFirst(edges, slices.Values(last.Sizes()), last.chunks)
	} else {
		edges = appendFirst(edges, last.Edges(), last.Cells())
	}
	encoded = appendFirst(encoded, last.Encoded(), last.Cells())
	cut := Runs(edges...)
	if !slices.Equal(edges, encoded) {
		cut = cut.EncodedAs(Runs(encoded...))
	}
	return NewAxis(extent, cut)
}

// appendFirst appends the first n lengths of a list.
func appendFirst(runs []Run, list iter.Seq[Run], n int64) []Run {
	for r := range list {
		r.Count = min(r.Count, n)
		if n -= r.Count; r.Count > 0 {
			runs = appendRun(runs, r)
		}
		if n == 0 {
			break
		}
	}
	return runs
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
