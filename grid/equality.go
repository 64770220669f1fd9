// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"iter"
	"slices"
)

// Equal reports whether both axes have the same extent, edges and encoded lengths. A
// regular axis never equals one with listed edges.
func (a Axis) Equal(b Axis) bool {
	if a.extent != b.extent || a.step != b.step || !a.stored.equal(b.stored) {
		return false
	}
	return a.edges == b.edges || a.edges != nil && b.edges != nil && a.edges.equal(b.edges)
}

// Equal reports whether both grids have the same name and equal axes ([Axis.Equal]).
func (g *Grid) Equal(o *Grid) bool {
	return g.name == o.name && slices.EqualFunc(g.axes, o.axes, Axis.Equal)
}

// SameCells reports whether both grids have the same cells, with equal starts, edges and
// encoded lengths. The box has one interval of cells per axis. Cells before an interval
// are compared too, so SameCells may return false if only those differ. Grids of
// different rank have no cells in common.
func (g *Grid) SameCells(o *Grid, cells Box) bool {
	if len(g.axes) != len(o.axes) {
		return false
	}
	for i, a := range g.axes {
		if !a.sameCells(o.axes[i], cells[i].Stop) {
			return false
		}
	}
	return true
}

// sameCells reports whether the first n cells of both axes are the same.
func (a Axis) sameCells(b Axis, n int64) bool {
	// No cell is compared, so the axes may even be of different kinds.
	if n == 0 {
		return true
	}
	if a.Cells() < n || b.Cells() < n {
		return false
	}
	// Both share a list, or neither has one.
	if a.stored == nil && b.stored == nil && a.edges == b.edges {
		return a.step == b.step
	}
	if e, o := a.edges, b.edges; e == nil || o == nil {
		if !sameRuns(a.Edges(), b.Edges(), n) {
			return false
		}
	} else if !e.sameCells(o, n) { // by their tables, without visiting every cell
		return false
	}
	if e, o := a.storedList(), b.storedList(); e != nil && o != nil {
		return e.sameCells(o, n)
	}
	return sameRuns(a.Encoded(), b.Encoded(), n)
}

// storedList returns the list of encoded lengths, or nil if they are not listed.
func (a Axis) storedList() *edges {
	if a.stored == nil {
		return a.edges
	}
	return a.stored.edges
}

// sameCells reports whether the first n cells of both lists are the same. Both must have
// n cells.
func (e *edges) sameCells(o *edges, n int64) bool {
	// Different ends show most differences at once.
	start, length := e.at(n - 1)
	other, same := o.at(n - 1)
	return start == other && length == same && e.sameUntil(o, start+length)
}

// sameRuns reports whether the first n lengths of two lists are the same.
func sameRuns(a, b iter.Seq[Run], n int64) bool {
	next, stop := iter.Pull(b)
	defer stop()
	var q Run
	for p := range a {
		for p.Count > 0 && n > 0 {
			if q.Count == 0 {
				q, _ = next()
			}
			// If b has ended, q has no cells and k is 0.
			k := min(p.Count, q.Count, n)
			if k == 0 || p.Length != q.Length {
				return false
			}
			p.Count, q.Count, n = p.Count-k, q.Count-k, n-k
		}
		if n == 0 {
			return true
		}
	}
	return n == 0
}

// equal reports whether both lists hold the same lengths, however they are split into
// stretches.
func (e *edges) equal(o *edges) bool {
	if e.cells != o.cells || e.sum != o.sum {
		return false
	}
	return slices.EqualFunc(e.stretches, o.stretches, stretch.same) || e.sameUntil(o, e.sum)
}

// same reports whether both stretches are stored in the same form.
func (p stretch) same(o stretch) bool {
	return p.repeats == o.repeats && p.offset == o.offset && slices.Equal(p.start, o.start) &&
		slices.Equal(p.first, o.first) && slices.Equal(p.length, o.length)
}

// sameUntil reports whether both lists have the same boundaries up to element stop, which
// both must reach. It does not walk through all repetitions. By the theorem of Fine and
// Wilf, two sequences of period p and q that agree over p+q elements agree throughout.
func (e *edges) sameUntil(o *edges, stop int64) bool {
	for i, j, at := 0, 0, int64(0); at < stop; {
		p, q := &e.stretches[i], &o.stretches[j]
		// Compare up to the end of the stretch that ends first.
		to := min(p.end(), q.end(), stop)
		length := to - at
		// The second condition compares with p.sum+q.sum, which might overflow.
		if p.sum < length && q.sum < length-p.sum {
			length = p.sum + q.sum
		}
		if !p.sameFor(q, at, length) {
			return false
		}
		// Either stretch, or both, may end here.
		if at = to; p.end() == at {
			i++
		}
		if q.end() == at {
			j++
		}
	}
	return true
}

// end returns the first element after the stretch.
func (p *stretch) end() int64 { return p.offset + p.sum*p.repeats }

// sameFor reports whether both stretches have the same boundaries within length elements
// from at on. Element at must be a boundary of at least one of them.
func (p *stretch) sameFor(q *stretch, at, length int64) bool {
	a, b := newPlace(p, at), newPlace(q, at)
	for length > 0 {
		r, s := a.run, b.run
		// Equal lengths at different offsets have different boundaries.
		if r.Length != s.Length || a.within != b.within {
			return false
		}
		n := min(r.Count, s.Count)
		length -= n*r.Length - a.within
		a.skip(n)
		b.skip(n)
	}
	return true
}

// place is a position in a stretch.
type place struct {
	table  *table
	entry  int
	run    Run   // rest of the entry; its first cell counts as whole
	within int64 // elements of the first cell before the position
}

// newPlace returns the position of an element of a stretch.
func newPlace(p *stretch, element int64) place {
	// All repetitions are alike, so look at the first one.
	off := (element - p.offset) % p.sum
	entry := search(p.start[:len(p.start)-1], off)
	run := p.run(entry)
	off -= p.start[entry]
	run.Count -= off / run.Length
	return place{&p.table, entry, run, off % run.Length}
}

// skip advances by n cells, at most as many as the entry has left. After the last entry
// it continues with the first.
func (p *place) skip(n int64) {
	p.within = 0
	if p.run.Count -= n; p.run.Count > 0 {
		return
	}
	if p.entry++; p.entry == p.table.entries() {
		p.entry = 0
	}
	p.run = p.table.run(p.entry)
}
