// SPDX-License-Identifier: Apache-2.0

package filter

import "varve.dev/zarr/grid"

// piece is a chunk of the result along the filtered axis.
type piece struct {
	rows  grid.Interval // of the source; all kept ones among them belong to the piece
	count int64         // of kept rows
	edge  int64         // the length of the chunk, at least count
	whole int64         // the chunk of the source that is the same, or -1
}

// cutter cuts the kept rows of an axis into chunks of the result.
type cutter struct {
	axis   grid.Axis
	kept   *rows
	unit   int64 // every chunk but the last has a multiple of it
	every  int64 // the length of all chunks, or 0 for listed lengths
	pieces []piece
	open   piece // rows that make no chunk yet
}

// cut cuts an axis. Each chunk of the result takes what one chunk of the source keeps. If
// that is no multiple of unit, the rest goes to the next one. If every is set, chunks are
// filled up to that length.
func cut(a grid.Axis, kept *rows, unit, every int64) []piece {
	c := &cutter{axis: a, kept: kept, unit: max(unit, every), every: every}
	for k := range a.Chunks() {
		cell, _ := a.Cell(k)
		in := grid.Interval{Start: cell.Start, Stop: cell.Start + cell.Logical}
		if n := kept.count(in); n > 0 {
			c.add(in, n)
		}
	}
	if c.open.count > 0 {
		c.close(c.open)
	}
	return c.pieces
}

// add adds a chunk of the source that keeps n rows.
func (c *cutter) add(in grid.Interval, n int64) {
	if c.open.count == 0 {
		c.open.rows.Start = in.Start
	}
	c.open.rows.Stop = in.Stop
	c.open.count += n
	for take := c.takes(); take > 0; take = c.takes() {
		full, rest := c.open, c.open
		full.count, rest.count = take, c.open.count-take
		if rest.count > 0 {
			full.rows.Stop = c.kept.after(c.open.rows, take)
			rest.rows.Start = full.rows.Stop
		}
		c.close(full)
		c.open = rest
	}
}

// takes returns how many of the open rows make a chunk, or 0.
func (c *cutter) takes() int64 {
	n := c.open.count / c.unit * c.unit
	if c.every > 0 {
		return min(n, c.every)
	}
	return n
}

// close adds a chunk to the result.
func (c *cutter) close(p piece) {
	p.edge, p.whole = (p.count+c.unit-1)/c.unit*c.unit, -1
	// The chunk of the source is the same if it has these rows and no others, also beyond
	// the extent.
	if k, within, ok := c.axis.Locate(p.rows.Start); ok && within == 0 {
		if cell, _ := c.axis.Cell(k); cell.Logical == p.count && cell.Encoded == p.edge && cell.Logical == cell.Encoded && p.rows.Len() == p.count {
			p.whole = k
		}
	}
	c.pieces = append(c.pieces, p)
}

// slab is what becomes of the chunks with one index along the filtered axis.
type slab struct {
	kept        int64 // rows
	first, last int64 // the pieces that they belong to
	whole       bool  // the piece is the same
}

// slabsOf returns what becomes of every chunk of an axis.
func slabsOf(a grid.Axis, kept *rows, pieces []piece) []slab {
	slabs := make([]slab, a.Chunks())
	k, before := int64(0), int64(0) // the present piece, and the rows of it that were met
	for i := range slabs {
		cell, _ := a.Cell(int64(i))
		s := slab{kept: kept.count(grid.Interval{Start: cell.Start, Stop: cell.Start + cell.Logical})}
		if s.kept == 0 {
			continue
		}
		for s.first = k; before+s.kept > pieces[k].count; k++ {
			before -= pieces[k].count
		}
		s.last, s.whole = k, pieces[k].whole == int64(i)
		if before += s.kept; before == pieces[k].count {
			k, before = k+1, 0
		}
		slabs[i] = s
	}
	return slabs
}

// axisOf returns the axis of the result. It has a chunk for each piece, and the growth of
// an axis without elements begins with the first chunk of the source.
func axisOf(a grid.Axis, pieces []piece, every int64) (grid.Axis, error) {
	extent := int64(0)
	var runs []grid.Run
	for _, p := range pieces {
		extent += p.count
		if n := len(runs) - 1; n >= 0 && runs[n].Length == p.edge {
			runs[n].Count++
			continue
		}
		runs = append(runs, grid.Run{Length: p.edge, Count: 1})
	}
	if every > 0 {
		return grid.NewAxis(extent, grid.Every(every))
	}
	if first, ok := a.Cell(0); len(runs) == 0 && (ok || a.IsRegular()) {
		runs = append(runs, grid.Run{Length: max(first.Edge, a.Step()), Count: 1})
	}
	return grid.NewAxis(extent, grid.Runs(runs...))
}
