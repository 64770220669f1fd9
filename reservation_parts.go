// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// A chunk under a key of a part does not prove that the part was written. A crashed
// append may have left it there, or a slow one may still store it. So every part has a
// mark, which is stored after its chunks.

// partsDir is the directory, below that of the array, of the marks of all reservations.
const partsDir = own.Dir + "/parts/"

// mark returns the key of the mark of a part.
func (r *Reservation) mark(part int) store.Key {
	id := sha256.Sum256([]byte(r.holder)) // a holder may have characters that a key cannot have
	return r.array.path.MustKey(partsDir + hex.EncodeToString(id[:16]) + "/" + strconv.Itoa(part))
}

// markWritten stores the mark of a part.
func (r *Reservation) markWritten(ctx context.Context, part int) error {
	_, err := store.Put(ctx, r.array.hierarchy.store, r.mark(part), []byte("{}"), r.array.options.Durability)
	return err
}

// check returns an error unless all parts are marked as written and all their chunks are
// stored, in the grid that the array will have.
func (r *Reservation) check(ctx context.Context, s *snapshot.Array, g *grid.Grid) error {
	region := r.region(s)
	end := &region[r.note.Axis]
	end.Stop = end.Start
	for part, n := range r.note.Lengths {
		end.Start, end.Stop = end.Stop, end.Stop+n
		written, err := store.Exists(ctx, r.array.hierarchy.store, r.mark(part))
		if err != nil {
			return err
		}
		cells, err := g.Touched(region)
		if err != nil {
			return err
		}
		// A mark alone is not enough: another program may have deleted a chunk since.
		if err := s.CheckPart(ctx, part, cells, written); err != nil {
			return err
		}
	}
	return nil
}

// release removes the marks and ends the reservation. After a crash in between, another
// process finds the reservation without marks. If it was published, that process ends it.
// If it was cancelled, its chunks are deleted too, so that no part counts as written.
func (r *Reservation) release(ctx context.Context) error {
	err := r.array.batch(ctx, func(ctx context.Context, b store.Batch) error {
		for part := range r.Parts() {
			if err := b.Delete(ctx, r.mark(part)); err != nil {
				return err
			}
		}
		return nil
	})
	// A store that cannot delete keeps the marks. They name this holder, so no other
	// reservation reads them.
	if err != nil && !errors.Is(err, store.ErrUnsupported) {
		return err
	}
	return publish.Release(ctx, r.publisher())
}

// endPublished ends a reservation that is published but not ended, because its writer
// crashed in between. It reports whether there was one. If holder is not "", only that
// reservation counts.
func (a *Array) endPublished(ctx context.Context, holder string) (bool, error) {
	r, err := a.reservation(ctx)
	if err != nil || r == nil || holder != "" && r.holder != holder {
		return false, err
	}
	// Read the document after the holder. An older document, from before this
	// reservation, could look as if the reservation were published.
	s, err := a.reload(ctx, a.state.Load())
	if err != nil || s.Grid.Axis(r.note.Axis).Extent() != r.region(s)[r.note.Axis].Stop {
		return false, err
	}
	return true, r.release(ctx)
}
