// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"sort"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/strided"
)

// plan visits the chunks that a selection touches, in C order. It is not safe for
// concurrent use.
type plan struct {
	axes          []planAxis
	grid          *grid.Grid
	started, done bool

	windows []strided.Window
	lists   bool
	pointed bool
	coords  *points         // coordinates of the points of an array
	points  []strided.Point // remaining points, grouped by cell
	mask    *mask
	cells   grid.Box // chunks that the mask may touch
	at      []int64
	cell    *grid.Chunk
}

// planAxis visits the chunks along one axis.
type planAxis struct {
	want  Axis
	cut   grid.Axis
	chunk int64
	start int64 // first element of the chunk
	from  int64 // first element of the piece, within the chunk
	count int64 // selected elements in the piece
	taken int64 // selected elements before the piece
}

// NewPlan returns a plan for reading r chunk by chunk. r must be resolved for the shape
// of g.
func NewPlan(r *Elements, g *grid.Grid) strided.Plan {
	p := &plan{grid: g, windows: r.windows, mask: r.mask, points: r.parts, pointed: r.parts != nil}
	switch {
	case r.points != nil:
		p.pointed, p.coords, p.points = true, r.points, r.points.group(g, r.count, r.Touched(g))
	case r.mask != nil:
		p.cells, p.at, p.cell = grid.BoxOf(g.Chunks()), make([]int64, g.Rank()), grid.NewChunk(g.Rank())
	case !p.pointed:
		p.axes = make([]planAxis, len(r.axes))
		for i, a := range r.axes {
			p.axes[i] = planAxis{want: a, cut: g.Axis(i)}
			p.lists = p.lists || a.list != nil
		}
	}
	return p
}

// Next sets v, which must have room for every axis, to the selected elements of the next
// chunk. It returns false after the last.
func (p *plan) Next(v *strided.Visit) bool {
	switch {
	// Stay at the end.
	case p.done:
	// Masks are not sorted by chunk, so every chunk is searched.
	case p.mask != nil:
		p.done = !p.nextMasked(v)
	case p.pointed:
		p.done = !p.nextPoints(v)
	default:
		p.done = !p.advance()
		if !p.done {
			p.fill(v)
		}
	}
	return !p.done
}

// fill sets v to the current pieces of all axes.
func (p *plan) fill(v *strided.Visit) {
	v.Picks = nil
	if p.lists || p.windows != nil {
		v.Pick(p.lists, p.windows)
	}
	for i := range p.axes {
		a := &p.axes[i]
		v.Chunk[i], v.Count[i] = a.chunk, a.count
		v.Start[i], v.Step[i], v.Place[i] = a.from, a.want.Step, a.taken
		if p.lists {
			v.Lists[i] = strided.List{}
		}
		// A list names its places itself.
		if l := a.want.list; l != nil {
			v.Lists[i] = l.Cut(a.taken, a.taken+a.count, a.start)
			v.Start[i], v.Place[i] = 0, 0
		}
	}
}

func (p *plan) advance() bool {
	if !p.started {
		p.started = true
		for i := range p.axes {
			// An axis without selected elements makes the whole selection empty.
			if p.axes[i].want.Count == 0 {
				return false
			}
			p.axes[i].moveTo(0)
		}
		return true
	}
	for i := len(p.axes) - 1; i >= 0; i-- {
		// Advance the last axis that has another piece, and restart those after it.
		if a := &p.axes[i]; a.taken+a.count < a.want.Count {
			a.moveTo(a.taken + a.count)
			return true
		}
		p.axes[i].moveTo(0)
	}
	return false
}

// moveTo moves to the piece that begins with the selected element number taken.
func (a *planAxis) moveTo(taken int64) {
	if taken == a.taken && a.count > 0 {
		return // the axis has only this piece
	}
	// The piece of a list has all following entries within the chunk.
	if a.want.list != nil {
		l := a.want.list
		a.chunk, _, _ = a.cut.Locate(l.At[taken] - l.Base)
		cell, _ := a.cut.Cell(a.chunk)
		a.taken, a.start, a.count = taken, cell.Start, l.CountUntil(taken, cell.Start+cell.Logical)
		return
	}
	element := a.want.Start + taken*a.want.Step
	chunk, within, _ := a.cut.Locate(element)
	cell, _ := a.cut.Cell(chunk)
	// inChunk is the number of steps from element to the end of the chunk.
	inChunk := (cell.Logical-within-1)/a.want.Step + 1
	a.taken, a.chunk, a.from, a.count = taken, chunk, within, min(inChunk, a.want.Count-taken)
}

