package grid

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"varve.dev/zarr/internal/checked"
)

// Axis is one dimension of an array together with the edges that cut it into cells. It is
// immutable. The zero Axis is not usable.
type Axis struct {
	extent int64
	step   int64   // length of every cell; 0 if edges are listed
	edges  *edges  // nil if every cell has length step
	stored *stored // encoded lengths; nil if they are the edges
	chunks int64   // cells that overlap [0, extent)
}

// Cell is one position of an axis's grid. All lengths are in elements.
type Cell struct {
	Index   int64 // number of the cell along the axis
	Start   int64 // first element
	Edge    int64 // distance to the start of the next cell
	Logical int64 // elements within the array: Edge clipped at the extent; 0 beyond it
	Encoded int64 // length that the stored bytes decode to
}

// IsBoundary reports whether the cell stores elements that lie outside the array.
func (c Cell) IsBoundary() bool { return c.Logical != c.Encoded }

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

// Extent returns the length of the axis in elements.
func (a Axis) Extent() int64 { return a.extent }

// Step returns the length of every cell, or 0 if lengths are listed.
func (a Axis) Step() int64 { return a.step }

// IsRegular reports whether one length repeats along the axis without end.
func (a Axis) IsRegular() bool { return a.step > 0 }

// Chunks returns the number of chunks, which are the cells that overlap the array.
func (a Axis) Chunks() int64 { return a.chunks }

// Cells returns the number of cells. If lengths are listed these are all declared cells,
// including those beyond the extent. Otherwise Cells equals Chunks.
func (a Axis) Cells() int64 {
	if a.edges != nil {
		return a.edges.cells
	}
	return a.chunks
}

// Covered returns the number of elements that the cells cover, at least the extent. For a
// regular axis it is the extent, because its cells have no end.
func (a Axis) Covered() int64 {
	if a.edges != nil {
		return a.edges.sum
	}
	return a.extent
}

// Locate returns the chunk that holds element i and the position of i within it. It
// returns false if i lies outside the array.
func (a Axis) Locate(i int64) (chunk, within int64, ok bool) {
	if i < 0 || i >= a.extent {
		return 0, 0, false
	}
	if a.edges == nil {
		chunk = quotient(i, a.step)
		return chunk, i - chunk*a.step, true
	}
	chunk, start := a.edges.find(i)
	return chunk, i - start, true
}

// Cell returns cell k. It returns false if there is no such cell. Only an axis with
// listed edges has cells beyond its extent.
func (a Axis) Cell(k int64) (Cell, bool) {
	if k < 0 || k >= a.Cells() {
		return Cell{}, false
	}
	c := Cell{Index: k, Start: k * a.step, Edge: a.step}
	if a.edges != nil {
		c.Start, c.Edge = a.edges.at(k)
	}
	c.Encoded = c.Edge
	c.Logical = max(0, min(c.Edge, a.extent-c.Start))
	if a.stored != nil {
		c.Encoded = a.stored.encoded(c)
	}
	return c, true
}

// Edges yields the declared lengths as runs of equal lengths. A regular axis yields one
// run for all its chunks. An axis of inner chunks may have too many runs to iterate over;
// see [Axis.NumRuns].
func (a Axis) Edges() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		if a.edges == nil {
			if a.chunks > 0 {
				yield(Run{a.step, a.chunks})
			}
			return
		}
		w := walk{stretches: a.edges.stretches}
		for r, ok := w.next(); ok && yield(r); r, ok = w.next() {
		}
	}
}

// Sizes returns the logical lengths of the chunks as runs of equal lengths. These are the
// edges clipped at the extent. Sizes returns nil for an axis of inner chunks with more
// than 2^22 runs ([Axis.NumRuns]), which is too long to list.
func (a Axis) Sizes() []Run {
	if a.listable() != nil {
		return nil
	}
	var sizes []Run
	if n := a.NumRuns(); n <= math.MaxInt32 {
		sizes = make([]Run, 0, n+1) // to grow it would take several times as much
	}
	return slices.AppendSeq(sizes, a.Logical())
}

// Logical yields the runs that [Axis.Sizes] returns, without memory for all of them. It
// yields nothing if there are too many to list.
func (a Axis) Logical() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		if a.listable() != nil {
			return
		}
		left := a.extent
		var last Run // yielded late: a chunk that the extent clips may have the same length
		for r := range a.Edges() {
			whole := min(r.Count, left/r.Length)
			left -= whole * r.Length
			if whole > 0 {
				if last.Count > 0 && !yield(last) {
					return
				}
				last = Run{r.Length, whole}
			}
			if whole < r.Count {
				break // the extent ends within this run
			}
		}
		switch {
		case left == 0:
		case left == last.Length:
			last.Count++
		case last.Count > 0 && !yield(last):
			return
		default:
			last = Run{left, 1}
		}
		if last.Count > 0 {
			yield(last)
		}
	}
}

// appendRun appends r, or merges it with the last run if their lengths are equal.
func appendRun(runs []Run, r Run) []Run {
	if n := len(runs); n > 0 && runs[n-1].Length == r.Length {
		runs[n-1].Count += r.Count
		return runs
	}
	return append(runs, r)
}

// Longest returns the largest encoded length of the cells in the interval, in elements.
// It returns 0 if there is no such cell.
func (a Axis) Longest(cells Interval) int64 {
	cells = cells.Intersect(Interval{0, a.Cells()})
	if a.stored != nil && cells.Len() > 0 {
		return a.stored.longest(a, cells)
	}
	return a.longestEdge(cells)
}

// longestEdge returns the largest edge of the cells in the interval, or 0 if there is no
// such cell.
func (a Axis) longestEdge(cells Interval) int64 {
	if cells.Len() == 0 || a.edges == nil {
		return a.step * min(1, cells.Len())
	}
	return a.edges.longest(cells)
}

// Equal reports whether both axes have the same extent, edges and encoded lengths. A
// regular axis never equals one with listed edges.
func (a Axis) Equal(b Axis) bool {
	if a.extent != b.extent || a.step != b.step || !a.stored.equal(b.stored) {
		return false
	}
	return a.edges == b.edges || a.edges != nil && b.edges != nil && a.edges.equal(b.edges)
}

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

// touched returns the chunks that overlap the elements in the interval.
func (a Axis) touched(in Interval) (Interval, error) {
	if in.Start < 0 || in.Stop > a.extent || in.Start > in.Stop {
		return Interval{}, fmt.Errorf("%w: elements %d to %d of an axis with extent %d", ErrOutOfRange, in.Start, in.Stop, a.extent)
	}
	if in.Start == in.Stop {
		return Interval{}, nil
	}
	first, _, _ := a.Locate(in.Start)
	last, _, _ := a.Locate(in.Stop - 1)
	return Interval{first, last + 1}, nil
}
