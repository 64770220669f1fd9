// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/grid"
)

// lookBack is the largest number of cells that are visited to find the last runs of a
// long axis.
const lookBack = 1024

// span is a run of equal neighbouring cells of an axis. All of them lie within the
// extent or beyond it, or it is the one cell that the extent cuts.
type span struct {
	cells grid.Interval
	edge  int64 // elements per cell; 0 if the lengths are left out
	// inside is the number of elements per cell that belong to the array. It is any
	// positive number if the lengths are left out but the cells belong to it.
	inside int64
}

func spanOf(c grid.Cell) span {
	return span{grid.Interval{Start: c.Index, Stop: c.Index + 1}, c.Edge, c.Logical}
}

func (s span) leftOut() bool { return s.edge == 0 }

// follows reports whether s continues the span before it with equal cells.
func (s span) follows(before span) bool {
	return s.edge == before.edge && s.inside == before.inside && s.cells.Start == before.cells.Stop
}

// spans returns the cells before stop as runs. If there are more than most runs (but at
// least three), it keeps the first runs, those at the end of the extent and the last
// ones. It does not visit the cells between them.
func spans(a grid.Axis, stop int64, most int) []span {
	var list []span
	next := int64(0)
	for r := range a.Edges() {
		// One run too many is enough to know that some must be left out.
		if next >= stop || len(list) > most {
			break
		}
		list = appendZones(list, a, grid.Interval{Start: next, Stop: min(stop, next+r.Count)}, r.Length)
		next += r.Count
	}
	if next >= stop && len(list) <= most {
		return list
	}
	// About half of the runs come from the start, the rest from the end.
	list = list[:max(1, min(most/2, len(list)))]
	last := max(1, most-len(list)-1)
	// Show the end of the array as well as the end of the cells.
	if chunks := a.Chunks(); chunks < stop {
		list = appendEnd(list, a, chunks, max(1, last/2), 1)
		return appendEnd(list, a, stop, max(1, last/2), 0)
	}
	return appendEnd(list, a, stop, last, 1)
}

// appendZones appends cells of one length, divided at the end of the extent.
func appendZones(list []span, a grid.Axis, cells grid.Interval, edge int64) []span {
	chunks := a.Chunks()
	// The last chunk within the extent may be cut. Cells after it lie beyond.
	whole, left := chunks, edge
	if c, ok := a.Cell(chunks - 1); ok && c.IsBoundary() {
		whole, left = chunks-1, c.Logical
	}
	for _, zone := range []span{
		{grid.Interval{Start: 0, Stop: whole}, edge, edge},
		{grid.Interval{Start: whole, Stop: chunks}, edge, left},
		{grid.Interval{Start: chunks, Stop: a.Cells()}, edge, 0},
	} {
		zone.cells = cells.Intersect(zone.cells)
		if zone.cells.Len() > 0 {
			list = append(list, zone)
		}
	}
	return list
}

// appendEnd appends at most want runs before stop, and before them a span for the cells
// that are left out. A positive inside means that these belong to the array.
func appendEnd(list []span, a grid.Axis, stop int64, want int, inside int64) []span {
	from := list[len(list)-1].cells.Stop
	var end []span // from the last run to the first
	k := stop - 1
	// A run may have any number of cells: visit no more than lookBack.
	for ; k >= from && stop-k <= lookBack; k-- {
		c, _ := a.Cell(k)
		s := spanOf(c)
		// Cells are visited backwards, so extend a run towards the start.
		if n := len(end) - 1; n >= 0 && end[n].follows(s) {
			end[n].cells.Start = k
			continue
		}
		if len(end) == want {
			break
		}
		end = append(end, s)
	}
	switch {
	case k == from: // a single cell is as short as a remark that it is left out
		c, _ := a.Cell(k)
		list = append(list, spanOf(c))
	case k > from:
		list = append(list, span{cells: grid.Interval{Start: from, Stop: k + 1}, inside: inside})
	}
	slices.Reverse(end)
	return append(list, end...)
}

// single returns a span for each cell. It returns false if there are more than most
// cells.
func single(a grid.Axis, most int64) ([]span, bool) {
	if a.Cells() > most {
		return nil, false
	}
	list := make([]span, a.Cells())
	for k := range list {
		c, _ := a.Cell(int64(k))
		list[k] = spanOf(c)
	}
	return list, true
}

// scale bounds the sizes of cells in characters. The longest cell gets high characters,
// or fewer if the shortest then still gets low characters.
type scale struct{ low, high int }

// longSizes is the largest number of runs that [Sizes] writes out.
const longSizes = 8

// Sizes returns the chunk lengths of an axis in one line, in elements and clipped at the
// extent: "365×4, 366, 1×10". If there are more than eight runs, it only gives the first
// and last ones with the number of chunks between them: "31, 28, 31, 30, … 111 more …,
// 30, 31". The one chunk of a regular axis that is longer than the extent is stored with
// padding: "366 of 8760". For an axis without chunks Sizes returns "none".
func Sizes(a grid.Axis) string { return unicodeText.sizes(a) }

func (t *text) sizes(a grid.Axis) string {
	if a.Chunks() == 0 {
		return "none"
	}
	if a.Step() > a.Extent() {
		return number(a.Extent()) + " of " + number(a.Step())
	}
	var parts []string
	list := merged(spans(a, a.Chunks(), longSizes))
	for _, s := range list {
		parts = append(parts, t.size(s))
	}
	return strings.Join(parts, ", ")
}

// merged joins a last chunk that the extent cuts with the chunks before it if they have
// the same length.
func merged(list []span) []span {
	n := len(list)
	// The chunk that the extent cuts may now be as long as those before it.
	if n > 1 && !list[n-1].leftOut() && list[n-2].inside == list[n-1].inside && list[n-2].edge == list[n-2].inside {
		list[n-2].cells.Stop = list[n-1].cells.Stop
		list = list[:n-1]
	}
	return list
}

func (t *text) size(s span) string {
	switch n := s.cells.Len(); {
	case s.leftOut():
		return t.more + " " + number(n) + " more " + t.more
	case n == 1:
		return number(s.inside)
	default:
		return number(s.inside) + t.times + number(n)
	}
}

// number formats n exactly, and large powers of ten as 10^18.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	if n >= 1e6 && strings.Trim(s[1:], "0") == "" && s[0] == '1' {
		return "10^" + strconv.Itoa(len(s)-1)
	}
	return s
}
