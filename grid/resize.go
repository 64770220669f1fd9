// SPDX-License-Identifier: Apache-2.0

package grid

// Resized returns the axis with another extent. A regular axis follows the extent. Listed
// edges stay when the axis shrinks, and when it grows into cells that are already
// declared. Growth beyond them adds one edge that covers the rest, as in zarr-python.
//
// If cells have encoded lengths, a new cell is stored with the length of its edge, or
// with the encoded length that all cells share if that is larger.
//
// Resized returns an error that wraps [ErrInvalid] if the extent is negative, or if the
// axis is trimmed and the change would cut or lengthen a stored chunk.
func (a Axis) Resized(extent int64) (Axis, error) {
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
	b, err := a.Extended(Run{extent - a.edges.sum, 1})
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
		if s, err = s.behind(a.chunks, []Run{{a.step, b.chunks - a.chunks}}); err != nil {
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

// Extended returns the axis with the same extent and more cells after the last one. The
// time it takes hardly depends on the number of existing cells. If all cells share an
// encoded length that no new edge exceeds, the new cells share it too. Otherwise new
// cells are stored with the length of their edge.
//
// Extended returns an error that wraps [ErrInvalid] if the axis is regular or if a length
// or count is below 1. It returns an error that wraps [ErrOverflow] if the lengths sum to
// more than an int64 holds.
func (a Axis) Extended(more ...Run) (Axis, error) {
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
	s, err := a.stored.behind(a.edges.cells, more)
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

// Resized returns the grid of an array of another shape. Each axis changes as by
// [Axis.Resized].
func (g *Grid) Resized(shape []int64) (*Grid, error) {
	if len(shape) != len(g.axes) {
		return nil, invalid("the new shape has %d axes, the array has %d", len(shape), len(g.axes))
	}
	axes := make([]Axis, len(shape))
	for i, n := range shape {
		var err error
		if axes[i], err = g.axes[i].Resized(n); err != nil {
			return nil, onAxis(i, err)
		}
	}
	return ofAxes(g.name, axes)
}
