// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"varve.dev/zarr/grid"
)

// MostVisited is the largest number of chunks that one operation visits one by one. A
// bitmap of them takes 512 MiB, and requests for all of them take days.
const MostVisited = 1 << 32

// Visitable returns [ErrLimit] if a box has more than MostVisited chunks. It is for
// stores that cannot list, where each chunk needs a request.
func Visitable(cells grid.Box) error {
	if n, ok := cells.Len(); ok && n <= MostVisited {
		return nil
	}
	return fmt.Errorf("%w: the store cannot list, and requests for each of %v chunks would take too long", ErrLimit, cells.Shape())
}
