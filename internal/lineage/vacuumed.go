// SPDX-License-Identifier: Apache-2.0

package lineage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// vacuumedKey returns the key of the note about the last vacuum that has deleted a
// superseded grid with a key encoding. Its time of writing counts, as for [note].
func (a Array) vacuumedKey(k metadata.KeyEncoding, rank int) store.Key {
	// Without two indices, both separators make the same keys.
	if rank < 2 && k.Name() == metadata.V2Dot.Name() {
		k = metadata.V2Dot
	}
	return a.Path.MustKey(fmt.Sprintf("%s/vacuumed-%d", dir, k))
}

// NoteVacuum notes that a superseded grid with a key encoding is about to be deleted. A
// later grid may then have its keys and edges, and the records are deleted as well. A
// writer that was stopped meanwhile could not tell the two grids apart.
func (a Array) NoteVacuum(ctx context.Context, k metadata.KeyEncoding, rank int, d store.Durability) error {
	return a.putNote(ctx, a.vacuumedKey(k, rank), d)
}

// Vacuumed reports whether a superseded grid with a key encoding may have been deleted
// since a time.
func (a Array) Vacuumed(ctx context.Context, k metadata.KeyEncoding, rank int, since time.Time) (bool, error) {
	at, err := a.timeOf(ctx, a.vacuumedKey(k, rank))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && !at.Before(since), err
}

// movedKey returns the key of the note about ranges that were dropped or inserted and of
// which no record is left.
func (a Array) movedKey() store.Key { return a.Path.MustKey(dir + "/vacuumed-moves") }

// noteMoved stores that note before a record is removed. A state that is older than the
// record may number elements otherwise than the present one.
func (a Array) noteMoved(ctx context.Context, r *Record, d store.Durability) error {
	data, err := json.Marshal(note{r.info.Modified})
	if err != nil {
		return err
	}
	_, err = store.Put(ctx, a.Store, a.movedKey(), data, d)
	return err
}

// MovedSince reports whether a range was dropped or inserted since a time, as far as the
// records do not tell it any more. The time is by the clock of the store.
func (a Array) MovedSince(ctx context.Context, since time.Time) (bool, error) {
	data, _, err := a.Store.Get(ctx, a.movedKey(), store.Request{Limit: mostNote}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var last note
	if err := json.Unmarshal(data, &last); err != nil {
		return false, damaged(a.movedKey(), err)
	}
	// A store without times leaves it open.
	return last.At.IsZero() || !last.At.Before(since), nil
}
