package engine

import (
	"fmt"

	"varve.dev/zarr/grid"
)

// MostVisited is the most chunks that one operation visits one by one. Which of them are
// missing takes a bit each, and to ask a store for as many takes days.
const MostVisited = 1 << 32

// Visitable refuses to visit all chunks of a box of a grid where they are more than that:
// a store that cannot list has to be asked for each.
func Visitable(cells grid.Box) error {
	if n, ok := cells.Len(); ok && n <= MostVisited {
		return nil
	}
	return fmt.Errorf("%w: the store cannot list what is stored, and to ask for each of %v chunks takes too long", ErrLimit, cells.Shape())
}
