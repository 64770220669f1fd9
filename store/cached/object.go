// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"context"

	"varve.dev/zarr/store"
)

// Open implements [store.Opener].
func (s *Store) Open(ctx context.Context, key store.Key) (store.Object, error) {
	o, err := store.Open(ctx, s.below, key)
	if err != nil || !s.keeps(key) || o.Info().Version.IsZero() {
		return o, err
	}
	return &object{o, s, key}, nil
}

// object is an open value.
type object struct {
	store.Object
	s   *Store
	key store.Key
}

// Read implements [store.Object].
func (o *object) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return o.s.read(ctx, o.key, o.Info(), o.Object, q, dst)
}
