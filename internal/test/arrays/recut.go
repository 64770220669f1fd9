// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"context"
	"errors"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
)

// recutting returns a request for chunks of another length, or for longer ones if they
// are listed.
func recutting(a *zarr.Array, k int) rechunk.Request {
	length := chunkRows + 1 + int64(k%3)
	if !a.Grid().Axis(0).IsRegular() {
		return rechunk.Compaction{UpTo: length}
	}
	return rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(length)}}
}

// repacking returns a request for other shards, or for none.
func repacking(a *zarr.Array, k int) rechunk.Request {
	inner := rechunk.Cuts{grid.Every(innerRows)}
	if !a.Grid().Axis(0).IsRegular() {
		if k%2 == 0 {
			return rechunk.Compaction{UpTo: shardRows + int64(k%3)*innerRows}
		}
		return rechunk.Rechunking{Inner: inner, IndexAtStart: k%4 == 1}
	}
	switch k % 4 {
	case 0:
		return rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(12)}, Inner: rechunk.Cuts{grid.Every(4)}}
	case 1:
		return rechunk.Rechunking{Unpack: true}
	case 2:
		return rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(shardRows)}, Inner: inner}
	}
	return rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(16)}, Inner: inner, IndexAtStart: true}
}

// recut rechunks the array. If no keys are free, it removes what is superseded.
func recut(ctx context.Context, a *zarr.Array, request rechunk.Request) error {
	for range 2 {
		_, err := rechunk.Do(ctx, a, request, nil)
		if !errors.Is(err, rechunk.ErrNoKeys) {
			return err
		}
		if _, err := rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
			return err
		}
	}
	return nil // another program has used the keys that were free
}

// beaten returns nil if other programs were faster: one rechunks the array, or was killed
// while it did, or writers publish all the time.
func beaten(err error) error {
	if errors.Is(err, rechunk.ErrClaimed) || errors.Is(err, zarr.ErrConflict) {
		return nil
	}
	return err
}
