// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"context"
	"time"

	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// Draft implements [store.Drafter]. It is observed when it is published.
func (s *Store) Draft(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Draft, error) {
	start := time.Now()
	made, err := store.MakeDraft(ctx, s.below, key, value, d)
	if err != nil {
		s.tried(ctx, observe.PutIf, key, int64(len(value)), start, err)
		return nil, err
	}
	return &draft{made, s.watch, key, int64(len(value))}, nil
}

// Revoke implements [store.Drafter].
func (s *Store) Revoke(ctx context.Context, key store.Key, keep store.Draft) error {
	if d, ok := keep.(*draft); ok {
		keep = d.Draft
	}
	return store.RevokeDrafts(ctx, s.below, key, keep)
}

// draft is a draft whose publication is observed as a write on a condition.
type draft struct {
	store.Draft
	watch
	key  store.Key
	size int64
}

// Publish implements [store.Draft].
func (d *draft) Publish(ctx context.Context, cond store.Condition) (store.Version, error) {
	start := time.Now()
	v, err := d.Draft.Publish(ctx, cond)
	d.done(ctx, observe.PutIf, d.key, d.size, start, err)
	return v, err
}

var _ store.Drafter = (*Store)(nil)
