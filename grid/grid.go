// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/sentinel"
)

// MaxRank is the largest number of axes of an array. NumPy has the same limit.
const MaxRank = 64

// Names of the chunk grids in metadata.
const (
	regularName     = "regular"     // zarr-specs v3 core
	rectilinearName = "rectilinear" // zarr-extensions, chunk-grids/rectilinear
)

// boundedName is the name of a regular grid whose last chunks are stored only up to the
// end of the array. It is an experiment of zarrs (chunk grid "zarrs.regular_bounded").
const boundedName = "zarrs.regular_bounded"

// Grid is the shape of an array together with its division into chunks. It is immutable.
type Grid struct {
	name    string
	axes    []Axis
	regular bool
	notes   []string
}

// New returns the grid of an array of the given shape, with one cut per axis. The cuts
// decide the kind of grid. It is regular if all axes use [Every], bounded
// ("zarrs.regular_bounded") if all use [EveryTrimmed], and rectilinear otherwise.
// Errors wrap [ErrInvalid] or [ErrOverflow] and name the axis.
func New(shape []int64, cuts ...Cut) (*Grid, error) {
	name := regularName
	for i, c := range cuts {
		switch {
		// Metadata has one name for the whole grid, and only a bounded grid trims.
		case c.trimmed != cuts[0].trimmed:
			return nil, onAxis(i, invalid("either all axes are trimmed or none: give an edge for every chunk instead"))
		case c.trimmed:
			name = boundedName
		case c.edges != nil || c.err != nil || c.encoded != nil: // a list may have a fault
			name = rectilinearName
		}
	}
	return newGrid(name, shape, cuts)
}

func newGrid(name string, shape []int64, cuts []Cut) (*Grid, error) {
	if len(cuts) != len(shape) {
		return nil, invalid("the chunks have %s, the shape has %d", quantity.Count(len(cuts), "axes"), len(shape))
	}
	axes, err := eachAxis(len(shape), func(i int) (Axis, error) { return NewAxis(shape[i], cuts[i]) })
	if err != nil {
		return nil, err
	}
	return ofAxes(name, axes)
}

// eachAxis returns the axes that axis returns for each number. Errors name the axis.
func eachAxis(rank int, axis func(i int) (Axis, error)) ([]Axis, error) {
	axes := make([]Axis, rank)
	for i := range axes {
		var err error
		if axes[i], err = axis(i); err != nil {
			return nil, onAxis(i, err)
		}
	}
	return axes, nil
}

func ofAxes(name string, axes []Axis) (*Grid, error) {
	if len(axes) > MaxRank {
		return nil, invalid("%s, at most %d are possible", quantity.Count(len(axes), "axes"), MaxRank)
	}
	regular := !slices.ContainsFunc(axes, func(a Axis) bool { return !a.IsRegular() })
	return &Grid{name: name, axes: axes, regular: regular}, nil
}

// Name returns the name of the grid in metadata.
func (g *Grid) Name() string { return g.name }

// Notes describes the repairs that Parse made, one sentence each. It
// returns nil if nothing was.
func (g *Grid) Notes() []string { return slices.Clone(g.notes) }

// Rank returns the number of axes.
func (g *Grid) Rank() int { return len(g.axes) }

// Axis returns axis i.
func (g *Grid) Axis(i int) Axis { return g.axes[i] }

// IsRegular reports whether every axis repeats one length. This includes a rectilinear
// grid of bare integers.
func (g *Grid) IsRegular() bool { return g.regular }

// Shape returns the shape of the array in elements.
func (g *Grid) Shape() []int64 { return g.numbers(Axis.Extent) }

// Chunks returns the number of chunks along each axis.
func (g *Grid) Chunks() []int64 { return g.numbers(Axis.Chunks) }

// Cells returns the number of cells along each axis, including those beyond the array.
func (g *Grid) Cells() []int64 { return g.numbers(Axis.Cells) }

func (g *Grid) numbers(of func(Axis) int64) []int64 {
	n := make([]int64, len(g.axes))
	for i, a := range g.axes {
		n[i] = of(a)
	}
	return n
}

// NumChunks returns the number of chunks. It returns false if that number overflows
// int64. An array without axes has one chunk.
func (g *Grid) NumChunks() (int64, bool) { return checked.Product(g.Chunks()...) }

// Sizes returns the logical lengths of the chunks along each axis, as runs
// ([Axis.Sizes]).
func (g *Grid) Sizes() [][]Run {
	sizes := make([][]Run, len(g.axes))
	for i, a := range g.axes {
		sizes[i] = a.Sizes()
	}
	return sizes
}

