package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/zipstore"
)

// archiveSuffix is how the names of zip archives end.
const archiveSuffix = ".zip"

// archiveOn returns the path of the zip archive that a path leads to or into: the first
// that is named so, and is a file or, where one is to be created, nothing yet. It is ""
// where there is none.
func archiveOn(dir string, access store.Access) string {
	found := ""
	if !strings.Contains(dir, archiveSuffix) {
		return found
	}
	for p := dir; p != filepath.Dir(p); p = filepath.Dir(p) {
		if base := filepath.Base(p); !strings.HasSuffix(base, archiveSuffix) || base == archiveSuffix {
			continue
		}
		info, err := os.Stat(p)
		if err == nil && info.Mode().IsRegular() || errors.Is(err, fs.ErrNotExist) && access == store.Create {
			found = p
		}
	}
	return found
}

// storeNotes says in what respects the store of a node was read in one of several ways,
// as an archive with two members of one name.
func (n *node) storeNotes() []string {
	if s, ok := store.Driver(n.hierarchy.store).(*zipstore.Store); ok {
		return s.Notes()
	}
	return nil
}

// openArchive opens a zip archive of this machine, with the path of a node in it.
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
	if access != store.Read {
		return nil, store.Path{}, fmt.Errorf("%w: a zip archive is written once and then only read; copy it to a directory and change that", ErrUnsupported)
	}
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
		return nil, store.Path{}, errors.Join(err, below.Close())
	}
	return s, path, nil
}