// Seeks reports whether Seek may be called: the plan takes whole elements, and
// neither a mask nor points select them.
func (p *plan) Seeks() bool { return p.mask == nil && !p.pointed && p.windows == nil }

// Seek sets v to the elements that the selection takes from one chunk of the grid,
// regardless of earlier visits. It returns false if there are none. Call it only if
// Seeks returns true.
func (p *plan) Seek(chunk []int64, v *strided.Visit) bool {
	for i := range p.axes {
		if !p.axes[i].seek(chunk[i]) {
			return false
		}
	}
	p.fill(v)
	return true
}

// seek moves to the first piece in a chunk, and returns false if the chunk has none.
func (a *planAxis) seek(chunk int64) bool {
	cell, ok := a.cut.Cell(chunk)
	if !ok {
		return false
	}
	taken := int64(0)
	if l := a.want.list; l != nil {
		taken = l.CountUntil(0, cell.Start)
	} else if ahead := cell.Start - a.want.Start; ahead > 0 {
		taken = (ahead-1)/a.want.Step + 1
	}
	if taken >= a.want.Count {
		return false
	}
	// Steps may skip the chunk, so moveTo may end in a later one.
	a.moveTo(taken)
	return a.chunk == chunk
}

// nextPoints sets v to the points of the next chunk.
func (p *plan) nextPoints(v *strided.Visit) bool {
	if len(p.points) == 0 {
		return false
	}
	cell := p.points[0].Cell
	// Most chunks have few points, so look at those next to the first before a wide
	// search.
	n := sort.Search(min(len(p.points), 8), func(i int) bool { return p.points[i].Cell != cell })
	if n == 8 {
		n += sort.Search(len(p.points)-n, func(i int) bool { return p.points[n+i].Cell != cell })
	}
	p.locate(v.Chunk, p.points[0])
	v.Pick(false, p.windows).Points = p.points[:n:n]
	p.points = p.points[n:]
	return true
}

// locate sets chunk to the index of the chunk that a point lies in.
func (p *plan) locate(chunk []int64, of strided.Point) {
	cell := of.Cell
	for i := len(chunk) - 1; i >= 0; i-- {
		a := p.grid.Axis(i)
		// The cell may have been renumbered, so go by the coordinates if they are known.
		if p.coords != nil {
			chunk[i], _, _ = a.Locate(p.coords.at(i, of.Place))
			continue
		}
		chunk[i] = cell % a.Chunks()
		cell /= a.Chunks()
	}
}

// nextMasked sets v to the selected elements of the next chunk that has any selected
// element.
func (p *plan) nextMasked(v *strided.Visit) bool {
	for more := !p.started && p.cells.First(p.at) || p.started && p.cells.Next(p.at); more; more = p.cells.Next(p.at) {
		p.started = true
		p.grid.Cell(p.at, p.cell)
		v.Own = p.mask.within(v.Own[:0], p.cell)
		if len(v.Own) > 0 {
			copy(v.Chunk, p.at)
			v.Pick(false, p.windows).Points = v.Own
			return true
		}
	}
	return false
}

// Chunks returns an upper bound for the number of chunks that the selection touches. It
// must be called before Next.
func (p *plan) Chunks() int64 {
	switch {
	case p.mask != nil:
		n, _ := p.cells.Len()
		return n
	case p.pointed:
		n := int64(0)
		for k := range p.points {
			if k == 0 || p.points[k].Cell != p.points[k-1].Cell {
				n++
			}
		}
		return n
	}
	n := int64(1)
	for _, a := range p.axes {
		n = checked.Capped(n, a.chunks())
	}
	return n
}

// chunks returns an upper bound for the number of chunks touched along the axis.
func (a planAxis) chunks() (n int64) {
	if a.want.Count == 0 {
		return 0
	}
	if a.want.list == nil {
		first, _, _ := a.cut.Locate(a.want.first())
		last, _, _ := a.cut.Locate(a.want.last())
		return min(a.want.Count, last-first+1)
	}
	// a is a copy: counting does not move the plan.
	a.taken, a.count = 0, 0
	for taken := int64(0); taken < a.want.Count; taken += a.count {
		a.moveTo(taken)
		n++
	}
	return n
}
