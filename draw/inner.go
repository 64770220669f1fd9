// SPDX-License-Identifier: Apache-2.0

package draw

import "varve.dev/zarr/grid"

// finest is the smallest distance between fine lines in pixels.
const finest = 4

// drawInner draws the boundaries of inner chunks within shards.
func (p *plate) drawInner(k *ink) {
	if p.inner == nil || p.inner.Rank() != p.grid.Rank() {
		return
	}
	var l lines
	if p.column >= 0 {
		l.within(&p.columns, &p.rows, p.grid.Axis(p.column), p.inner.Axis(p.column), false)
	}
	if p.row >= 0 {
		l.within(&p.rows, &p.columns, p.grid.Axis(p.row), p.inner.Axis(p.row), true)
	}
	k.path(l.light.String(), ` stroke-width=".4"`)
}

// within adds the lines within the strips of r, which run along other.
func (l *lines) within(r, other *ruler, shards, inner grid.Axis, across bool) {
	for _, s := range r.strips {
		for _, at := range s.meetings(shards, inner) {
			l.along(at, other, across)
		}
	}
}

// meetings returns the positions where inner chunks meet within a strip that is a shard.
// It returns nil if they are too close to each other.
func (s strip) meetings(shards, inner grid.Axis) []int {
	shard, ok := shards.Cell(s.cells.Start)
	if !ok || !s.inside || s.gap || shard.Logical == 0 {
		return nil
	}
	first, _, ok := inner.Locate(shard.Start)
	if !ok {
		return nil
	}
	var places []int
	for k, before := first+1, s.at; ; k++ {
		c, ok := inner.Cell(k)
		if !ok || c.Start >= shard.Start+shard.Logical {
			return places
		}
		at := s.at + int(float64(s.size)*float64(c.Start-shard.Start)/float64(shard.Logical))
		// Lines that close to each other would be a grey area.
		if at < before+finest {
			return nil
		}
		places = append(places, at)
		before = at
	}
}
