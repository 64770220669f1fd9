// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"context"
	"time"

	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// Open implements [store.Opener].
func (s *Store) Open(ctx context.Context, key store.Key) (store.Object, error) {
	start := time.Now()
	o, err := store.Open(ctx, s.below, key)
	s.done(ctx, observe.Open, key, 0, start, err)
	if err != nil {
		return nil, err
	}
	return &object{o, s.watch, key}, nil
}

// object is an open value whose reads are observed.
type object struct {
	store.Object
	watch
	key store.Key
}

// Read implements [store.Object].
func (o *object) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, error) {
	start := time.Now()
	out, err := o.Object.Read(ctx, q, dst)
	o.done(ctx, observe.Read, o.key, int64(len(out)-len(dst)), start, err)
	return out, err
}
