// SPDX-License-Identifier: Apache-2.0

package scheme

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
	"varve.dev/zarr/store/zipstore"
)

func init() {
	store.Register("http", openRemote)
	store.Register("https", openRemote)
}

// openRemote opens the store of an http(s) URL, or the zip archive that the URL names or
// leads into.
func openRemote(ctx context.Context, location string, access store.Access) (store.Store, store.Path, error) {
	archive, rel := driver.Split(driver.Reveal(ctx, location), own.Archives...)
	u, err := url.Parse(archive)
	if err != nil || !own.IsArchive(u.Path) || access != store.ReadOnly {
		return openServer(ctx, location, access)
	}
	path, err := store.ParsePath(rel)
	if err != nil {
		return nil, store.Path{}, err
	}
	key, err := store.ParseKey(u.Path[strings.LastIndexByte(u.Path, '/')+1:])
	if err != nil {
		return nil, store.Path{}, err
	}
	// The archive is a value of the store at its directory, and is read by ranges.
	below, err := httpstore.Open(u.ResolveReference(&url.URL{Path: ".", RawQuery: u.RawQuery}).String(), httpstore.OptionsOf(ctx))
	if err != nil {
		return nil, store.Path{}, err
	}
	s, err := zipstore.Open(ctx, store.Wrap(ctx, below), key, nil)
	if err != nil {
		return nil, store.Path{}, errors.Join(err, store.Close(below))
	}
	return s, path, nil
}

// openServer opens the store of an http(s) URL. It begins at the first path segment whose
// name ends in ".zarr"; the rest is the path of the node. Without such a segment the
// store is the whole URL.
func openServer(ctx context.Context, location string, access store.Access) (store.Store, store.Path, error) {
	if access != store.ReadOnly {
		return nil, store.Path{}, fmt.Errorf("http: %w: a web server can only be read", store.ErrUnsupported)
	}
	root, rel := driver.Split(driver.Reveal(ctx, location), ".zarr")
	path, err := store.ParsePath(rel)
	if err != nil {
		return nil, store.Path{}, err
	}
	s, err := httpstore.Open(root, httpstore.OptionsOf(ctx))
	return s, path, err
}
