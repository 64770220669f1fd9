// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"fmt"
	"slices"
)

// Unlocked returns the axis with listed edges that store its chunks as they are now. A
// regular axis gets one edge per chunk and at least one; the last one reaches beyond the
// extent if its chunk does. A trimmed axis gets edges that end at the extent. An axis
// with listed edges stays as it is. If the edges sum to more than an int64 holds, the
// error wraps [ErrOverflow].
func (a Axis) Unlocked() (Axis, error) {
	if a.edges != nil {
		return a, nil
	}
	// A list needs at least one edge, even for an axis without elements.
	runs := []Run{{a.step, max(1, a.chunks)}}
	if a.IsTrimmed() && a.extent > 0 {
		runs = a.Sizes()
	}
	e, err := newEdges(ofRuns(runs))
	if err != nil {
		return Axis{}, err
	}
	b, err := boundAxis(a.extent, e)
	// The edges of a trimmed axis end at the extent now, so they are also the encoded
	// lengths.
	if !a.IsTrimmed() {
		b.stored = a.stored
	}
	return b, err
}

// Unlocked returns the rectilinear grid that stores the same chunks with listed edges
// along the given axes, or along all axes if none is given. These axes no longer follow
// the extent: growth adds edges to them. Other axes keep their step. A bounded grid
// ([BoundedName]) is always unlocked as a whole, because no other grid has trimmed axes.
// If an axis does not exist, the error wraps [ErrOutOfRange].
func (g *Grid) Unlocked(axes ...int) (*Grid, error) {
	for _, i := range axes {
		if i < 0 || i >= len(g.axes) {
			return nil, fmt.Errorf("%w: axis %d of a grid with %d axes", ErrOutOfRange, i, len(g.axes))
		}
	}
	unlocked := slices.Clone(g.axes)
	for i, a := range g.axes {
		if len(axes) > 0 && g.name != BoundedName && !slices.Contains(axes, i) {
			continue
		}
		var err error
		if unlocked[i], err = a.Unlocked(); err != nil {
			return nil, onAxis(i, err)
		}
	}
	return ofAxes(RectilinearName, unlocked)
}
