// SPDX-License-Identifier: Apache-2.0

package grid

import "varve.dev/zarr/internal/checked"

// Cut describes how to cut an axis into cells. [NewAxis] applies it to an extent.
type Cut struct {
	step  int64
	edges *edges // nil if every cell has length step
	err   error  // why edges is nil although lengths were listed

	encoded *Cut // encoded lengths; nil if they are the edges
	trimmed bool // the last chunk is stored only up to the extent
	vacant  bool // there are no edges if the extent is 0
}

// Every cuts an axis into cells of one length, in elements. An axis that grows gets more
// cells of that length. In metadata it is a bare integer.
func Every(length int64) Cut { return Cut{step: length} }

// Edges cuts an axis at explicit lengths, one per cell. It does not keep the slice.
//
// Without lengths it cuts an axis of extent 0, which has no cells until it grows. In
// metadata such an axis is the run [1, 1], because zarr-python refuses an empty list.
func Edges(lengths ...int64) Cut { return listed(ofLengths(lengths)) }

// Runs cuts an axis at explicit lengths, given as runs. It does not keep the slice.
// Without runs it is like [Edges] without lengths.
func Runs(runs ...Run) Cut { return listed(ofRuns(runs)) }

// listed returns a cut that lists lengths. [NewAxis] reports a fault in the list.
func listed(source runSource) Cut {
	e, err := newEdges(source)
	return Cut{edges: e, err: err, vacant: err == errNoEdges}
}

// isListed reports whether the cut lists lengths, even if the list has a fault.
func (c Cut) isListed() bool { return c.edges != nil || c.err != nil }

// NewAxis returns an axis of the given extent, in elements. It returns an error that
// wraps [ErrInvalid] if a length or a count is below 1, if the list does not cover the
// extent, or if an encoded length is shorter than its edge. It returns an error that
// wraps [ErrOverflow] if the lengths sum to more than an int64 holds.
func NewAxis(extent int64, cut Cut) (Axis, error) {
	a, err := cut.bind(extent)
	if err != nil || cut.encoded == nil {
		return a, err
	}
	return a.withEncoded(*cut.encoded)
}

// bind returns an axis of the given extent. It ignores encoded lengths.
func (c Cut) bind(extent int64) (Axis, error) {
	if extent < 0 {
		return Axis{}, invalid("extent must not be negative, got %d", extent)
	}
	switch {
	// An empty list is valid here only: elements without a cell could not be stored.
	case c.vacant && extent == 0:
		return Axis{edges: noEdges}, nil
	case c.err != nil:
		return Axis{}, c.err
	case c.edges != nil:
		return boundAxis(extent, c.edges)
	case c.step < 1:
		return Axis{}, invalid("chunk length must be at least 1, got %d", c.step)
	}
	a := Axis{extent: extent, step: c.step, chunks: checked.CeilDiv(extent, c.step)}
	if c.trimmed {
		a.stored = trimmed
	}
	return a, nil
}

// boundAxis returns an axis of the given extent with listed edges.
func boundAxis(extent int64, e *edges) (Axis, error) {
	if extent > e.sum {
		return Axis{}, invalid("edges sum to %d and do not cover the extent %d", e.sum, extent)
	}
	a := Axis{extent: extent, edges: e}
	if extent > 0 {
		last, _ := e.find(extent - 1)
		a.chunks = last + 1
	}
	return a, nil
}

// EncodedAs returns the cut with cells that are stored longer than their edges. Each cell
// decodes to its encoded length. Only its first elements, as many as its edge is long,
// belong to the array. [Every] stores all cells with one length, [Edges] and [Runs] give
// a length for each cell. No encoded length may be shorter than its edge.
//
// In metadata these lengths are the encoded_chunk_shapes that zarr-extensions pull
// request 75 proposes. Few other programs read them.
func (c Cut) EncodedAs(encoded Cut) Cut {
	c.encoded = &encoded
	return c
}

// EveryTrimmed cuts an axis like [Every], but its last chunk is stored only up to the
// extent. A grid trims either all of its axes or none; its name is then [BoundedName].
// Few programs read such grids. Listed edges that end at the extent ([Grid.Unlocked])
// store the same chunks in a specified form.
func EveryTrimmed(length int64) Cut { return Cut{step: length, trimmed: true} }

// withEncoded returns the axis with the encoded lengths that c lists.
func (a Axis) withEncoded(c Cut) (Axis, error) {
	switch {
	case c.err != nil:
		return Axis{}, c.err
	case a.IsTrimmed():
		return Axis{}, invalid("a trimmed axis takes no encoded lengths: they are those of its chunks")
	case c.encoded != nil || c.trimmed:
		return Axis{}, invalid("encoded lengths are Every, Edges or Runs, and have none themselves")
	case c.edges != nil:
		return a.withEncodedEdges(c.edges)
	}
	// The step counts even if a regular axis has no cell yet.
	if longest := a.longestEdge(Interval{0, a.Cells()}); c.step < max(1, longest, a.step) {
		return Axis{}, invalid("encoded length %d must be at least that of every edge, %d", c.step, max(1, longest, a.step))
	}
	// Lengths that equal the edges are not stored apart, so equal axes compare equal.
	if c.step != a.step {
		a.stored = &stored{step: c.step}
	}
	return a, nil
}
