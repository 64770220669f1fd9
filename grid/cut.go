// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"cmp"
	"fmt"
	"slices"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
)

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

// Chunks cuts every axis into cells of one length: Chunks(100, 50) is Every(100) and
// Every(50). The grid is regular.
func Chunks(lengths ...int64) []Cut {
	cuts := make([]Cut, len(lengths))
	for i, n := range lengths {
		cuts[i] = Every(n)
	}
	return cuts
}

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
// extent. A grid trims either all of its axes or none; its name is then
// "zarrs.regular_bounded". Few programs read such grids. Listed edges that end at the
// extent ([Grid.Unlocked]) store the same chunks in a specified form.
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

// ParseCuts parses the division of an array of the given shape, in the JSON that users
// write. The text is one integer for all axes (10), or a list with one entry per axis. An
// entry is an integer for a regular axis, or a list of edges and runs [length, count]:
// [10, 20], [[10, 20, 30], 25], [[[25, 4], 10], [50, 50]]. The integer -1 stands for the
// whole axis. Errors wrap [ErrInvalid] or [ErrOverflow]. If an axis is at fault, they
// name it.
func ParseCuts(shape []int64, text string) ([]Cut, error) {
	v, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	if err != nil {
		return nil, invalid("chunks: %v", err)
	}
	// A single integer stands for all axes.
	if v.Kind() != strictjson.Array {
		cuts := make([]Cut, len(shape))
		for i := range cuts {
			if cuts[i], err = parseStep(v, shape[i]); err != nil {
				return nil, onAxis(i, err)
			}
		}
		return cuts, nil
	}
	// axisCuts does not pass the number of the axis, so count the calls.
	i := -1
	return axisCuts(v, func(entry strictjson.Value) (Cut, error) {
		if i++; i >= len(shape) {
			return Cut{}, invalid("the chunks have more than the %s of the shape", quantity.Count(len(shape), "axes"))
		}
		if entry.Kind() == strictjson.Array {
			return shapeCut(entry)
		}
		return parseStep(entry, shape[i])
	})
}

func parseStep(v strictjson.Value, extent int64) (Cut, error) {
	n, err := integer(v)
	if n == -1 {
		n = max(1, extent)
	}
	return Every(n), err
}

// Groups cuts an axis where its labels change, so that each group of equal labels is one
// cell. There is one label per element, such as the coarse cell of a tiling that the
// element lies in. Labels must ascend in the order of [cmp.Compare].
//
// Groups returns an error that wraps [ErrInvalid] if there are no labels or if they do
// not ascend. The error then names the first label out of order, and whether its
// group has already ended.
func Groups[L cmp.Ordered](labels []L) (Cut, error) {
	if len(labels) == 0 {
		return Cut{}, invalid("no labels: an axis needs at least one group")
	}
	var lengths []int64
	first := 0
	for i := 1; i < len(labels); i++ {
		switch before := labels[i-1]; {
		case cmp.Compare(labels[i], before) < 0:
			return Cut{}, disorder(labels, i)
		case cmp.Compare(labels[i], before) > 0:
			lengths, first = append(lengths, int64(i-first)), i
		}
	}
	return Edges(append(lengths, int64(len(labels)-first))...), nil
}

// disorder returns the error for label i, the first that is out of order.
func disorder[L cmp.Ordered](labels []L, i int) error {
	label, before := fmt.Sprint(labels[i]), fmt.Sprint(labels[i-1])
	// The labels before i are sorted, so a search tells whether this group occurred
	// before.
	if at, again := slices.BinarySearch(labels[:i], labels[i]); again {
		return invalid("label %.80q at index %d belongs to the group that begins at index %d and has ended: sort the elements by label", label, i, at)
	}
	return invalid("label %.80q at index %d comes after %.80q, which is larger: sort the elements by label", label, i, before)
}

// Counts cuts an axis into groups with the given numbers of elements. It also returns
// their sum, which is the extent of the axis. It returns an error that wraps [ErrInvalid]
// if there are no counts or if one is below 1, and [ErrOverflow] if the sum overflows
// int64.
func Counts(counts []int64) (cut Cut, extent int64, err error) {
	if len(counts) == 0 {
		return Cut{}, 0, invalid("no counts: an axis needs at least one group")
	}
	for i, n := range counts {
		if n < 1 {
			return Cut{}, 0, invalid("the count at index %d is %d, a group has at least 1 element", i, n)
		}
		var ok bool
		if extent, ok = checked.Add(extent, n); !ok {
			return Cut{}, 0, fmt.Errorf("%w: the sum of the counts up to index %d", ErrOverflow, i)
		}
	}
	return Edges(counts...), extent, nil
}
