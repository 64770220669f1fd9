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
	return ReadVersion(ctx, o.s, o.key, o.info, q, dst)
}

// VersionReader is a store that needs less for a read if it knows the version. A cache
// need not ask whether its copy of that version is still the present one. A wrapper can
// have this method even if the store below lacks it: see [ReadVersion].
type VersionReader interface {
	// ReadVersion is Get of the version that info describes, which the store had at some
	// time. If it has another one now, the error is ErrConflict; after a deletion it may
	// be [fs.ErrNotExist].
	ReadVersion(ctx context.Context, key Key, info Info, q Request, dst []byte) ([]byte, error)
}

// ReadVersion appends the bytes that q selects of one version of a value; see
// [VersionReader]. If s is none, it reads the value and compares the version.
func ReadVersion(ctx context.Context, s Store, key Key, info Info, q Request, dst []byte) ([]byte, error) {
	if g, ok := s.(VersionReader); ok {
		return g.ReadVersion(ctx, key, info, q, dst)
	}
	out, now, err := s.Get(ctx, key, q, dst)
	if err == nil && !now.Same(info) {
		return nil, replaced(key)
	}
	return out, err
}
