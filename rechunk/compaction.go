// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
)

// Compaction merges neighbouring chunks along one axis. It never splits a chunk, and
// a second compaction with the same goal changes nothing. Exactly one of the goals UpTo,
// Bytes, Multiple, Calendar and Edges must be set.
type Compaction struct {
	// Axis is the axis along which chunks are merged.
	Axis int `json:"axis"`
	// UpTo merges chunks from the first on, as long as a merged one has at most that many
	// elements along the axis. Longer chunks stay.
	UpTo int64 `json:"up_to,omitempty"`
	// Bytes is UpTo for the bytes of a decoded chunk.
	Bytes int64 `json:"bytes,omitempty"`
	// Multiple merges chunks until a merged one has a multiple of that many elements.
	// Chunks at the end that do not reach one stay.
	Multiple int64 `json:"multiple,omitempty"`
	// Calendar merges the chunks of one month or year.
	Calendar *Calendar `json:"calendar,omitempty"`
	// Edges are the lengths of the merged chunks. They must cover the axis, and every
	// merged chunk must end where a chunk ends.
	Edges []grid.Run `json:"edges,omitempty"`
	// LeaveTail is the number of chunks at the end that stay as they are. It cannot be
	// combined with Edges.
	LeaveTail int64 `json:"leave_tail,omitempty"`
}

func (Compaction) operation() string { return "compact" }

// goals returns the number of goals that are set.
func (c Compaction) goals() int {
	n := 0
	for _, set := range []bool{c.UpTo != 0, c.Bytes != 0, c.Multiple != 0, c.Calendar != nil, c.Edges != nil} {
		if set {
			n++
		}
	}
	return n
}

func (c Compaction) target(s *snapshot.Array) (*target, error) { return Compactions{c}.target(s) }

// Compactions merges neighbouring chunks along several axes, one after the other.
type Compactions []Compaction

func (Compactions) operation() string { return "compact" }

func (c Compactions) target(s *snapshot.Array) (*target, error) {
	g := s.Grid
	for _, one := range c {
		var err error
		if g, err = one.apply(g, int64(s.Engine.Size)); err != nil {
			return nil, err
		}
	}
	return targetWithGrid(s, g)
}

// apply returns the grid with merged chunks of elements of size bytes.
func (c Compaction) apply(g *grid.Grid, size int64) (*grid.Grid, error) {
	if c.Axis < 0 || c.Axis >= g.Rank() {
		return nil, fmt.Errorf("%w: axis %d of an array with %s", zarr.ErrInvalidArgument, c.Axis, quantity.Count(g.Rank(), "axes"))
	}
	if c.goals() != 1 || c.LeaveTail < 0 || min(c.UpTo, c.Bytes, c.Multiple) < 0 {
		return nil, fmt.Errorf("%w: a compaction needs exactly one goal, and no negative number", zarr.ErrInvalidArgument)
	}
	if c.Edges != nil && c.LeaveTail > 0 {
		return nil, fmt.Errorf("%w: Edges list the chunks at the end, too, so there is none to leave", zarr.ErrInvalidArgument)
	}
	merged, err := c.mergeAxis(g, size)
	if err != nil {
		return nil, &grid.AxisError{Axis: c.Axis, Err: err}
	}
	if merged.Equal(g.Axis(c.Axis)) {
		return g, nil
	}
	return withAxis(g, c.Axis, merged)
}

// mergeAxis returns the axis with merged chunks.
func (c Compaction) mergeAxis(g *grid.Grid, size int64) (grid.Axis, error) {
	a := g.Axis(c.Axis)
	head := max(0, a.Chunks()-c.LeaveTail)
	switch {
	// The grid merges whole axes only.
	case c.LeaveTail > 0:
		return c.mergeHead(g, size, head)
	case c.UpTo > 0:
		return a.MergedUpTo(c.UpTo)
	case c.Bytes > 0:
		n, err := c.planes(g, size)
		if err != nil {
			return a, err
		}
		return a.MergedUpTo(n)
	case c.Edges != nil:
		return c.axisOfEdges(a)
	}
	return c.mergeGroups(a, head)
}

// mergeHead merges the first chunks of an axis only.
func (c Compaction) mergeHead(g *grid.Grid, size, head int64) (grid.Axis, error) {
	a := g.Axis(c.Axis)
	if head < 2 {
		return a, nil
	}
	longest := c.UpTo
	if c.Bytes > 0 {
		n, err := c.planes(g, size)
		if err != nil {
			return a, err
		}
		longest = n
	}
	if longest == 0 {
		return c.mergeGroups(a, head)
	}
	// As in MergedUpTo, a chunk that is longer than the goal stays alone.
	merge := &grouping{}
	return merge.regroup(a, head, func(sum int64, next grid.Cell) bool {
		total, ok := checked.Add(sum, next.Edge)
		return ok && total <= longest
	})
}

// planes returns how many planes along the axis have at most c.Bytes bytes.
func (c Compaction) planes(g *grid.Grid, size int64) (int64, error) {
	plane := size
	for i, n := range g.Chunks() {
		if i == c.Axis {
			continue
		}
		var ok bool
		if plane, ok = checked.Mul(plane, max(1, g.Axis(i).Longest(grid.Interval{Stop: n}))); !ok {
			return 0, fmt.Errorf("%w: a plane of chunks", grid.ErrOverflow)
		}
	}
	return max(1, c.Bytes/plane), nil
}

