// SPDX-License-Identifier: Apache-2.0

package draw

import "varve.dev/zarr/grid"

// presence says how many of the chunks of a block are stored.
type presence int

const (
	noneStored presence = iota // none, or unknown because Stored is nil
	someStored
	allStored
	notLookedUp
)

// presence finds out how many chunks of a block are stored. The block includes all chunks
// along axes that are not drawn.
func (d *drawing) presence(rows, columns grid.Interval) presence {
	if d.stored == nil {
		return noneStored
	}
	box := grid.BoxOf(d.grid.Chunks())
	if d.row >= 0 {
		box[d.row] = rows
	}
	if d.column >= 0 {
		box[d.column] = columns
	}
	all, ok := box.Len()
	switch n := d.stored(box); {
	case n < 0:
		return notLookedUp
	case n == 0:
		return noneStored
	// If the number overflows, it cannot be compared: call it some.
	case ok && n == all:
		return allStored
	}
	return someStored
}
