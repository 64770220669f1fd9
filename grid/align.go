package grid

// Align returns the smallest region of whole chunks that holds the region, clipped to the array. What is empty along
// an axis stays so. A region that does not lie within the array is an error that wraps [ErrOutOfRange].
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
		first, _ := g.axes[i].Cell(in.Start)
		last, _ := g.axes[i].Cell(in.Stop - 1)
		aligned[i] = Interval{first.Start, last.Start + last.Logical}
	}
	return aligned, nil
}