// axisOfEdges returns the axis with the given edges.
func (c Compaction) axisOfEdges(a grid.Axis) (grid.Axis, error) {
	is, err := grid.NewAxis(a.Extent(), grid.Runs(c.Edges...))
	if err != nil {
		return a, err
	}
	// The last edge may reach beyond the extent; every other one ends where one ended.
	for k := int64(1); k < is.Chunks(); k++ {
		cell, _ := is.Cell(k)
		if _, within, ok := a.Locate(cell.Start); !ok || within != 0 {
			return a, fmt.Errorf("%w: compacting does not split chunks, and element %d is within one: choose edges that end where chunks end, or rechunk", zarr.ErrInvalidArgument, cell.Start)
		}
	}
	return is, nil
}

// mergeGroups merges the first chunks by c.Multiple or c.Calendar.
func (c Compaction) mergeGroups(a grid.Axis, head int64) (grid.Axis, error) {
	if c.Multiple > 0 {
		g := &grouping{whole: func(sum int64) bool { return sum%c.Multiple == 0 }}
		return g.regroup(a, head, func(sum int64, _ grid.Cell) bool { return sum%c.Multiple != 0 })
	}
	same, err := c.Calendar.bucket()
	if err != nil {
		return a, err
	}
	g := &grouping{}
	return g.regroup(a, head, func(sum int64, next grid.Cell) bool {
		return same(next.Start-sum, next.Start+next.Logical)
	})
}

// grouping merges neighbouring chunks.
type grouping struct {
	// whole reports whether a group of so many elements may be merged. Nil is always.
	whole func(sum int64) bool
	runs  []grid.Run
}

// mostChunks bounds the chunks that are visited one by one along an axis.
const mostChunks = 1 << 24

// regroup merges the first head chunks of an axis. joins reports whether a chunk joins
// the group before it, which has sum elements.
func (g *grouping) regroup(a grid.Axis, head int64, joins func(sum int64, next grid.Cell) bool) (grid.Axis, error) {
	if a.Chunks() > mostChunks {
		return a, fmt.Errorf("%w: %s, at most %d are merged one by one", zarr.ErrLimit, quantity.Count(a.Chunks(), "chunks"), int64(mostChunks))
	}
	var open []grid.Run // the group that may still grow
	sum := int64(0)
	flush := func() {
		switch {
		case sum == 0:
		// The end of the axis cuts a group short. Its chunks stay, so that a later
		// compaction merges them with those that are appended meanwhile.
		case g.whole != nil && !g.whole(sum):
			g.runs = append(g.runs, open...)
		default:
			g.runs = append(g.runs, grid.Run{Length: sum, Count: 1})
		}
		open, sum = nil, 0
	}
	k := int64(0)
	for ; k < head; k++ {
		c, _ := a.Cell(k)
		if sum > 0 && !joins(sum, c) {
			flush()
		}
		open = append(open, grid.Run{Length: c.Edge, Count: 1})
		sum += c.Edge
	}
	flush()
	// Chunks of the tail, and planned ones beyond the extent, stay.
	at := int64(0)
	for r := range a.Edges() {
		if left := min(r.Count, at+r.Count-k); left > 0 {
			g.runs = append(g.runs, grid.Run{Length: r.Length, Count: left})
		}
		at += r.Count
	}
	is, err := grid.NewAxis(a.Extent(), grid.Runs(g.runs...))
	if err == nil && slices.Equal(slices.Collect(is.Edges()), slices.Collect(a.Edges())) {
		return a, nil
	}
	return is, err
}

// Calendar says where the months or years of an axis of times begin. Package calendar
// finds that out.
type Calendar struct {
	// Name says what the calendar is made from, such as "month of time". If it is set, a
	// request with the same name resumes a rechunk that has stopped, even if its calendar
	// covers more elements because the array has grown.
	Name string `json:"name,omitempty"`
	// Starts are the first elements of the months or years, in order.
	Starts []int64 `json:"starts"`
	// Until is the first element that Starts do not cover, such as the extent when they
	// were computed. Chunks from there on are not merged.
	Until int64 `json:"until"`
}

// identity returns the part of the calendar that stays when the array grows.
func (c *Calendar) identity() *Calendar {
	if c == nil || c.Name == "" {
		return c
	}
	return &Calendar{Name: c.Name}
}

// bucket returns a function that reports whether elements from start to stop lie in one
// month or year.
func (c *Calendar) bucket() (func(start, stop int64) bool, error) {
	if len(c.Starts) == 0 || c.Until <= 0 || !slices.IsSorted(c.Starts) {
		return nil, fmt.Errorf("%w: a calendar needs the beginnings of months or years in order, and the end of what they tell of", zarr.ErrInvalidArgument)
	}
	return func(start, stop int64) bool {
		// The first beginning after start.
		i, _ := slices.BinarySearch(c.Starts, start+1)
		return stop <= c.Until && (i == len(c.Starts) || c.Starts[i] >= stop)
	}, nil
}
