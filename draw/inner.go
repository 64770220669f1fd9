// SPDX-License-Identifier: Apache-2.0

package draw

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
