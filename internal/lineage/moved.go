// SPDX-License-Identifier: Apache-2.0

package lineage

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// movedNote tells of the last rechunk that has dropped or inserted a range and whose
// record was removed.
type movedNote struct {
	ID string    `json:"id"`
	At time.Time `json:"at"` // when the record was stored, by the clock of the store
}

func (a Array) movedKey() store.Key { return a.Path.MustKey(dir + "/vacuumed-moves") }

// noteMoved stores the note about a record, before that is removed.
func (a Array) noteMoved(ctx context.Context, r *Record, d store.Durability) error {
	data, err := json.Marshal(movedNote{r.ID, r.info.Modified})
	if err != nil {
		return err
	}
	_, err = store.Put(ctx, a.Store, a.movedKey(), data, d)
	return err
}

// noted returns the note, or nil if there is none.
func (a Array) noted(ctx context.Context) (*movedNote, error) {
	data, _, err := a.Store.Get(ctx, a.movedKey(), store.Request{Limit: mostNote}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := new(movedNote)
	if err := json.Unmarshal(data, n); err != nil {
		return nil, damaged(a.movedKey(), err)
	}
	return n, nil
}

// MovedSince reports whether a range was dropped or inserted since a time, as far as the
// records do not tell it any more. The time is by the clock of the store.
func (a Array) MovedSince(ctx context.Context, since time.Time) (bool, error) {
	n, err := a.noted(ctx)
	if n == nil || err != nil {
		return false, err
	}
	// A store without times leaves it open.
	return n.At.IsZero() || !n.At.Before(since), nil
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
	n, err := a.noted(ctx)
	if n == nil || err != nil {
		return "", err
	}
	return n.ID, nil
}
