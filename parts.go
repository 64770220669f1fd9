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

// That something lies under the keys of a part does not say that the part was written: an
// append that died may have left it, or may leave it still. So there is a mark for each
// part, which is stored after its chunks.

// partsDir is the directory, within that of the array, of the marks of all reservations.
const partsDir = own.Dir + "/parts/"

// mark returns the key of the mark of a part.
func (r *Reservation) mark(part int) store.Key {
	id := sha256.Sum256([]byte(r.holder)) // which may be any text
	return r.array.path.MustKey(partsDir + hex.EncodeToString(id[:16]) + "/" + strconv.Itoa(part))
}

// markWritten notes that all chunks of a part are stored.
func (r *Reservation) markWritten(ctx context.Context, part int) error {
	_, err := store.Put(ctx, r.array.hierarchy.store, r.mark(part), []byte("{}"), r.array.options.Durability)
	return err
}

// release removes the marks and ends the reservation. Whoever finds it in between ends
// it, if it was published, or finds no part written: the chunks are gone then as well.
func (r *Reservation) release(ctx context.Context) error {
	err := r.array.batch(ctx, func(ctx context.Context, b store.Batch) error {
		for part := range r.Parts() {
			if err := b.Delete(ctx, r.mark(part)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, store.ErrUnsupported) {
		return err
	}
	return publish.Release(ctx, r.publisher())
}

// check looks whether all parts are written, and all their chunks stored, in the grid
// that the array has with them.
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
		if err := s.CheckPart(ctx, part, cells, written); err != nil {
			return err
		}
	}
	return nil
}
