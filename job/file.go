// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"varve.dev/zarr/store"
)

// openFile opens the store of a file at a location, and returns its key.
func openFile(ctx context.Context, location string, access store.Access) (store.Store, store.Key, error) {
	location, path, query := split(location)
	s, dir, err := store.OpenLocation(ctx, location+query, access)
	if err != nil {
		return nil, store.Key{}, err
	}
	path2, err := dir.Join(path)
	var key store.Key
	if err == nil {
		key, err = store.ParseKey(path2.String())
	}
	if err != nil {
		return nil, key, errors.Join(err, closeStore(s))
	}
	return s, key, nil
}

// split splits a location into its folder, the name of the file, and the options that a
// location of an object store may end with.
func split(location string) (folder, name, query string) {
	at := location
	if strings.Contains(location, "://") {
		if i := strings.IndexByte(location, '?'); i >= 0 {
			at, query = location[:i], location[i:]
		}
	} else {
		at = filepath.ToSlash(location)
	}
	slash := strings.LastIndexByte(at, '/') + 1
	if folder = at[:slash]; folder == "" {
		folder = "."
	}
	return folder, at[slash:], query
}

func closeStore(s store.Store) error {
	if c, ok := store.As[io.Closer](s); ok {
		return c.Close()
	}
	return nil
}

// ReadFile reads a file at a path or at a location such as s3://bucket/p.json. If it has
// more than most bytes, the error wraps [store.ErrTooLarge].
func ReadFile(ctx context.Context, location string, most int64) ([]byte, error) {
	s, key, err := openFile(ctx, location, store.Read)
	if err != nil {
		return nil, err
	}
	data, _, err := s.Get(ctx, key, store.Request{Limit: most}, nil)
	return data, errors.Join(err, closeStore(s))
}

// WriteFile stores a file at a path or at a location such as s3://bucket/p.json. Readers
// see the old file or the new one.
func WriteFile(ctx context.Context, location string, data []byte) error {
	s, key, err := openFile(ctx, location, store.Create)
	if err != nil {
		return err
	}
	_, err = store.Put(ctx, s, key, data, store.Sync)
	return errors.Join(err, closeStore(s))
}
