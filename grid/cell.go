// SPDX-License-Identifier: Apache-2.0

package grid

// Cell is one position of an axis's grid. All lengths are in elements.
type Cell struct {
	Index   int64 // number of the cell along the axis
	Start   int64 // first element
	Edge    int64 // distance to the start of the next cell
	Logical int64 // elements within the array: Edge clipped at the extent; 0 beyond it
	Encoded int64 // length that the stored bytes decode to
}

// IsBoundary reports whether the cell stores elements that lie outside the array.
func (c Cell) IsBoundary() bool { return c.Logical != c.Encoded }
