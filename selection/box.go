// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"

	"varve.dev/zarr/grid"
)

// Box selects a half-open region. For every axis it has the first element and the one
// after the last, as in Box{{0, 168}, {0, 721}}. Both must lie within the array.
type Box [][2]int64

// boxOf returns the Box that selects the same as r.
func boxOf(r grid.Box) Box {
	b := make(Box, len(r))
	for i, in := range r {
		b[i] = [2]int64{in.Start, in.Stop}
	}
	return b
}

func (b Box) resolve(t *Target) (*Resolved, error) {
	if len(b) != len(t.Shape) {
		return nil, rankError(len(b), len(t.Shape))
	}
	axes := make([]axis, len(b))
	for i, in := range b {
		start, stop := in[0], in[1]
		// Unlike a slice, a box is never clipped: a program that computes it would not
		// notice.
		if start < 0 || stop < start || stop > t.Shape[i] {
			return nil, rangeError(i, t.Shape[i], fmt.Sprintf("elements %d to %d", start, stop))
		}
		axes[i] = axis{start: start, step: 1, count: stop - start}
	}
	return t.ofAxes(axes)
}
