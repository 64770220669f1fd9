// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"

	"varve.dev/zarr/store"
)

// drafting is a [hooked] store with drafts.
type drafting struct{ hooked }

// Draft implements [store.Drafter].
func (s drafting) Draft(ctx context.Context, key store.Key, value []byte, d store.Durability) (made store.Draft, err error) {
	err = s.do(ctx, "Draft", key, func() (err error) {
		made, err = store.MakeDraft(ctx, s.s, key, value, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &draft{made, s.hooked, key}, nil
}

// Revoke implements [store.Drafter].
func (s drafting) Revoke(ctx context.Context, key store.Key, keep store.Draft) error {
	if d, ok := keep.(*draft); ok {
		keep = d.Draft
	}
	return s.do(ctx, "Revoke", key, func() error { return store.RevokeDrafts(ctx, s.s, key, keep) })
}

// draft is a draft whose publication is one step. Discarding it is none: it changes
// nothing that others see.
type draft struct {
	store.Draft
	s   hooked
	key store.Key
}

// Publish implements [store.Draft].
func (d *draft) Publish(ctx context.Context, cond store.Condition) (store.Version, error) {
	return d.s.write(ctx, "Publish", d.key, func() (store.Version, error) { return d.Draft.Publish(ctx, cond) })
}
