// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"fmt"
	"strconv"
)

// Shrink is a policy for the edges of an axis beyond its new extent. The zero Shrink is
// [KeepEdges].
type Shrink uint8

const (
	// KeepEdges keeps all edges, so that later growth uses them again, as in zarr-python.
	KeepEdges Shrink = iota
	// TrimEdges drops the edges that lie wholly beyond the extent.
	TrimEdges
	// TrimExact also cuts the last edge at the extent. The last chunks must be written
	// again.
	TrimExact
)

var shrinkNames = [...]string{KeepEdges: "keep-edges", TrimEdges: "trim-edges", TrimExact: "trim-exact"}

// String returns the policy as [ParseShrink] reads it.
func (s Shrink) String() string {
	if int(s) < len(shrinkNames) {
		return shrinkNames[s]
	}
	return "shrink(" + strconv.Itoa(int(s)) + ")"
}

// ParseShrink parses a policy: keep-edges, trim-edges or trim-exact. Any other text is an
// error that wraps [ErrInvalid].
func ParseShrink(text string) (Shrink, error) {
	for s, name := range shrinkNames {
		if text == name {
			return Shrink(s), nil
		}
	}
	return 0, invalid("shrink policy %.80q: there are keep-edges, trim-edges and trim-exact", text)
}

// Shrunk returns the axis with a smaller extent, or the same. The policy applies to the
// edges beyond the extent even if that stays the same. An axis needs an edge, so all
// policies leave the first edge as it is if the extent is 0.
//
// A regular axis has no edges to keep or to drop. Its last chunk is stored at full
// length, so TrimExact is an error unless the extent ends a chunk. Shrunk returns an
// error that wraps [ErrInvalid] in that case and if the extent is larger or negative. It
// returns an error that wraps [ErrUnsupported] for TrimExact on an axis with encoded
// lengths.
//
// KeepEdges follows zarr-python 3.4.1. The other policies are specific to this package.
func (a Axis) Shrunk(extent int64, s Shrink) (Axis, error) {
	switch {
	case extent > a.extent:
		return Axis{}, invalid("extent %d exceeds the present %d: Grown makes an axis longer", extent, a.extent)
	case s > TrimExact:
		return Axis{}, invalid("%v is no shrink policy", s)
	// The last chunk of a regular axis is stored at full length, which an exact edge
	// would contradict.
	case s == TrimExact && a.IsRegular() && extent > 0 && extent%a.step != 0:
		return Axis{}, invalid("%v to the extent %d on an axis whose last chunk is stored with all its %d elements: unlock turns it into a list",
			s, extent, a.step)
	}
	b, err := a.Resized(extent)
	if err != nil || s == KeepEdges || a.IsRegular() {
		return b, err
	}
	return b.trimmed(s == TrimExact)
}

// trimmed drops the listed edges beyond the extent, but never the first. If exact is set,
// it also cuts the last one at the extent.
func (a Axis) trimmed(exact bool) (Axis, error) {
	// The encoded length of the last chunk would have to change together with its edge.
	if exact && a.IsEncoded() {
		return Axis{}, fmt.Errorf("%w: trimming edges exactly where chunks are stored longer than their edges", ErrUnsupported)
	}
	if err := a.listable(); err != nil {
		return Axis{}, err
	}
	if exact && a.extent > 0 {
		return NewAxis(a.extent, Runs(a.Sizes()...))
	}
	// An axis needs an edge even if it has no elements.
	left := max(1, a.chunks)
	var kept []Run
	for r := range a.Edges() {
		r.Count = min(r.Count, left)
		kept = append(kept, r)
		if left -= r.Count; left == 0 {
			break
		}
	}
	b, err := NewAxis(a.extent, Runs(kept...))
	if err == nil && a.IsEncoded() {
		b.stored = a.stored.first(b.Cells())
	}
	return b, err
}

// Shrunk returns the grid of an array of another shape, with each axis as by
// [Axis.Shrunk]. Axes that gain elements stay as they are: apply [Grid.Grown] afterwards.
//
// Without a policy all axes use KeepEdges. A single policy applies to all axes; otherwise
// there must be one per axis. A single TrimExact skips regular axes if the grid has an
// axis with listed edges.
func (g *Grid) Shrunk(shape []int64, policies ...Shrink) (*Grid, error) {
	if len(shape) != len(g.axes) {
		return nil, invalid("the new shape has %d axes, the array has %d", len(shape), len(g.axes))
	}
	if n := len(policies); n > 1 && n != len(g.axes) {
		return nil, invalid("%d shrink policies for %d axes: give none, one, or one per axis", n, len(g.axes))
	}
	axes := make([]Axis, len(shape))
	for i, a := range g.axes {
		how := KeepEdges
		switch {
		case len(policies) == 1:
			// A regular axis cannot be cut exactly. Skip it if the policy applies to
			// another axis.
			if how = policies[0]; how == TrimExact && a.IsRegular() && !g.regular {
				how = KeepEdges
			}
		case len(policies) > 1:
			how = policies[i]
		}
		if axes[i] = a; shape[i] <= a.extent {
			var err error
			if axes[i], err = a.Shrunk(shape[i], how); err != nil {
				return nil, onAxis(i, err)
			}
		}
	}
	return ofAxes(g.name, axes)
}
