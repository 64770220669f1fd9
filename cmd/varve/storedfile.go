// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"varve.dev/zarr/store"
)

// isStored reports whether a name of a file is a location such as s3://bucket/p.json.
func isStored(name string) bool {
	return strings.Contains(name, "://") && !strings.HasPrefix(name, "file://")
}

// openStored opens the store of a file at a location, and returns its key.
func openStored(ctx context.Context, location string, access store.Access) (store.Store, store.Key, error) {
	at, query, hasQuery := strings.Cut(location, "?")
	slash := strings.LastIndexByte(at, '/') + 1
	folder := at[:slash]
	if hasQuery {
		folder += "?" + query
	}
	s, dir, err := store.OpenLocation(ctx, folder, access)
	if err != nil {
		return nil, store.Key{}, err
	}
	path, err := dir.Join(at[slash:])
	var key store.Key
	if err == nil {
		key, err = store.ParseKey(path.String())
	}
	if err != nil {
		return nil, key, errors.Join(err, closeFile(s))
	}
	return s, key, nil
}

func closeFile(s store.Store) error {
	if c, ok := store.As[io.Closer](s); ok {
		return c.Close()
	}
	return nil
}

// readStored returns the content of a file at a location, at most so many bytes.
func readStored(ctx context.Context, location string, most int64) ([]byte, error) {
	s, key, err := openStored(ctx, location, store.Read)
	if err != nil {
		return nil, err
	}
	data, _, err := s.Get(ctx, key, store.Request{Limit: most}, nil)
	return data, errors.Join(err, closeFile(s))
}

// writeStored stores a file at a location.
func writeStored(ctx context.Context, location string, data []byte) error {
	s, key, err := openStored(ctx, location, store.Create)
	if err != nil {
		return err
	}
	_, err = store.Put(ctx, s, key, data, store.Sync)
	return errors.Join(err, closeFile(s))
}
