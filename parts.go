package zarr

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/publish"
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
func (r *Reservation) check(ctx context.Context, s *state, g *grid.Grid) error {
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
		if err := s.checkPart(ctx, part, cells, written); err != nil {
			return err
		}
	}
	return nil
}

// checkPart looks whether all chunks of a part are stored. Those of one that is not
// written do not count.
func (s *state) checkPart(ctx context.Context, part int, cells grid.Box, written bool) (err error) {
	for index := range cells.Indices() {
		key := s.engine.Key(index)
		found := written
		if written {
			found, err = store.Exists(ctx, s.engine.Store, key)
		}
		if err == nil && !found {
			err = fmt.Errorf("part %d is not written yet: %w", part, fs.ErrNotExist)
		}
		if err != nil {
			return &engine.ChunkError{Key: key.String(), Index: slices.Clone(index), Err: err}
		}
	}
	return nil
}
