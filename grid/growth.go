// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"varve.dev/zarr/internal/checked"
)

// Grown returns the axis with a larger extent, or the same. If the extent exceeds the sum
// of the edges, the policy cuts the region after them into new edges; otherwise the
// edges stay. A regular axis follows the extent. It only accepts [AppendOne] and
// [RepeatLast], which leave it regular.
//
// Grown returns an error that wraps [ErrInvalid] if a length is invalid, the extent is
// smaller than before, or a plan does not cover the extent or contradicts the edges. It
// wraps [ErrOverflow] if the edges sum to more than an int64 holds, and [ErrUnsupported]
// if there would be too many edges to list.
//
// AppendOne follows zarr-python 3.4.1. The other policies are specific to this package.
func (a Axis) Grown(extent int64, g Growth) (Axis, error) {
	if extent < a.extent {
		return Axis{}, invalid("extent %d is below the present %d: Shrunk makes an axis shorter", extent, a.extent)
	}
	// Check the lengths first, so that invalid ones are reported even if no edge is
	// added.
	g, sum, err := g.ready()
	if err != nil {
		return Axis{}, err
	}
	if a.IsRegular() {
		// Other policies would list edges, which changes how later growth works. The
		// caller must unlock the axis explicitly.
		if !g.KeepsRegular() {
			return Axis{}, invalid("growth %.80s on an axis whose chunks of %d follow the extent: unlock turns it into a list", g, a.step)
		}
		return a.Resized(extent)
	}
	// Such an edge hardly ever ends at a boundary. No chunk was stored with it.
	if g.kind == byBoundaries && a.hasOneUnit() {
		return a.begun(extent, g)
	}
	// Elements up to the sum of the edges have their cells already.
	gap := extent - a.Covered()
	if gap <= 0 {
		if g.kind == preplanned {
			err = a.follows(g.runs, sum)
		}
		if err != nil {
			return Axis{}, err
		}
		return a.Resized(extent)
	}
	more, err := a.newEdges(gap, sum, g)
	if err == nil {
		more, err = g.roundUp(more)
	}
	if err == nil {
		a, err = a.Extended(more...)
	}
	if err != nil {
		return Axis{}, fmt.Errorf("growth %.80s to the extent %d: %w", g, extent, err)
	}
	return a.Resized(extent)
}

// hasOneUnit reports whether the axis has no elements and a single edge of length 1; see
// [ByBoundaries].
func (a Axis) hasOneUnit() bool {
	return a.extent == 0 && a.stored == nil && a.Cells() == 1 && a.Covered() == 1
}

// begun returns the axis with edges for its first elements in place of those it has.
func (a Axis) begun(extent int64, g Growth) (Axis, error) {
	edges, err := boundaries(0, extent, g.next)
	if err == nil {
		edges, err = g.roundUp(edges)
	}
	if err == nil {
		a, err = NewAxis(extent, Runs(edges...))
	}
	if err != nil {
		return Axis{}, fmt.Errorf("growth %.80s to the extent %d: %w", g, extent, err)
	}
	return a, nil
}

// newEdges cuts the gap after the last edge. sum is the sum of the policy's lengths.
func (a Axis) newEdges(gap, sum int64, g Growth) ([]Run, error) {
	switch g.kind {
	case repeatLast:
		last, ok := a.Cell(a.Cells() - 1)
		if !ok {
			break // there is no edge to repeat
		}
		return []Run{{last.Edge, checked.CeilDiv(gap, last.Edge)}}, nil
	case fixed:
		return []Run{{sum, checked.CeilDiv(gap, sum)}}, nil
	case pattern:
		return cycle(g.runs, sum, gap)
	case preplanned:
		if sum < gap {
			return nil, invalid("the plan ends %d elements before the extent: lengthen it, or grow by %d fewer", gap-sum, gap-sum)
		}
		return g.runs, nil
	case byBoundaries:
		return boundaries(a.Covered(), gap, g.next)
	}
	return []Run{{gap, 1}}, nil
}

// cycle repeats lengths, whose sum is given, until they cover the gap.
func cycle(lengths []Run, sum, gap int64) ([]Run, error) {
	var once []Run
	for _, r := range lengths {
		once = appendRun(once, r)
	}
	// Repeating one length is a single run, however large the gap is.
	if len(once) == 1 {
		return []Run{{once[0].Length, checked.CeilDiv(gap, once[0].Length)}}, nil
	}
	// The limit holds before times becomes a size of memory.
	times, rest := gap/sum, gap%sum
	if times >= mostRuns/int64(len(once)) {
		return nil, fmt.Errorf("%w: the pattern repeats %d times, which is too many edges to list", ErrUnsupported, times)
	}
	more := make([]Run, 0, (int(times)+1)*len(once))
	for range times {
		for _, r := range once {
			more = appendRun(more, r)
		}
	}
	for _, r := range lengths {
		if rest <= 0 {
			break
		}
		more = appendRun(more, r)
		rest -= r.Length
	}
	return more, nil
}

// boundaries calls next for the boundaries after element at until they cover the gap.
func boundaries(at, gap int64, next func(at int64) (int64, error)) ([]Run, error) {
	var more []Run
	extent := at + gap
	for calls := 0; at < extent; calls++ {
		if calls == mostRuns {
			return nil, fmt.Errorf("%w: more than %d new edges", ErrUnsupported, mostRuns)
		}
		to, err := next(at)
		if err != nil {
			return nil, err
		}
		// next is supplied by the caller. A boundary that does not advance would
		// loop for ever.
		if to <= at {
			return nil, invalid("the boundary after element %d is %d, which is not after it", at, to)
		}
		more = appendRun(more, Run{to - at, 1})
		at = to
	}
	return more, nil
}

