// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"context"
	"errors"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/regrid"
)

// recutting returns a request for chunks of another length, or for longer ones if they
// are listed.
func recutting(a *zarr.Array, k int) regrid.Request {
	length := chunkRows + 1 + int64(k%3)
	if !a.Grid().Axis(0).IsRegular() {
		return regrid.Compaction{UpTo: length}
	}
	return regrid.Rechunking{Chunks: regrid.Cuts{grid.Every(length)}}
}

// repacking returns a request for other shards, or for none.
func repacking(a *zarr.Array, k int) regrid.Request {
	inner := regrid.Cuts{grid.Every(innerRows)}
	if !a.Grid().Axis(0).IsRegular() {
		if k%2 == 0 {
			return regrid.Compaction{UpTo: shardRows + int64(k%3)*innerRows}
		}
		return regrid.Rechunking{Inner: inner, IndexAtStart: k%4 == 1}
	}
	switch k % 4 {
	case 0:
		return regrid.Rechunking{Chunks: regrid.Cuts{grid.Every(12)}, Inner: regrid.Cuts{grid.Every(4)}}
	case 1:
		return regrid.Rechunking{Unpack: true}
	case 2:
		return regrid.Rechunking{Chunks: regrid.Cuts{grid.Every(shardRows)}, Inner: inner}
	}
	return regrid.Rechunking{Chunks: regrid.Cuts{grid.Every(16)}, Inner: inner, IndexAtStart: true}
}

// recut re-grids the array. If no keys are free, it removes what is superseded.
func recut(ctx context.Context, a *zarr.Array, request regrid.Request) error {
	for range 2 {
		_, err := regrid.Do(ctx, a, request, nil)
		if !errors.Is(err, regrid.ErrNoKeys) {
			return err
		}
		if _, err := regrid.Vacuum(ctx, a, &regrid.VacuumOptions{Grace: -1}); err != nil {
			return err
		}
	}
	return nil // another program has used the keys that were free
}

// beaten returns nil if other programs were faster: one re-grids the array, or was killed
// while it did, or writers publish all the time.
func beaten(err error) error {
	if errors.Is(err, regrid.ErrClaimed) || errors.Is(err, zarr.ErrConflict) {
		return nil
	}
	return err
}
