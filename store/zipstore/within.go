// SPDX-License-Identifier: Apache-2.0

package zipstore

import (
	"context"
	"errors"
	"io"
	"strings"

	"varve.dev/zarr/store"
)

// OpenWithin opens an archive in a store of objects, and the path rel of a node in it. It
// is for drivers: open opens the store of the folder that has the archive.
func OpenWithin(
	ctx context.Context, archive, rel string, open func(folder string) (store.Store, error),
) (store.Store, store.Path, error) {
	at, err := store.ParsePath(rel)
	if err != nil {
		return nil, store.Path{}, err
	}
	i := strings.LastIndexByte(archive, '/')
	key, err := store.ParseKey(archive[i+1:])
	if err != nil {
		return nil, store.Path{}, err
	}
	below, err := open(archive[:max(i, 0)])
	if err != nil {
		return nil, store.Path{}, err
	}
	s, err := Open(ctx, store.Wrap(ctx, below), key, nil)
	if err != nil {
		if c, ok := below.(io.Closer); ok {
			err = errors.Join(err, c.Close())
		}
		return nil, store.Path{}, err
	}
	return s, at, nil
}
