// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"context"

	"varve.dev/zarr/store"
)

// Draft implements [store.Drafter].
func (s *Store) Draft(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Draft, error) {
	made, err := store.MakeDraft(ctx, s.below, key, value, d)
	if err != nil {
		return nil, err
	}
	return &draft{made, s, key}, nil
}

// Revoke implements [store.Drafter].
func (s *Store) Revoke(ctx context.Context, key store.Key, keep store.Draft) error {
	if d, ok := keep.(*draft); ok {
		keep = d.Draft
	}
	return store.RevokeDrafts(ctx, s.below, key, keep)
}

// draft is a draft that becomes a value of a cached store.
type draft struct {
	store.Draft
	s   *Store
	key store.Key
}

// Publish implements [store.Draft].
func (d *draft) Publish(ctx context.Context, cond store.Condition) (store.Version, error) {
	defer d.s.wrote(d.key)
	return d.Draft.Publish(ctx, cond)
}

var _ store.Drafter = (*Store)(nil)