// Chunk describes one cell of a grid. All lengths are in elements.
type Chunk struct {
	Index   []int64 // position in the grid
	Start   []int64 // first element
	Logical []int64 // shape of the part that belongs to the array
	Encoded []int64 // shape that the stored bytes decode to
}

// NewChunk returns a chunk with room for the given number of axes, for use with
// [Grid.Cell].
func NewChunk(rank int) *Chunk {
	n := make([]int64, 4*rank)
	// One allocation for all four slices, which cannot grow into each other.
	return &Chunk{n[:rank:rank], n[rank : 2*rank : 2*rank], n[2*rank : 3*rank : 3*rank], n[3*rank:]}
}

// IsBoundary reports whether the chunk stores elements that lie outside the array.
func (c *Chunk) IsBoundary() bool { return !slices.Equal(c.Logical, c.Encoded) }

// Box returns the region of the array that the chunk holds.
func (c *Chunk) Box() Box {
	b := make(Box, len(c.Start))
	for i := range b {
		b[i] = Interval{c.Start[i], c.Start[i] + c.Logical[i]}
	}
	return b
}

// Chunk returns the chunk at index. It returns false if index has the wrong number of
// axes or names no chunk. A cell beyond the array is not a chunk.
func (g *Grid) Chunk(index []int64) (*Chunk, bool) {
	if len(index) != len(g.axes) {
		return nil, false
	}
	for i, k := range index {
		if k < 0 || k >= g.axes[i].chunks {
			return nil, false
		}
	}
	c := NewChunk(len(index))
	return c, g.Cell(index, c)
}

// Cell sets c, which must have room for every axis, to the cell at index. It returns
// false if there is no such cell; c may then be partly set.
func (g *Grid) Cell(index []int64, c *Chunk) bool {
	if len(index) != len(g.axes) {
		return false
	}
	for i := range g.axes {
		// Axis.Cell, written out: it is the bulk of the work for grids of many small
		// chunks.
		if a := &g.axes[i]; a.edges == nil && a.stored == nil {
			k := index[i]
			if k < 0 || k >= a.chunks {
				return false
			}
			start := k * a.step
			c.Index[i], c.Start[i], c.Logical[i], c.Encoded[i] = k, start, min(a.step, a.extent-start), a.step
			continue
		}
		cell, ok := g.axes[i].Cell(index[i])
		if !ok {
			return false
		}
		c.Index[i], c.Start[i], c.Logical[i], c.Encoded[i] = cell.Index, cell.Start, cell.Logical, cell.Encoded
	}
	return true
}

// All yields every chunk in C order. Each chunk is a new value. [Box.IndicesInto] and
// [Grid.Cell] walk over chunks without allocations.
func (g *Grid) All() iter.Seq[*Chunk] { return g.cells(BoxOf(g.Chunks())) }

// Touching yields every chunk that overlaps region, in C order. Each chunk is a new
// value. Touching returns an error that wraps [ErrOutOfRange] if region does not lie
// within the array.
func (g *Grid) Touching(region Box) (iter.Seq[*Chunk], error) {
	chunks, err := g.Touched(region)
	if err != nil {
		return nil, err
	}
	return g.cells(chunks), nil
}

func (g *Grid) cells(indices Box) iter.Seq[*Chunk] {
	return func(yield func(*Chunk) bool) {
		for index := range indices.IndicesInto(make([]int64, len(g.axes))) {
			c := NewChunk(len(g.axes))
			if !g.Cell(index, c) || !yield(c) {
				return
			}
		}
	}
}

// Touched returns the box of indices of the chunks that overlap region. It is empty if
// region is empty. Touched returns an error that wraps [ErrOutOfRange] if region does not
// lie within the array.
func (g *Grid) Touched(region Box) (Box, error) {
	if len(region) != len(g.axes) {
		return nil, fmt.Errorf("%w: a region of %s, the array has %d", ErrOutOfRange, quantity.Count(len(region), "axes"), len(g.axes))
	}
	chunks := make(Box, len(region))
	for i, in := range region {
		var err error
		if chunks[i], err = g.axes[i].touched(in); err != nil {
			return nil, onAxis(i, err)
		}
	}
	return chunks, nil
}

// Locate returns the index of the chunk that holds element, and the position of element
// within that chunk. It returns an error that wraps [ErrOutOfRange] if element lies
// outside the array.
func (g *Grid) Locate(element []int64) (chunk, within []int64, err error) {
	if len(element) != len(g.axes) {
		return nil, nil, fmt.Errorf("%w: an index of %s, the array has %d", ErrOutOfRange, quantity.Count(len(element), "axes"), len(g.axes))
	}
	chunk, within = make([]int64, len(element)), make([]int64, len(element))
	for i, e := range element {
		var ok bool
		if chunk[i], within[i], ok = g.axes[i].Locate(e); !ok {
			return nil, nil, onAxis(i, fmt.Errorf("%w: index %d of an axis with extent %d", ErrOutOfRange, e, g.axes[i].extent))
		}
	}
	return chunk, within, nil
}

