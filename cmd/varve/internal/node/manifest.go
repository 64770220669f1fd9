// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// ManifestFolder is the folder of a manifest, as a path of a store.
type ManifestFolder struct {
	store.Store
	Path store.Path
}

// openFolderOf opens the folder that a location of a manifest is in.
func openFolderOf(ctx context.Context, location string, access store.Access) (*ManifestFolder, error) {
	folder, name := filepath.Split(filepath.ToSlash(strings.TrimRight(location, "/")))
	if folder == "" {
		folder = "."
	}
	at, dir, err := store.OpenLocation(ctx, folder, access)
	if err != nil {
		return nil, err
	}
	path, err := dir.Join(name)
	f := &ManifestFolder{at, path}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close closes the store.
func (f *ManifestFolder) Close() error { return store.Close(f.Store) }

// ManifestAt opens the folder of a manifest, finished or not. It returns nil if a
// location is none.
func ManifestAt(ctx context.Context, location string, access store.Access) (*ManifestFolder, error) {
	if !strings.HasSuffix(strings.TrimRight(location, "/"), virtual.Suffix) {
		return nil, nil // do not make requests for other nodes
	}
	f, err := openFolderOf(ctx, location, access)
	if err != nil {
		return nil, nil // the command reports it in its own words
	}
	is, err := virtual.IsManifest(ctx, f.Store, f.Path)
	if !is || err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// IsInManifest reports whether a location is that of a manifest, or of a node in one. The
// name of a folder decides nothing: one that ends in .vz may have any node.
func IsInManifest(ctx context.Context, location string) bool {
	location = Clean(location) + "/"
	for end := 0; ; {
		n := strings.Index(location[end:], virtual.Suffix+"/")
		if n < 0 {
			return false
		}
		end += n + len(virtual.Suffix)
		if f, _ := ManifestAt(ctx, location[:end], store.ReadOnly); f != nil {
			_ = f.Close() // it was only read
			return true
		}
	}
}
