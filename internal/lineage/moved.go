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

// movedNote tells of the last re-gridding that has dropped or inserted a range and whose
// record was removed.
type movedNote struct {
	ID string `json:"id"`
	// At is when the record was stored. A driver of a service converts the times of that
	// to the clock of its machine, and then it is by the clock of the writer.
	At time.Time `json:"at"`
	// Noted is when the note was written, by the clock of the writer.
	Noted time.Time `json:"noted,omitzero"`

	info store.Info
}

// stored returns when the record was stored, by the clock of the store, as
// [store.Info.Modified] tells it here. exact says that the store has only one clock.
func (n *movedNote) stored(exact bool) time.Time {
	if exact || n.Noted.IsZero() || n.info.Modified.IsZero() {
		return n.At
	}
	// The clocks of two machines may differ, but the age of the record does not.
	return n.info.Modified.Add(n.At.Sub(n.Noted))
}

func (a Array) movedKey() store.Key { return a.Path.MustKey(dir + "/vacuumed-moves") }

// noteMoved stores the note about a record, before that is removed.
func (a Array) noteMoved(ctx context.Context, r *Record, d store.Durability) error {
	data, err := json.Marshal(movedNote{ID: r.ID, At: r.info.Modified, Noted: time.Now().UTC()})
	if err != nil {
		return err
	}
	_, err = store.Put(ctx, a.Store, a.movedKey(), data, d)
	return err
}

// noted returns the note, or nil if there is none.
func (a Array) noted(ctx context.Context) (*movedNote, error) {
	data, info, err := a.Store.Get(ctx, a.movedKey(), store.Request{Limit: mostNote}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := &movedNote{info: info}
	if err := json.Unmarshal(data, n); err != nil {
		return nil, damaged(a.movedKey(), err)
	}
	return n, nil
}

// MovedSince reports whether a range was dropped or inserted since a time, as far as the
// records do not tell it any more. The time is by the clock of the store, and exact says
// that this is the only one.
func (a Array) MovedSince(ctx context.Context, since time.Time, exact bool) (bool, error) {
	n, err := a.noted(ctx)
	if n == nil || err != nil {
		return false, err
	}
	// A store without times leaves it open.
	return n.At.IsZero() || !n.stored(exact).Before(since), nil
}

// LastMove returns the ID of the last re-gridding that has dropped or inserted a range on
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
