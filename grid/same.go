package grid

import "iter"

// SameCells reports whether every cell of the box, one interval of cells an axis, is the same in both grids: it begins
// at the same element, is as long, and is stored as long. Grids of different rank have no cell in common.
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

// sameCells reports whether the first n cells are the same in both axes.
func (a Axis) sameCells(b Axis, n int64) bool {
	if n == 0 {
		return true
	}
	if a.Cells() < n || b.Cells() < n {
		return false
	}
	if a.stored == nil && b.stored == nil && a.edges == b.edges {
		return a.step == b.step
	}
	return sameRuns(a.Edges(), b.Edges(), n) && sameRuns(a.Encoded(), b.Encoded(), n)
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
