// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"
	"slices"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/subset"
)

// Mask selects the elements for which an array of booleans is true. The booleans have the
// shape of the array and are in C order; they are not copied. The result has one axis.
type Mask struct {
	Shape []int64
	Data  []bool
}

func (m Mask) resolve(t *Target) (*Resolved, error) {
	if !slices.Equal(m.Shape, t.Shape) {
		return nil, fmt.Errorf("%w: a mask of shape %d, the array has %d", ErrInvalid, m.Shape, t.Shape)
	}
	n, ok := checked.Product(m.Shape...)
	if !ok || n != int64(len(m.Data)) {
		return nil, fmt.Errorf("%w: a mask of %s does not have the shape %d", ErrInvalid, quantity.Count(len(m.Data), "booleans"), m.Shape)
	}
	return (*Resolved)(subset.OfMask(m.Shape, m.Data)), nil
}
