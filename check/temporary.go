// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// Temporary lists the temporary files at and below a node. Each belongs to a write in
// progress or to a crashed writer. Only local stores have any.
func Temporary(ctx context.Context, n zarr.Node) ([]filestore.Temporary, error) {
	s, ok := store.Driver(n.Location().Store()).(*filestore.Store)
	if !ok {
		return nil, nil
	}
	dir, err := store.ParsePath(n.Path())
	if err != nil {
		return nil, err
	}
	var found []filestore.Temporary
	for t, err := range s.Temporary(ctx, dir) {
		if err != nil {
			return nil, err
		}
		found = append(found, t)
	}
	return found, nil
}
