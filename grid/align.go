// SPDX-License-Identifier: Apache-2.0

package grid

// Align returns the smallest box of whole chunks that contains region, clipped to the
// array. Along an axis where region is empty the interval stays as it is. Align returns
// an error that wraps [ErrOutOfRange] if region does not lie within the array.
func (g *Grid) Align(region Box) (Box, error) {
	chunks, err := g.Touched(region)
	if err != nil {
		return nil, err
	}
	aligned := append(Box{}, region...)
	for i, in := range chunks {
		if in.Len() == 0 {
			continue
		}
		// From the start of the first chunk to the end of the last one within the array.
		first, _ := g.axes[i].Cell(in.Start)
		last, _ := g.axes[i].Cell(in.Stop - 1)
		aligned[i] = Interval{first.Start, last.Start + last.Logical}
	}
	return aligned, nil
}
