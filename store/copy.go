// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// Cloner gives the value of one key to another key of the same store, at less cost than a
// copy where it can: the values then share their bytes.
//
// It is for keys of one array, whose writers all use a store like this one. A program
// that changes the bytes of a value in place may change its clones too; no driver of this
// module does so. A file store may make hard links. Then a clone, and later every write
// or deletion of one of the names, gives the other names new versions, although their
// bytes stay. So a version that was read before may be out of date, and a conditional
// write fails with ErrConflict; read the version again. A hard link also keeps the
// modification time of its source, which web servers report as Last-Modified.
type Cloner interface {
	// Clone stores the value at source at key as well. It replaces the value of key in
	// one step, as Put does. The source must be of version from; a zero from permits any.
	//
	// Clone returns ErrConflict if the source is not of that version, or changes while it
	// is cloned. If from is zero and there is no source, the error is [fs.ErrNotExist].
	// Then nothing has changed. After any other error, key has its old value or the new
	// one. A clone has a value of its own: later writes of one key do not change the
	// other.
	Clone(ctx context.Context, key, source Key, from Version, d Durability) (Cloned, error)
}

// Cloned describes a clone.
type Cloned struct {
	// Version is the version of the new value, and Source that of its source after the
	// operation, which may differ from that before. Either is zero if the store does not
	// know it, or if a concurrent writer has replaced the value.
	Version, Source Version
	Size            int64 // of the value, in bytes
	Moved           int64 // bytes that were copied: 0 if the values share them, else Size
}

// CloningBatch is a [Batch] that can also clone. A clone becomes visible and durable as a
// Put of the batch does.
type CloningBatch interface {
	Batch
	// Clone is that of [Cloner].
	Clone(ctx context.Context, key, source Key, from Version) (Cloned, error)
}

// Clone stores the value at source, which must be of version from, at key as well; see
// [Cloner].
//
// If s is not a Cloner but a [Copier], s copies the value. Then a concurrent writer of
// source may be noticed only after the copy: the error is ErrConflict, and key may have
// the new value of source. Other stores read the value into memory and write it. Then the
// error for a value of more than limit bytes is [ErrTooLarge]. A limit of 0 means no
// limit.
func Clone(ctx context.Context, s Store, key, source Key, from Version, limit int64, d Durability) (Cloned, error) {
	if c, ok := As[Cloner](s); ok {
		return c.Clone(ctx, key, source, from, d)
	}
	// A copy to itself would look like the write of another writer.
	if c, ok := As[Copier](s); ok && key != source {
		made, err := cloneByCopy(ctx, s, c, key, source, from, d)
		if !errors.Is(err, ErrUnsupported) {
			return made, err
		}
	}
	if _, ok := As[Writer](s); !ok {
		return Cloned{}, unsupported(s, "write")
	}
	var v Version
	value, made, err := cloned(ctx, s, source, from, limit)
	if err == nil {
		v, err = Put(ctx, s, key, value, d)
	}
	if err != nil {
		return Cloned{}, err
	}
	if made.Version = v; key == source {
		made.Source = v
	}
	return made, nil
}

// cloneByCopy lets the store copy the value, and compares the version of the source
// before and after.
func cloneByCopy(ctx context.Context, s Store, c Copier, key, source Key, from Version, d Durability) (Cloned, error) {
	before, err := Stat(ctx, s, source)
	if err := isFrom(source, from, before, err); err != nil {
		return Cloned{}, err
	}
	n, v, err := c.CopyFrom(ctx, key, s, source, d)
	if err := isFrom(source, before.Version, before, err); err != nil {
		return Cloned{}, err
	}
	// A concurrent writer may have replaced or deleted the source before it was copied.
	after, err := Stat(ctx, s, source)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !after.Same(before) {
		err = replaced(source)
	}
	if err != nil {
		return Cloned{}, err
	}
	return Cloned{Version: v, Source: after.Version, Size: n, Moved: n}, nil
}

// cloned reads the value at source, which must be of version from, and returns what a
// clone of it will be, without the new version.
func cloned(ctx context.Context, s Store, source Key, from Version, limit int64) ([]byte, Cloned, error) {
	value, info, err := s.Get(ctx, source, Request{Limit: limit}, nil)
	if err := isFrom(source, from, info, err); err != nil {
		return nil, Cloned{}, err
	}
	return value, Cloned{Source: info.Version, Size: info.Size, Moved: info.Size}, nil
}

// isFrom returns [ErrConflict] if a value that was read as info, or could not be read for
// err, is not of version from. A zero from permits any. It returns other errors as they
// are.
func isFrom(key Key, from Version, info Info, err error) error {
	switch {
	case from.IsZero():
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s was deleted", ErrConflict, key)
	case err == nil && info.Version != from:
		return replaced(key)
	}
	return err
}

// BatchClone clones a value as part of b; see [Cloner]. If b is not a [CloningBatch], the
// error is [ErrUnsupported]. A batch made by [NewBatch] always is one. If neither it nor
// its store has the power, it reads the whole value into memory.
func BatchClone(ctx context.Context, b Batch, key, source Key, from Version) (Cloned, error) {
	c, ok := b.(CloningBatch)
	if !ok {
		return Cloned{}, cannot(b, "batch", "clone")
	}
	return c.Clone(ctx, key, source, from)
}
