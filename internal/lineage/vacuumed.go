// SPDX-License-Identifier: Apache-2.0

package lineage

import (
	"context"
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
