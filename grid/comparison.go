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
