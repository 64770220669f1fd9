package grid

import (
	"fmt"
	"iter"

	"varve.dev/zarr/internal/checked"
)

// Axis is one dimension of an array and how it is cut into cells. It is immutable; the zero Axis is not usable.
type Axis struct {
	extent int64
	step   int64  // length of every cell; 0 where edges are listed
	edges  *edges // nil where every cell is step long
	stored *stored
	chunks int64 // cells that overlap [0, extent)
}

// Cell is one position of an axis's grid. All lengths are in elements.
type Cell struct {
	Index   int64 // number of the cell along the axis
	Start   int64 // first element
	Edge    int64 // distance to the start of the next cell
	Logical int64 // elements that belong to the array: the edge clipped at the extent, 0 for a cell beyond it
	Encoded int64 // length that the stored bytes decode to
}

// IsBoundary reports whether the cell stores more than belongs to the array.
func (c Cell) IsBoundary() bool { return c.Logical != c.Encoded }

// Cut says how an axis is cut, before it is bound to an extent.
type Cut struct {
	step  int64
	edges *edges // nil where every cell is step long
	err   error  // why there are no edges

	encoded *Cut // lengths that cells are stored with, nil for the edges
	trimmed bool // the last chunk is stored as far as the extent
}

// Every cuts an axis into cells of one length; cells follow the extent for ever. In metadata it is a bare integer.
func Every(length int64) Cut { return Cut{step: length} }

// Edges cuts an axis at explicit lengths, one a cell. The slice is not kept.
func Edges(lengths ...int64) Cut { return listed(ofLengths(lengths)) }

// Runs cuts an axis at explicit lengths given as runs. The slice is not kept.
func Runs(runs ...Run) Cut { return listed(ofRuns(runs)) }

// listed keeps a list, or the reason why there is none until the axis is made.
func listed(source runSource) Cut {
	e, err := newEdges(source)
	return Cut{edges: e, err: err}
}

// isListed reports whether lengths are listed, if only with a fault.
func (c Cut) isListed() bool { return c.edges != nil || c.err != nil }

// NewAxis cuts an axis of the given extent. Lengths and counts below one, a list that does not cover the extent, and an
// encoded length below its edge wrap [ErrInvalid]; a sum of lengths beyond 64 bits is [ErrOverflow].
func NewAxis(extent int64, cut Cut) (Axis, error) {
	a, err := cut.bind(extent)
	if err != nil || cut.encoded == nil {
		return a, err
	}
	return a.withEncoded(*cut.encoded)
}

// bind cuts an axis at the edges.
func (c Cut) bind(extent int64) (Axis, error) {
	if extent < 0 {
		return Axis{}, invalid("extent must not be negative, got %d", extent)
	}
	switch {
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

// boundAxis binds a list of edges to an extent.
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

// Step returns the length of every cell, or 0 where lengths are listed.
func (a Axis) Step() int64 { return a.step }

// IsRegular reports whether one length is repeated for ever.
func (a Axis) IsRegular() bool { return a.step > 0 }

// Chunks returns how many cells overlap the array.
func (a Axis) Chunks() int64 { return a.chunks }

// Cells returns how many cells there are: all declared ones where lengths are listed, also beyond the extent;
// else as many as chunks.
func (a Axis) Cells() int64 {
	if a.edges != nil {
		return a.edges.cells
	}
	return a.chunks
}

// Covered returns how many elements the cells cover, at least the extent. A regular axis reports the extent, because
// its cells never end.
func (a Axis) Covered() int64 {
	if a.edges != nil {
		return a.edges.sum
	}
	return a.extent
}

// Locate returns the chunk that holds element i and the place of i within it.
// It is false where i lies outside the array.
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

// Cell returns cell k. It is false where there is no such cell; beyond the extent only listed cells exist.
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

// Edges yields the declared lengths as runs of equal ones. A regular axis yields one run of all its chunks. An axis of inner chunks may
// yield more than one wants to wait for: see [Axis.NumRuns].
func (a Axis) Edges() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		if a.edges == nil {
			if a.chunks > 0 {
				yield(Run{a.step, a.chunks})
			}
			return
		}
		w := walk{parts: a.edges.parts}
		for r, ok := w.next(); ok && yield(r); r, ok = w.next() {
		}
	}
}

