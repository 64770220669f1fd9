// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"fmt"
	"slices"
	"strconv"

	"varve.dev/zarr/internal/quantity"
)

// resized is [Grid.Resized] for one axis.
func (a Axis) resized(extent int64) (Axis, error) {
	if extent < 0 {
		return Axis{}, invalid("extent must not be negative, got %d", extent)
	}
	if a.edges == nil {
		return a.restepped(extent)
	}
	if extent <= a.edges.sum {
		b, err := boundAxis(extent, a.edges)
		b.stored = a.stored
		return b, err
	}
	b, err := a.extended(Run{extent - a.edges.sum, 1})
	if err != nil {
		return Axis{}, err
	}
	// Every cell overlaps the new extent, because the last one ends there.
	b.extent, b.chunks = extent, b.edges.cells
	return b, nil
}

// restepped is Resized for a regular axis.
func (a Axis) restepped(extent int64) (Axis, error) {
	if err := a.checkKept(extent); err != nil {
		return Axis{}, err
	}
	b, err := Cut{step: a.step, trimmed: a.IsTrimmed()}.bind(extent)
	if err != nil || !a.IsEncoded() {
		return b, err
	}
	// Encoded lengths of chunks that remain are kept, those of new chunks are added.
	s := a.stored.first(b.chunks)
	if b.chunks > a.chunks {
		if s, err = s.extended(a.chunks, []Run{{a.step, b.chunks - a.chunks}}); err != nil {
			return Axis{}, err
		}
	}
	if s != nil && s.edges != nil {
		// The list is dropped here if it no longer differs from the step.
		return b.withEncodedEdges(s.edges)
	}
	b.stored = s
	return b, nil
}

// extended returns the axis with the same extent and more cells after the last one. The
// time it takes hardly depends on the number of existing cells. If all cells share an
// encoded length that no new edge exceeds, the new cells share it too. Otherwise new
// cells are stored with the length of their edge.
//
// extended returns an error that wraps [ErrInvalid] if the axis is regular or if a length
// or count is below 1. It returns an error that wraps [ErrOverflow] if the lengths sum to
// more than an int64 holds.
func (a Axis) extended(more ...Run) (Axis, error) {
	if a.edges == nil {
		return Axis{}, invalid("chunk length %d is regular and takes no more edges: unlock the axis first", a.step)
	}
	if len(more) == 0 {
		return a, nil
	}
	e, err := a.edges.joined(ofRuns(more))
	if err != nil {
		return Axis{}, err
	}
	b, err := boundAxis(a.extent, e)
	if err != nil || a.stored == nil {
		return b, err
	}
	s, err := a.stored.extended(a.edges.cells, more)
	if err != nil {
		return Axis{}, err
	}
	if a.stored.edges == nil && s.edges != nil {
		// The encoded lengths are listed for the first time: they may equal the edges.
		return b.withEncodedEdges(s.edges)
	}
	b.stored = s
	return b, nil
}

// checkKept returns an error if another extent would change the length of a stored chunk
// of a trimmed axis. The metadata and the chunk would have to change in one step.
func (a Axis) checkKept(extent int64) error {
	// Chunks before the smaller extent are whole under both extents. A chunk that the
	// smaller extent cuts would change its length.
	if n := min(a.extent, extent); a.IsTrimmed() && extent != a.extent && n%a.step != 0 {
		return invalid("resizing from extent %d to %d would change the stored length of the trimmed chunk %d: unlock the axis first",
			a.extent, extent, n/a.step)
	}
	return nil
}

// Resized returns the grid of an array of another shape. A regular axis follows the
// extent. Listed edges stay when the axis shrinks, and when it grows into cells that are
// already declared. Growth beyond them adds one edge that covers the rest, as in
// zarr-python.
//
// If cells have encoded lengths, a new cell is stored with the length of its edge, or
// with the encoded length that all cells share if that is larger.
//
// Resized returns an error that wraps [ErrInvalid] if the shape has another number of
// axes or a negative extent, or if an axis is trimmed and the change would cut or
// lengthen a stored chunk.
func (g *Grid) Resized(shape []int64) (*Grid, error) {
	if len(shape) != len(g.axes) {
		return nil, invalid("the new shape has %s, the array has %d", quantity.Count(len(shape), "axes"), len(g.axes))
	}
	axes, err := eachAxis(len(shape), func(i int) (Axis, error) { return g.axes[i].resized(shape[i]) })
	if err != nil {
		return nil, err
	}
	return ofAxes(g.name, axes)
}

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
		return Axis{}, invalid("%v to the extent %d on an axis whose last chunk is stored with all its %s: unlock turns it into a list",
			s, extent, quantity.Count(a.step, "elements"))
	}
	b, err := a.resized(extent)
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
	if err := g.checkPolicies(shape, len(policies), "shrink policies"); err != nil {
		return nil, err
	}
	axes, err := eachAxis(len(shape), func(i int) (Axis, error) {
		a, how := g.axes[i], KeepEdges
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
		if shape[i] > a.extent {
			return a, nil
		}
		return a.Shrunk(shape[i], how)
	})
	if err != nil {
		return nil, err
	}
	return ofAxes(g.name, axes)
}

// Unlocked returns the axis with listed edges that store its chunks as they are now. A
// regular axis gets one edge per chunk and at least one; the last one reaches beyond the
// extent if its chunk does. A trimmed axis gets edges that end at the extent. An axis
// with listed edges stays as it is. If the edges sum to more than an int64 holds, the
// error wraps [ErrOverflow].
func (a Axis) Unlocked() (Axis, error) {
	if a.edges != nil {
		return a, nil
	}
	// A list needs at least one edge, even for an axis without elements.
	runs := []Run{{a.step, max(1, a.chunks)}}
	if a.IsTrimmed() && a.extent > 0 {
		runs = a.Sizes()
	}
	e, err := newEdges(ofRuns(runs))
	if err != nil {
		return Axis{}, err
	}
	b, err := boundAxis(a.extent, e)
	// The edges of a trimmed axis end at the extent now, so they are also the encoded
	// lengths.
	if !a.IsTrimmed() {
		b.stored = a.stored
	}
	return b, err
}

// Unlocked returns the rectilinear grid that stores the same chunks with listed edges
// along the given axes, or along all axes if none is given. These axes no longer follow
// the extent: growth adds edges to them. Other axes keep their step. A bounded grid
// ("zarrs.regular_bounded") is always unlocked as a whole, because no other grid has
// trimmed axes. If an axis does not exist, the error wraps [ErrOutOfRange].
func (g *Grid) Unlocked(axes ...int) (*Grid, error) {
	for _, i := range axes {
		if err := g.checkAxis(i); err != nil {
			return nil, err
		}
	}
	unlocked, err := eachAxis(len(g.axes), func(i int) (Axis, error) {
		if len(axes) > 0 && g.name != boundedName && !slices.Contains(axes, i) {
			return g.axes[i], nil
		}
		return g.axes[i].Unlocked()
	})
	if err != nil {
		return nil, err
	}
	return ofAxes(rectilinearName, unlocked)
}
