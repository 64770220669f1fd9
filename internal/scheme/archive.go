// SPDX-License-Identifier: Apache-2.0

package scheme

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/zipstore"
)

// ArchiveOn returns the path of the zip archive that dir names or leads into, or "" if
// there is none. If there are several, it returns the outermost. An archive is a regular
// file or, if access is [store.Create], a name that does not exist yet.
func ArchiveOn(dir string, access store.Access) string {
	found := ""
	for p := dir; p != filepath.Dir(p); p = filepath.Dir(p) {
		if !own.IsArchive(filepath.Base(p)) {
			continue
		}
		info, err := os.Stat(p)
		if err == nil && info.Mode().IsRegular() || errors.Is(err, fs.ErrNotExist) && access == store.Create {
			found = p
		}
	}
	return found
}

// openArchive opens a local zip archive, with the path of a node in it.
func openArchive(ctx context.Context, archive, dir string, access store.Access) (store.Store, store.Path, error) {
	rel, err := filepath.Rel(archive, dir)
	if err != nil {
		return nil, store.Path{}, err
	}
	if rel == "." {
		rel = ""
	}
	path, err := store.ParsePath(filepath.ToSlash(rel))
	if err != nil {
		return nil, store.Path{}, err
	}
	if access == store.Create {
		s, err := zipstore.Create(archive)
		if err != nil {
			return nil, store.Path{}, err
		}
		return s, path, nil
	}
	if access != store.ReadOnly {
		return nil, store.Path{}, fmt.Errorf("%w: a zip archive is written once and then only read; copy it to a directory and change that", fault.ErrUnsupported)
	}
	// The file store follows no link out of the archive's directory, so open the target.
	if archive, err = filepath.EvalSymlinks(archive); err != nil {
		return nil, store.Path{}, plainPathError(err)
	}
	key, err := store.ParseKey(filepath.Base(archive))
	if err != nil {
		return nil, store.Path{}, err
	}
	below, err := filestore.Open(filepath.Dir(archive), &filestore.Options{ReadOnly: true})
	if err != nil {
		return nil, store.Path{}, plainPathError(err)
	}
	s, err := zipstore.Open(ctx, below, key, nil)
	if err != nil {
		return nil, store.Path{}, errors.Join(err, store.Close(below))
	}
	return s, path, nil
}
