// SPDX-License-Identifier: Apache-2.0

// Package scheme opens the stores of locations: paths of the file system, file:// and
// http(s):// URLs, and zip archives on either. It registers these schemes with package
// store.
package scheme

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

func init() { store.Register("file", openLocal) }

// openLocal opens the directory or zip archive of a path or a file:// URL.
func openLocal(ctx context.Context, location string, access store.Access) (store.Store, store.Path, error) {
	dir, err := localPath(location)
	if err != nil {
		return nil, store.Path{}, err
	}
	if archive := ArchiveOn(dir, access); archive != "" {
		return openArchive(ctx, archive, dir, access)
	}
	root, path, err := RootOf(dir, access)
	if err != nil {
		return nil, store.Path{}, err
	}
	s, err := filestore.Open(root, &filestore.Options{Create: access == store.Create, ReadOnly: access == store.ReadOnly})
	if err != nil {
		if access != store.Create {
			// Describe what is at the path instead of repeating the system's error.
			err = cmp.Or(isDirectory(root), err)
		} else {
			err = cmp.Or(underFile(root), err)
		}
		return nil, store.Path{}, plainPathError(err)
	}
	return s, path, nil
}

// RootOf returns the root directory of the store that holds, or will hold, the node at
// dir, and the path of the node in that store.
func RootOf(dir string, access store.Access) (root string, path store.Path, err error) {
	if access == store.Create {
		root = newRoot(dir)
	} else {
		root = topmost(dir)
	}
	if root == dir { // opening the store finds out whether dir exists
		return root, path, nil
	}
	if access != store.Create {
		if err := isDirectory(dir); err != nil {
			return "", path, err
		}
	}
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return "", path, err
	}
	path, err = store.ParsePath(filepath.ToSlash(rel))
	return root, path, err
}

// localPath returns the absolute path of a location.
func localPath(location string) (string, error) {
	if path, is := strings.CutPrefix(location, "icechunk+"); is && !strings.Contains(location, "://") {
		return "", fault.Argument("a repository of Icechunk is named by a URL: write icechunk+file:///%s", strings.TrimLeft(filepath.ToSlash(strings.TrimPrefix(path, "file:")), "/"))
	}
	if !strings.Contains(location, "://") {
		return filepath.Abs(location)
	}
	u, err := url.Parse(location)
	if err != nil {
		return "", fault.Argument("%v", err)
	}
	if u.Host != "" && u.Host != "localhost" {
		return "", fmt.Errorf("%w: files of another host, %q (file:///path has three slashes)", fault.ErrUnsupported, u.Host)
	}
	return filepath.Abs(filepath.FromSlash(u.Path))
}

// isDirectory returns an error that describes dir unless it is a directory.
func isDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cmp.Or(brokenLink(dir), error(fault.NotFound("nothing is here")))
	case err != nil:
		return cmp.Or(underFile(dir), plainPathError(err))
	case !info.IsDir():
		return fault.NotFound("no Zarr node here, only a file")
	}
	return nil
}

// brokenLink returns an error if a path is, or leads through, a symbolic link whose
// target is missing.
func brokenLink(dir string) error {
	for ; ; dir = filepath.Dir(dir) {
		if target, err := os.Readlink(dir); err == nil {
			if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
				return fault.NotFound(fmt.Sprintf("nothing is here: %s is a symbolic link, and its target %s does not exist", filepath.Base(dir), target))
			}
			return nil
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// underFile returns an error if a part of a path is a file, so that nothing can be below
// it.
func underFile(dir string) error {
	for above := filepath.Dir(dir); above != filepath.Dir(above); above = filepath.Dir(above) {
		if info, err := os.Stat(above); err == nil {
			if info.IsDir() {
				return nil
			}
			return fmt.Errorf("%s is a file, not a directory, so nothing can be below it: %w", filepath.Base(above), syscall.ENOTDIR)
		}
	}
	return nil
}

// isNode reports whether a directory holds the document of a node.
func isNode(dir string) bool { return vfs.HasFile(dir, tree.Documents...) }

// topmost returns the highest ancestor of dir such that it and all directories between
// are nodes, or dir.
func topmost(dir string) string {
	for parent := filepath.Dir(dir); parent != dir && isNode(parent); parent = filepath.Dir(dir) {
		dir = parent
	}
	return dir
}

// newRoot returns the root of the store for a node that will be created at dir: that of
// the nearest ancestor that is a node, or else the highest directory of the path whose
// name ends in .zarr.
func newRoot(dir string) string {
	root := dir
	for p := filepath.Dir(dir); p != filepath.Dir(p); p = filepath.Dir(p) {
		if isNode(p) {
			return topmost(p)
		}
		if _, err := os.Stat(p); err == nil { // an existing directory that is not a node is not in a store
			break
		}
	}
	for p := dir; p != filepath.Dir(p); p = filepath.Dir(p) {
		if strings.HasSuffix(p, ".zarr") {
			root = p
		}
	}
	return root
}

// RefuseLink returns an error if a local node is a symbolic link, or if a link within its
// store leads to it. Deleting through a link would delete data that has another name.
func RefuseLink(location string) error {
	if scheme, _, isURL := strings.Cut(location, "://"); isURL && scheme != "file" {
		return nil
	}
	dir, err := localPath(location)
	if err != nil {
		return err
	}
	// Only links within the store matter, so find its top.
	top := dir
	for p := dir; p != filepath.Dir(p); p = filepath.Dir(p) {
		if isNode(p) || strings.HasSuffix(p, ".zarr") {
			top = p
		}
	}
	for p := dir; len(p) >= len(top) && p != filepath.Dir(p); p = filepath.Dir(p) {
		if target, err := os.Readlink(p); err == nil {
			return fault.Argument("%s is a symbolic link to %s; name its target, or remove the link", filepath.Base(p), target)
		}
	}
	return nil
}

// RemoveEmpty removes the directory of a local store if it is empty.
func RemoveEmpty(location string) {
	if dir, ok := LocalDir(location); ok {
		_ = os.Remove(dir) // fails if the directory is not empty
	}
}

// LocalDir returns the path of a location in the local file system.
func LocalDir(location string) (dir string, ok bool) {
	dir, err := localPath(location)
	return dir, err == nil && (!strings.Contains(location, "://") || strings.HasPrefix(location, "file://"))
}

// plainPathError removes the path from an error of the operating system. The caller adds
// the location.
func plainPathError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Shown returns a location for messages: a URL without secrets and without percent
// encoding.
func Shown(location string) string {
	if !strings.Contains(location, "://") {
		return location
	}
	location = driver.Redact(location)
	if plain, err := url.PathUnescape(location); err == nil && utf8.ValidString(plain) {
		return plain
	}
	return location
}
