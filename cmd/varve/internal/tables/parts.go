// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"cmp"
	"iter"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/subset"
)

// mostElements bounds the bytes of the elements of the lists of a batch, unless one row
// has more.
const mostElements = 64 << 20

// cut sets the places along each axis where units begin and end: at the borders of
// chunks, or inner chunks, of an array. Short chunks are joined up to so many rows, along
// the last axes first.
func (t *table) cut(main *export.Source, rows int64) {
	rows = cmp.Or(rows, JoinedRows)
	t.cuts, t.longest = make([][]int64, len(t.shape)), 1
	axes := (*subset.Elements)(main.Selection).Axes()
	// others are the rows of a unit along the axes but the one that is cut.
	others := int64(1)
	for i := range t.shape {
		others = checked.Capped(others, max(1, min(export.ChunkAlong(main, i), t.shape[i])))
	}
	joined := true
	for i := len(t.shape) - 1; i >= 0; i-- {
		chunk := max(1, min(export.ChunkAlong(main, i), t.shape[i]))
		others = max(1, others/chunk)
		most := int64(0)
		if joined {
			most = rows / others
		}
		along, _ := (*subset.Elements)(main.Selection).Along(axes[i])
		t.cuts[i] = cutsOf(main.Array.Core().State().Finest().Axis(axes[i]), along, most, t.fits)
		longest := int64(0)
		for k, at := range t.cuts[i][1:] {
			longest = max(longest, at-t.cuts[i][k])
		}
		others = checked.Capped(others, max(1, longest))
		t.longest = checked.Capped(t.longest, max(1, longest))
		joined = joined && len(t.cuts[i]) <= 2
	}
}

// fits reports whether the elements of the lists of some rows are few enough for a batch.
func (t *table) fits(from, to int64) bool {
	for _, a := range t.arrays {
		if a.listed && checked.Capped(a.offsets[to]-a.offsets[from], a.width()) > mostElements {
			return false
		}
	}
	return true
}

// cutsOf returns the places of a selection where parts of an axis begin, and its end. A
// part is what is selected of a chunk, or of several as long as they have most elements
// together, and fit.
func cutsOf(axis grid.Axis, selected subset.Axis, most int64, fits func(from, to int64) bool) []int64 {
	cuts := []int64{0}
	begin := int64(0) // of the part
	at := int64(0)
	for n := range selected.Runs(axis) {
		for stop := at + n; at < stop; {
			next := stop
			for next-at > 1 && !fits(at, next) { // long rows
				next = at + (next-at)/2
			}
			if at > begin && (next-begin > most || !fits(begin, next)) {
				cuts, begin = append(cuts, at), at
			}
			at = next
		}
	}
	if selected.Count > 0 {
		cuts = append(cuts, selected.Count)
	}
	return cuts
}

// units yields the boxes that are read at once, in C order.
func (t *table) units() iter.Seq[grid.Box] {
	return func(yield func(grid.Box) bool) {
		counts := make([]int64, len(t.cuts))
		for i := range counts {
			counts[i] = int64(len(t.cuts[i])) - 1
		}
		for at := range grid.BoxOf(counts).IndicesInto(make([]int64, len(counts))) {
			box := make(grid.Box, len(at))
			for i, k := range at {
				box[i] = grid.Interval{Start: t.cuts[i][k], Stop: t.cuts[i][k+1]}
			}
			if !yield(box) {
				return
			}
		}
	}
}

// rowsOf returns the rows of a box.
func rowsOf(box grid.Box) int64 {
	n := int64(1)
	for _, i := range box {
		n *= i.Len()
	}
	return n
}

// batches yields the parts of a box that become batches: boxes of at most [mostRows]
// rows that follow each other in C order.
func batches(box grid.Box) iter.Seq[grid.Box] {
	return func(yield func(grid.Box) bool) {
		// One element along the axes before the one that is cut, all along those after.
		cut, inner := 0, rowsOf(box)
		for cut < len(box) && inner > mostRows {
			if inner /= box[cut].Len(); inner > mostRows {
				cut++
			}
		}
		if cut == len(box) || rowsOf(box) <= mostRows {
			yield(box)
			return
		}
		step := max(1, mostRows/inner)
		// Parts of about one length.
		n := checked.CeilDiv(box[cut].Len(), step)
		step = checked.CeilDiv(box[cut].Len(), n)
		counts := make([]int64, cut+1)
		for i := range counts {
			counts[i] = box[i].Len()
		}
		counts[cut] = n
		for at := range grid.BoxOf(counts).IndicesInto(make([]int64, len(counts))) {
			part := append(grid.Box{}, box...)
			for i, k := range at {
				length := int64(1)
				if i == cut {
					length = step
				}
				start := box[i].Start + k*length
				part[i] = grid.Interval{Start: start, Stop: min(start+length, box[i].Stop)}
			}
			if !yield(part) {
				return
			}
		}
	}
}
