// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"fmt"
	"iter"
	"slices"

	"varve.dev/zarr/internal/checked"
)

// Concat returns the axis that joins a and the others end to end. The extents add up, and
// every chunk stays a chunk. Cells beyond the extent are kept only for the last axis. An
// axis without elements contributes nothing, except that a last one keeps its listed
// edges. Regular axes with the same step stay regular if all but the last end with a full
// chunk. Otherwise the result lists its edges.
//
// The padded last chunk of one axis may come to lie in the middle of the result. The
// result then has encoded lengths besides its edges ([Cut.EncodedAs]).
//
// Concat returns an error that wraps [ErrOverflow] if extents or edges sum to more than
// an int64 holds, and [ErrUnsupported] if an axis has too many runs to list.
func (a Axis) Concat(others ...Axis) (Axis, error) {
	all := append([]Axis{a}, others...)
	var parts []Axis
	for i, p := range all {
		// A last axis without elements may still declare cells for later growth.
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

// join is Concat for two or more axes, of which only the last may be empty.
func join(parts []Axis) (Axis, error) {
	last := parts[len(parts)-1]
	extent, regular := int64(0), last.IsRegular()
	for i, p := range parts {
		if err := p.listable(); err != nil {
			return Axis{}, err
		}
		// A part that ends within a chunk moves the boundaries of those after it off the
		// multiples of the step.
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
	// A partial chunk within the result is clipped, but decodes to what it did before.
	var edges, encoded []Run
	for _, p := range parts[:len(parts)-1] {
		edges = appendFirst(edges, slices.Values(p.Sizes()), p.chunks)
		encoded = appendFirst(encoded, p.Encoded(), p.chunks)
	}
	// A trimmed last chunk has an edge that ends at the extent, like its stored form.
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

// appendFirst appends the first n lengths of list to runs.
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

// Concat returns the grid of arrays that are joined end to end along one axis, as by
// [Axis.Concat]. It returns an error that wraps [ErrInvalid] if the other axes differ in
// extent or edges, and [ErrOutOfRange] if the grid has no such axis.
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
