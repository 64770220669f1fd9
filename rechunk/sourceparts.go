// SPDX-License-Identifier: Apache-2.0

package rechunk

import "varve.dev/zarr/grid"

// Chunks that are not compressed are read in parts of at least leastPart bytes. A chunk
// of less than leastParted bytes is read as a whole, as the engine does.
const (
	leastPart   = 16 << 10
	leastParted = 256 << 10
)

// sourceParts returns the units of the source, cut into runs of planes that lie next to
// each other in a stored chunk and can be read without the others. It returns nil if
// chunks are only read as a whole: if they are compressed, sharded or small.
func (w *work) sourceParts() (*grid.Grid, error) {
	chain, g := w.Source.Engine.Chain, w.Source.Grid
	if chain.Divided() || !chain.Partial() || !chain.InOrder() || w.SourceUnits() != g {
		return nil, nil
	}
	along, plane := partedAxis(g, int64(w.Source.Engine.Size))
	if along < 0 {
		return nil, nil
	}
	cuts := make([]grid.Cut, g.Rank())
	for i := range cuts {
		a := g.Axis(i)
		// Planes lie elsewhere in a chunk that has another stored than logical shape.
		if a.IsEncoded() || a.IsTrimmed() {
			return nil, nil
		}
		if cuts[i] = cutOf(a); i == along {
			cuts[i] = partsOf(a, (leastPart+plane-1)/plane)
		}
	}
	return grid.New(g.Shape(), cuts...)
}

// partedAxis returns the axis along which the planes of a chunk lie next to each other,
// with those of all later axes within them, and the bytes of a plane. It returns -1 if
// chunks are small, or have a single element.
func partedAxis(g *grid.Grid, size int64) (axis int, plane int64) {
	bytes := size
	axis = -1
	for i := g.Rank() - 1; i >= 0; i-- {
		a := g.Axis(i)
		if n := a.Longest(grid.Interval{Stop: a.Chunks()}); n > 1 {
			axis, plane = i, bytes
			// Larger products may overflow, and any plane of so many bytes is a part.
			if bytes > leastParted/n {
				bytes = leastParted
			} else {
				bytes *= n
			}
		}
	}
	if bytes < leastParted {
		return -1, 0
	}
	return axis, plane
}

// mostPartRuns bounds the runs of chunks that are cut unequally: every chunk adds two.
const mostPartRuns = 1 << 12

// partsOf cuts the chunks of an axis into parts of at least so many planes. They are
// equal where that makes them little longer. Otherwise the last part of a chunk is
// longer, or the chunk stays whole if there are very many.
func partsOf(a grid.Axis, planes int64) grid.Cut {
	if n := partOf(a.Step(), planes); a.IsRegular() && a.Step()%n == 0 {
		return grid.Every(n)
	}
	var runs []grid.Run
	for r := range a.Edges() {
		n := partOf(r.Length, planes)
		switch {
		case r.Length%n == 0:
			runs = append(runs, grid.Run{Length: n, Count: r.Count * (r.Length / n)})
		case r.Count > mostPartRuns-int64(len(runs)):
			runs = append(runs, r)
		default:
			last := n + r.Length%n
			for range r.Count {
				runs = append(runs, grid.Run{Length: n, Count: r.Length/n - 1}, grid.Run{Length: last, Count: 1})
			}
		}
	}
	return grid.Runs(runs...)
}

// partOf returns the number of planes of a part of a chunk: the least divisor of its
// length up to twice planes, or planes. A chunk of fewer than two parts stays whole.
func partOf(length, planes int64) int64 {
	if length/2 < planes {
		return max(1, length)
	}
	for n := planes; n <= length/2 && n <= 2*planes; n++ {
		if length%n == 0 {
			return n
		}
	}
	return planes
}
