// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"strings"

	"varve.dev/zarr/grid"
)

// drawInner draws the boundaries of inner chunks within shards.
func (p *plate) drawInner(k *ink) {
	if !p.hasInner() {
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

// hasInner reports whether the chunks are shards with inner chunks.
func (p *plate) hasInner() bool { return p.inner != nil && p.inner.Rank() == p.grid.Rank() }

// undrawn returns a line about inner chunks that are too small to draw, or "". Without
// it, lines along one axis alone would look as if the inner chunks were strips.
func (p *plate) undrawn() string {
	if !p.hasInner() || p.isEmpty() {
		return ""
	}
	drawn, fine := 0, 0
	count := func(r *ruler, axis int) {
		for _, s := range r.strips {
			if axis < 0 {
				return
			}
			places, tooFine := s.meetings(p.grid.Axis(axis), p.inner.Axis(axis))
			if drawn += len(places); tooFine {
				fine++
			}
		}
	}
	count(&p.rows, p.row)
	count(&p.columns, p.column)
	if fine == 0 {
		return ""
	}
	sizes := make([]string, p.inner.Rank())
	upTo := ""
	for i := range sizes {
		a := p.inner.Axis(i)
		sizes[i] = number(a.Longest(grid.Interval{Stop: a.Cells()}))
		if !a.IsRegular() {
			upTo = "up to "
		}
	}
	text := "inner chunks of " + upTo + strings.Join(sizes, " × ") + ", "
	if drawn > 0 {
		text += "in part "
	}
	return text + "too small to draw"
}
