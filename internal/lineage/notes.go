// SPDX-License-Identifier: Apache-2.0

package lineage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// note is the object that begins a grace. Its time of writing counts, by the clock of the
// store. Its content is for stores that know no times.
type note struct {
	At time.Time `json:"at"` // by the clock of the writer
}

// mostNote bounds a note in bytes.
const mostNote = 1 << 12

// BeginGrace stores the note whose time is the beginning of the grace of a superseded
// grid. When the grace is over, a vacuum may delete the grid. BeginGrace keeps a note
// that exists: the grace must not begin again when a crashed rechunk is completed.
func (a Array) BeginGrace(ctx context.Context, r *Record, d store.Durability) error {
	if found, err := store.Exists(ctx, a.Store, a.keyWithSuffix(r, graceSuffix)); found || err != nil {
		return err
	}
	return a.putNote(ctx, a.keyWithSuffix(r, graceSuffix), d)
}

func (a Array) putNote(ctx context.Context, key store.Key, d store.Durability) error {
	data, err := json.Marshal(note{time.Now().UTC()})
	if err != nil {
		return err
	}
	_, err = store.Write(ctx, a.Store, store.Put(key, data), d)
	return err
}

// GraceSince returns the beginning of the grace, by the clock of the store. It is zero if
// [Array.BeginGrace] was not called.
func (a Array) GraceSince(ctx context.Context, r *Record) (time.Time, error) {
	at, err := a.timeOf(ctx, a.keyWithSuffix(r, graceSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	return at, err
}

// timeOf returns when a note was written.
func (a Array) timeOf(ctx context.Context, key store.Key) (time.Time, error) {
	info, err := store.Stat(ctx, a.Store, key)
	if err != nil || !info.Modified.IsZero() {
		return info.Modified, err
	}
	data, _, err := a.Store.Get(ctx, key, store.Request{Limit: mostNote}, nil)
	if err != nil {
		return time.Time{}, err
	}
	var n note
	if err := json.Unmarshal(data, &n); err != nil {
		return time.Time{}, damagedError(key, err)
	}
	return n.At, nil
}

// clockName is the note that asks the store for the time.
const clockName = recordsDir + "/clock"

// StoreTime returns the time by the clock of the store: it stores a note, looks at its
// time, and deletes it. The clock of this machine may be wrong by days, and the times
// of [Array.GraceSince] are not by that clock.
func (a Array) StoreTime(ctx context.Context) (time.Time, error) {
	key := a.Path.MustKey(clockName)
	for {
		if err := a.putNote(ctx, key, store.Flush); err != nil {
			return time.Time{}, err
		}
		at, err := a.timeOf(ctx, key)
		// Another vacuum has deleted the note after it had read its time.
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return time.Time{}, err
		}
		_, err = store.Write(ctx, a.Store, store.Delete(key), store.Sync)
		return at, err
	}
}

// CheckDeletes finds out whether the store deletes values on conditions, by a note of
// its own. If not, the error wraps [store.ErrUnsupported].
func (a Array) CheckDeletes(ctx context.Context) error {
	if !store.Can(a.Store, store.OpDeleteIf) {
		return store.ErrUnsupported
	}
	key := a.Path.MustKey(clockName)
	if err := a.putNote(ctx, key, store.Flush); err != nil {
		return err
	}
	info, err := store.Stat(ctx, a.Store, key)
	if err == nil {
		_, err = store.Write(ctx, a.Store, store.DeleteIf(key, info.Version), store.Sync)
	}
	switch {
	// Another vacuum has written or deleted the note.
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, store.ErrConflict):
		return nil
	case errors.Is(err, store.ErrUnsupported):
		_, failed := store.Write(ctx, a.Store, store.Delete(key), store.Sync)
		return errors.Join(err, failed)
	}
	return err
}

// movedNote tells of the last rechunk that has dropped or inserted a range and whose
// record was removed.
type movedNote struct {
	ID string    `json:"id"`
	At time.Time `json:"at"` // when the record was stored, by the clock of the store
}

func (a Array) movedKey() store.Key { return a.Path.MustKey(recordsDir + "/vacuumed-moves") }

// noteMoved stores the note about a record, before that is removed.
func (a Array) noteMoved(ctx context.Context, r *Record, d store.Durability) error {
	data, err := json.Marshal(movedNote{r.ID, r.info.Modified})
	if err != nil {
		return err
	}
	_, err = store.Write(ctx, a.Store, store.Put(a.movedKey(), data), d)
	return err
}

// readMovedNote returns the note, or nil if there is none.
func (a Array) readMovedNote(ctx context.Context) (*movedNote, error) {
	data, _, err := a.Store.Get(ctx, a.movedKey(), store.Request{Limit: mostNote}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := new(movedNote)
	if err := json.Unmarshal(data, n); err != nil {
		return nil, damagedError(a.movedKey(), err)
	}
	return n, nil
}

// MovedSince returns the ID of the last rechunk that has dropped or inserted a range and
// whose record was removed, if it was published since a time, or else "". The time is by
// the clock of the store.
func (a Array) MovedSince(ctx context.Context, since time.Time) (string, error) {
	n, err := a.readMovedNote(ctx)
	// Without times, it may have been since.
	if n == nil || err != nil || !n.At.IsZero() && n.At.Before(since) {
		return "", err
	}
	return cmp.Or(n.ID, "unknown"), nil
}

// LastMove returns the ID of the last rechunk that has dropped or inserted a range on
// the way to a document, or "".
func (a Array) LastMove(ctx context.Context, now *metadata.Array) (string, error) {
	records, err := a.Records(ctx)
	if err != nil {
		return "", err
	}
	for _, r := range Chain(records, now) {
		if r.Moved {
			return r.ID, nil
		}
	}
	n, err := a.readMovedNote(ctx)
	if n == nil || err != nil {
		return "", err
	}
	return n.ID, nil
}

// vacuumedKey returns the key of the note about the last vacuum that has deleted a
// superseded grid with a key encoding. Its time of writing counts, as for [note].
func (a Array) vacuumedKey(k metadata.KeyEncoding, rank int) store.Key {
	// Without two indices, both separators make the same keys.
	if rank < 2 && k.Name() == metadata.V2Dot.Name() {
		k = metadata.V2Dot
	}
	return a.Path.MustKey(fmt.Sprintf("%s/vacuumed-%d", recordsDir, k))
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
