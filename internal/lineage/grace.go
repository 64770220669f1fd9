// SPDX-License-Identifier: Apache-2.0

package lineage

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

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
// grid: the time after which nobody should read it any more is counted from then on. It
// keeps one that exists.
func (a Array) BeginGrace(ctx context.Context, r *Record, d store.Durability) error {
	if found, err := store.Exists(ctx, a.Store, a.beside(r, since)); found || err != nil {
		return err
	}
	return a.putNote(ctx, a.beside(r, since), d)
}

func (a Array) putNote(ctx context.Context, key store.Key, d store.Durability) error {
	data, err := json.Marshal(note{time.Now().UTC()})
	if err != nil {
		return err
	}
	_, err = store.Put(ctx, a.Store, key, data, d)
	return err
}

// GraceSince returns the beginning of the grace, by the clock of the store. It is zero if
// [Array.BeginGrace] was not called.
func (a Array) GraceSince(ctx context.Context, r *Record) (time.Time, error) {
	at, err := a.timeOf(ctx, a.beside(r, since))
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
		return time.Time{}, damaged(key, err)
	}
	return n.At, nil
}

// clockName is the note that asks the store for the time.
const clockName = dir + "/clock"

// Now returns the time by the clock of the store: it stores a note, looks at its time,
// and deletes it. The clock of this machine may be wrong by days, and the times of
// [Array.GraceSince] are not by that clock.
func (a Array) Now(ctx context.Context) (time.Time, error) {
	key := a.Path.MustKey(clockName)
	for {
		if err := a.putNote(ctx, key, store.Flush); err != nil {
			return time.Time{}, err
		}
		at, err := a.timeOf(ctx, key)
		// Another vacuum has deleted the note.
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return time.Time{}, err
		}
		return at, store.Delete(ctx, a.Store, key)
	}
}

// Deletes finds out whether the store deletes values on conditions, by a note of its own.
// If not, the error wraps [store.ErrUnsupported].
func (a Array) Deletes(ctx context.Context) error {
	if _, ok := store.As[store.ConditionalDeleter](a.Store); !ok {
		return store.ErrUnsupported
	}
	key := a.Path.MustKey(clockName)
	if err := a.putNote(ctx, key, store.Flush); err != nil {
		return err
	}
	info, err := store.Stat(ctx, a.Store, key)
	if err == nil {
		err = store.DeleteIf(ctx, a.Store, key, info.Version)
	}
	switch {
	// Another vacuum has written or deleted the note.
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, store.ErrConflict):
		return nil
	case errors.Is(err, store.ErrUnsupported):
		return errors.Join(err, store.Delete(ctx, a.Store, key))
	}
	return err
}
