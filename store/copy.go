// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
)

// Copier copies a value from another store, or within this one, without moving the bytes
// through the program: a server copies them, or the file system shares them.
type Copier interface {
	// CopyFrom copies the value at source of the store from to key, as Put does. It
	// returns the size in bytes and the new version. If source has no value, the error
	// is [fs.ErrNotExist]. If this store cannot copy from that one, the error is
	// ErrUnsupported, and nothing has changed.
	CopyFrom(ctx context.Context, key Key, from Store, source Key, d Durability) (int64, Version, error)
}

// CopyingBatch is a [Batch] that can also copy. A copy becomes visible and durable as a
// Put of the batch does.
type CopyingBatch interface {
	Batch
	// CopyFrom is that of [Copier].
	CopyFrom(ctx context.Context, key Key, from Store, source Key) (int64, error)
}

// BatchCopy copies a value as part of b and returns its size in bytes. If b is not a
// [CopyingBatch], the error is [ErrUnsupported]. A batch made by [NewBatch] copies if its
// store is a [Copier].
func BatchCopy(ctx context.Context, b Batch, key Key, from Store, source Key) (int64, error) {
	c, ok := b.(CopyingBatch)
	if !ok {
		return 0, cannot(b, "batch", "copy")
	}
	return c.CopyFrom(ctx, key, from, source)
}

// CopyValue copies the value at source of the store from to key of s. It returns the size
// in bytes and the new version.
//
// If s is not a [Copier], or cannot copy from that store, CopyValue reads the value
// into memory. Then the error for a value of more than limit bytes is [ErrTooLarge]. A
// limit of 0 means no limit.
func CopyValue(ctx context.Context, s Store, key Key, from Store, source Key, limit int64, d Durability) (int64, Version, error) {
	if c, ok := As[Copier](s); ok {
		n, v, err := c.CopyFrom(ctx, key, from, source, d)
		// A Copier refuses stores of another kind before it changes anything.
		if !errors.Is(err, ErrUnsupported) {
			return n, v, err
		}
	}
	// No Copier can do it, so the bytes pass through this program.
	value, _, err := from.Get(ctx, source, Request{Limit: limit}, nil)
	if err != nil {
		return 0, Version{}, err
	}
	v, err := Put(ctx, s, key, value, d)
	return int64(len(value)), v, err
}

// Placer is a store that has a place, such as a folder or a URL.
type Placer interface {
	// Place returns a URL without credentials. The URL of a key is the place, a slash and
	// the key. Two stores with the same place have the same values. If the place is not
	// known, Place returns "".
	Place() string
}

// PlaceOf returns the place of s, or "" if s is not a [Placer].
func PlaceOf(s Store) string {
	if p, ok := As[Placer](s); ok {
		return p.Place()
	}
	return ""
}
