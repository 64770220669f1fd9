package selection

import "varve.dev/zarr/grid"

// Part is what a selection takes from one chunk. All slices have one entry an axis and are counted in elements.
type Part struct {
	grid.Part         // what is taken, counted within the chunk
	Chunk     []int64 // index of the chunk in the grid
	Place     []int64 // where the first element goes in the selected block
}

// NewPart returns a part with room for the given number of axes.
func NewPart(rank int) *Part {
	n := make([]int64, 5*rank)
	cut := func(i int) []int64 { return n[i*rank : (i+1)*rank : (i+1)*rank] }
	return &Part{grid.Part{Start: cut(0), Step: cut(1), Count: cut(2)}, cut(3), cut(4)}
}

// Plan walks the chunks that a selection touches, in C order. It is not safe for concurrent use.
type Plan struct {
	axes          []planAxis
	started, done bool
}

// planAxis is a walk along one axis from chunk to chunk.
type planAxis struct {
	want  axis
	cut   grid.Axis
	chunk int64
	from  int64 // first element of the piece, within the chunk
	count int64 // selected elements in the piece
	taken int64 // selected elements before the piece
}

// NewPlan lays r over g, whose shape r was resolved for.
func NewPlan(r *Resolved, g *grid.Grid) *Plan {
	p := &Plan{axes: make([]planAxis, len(r.axes))}
	for i, a := range r.axes {
		p.axes[i] = planAxis{want: a, cut: g.Axis(i)}
	}
	return p
}

// Next fills part, which has room for every axis, with the next chunk's part. It is false after the last,
// and stays so.
func (p *Plan) Next(part *Part) bool {
	if p.done = p.done || !p.advance(); p.done {
		return false
	}
	for i := range p.axes {
		a := &p.axes[i]
		part.Chunk[i], part.Start[i], part.Step[i], part.Count[i], part.Place[i] = a.chunk, a.from, a.want.step, a.count, a.taken
	}
	return true
}

func (p *Plan) advance() bool {
	if !p.started {
		p.started = true
		for i := range p.axes {
			if p.axes[i].want.count == 0 {
				return false
			}
			p.axes[i].moveTo(0)
		}
		return true
	}
	for i := len(p.axes) - 1; i >= 0; i-- {
		if a := &p.axes[i]; a.taken+a.count < a.want.count {
			a.moveTo(a.taken + a.count)
			return true
		}
		p.axes[i].moveTo(0)
	}
	return false
}

// moveTo finds the piece that begins with selected element number taken.
func (a *planAxis) moveTo(taken int64) {
	if taken == a.taken && a.count > 0 {
		return // the only piece of its axis
	}
	element := a.want.start + taken*a.want.step
	chunk, within, _ := a.cut.Locate(element)
	cell, _ := a.cut.Cell(chunk)
	inChunk := (cell.Logical-within-1)/a.want.step + 1
	a.taken, a.chunk, a.from, a.count = taken, chunk, within, min(inChunk, a.want.count-taken)
}

// Touched returns, for every axis, the interval of chunks between the first and the last that is touched.
func (p *Plan) Touched() grid.Box {
	box := make(grid.Box, len(p.axes))
	for i, a := range p.axes {
		if a.want.count > 0 {
			first, _, _ := a.cut.Locate(a.want.start)
			last, _, _ := a.cut.Locate(a.want.start + (a.want.count-1)*a.want.step)
			box[i] = grid.Interval{Start: first, Stop: last + 1}
		}
	}
	return box
}
