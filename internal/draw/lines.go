// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"fmt"
	"strings"

	"varve.dev/zarr/grid"
)

// lines collects the paths of lines between cells.
type lines struct {
	light, dashed strings.Builder
	dots          strings.Builder // for cells that are left out
}

// segment appends a line at a position of one ruler, from one position of the other ruler
// to another. The line runs from left to right if across is set, otherwise downwards.
func segment(b *strings.Builder, at, from, to int, across bool) {
	switch {
	case from >= to:
	case across:
		fmt.Fprintf(b, "M%d %dH%d", from, at, to)
	default:
		fmt.Fprintf(b, "M%d %dV%d", at, from, to)
	}
}

// between adds the lines between the strips of r, which run along other, and the dots for
// gaps.
func (l *lines) between(r, other *ruler, across bool) {
	for i, s := range r.strips {
		if i > 0 && s.inside {
			l.along(s.at, other, across)
		}
		l.beyond(s, i, r, other, across)
		if s.gap {
			l.dot(s, other, across)
		}
	}
	if r.inside < r.length { // otherwise the last line is the outline of the array
		segment(&l.dashed, r.length, 0, other.length, across)
	} else {
		segment(&l.dashed, r.length, other.inside, other.length, across)
	}
}

// along draws a line within the array, except where other has a gap.
func (l *lines) along(at int, other *ruler, across bool) {
	from := 0
	for _, o := range other.strips {
		if !o.inside {
			break
		}
		if o.gap {
			segment(&l.light, at, from, o.at, across)
			from = o.at + o.size
		}
	}
	segment(&l.light, at, from, other.inside, across)
}

// beyond draws the line before a strip outside the array. There is none within a cell.
func (l *lines) beyond(s strip, i int, r, other *ruler, across bool) {
	if s.joined {
		return
	}
	from := other.inside
	// Beyond the array a line has its full length. At the end of the array, the outline
	// is drawn instead.
	if !s.inside && (i == 0 || s.at > r.inside) {
		from = 0
	}
	segment(&l.dashed, s.at, from, other.length, across)
}

// dot puts three dots into every block of a gap. Where both rulers have a gap, the dots
// are diagonal and only one of the two rulers draws them.
func (l *lines) dot(s strip, other *ruler, across bool) {
	for _, o := range other.strips {
		if o.gap && across {
			continue
		}
		for n := -1; n <= 1; n++ {
			x, y := s.at+s.size/2+7*n, o.at+o.size/2
			switch {
			case across:
				x, y = y, x
			case o.gap:
				y += 7 * n
			}
			fmt.Fprintf(&l.dots, "M%d %dh0", x, y)
		}
	}
}

// within adds the lines within the strips of r, which run along other.
func (l *lines) within(r, other *ruler, shards, inner grid.Axis, across bool) {
	for _, s := range r.strips {
		places, _ := s.meetings(shards, inner)
		for _, at := range places {
			l.along(at, other, across)
		}
	}
}

// meetings returns the positions where inner chunks meet within a strip that is a shard.
// If they are too close to each other, it returns none, and fine is set.
func (s strip) meetings(shards, inner grid.Axis) (places []int, fine bool) {
	shard, ok := shards.Cell(s.cells.Start)
	if !ok || !s.inside || s.gap || shard.Logical == 0 {
		return nil, false
	}
	first, _, ok := inner.Locate(shard.Start)
	if !ok {
		return nil, false
	}
	// The first inner chunk begins at the edge of the shard, which has a line already.
	for k, before := first+1, s.at; ; k++ {
		c, ok := inner.Cell(k)
		if !ok || c.Start >= shard.Start+shard.Logical {
			return places, false
		}
		at := s.at + int(float64(s.size)*float64(c.Start-shard.Start)/float64(shard.Logical))
		// Lines that close to each other would be a grey area.
		if at < before+finest {
			return nil, true
		}
		places = append(places, at)
		before = at
	}
}

// finest is the smallest distance between fine lines in pixels.
const finest = 4