// shownRuns bounds the text of an axis.
const shownRuns = 6

// String returns the grid in one short line, such as "(365, 721) in chunks of (30, 721)".
// A listed axis shows its edges, with equal neighbours as "31×2" and at most six runs.
func (g *Grid) String() string {
	var b []byte
	b = append(b, '(')
	for i, a := range g.axes {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(b, a.Extent(), 10)
	}
	b = append(b, ") in chunks of ("...)
	for i, a := range g.axes {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, a.String()...)
	}
	return string(append(b, ')'))
}

// String returns the edges of the axis: "30" for a regular axis, "[31 28 31×2 …]" for a
// listed one.
func (a Axis) String() string {
	if a.IsRegular() {
		return strconv.FormatInt(a.Step(), 10)
	}
	var runs []string
	for r := range a.Edges() {
		if len(runs) == shownRuns {
			runs = append(runs, "…")
			break
		}
		text := strconv.FormatInt(r.Length, 10)
		if r.Count > 1 {
			text += "×" + strconv.FormatInt(r.Count, 10)
		}
		runs = append(runs, text)
	}
	return "[" + strings.Join(runs, " ") + "]"
}

// recut returns a grid with the given axes. It keeps the name of g unless an axis lists
// its edges, which only a rectilinear grid can do.
func (g *Grid) recut(axes []Axis) (*Grid, error) {
	h, err := ofAxes(g.name, axes)
	// A list of edges has no form in the metadata of a regular or bounded grid.
	if err == nil && !h.regular {
		h.name = rectilinearName
	}
	return h, err
}

// changeAxis returns g with one axis replaced by change(axis). Errors name the axis.
func (g *Grid) changeAxis(axis int, change func(Axis) (Axis, error)) (*Grid, error) {
	if err := g.checkAxis(axis); err != nil {
		return nil, err
	}
	// Grids are immutable and may share axes.
	axes := append([]Axis(nil), g.axes...)
	var err error
	if axes[axis], err = change(axes[axis]); err != nil {
		return nil, onAxis(axis, err)
	}
	return g.recut(axes)
}

// checkAxis returns an error that wraps [ErrOutOfRange] if the grid has no such axis.
func (g *Grid) checkAxis(axis int) error {
	if axis < 0 || axis >= len(g.axes) {
		return fmt.Errorf("%w: axis %d of a grid with %s", ErrOutOfRange, axis, quantity.Count(len(g.axes), "axes"))
	}
	return nil
}

var (
	// ErrInvalid means that edges, shapes or metadata break a rule of the specification.
	ErrInvalid = errors.New("invalid chunk grid")
	// ErrUnsupported means that this package does not know a chunk grid or a form of one,
	// or that a list would be too long.
	ErrUnsupported = sentinel.New("not supported", sentinel.ErrUnsupported)
	// ErrOverflow means that a sum or a product of lengths overflows int64.
	ErrOverflow = errors.New("number exceeds 64 bits")
	// ErrOutOfRange means that an index lies outside the array or the grid.
	ErrOutOfRange = errors.New("out of range")
)

// AxisError adds the number of an axis to an error.
type AxisError struct {
	Axis int
	Err  error
}

// Error returns the number of the axis and the text of Err.
func (e *AxisError) Error() string { return fmt.Sprintf("axis %d: %v", e.Axis, e.Err) }

// Unwrap returns Err.
func (e *AxisError) Unwrap() error { return e.Err }

// onAxis adds the number of the axis to err. It returns nil if err is nil.
func onAxis(axis int, err error) error {
	if err == nil {
		return nil
	}
	return &AxisError{axis, err}
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// tooManyRuns returns the error for a list of more than mostRuns runs.
func tooManyRuns() error {
	return fmt.Errorf("%w: inner chunks in more than %s be listed", ErrUnsupported, quantity.Count(mostRuns, "runs cannot"))
}

// mostRuns bounds the runs that one operation makes from a few numbers. That many runs
// take 64 MiB, and a metadata document holds about as many.
const mostRuns = 1 << 22

// errNoEdges means that a list of edges is empty.
var errNoEdges = invalid("an axis needs at least one edge, as in [100]; on an axis of length 0 it waits for growth")