// follows returns an error unless the cells that are not yet full are the end of the
// plan. sum is the sum of the plan.
func (a Axis) follows(plan []Run, sum int64) error {
	// The first cell that is not full is the last chunk if that is partial, otherwise the
	// cell after it.
	first := a.chunks
	if c, ok := a.Cell(first - 1); ok && c.Logical < c.Edge {
		first--
	}
	c, ok := a.Cell(first)
	if !ok {
		return nil // all cells are full
	}
	if err := a.listable(); err != nil {
		return err
	}
	open, _ := tail(a.Edges(), c.Start)
	var end []Run
	// The cells from there on must be an end of the plan of the same length.
	left := a.Covered() - c.Start
	whole := sum >= left
	if whole {
		end, whole = tail(slices.Values(plan), sum-left)
	}
	if !whole || !slices.Equal(open, end) {
		return invalid("the plan contradicts the edges that are there: cells %d to %d are not full and have lengths %s, no end of the plan %s; AppendOne fills them as they are",
			first, a.Cells()-1, runsText(open, 8), runsText(plan, 8))
	}
	return nil
}

// tail returns the runs after the first n elements. If those end within a cell, it
// returns false and the rest of that cell comes first.
func tail(runs iter.Seq[Run], n int64) (rest []Run, whole bool) {
	whole = true
	for r := range runs {
		skip := min(r.Count, n/r.Length)
		n -= skip * r.Length
		if r.Count -= skip; r.Count == 0 {
			continue
		}
		// The first n elements end within this cell.
		if n > 0 {
			rest, whole, n = append(rest, Run{r.Length - n, 1}), false, 0
			r.Count--
		}
		if r.Count > 0 {
			rest = appendRun(rest, r)
		}
	}
	return rest, whole
}

// Grown returns the grid of an array of another shape. An axis that grows is cut by its
// policy ([Axis.Grown]); an axis that shrinks keeps its edges. Without a policy all axes
// use [AppendOne]. A single policy applies to every axis that grows; otherwise there must
// be one policy per axis.
//
// A single policy skips regular axes, which follow the extent, as long as an axis with
// listed edges grows as well. If only regular axes grow and the policy does not suit
// them, the error wraps [ErrInvalid]. Other errors are those of [Axis.Grown]. All name
// the axis.
func (g *Grid) Grown(shape []int64, growth ...Growth) (*Grid, error) {
	if len(shape) != len(g.axes) {
		return nil, invalid("the new shape has %d axes, the array has %d", len(shape), len(g.axes))
	}
	if n := len(growth); n > 1 && n != len(g.axes) {
		return nil, invalid("%d growth policies for %d axes: give none, one, or one per axis", n, len(g.axes))
	}
	axes := make([]Axis, len(shape))
	for i, n := range shape {
		var err error
		if axes[i], err = g.grownAxis(i, n, g.policy(i, shape, growth)); err != nil {
			return nil, onAxis(i, err)
		}
	}
	return ofAxes(g.name, axes)
}

// grownAxis returns axis i with another extent.
func (g *Grid) grownAxis(i int, extent int64, how Growth) (Axis, error) {
	switch a := g.axes[i]; {
	case extent < a.extent:
		return a.Shrunk(extent, KeepEdges)
	case extent > a.extent:
		return a.Grown(extent, how)
	default:
		return a, nil
	}
}

// policy returns the policy for axis i. A single policy skips a regular axis if it
// applies to an axis with listed edges.
func (g *Grid) policy(i int, shape []int64, growth []Growth) Growth {
	switch {
	case len(growth) == 0:
		return AppendOne()
	case len(growth) == len(g.axes) && len(growth) > 1:
		return growth[i]
	}
	for k, a := range g.axes {
		// AppendOne leaves a regular axis regular.
		if g.axes[i].IsRegular() && !a.IsRegular() && shape[k] > a.extent {
			return AppendOne()
		}
	}
	return growth[0]
}

// FittingLengths returns the lengths nearest to length by which the axis can grow with
// one new edge ([AppendOne]) that is stored with a multiple of n elements
// ([Axis.MultipleOf]). All lengths are in elements. Elements that fill an edge beyond the
// extent come first and are not part of the new edge.
//
// Both results are length if that fits, as it always does on a regular axis. below is 0
// if no shorter length fits, and above is 0 if a longer one would overflow int64. Both
// are 0 if n or length is below 1. With [Growth.RoundedUp] every length fits.
func (a Axis) FittingLengths(length, n int64) (below, above int64) {
	if length < 1 || n < 1 {
		return 0, 0
	}
	if most := math.MaxInt64 - a.extent; length > most {
		below, _ = a.FittingLengths(most, n)
		return below, 0
	}
	// edge is the length of the new edge, common the encoded length that all cells share.
	var edge, common int64
	switch {
	case a.edges != nil:
		edge = length - (a.edges.sum - a.extent)
		if s := a.stored; s != nil && s.edges == nil {
			common = s.step
		}
	case a.IsTrimmed():
		// The last chunk is stored up to the new extent, so it counts from its own start.
		edge = length + a.extent%a.step
	}
	// No new edge is needed, or it is stored with the shared length, or it fits.
	if edge <= common || edge%n == 0 {
		return length, length
	}
	over := edge % n
	// A shorter edge fits if it is a multiple of n, if it is not longer than the encoded
	// length that all cells share, or if it is not needed at all.
	below = max(0, length-over, length-edge+common)
	if above = length + n - over; above < length || above > math.MaxInt64-a.extent {
		above = 0
	}
	return below, above
}
