// SPDX-License-Identifier: Apache-2.0

package selection

import "fmt"

// Basic selects along every axis as NumPy's basic indexing does: with indices, slices
// with steps and an ellipsis, one item per axis. Negative numbers count from the end,
// slices are clipped at the extent, and axes without an item are selected whole. A slice
// with a negative step goes backwards, from the last element if its start is open.
type Basic []Item

func (b Basic) resolve(t *Target) (*Resolved, error) {
	for i, item := range b {
		if item.kind == itemList || item.kind == itemMask {
			return nil, fmt.Errorf("%w: item %d is a list or a mask: use Orthogonal, or Points to combine lists element by element", ErrInvalid, i)
		}
	}
	return Orthogonal(b).resolve(t)
}
