package store

import (
	"context"
	"errors"
)

// Copier is the power to copy a value from another store, or from elsewhere in this one,
// without the bytes passing through the program: a server copies them, or the file system
// shares them.
type Copier interface {
	// CopyFrom stores at key the value that from has at source, as Put does, and returns
	// its bytes and its version. A source without a value is [fs.ErrNotExist]. A store
	// that this one cannot copy from is ErrUnsupported, and nothing has changed.
	CopyFrom(ctx context.Context, key Key, from Store, source Key, d Durability) (int64, Version, error)
}

// CopyingBatch is a [Batch] that can also copy. What [Batch] says of its writes holds
// here.
type CopyingBatch interface {
	Batch
	// CopyFrom is that of [Copier].
	CopyFrom(ctx context.Context, key Key, from Store, source Key) (int64, error)
}

// BatchCopy copies as part of b, or fails with [ErrUnsupported]; see [CopyingBatch]. A
// batch of [NewBatch] copies wherever its store can. It returns the bytes of the value.
func BatchCopy(ctx context.Context, b Batch, key Key, from Store, source Key) (int64, error) {
	c, ok := b.(CopyingBatch)
	if !ok {
		return 0, cannot(b, "batch", "copy")
	}
	return c.CopyFrom(ctx, key, from, source)
}

// CopyValue stores at key of s the value that from has at source, by way of memory where
// s is no [Copier] of such a store, and then only if it has at most limit bytes: more are
// [ErrTooLarge]. A limit of 0 is none. It returns the bytes of the value.
func CopyValue(ctx context.Context, s Store, key Key, from Store, source Key, limit int64, d Durability) (int64, Version, error) {
	if c, ok := As[Copier](s); ok {
		n, v, err := c.CopyFrom(ctx, key, from, source, d)
		if !errors.Is(err, ErrUnsupported) {
			return n, v, err
		}
	}
	value, _, err := from.Get(ctx, source, Request{Limit: limit}, nil)
	if err != nil {
		return 0, Version{}, err
	}
	v, err := Put(ctx, s, key, value, d)
	return int64(len(value)), v, err
}

// Placer is a store that can say where it is.
type Placer interface {
	// Place returns where the keys are: a URL without credentials, in which the segments
	// of a key go on behind a slash. Two stores with one place have the same values. It
	// is "" where that is not known.
	Place() string
}

// PlaceOf returns where a store is, "" where it does not say; see [Placer].
func PlaceOf(s Store) string {
	if p, ok := As[Placer](s); ok {
		return p.Place()
	}
	return ""
}
