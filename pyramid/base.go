// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"context"
	"fmt"

	"varve.dev/zarr"
)

// Base returns the array of a group whose pyramid can be made: that of the first image in
// the metadata of OME-Zarr, or the only array directly below the group. If there is none,
// the error wraps [zarr.ErrInvalidArgument].
func Base(ctx context.Context, g *zarr.Group) (*zarr.Array, error) {
	list, err := descriptions(g.Attributes(), g.Format())
	if err != nil {
		return nil, fmt.Errorf("pyramid: %s: %w", g, err)
	}
	if len(list) > 0 && list[0].pathOfBase() != "" {
		return g.At(list[0].pathOfBase()).OpenArray(ctx, nil)
	}
	path := ""
	for m, err := range g.Members(ctx, false) {
		if err != nil {
			return nil, err
		}
		if _, ok := m.Node.(*zarr.Array); !ok {
			continue
		}
		if path != "" {
			return nil, errWhich(g, "several arrays")
		}
		path = m.Path
	}
	if path == "" {
		return nil, errWhich(g, "no array")
	}
	return g.At(path).OpenArray(ctx, nil)
}

func errWhich(g *zarr.Group, what string) error {
	return fmt.Errorf("pyramid: %w: %s has %s and no metadata of an image; name the array", zarr.ErrInvalidArgument, g, what)
}
