// SPDX-License-Identifier: Apache-2.0

package store

import "context"

// Open returns the value at key, pinned to its present version. If s is not an [Opener],
// every read is a Get that compares versions, and returns [ErrConflict] if the value was
// replaced.
func Open(ctx context.Context, s Store, key Key) (Object, error) {
	if o, ok := As[Opener](s); ok {
		return o.Open(ctx, key)
	}
	info, err := Stat(ctx, s, key)
	if err != nil {
		return nil, err
	}
	return &object{s, key, info}, nil
}

type object struct {
	s    Store
	key  Key
	info Info
}

func (o *object) Info() Info   { return o.info }
func (o *object) Close() error { return nil }

func (o *object) Read(ctx context.Context, q Request, dst []byte) ([]byte, error) {
	out, info, err := o.s.Get(ctx, o.key, q, dst)
	// Get may have read a later version than the one that Stat described.
	if err == nil && !info.Same(o.info) {
		return nil, replaced(o.key)
	}
	return out, err
}