// Sizes returns the logical lengths of the chunks as runs of equal ones: what is left of the edges within the extent. It is nil, too,
// for an axis of inner chunks with more than 2^22 runs ([Axis.NumRuns]), which should not be listed.
func (a Axis) Sizes() []Run {
	if a.listable() != nil {
		return nil
	}
	var sizes []Run
	left := a.extent
	for r := range a.Edges() {
		if left == 0 {
			break
		}
		if whole := min(r.Count, left/r.Length); whole > 0 {
			sizes = appendRun(sizes, Run{r.Length, whole})
			left -= whole * r.Length
			r.Count -= whole
		}
		if r.Count > 0 && left > 0 {
			sizes, left = appendRun(sizes, Run{left, 1}), 0
		}
	}
	return sizes
}

// appendRun appends r, merged with the last run where the lengths are equal.
func appendRun(runs []Run, r Run) []Run {
	if n := len(runs); n > 0 && runs[n-1].Length == r.Length {
		runs[n-1].Count += r.Count
		return runs
	}
	return append(runs, r)
}

// Longest returns the largest length that the cells in the interval are stored with, 0 where there is none.
func (a Axis) Longest(cells Interval) int64 {
	cells = cells.Intersect(Interval{0, a.Cells()})
	if a.stored != nil && cells.Len() > 0 {
		return a.stored.longest(a, cells)
	}
	return a.longestEdge(cells)
}

// longestEdge returns the largest edge of the cells in the interval, 0 where there is none.
func (a Axis) longestEdge(cells Interval) int64 {
	if cells.Len() == 0 || a.edges == nil {
		return a.step * min(1, cells.Len())
	}
	return a.edges.longest(cells)
}

// Equal reports whether both axes have the same extent, are cut in the same way and stored with the same lengths.
func (a Axis) Equal(b Axis) bool {
	if a.extent != b.extent || a.step != b.step || !a.stored.equal(b.stored) {
		return false
	}
	return a.edges == b.edges || a.edges != nil && b.edges != nil && a.edges.equal(b.edges)
}

// Resized returns the axis with another extent. Listed edges are kept when it shrinks, and when it grows into cells
// that are already there; growth beyond them adds one edge that covers the rest (zarr-python's rule). Where cells have
// encoded lengths, what is new is stored with its own length, or with the one that all cells have in common if that is larger.
// Where the last chunk is trimmed, a change that cuts or lengthens a stored chunk wraps [ErrInvalid].
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
	b.extent, b.chunks = extent, b.edges.cells
	return b, nil
}

// restepped is Resized for an axis whose cells follow the extent.
func (a Axis) restepped(extent int64) (Axis, error) {
	if err := a.checkKept(extent); err != nil {
		return Axis{}, err
	}
	b, err := Cut{step: a.step, trimmed: a.IsTrimmed()}.bind(extent)
	if err != nil || !a.IsEncoded() {
		return b, err
	}
	s := a.stored.first(b.chunks)
	if b.chunks > a.chunks {
		if s, err = s.behind(a.chunks, []Run{{a.step, b.chunks - a.chunks}}); err != nil {
			return Axis{}, err
		}
	}
	if s != nil && s.edges != nil {
		return b.withEncodedEdges(s.edges)
	}
	b.stored = s
	return b, nil
}

// Extended returns the axis with the same extent and more cells behind the last one, in time that hardly depends on how many
// there are already. Encoded lengths of the new cells are chosen as [Axis.Resized] does. A regular axis has cells without
// end and wraps [ErrInvalid], as lengths and counts below one do; a sum of lengths beyond 64 bits is [ErrOverflow].
func (a Axis) Extended(more ...Run) (Axis, error) {
	if a.edges == nil {
		return Axis{}, invalid("chunk length %d is regular and takes no edges behind its end: unlock the axis first", a.step)
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
		return b.withEncodedEdges(s.edges) // listed for the first time: they may be the edges
	}
	b.stored = s
	return b, nil
}

// touched returns the chunks that the elements in overlap.
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
