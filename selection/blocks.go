// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"

	"varve.dev/zarr/grid"
)

// Blocks selects whole chunks by their position in the chunk grid. There is an index or a
// slice for every axis, counted in chunks. An index keeps its axis, because a chunk has
// many elements. Axes without an item are selected whole. In a sharded array the chunks
// are the shards or, with Inner, the inner chunks of all shards.
type Blocks struct {
	Items []Item
	Inner bool
}

func (b Blocks) resolve(t *Target) (*Resolved, error) {
	of := t.Grid
	if b.Inner {
		of = t.Inner
	}
	if of == nil {
		return nil, fmt.Errorf("%w: the array has no chunks of the kind that blocks select (Inner: %t)", ErrInvalid, b.Inner)
	}
	g, err := of()
	if err != nil {
		return nil, err
	}
	items, err := expand(b.Items, len(t.Shape))
	if err != nil {
		return nil, fmt.Errorf("%w (of blocks)", err)
	}
	axes := make([]axis, len(t.Shape))
	for i, item := range items {
		if axes[i], err = item.bindBlocks(i, g.Axis(i)); err != nil {
			return nil, err
		}
	}
	return t.ofAxes(axes)
}

// bindBlocks returns the elements of the chunks that the item selects along axis number
// n.
func (i Item) bindBlocks(n int, a grid.Axis) (axis, error) {
	var blocks axis
	switch i.kind {
	case itemIndex:
		at, ok := inRange(i.start, a.Chunks())
		if !ok {
			return axis{}, blockError(n, a, fmt.Sprintf("block %d", i.start))
		}
		// Unlike an index of elements, an index of a chunk keeps its axis.
		blocks = axis{start: at, count: 1}
	case itemList, itemMask:
		return axis{}, blockError(n, a, "a list")
	case itemSlice:
		if i.step != 1 {
			return axis{}, blockError(n, a, fmt.Sprintf("a slice of blocks with step %d (only 1 keeps them in one piece)", i.step))
		}
		fallthrough
	default:
		var err error
		if blocks, err = i.bind(n, a.Chunks()); err != nil {
			return axis{}, err
		}
	}
	// There is no first chunk to begin with.
	if blocks.count == 0 {
		return axis{step: 1}, nil
	}
	first, _ := a.Cell(blocks.start)
	last, _ := a.Cell(blocks.start + blocks.count - 1)
	return axis{start: first.Start, step: 1, count: last.Start + last.Logical - first.Start}, nil
}

func blockError(i int, a grid.Axis, what string) error {
	return &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: %s of an axis of %d blocks", ErrInvalid, what, a.Chunks())}
}
