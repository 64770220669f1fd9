// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"varve.dev/zarr/grid"
)

// MostVisited is how many chunks one operation visits one by one, at most. A bitmap of
// them takes 512 MiB, and asking a store for each takes days.
const MostVisited = 1 << 32

// Visitable returns [ErrLimit] if a box has more than MostVisited chunks. A store that
// cannot list has to be asked for each.
func Visitable(cells grid.Box) error {
	if n, ok := cells.Len(); ok && n <= MostVisited {
		return nil
	}
	return fmt.Errorf("%w: the store cannot list what is stored, and to ask for each of %v chunks takes too long", ErrLimit, cells.Shape())
}
