package zarr

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

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

func init() { store.Register("file", openLocal) }

// openLocal opens the store of a path, or of a file:// URL: a directory, or a zip
// archive.
func openLocal(ctx context.Context, location string, access store.Access) (store.Store, store.Path, error) {
	dir, err := localPath(location)
	if err != nil {
		return nil, store.Path{}, err
	}
	if archive := archiveOn(dir, access); archive != "" {
		return openArchive(ctx, archive, dir, access)
	}
	root, path, err := rootOf(dir, access)
	if err != nil {
		return nil, store.Path{}, err
	}
	s, err := filestore.Open(root, &filestore.Options{Create: access == store.Create, ReadOnly: access == store.Read})
	if err != nil {
		if access != store.Create {
			err = cmp.Or(isDirectory(root), err)
		}
		return nil, store.Path{}, plainPathError(err)
	}
	return s, path, nil
}

// rootOf returns the directory of the store that the node at dir is in, or is to be in,
// and the path of the node there. The node's own directory is the store's most of the
// time, and then opening it tells whether it is there.
func rootOf(dir string, access store.Access) (root string, path store.Path, err error) {
	if access == store.Create {
		root = newRoot(dir)
	} else {
		root = topmost(dir)
	}
	if root == dir {
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
	if !strings.Contains(location, "://") {
		return filepath.Abs(location)
	}
	u, err := url.Parse(location)
	if err != nil {
		return "", fault.Argument("%v", err)
	}
	if u.Host != "" && u.Host != "localhost" {
		return "", fmt.Errorf("%w: files of another host, %q (file:///path has three slashes)", ErrUnsupported, u.Host)
	}
	return filepath.Abs(filepath.FromSlash(u.Path))
}

// isDirectory says what is at a path that is not a directory.
func isDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.NotFound("nothing is here")
	case err != nil:
		return plainPathError(err)
	case !info.IsDir():
		return fault.NotFound("no Zarr node here, only a file")
	}
	return nil
}

// isNode reports whether a directory has a document that makes it a node.
func isNode(dir string) bool { return vfs.HasFile(dir, tree.Documents...) }

// topmost returns the highest directory that is reached from dir through parents that are
// nodes.
func topmost(dir string) string {
	for parent := filepath.Dir(dir); parent != dir && isNode(parent); parent = filepath.Dir(dir) {
		dir = parent
	}
	return dir
}

// newRoot returns the directory of the store for a node that is to be created at dir.
func newRoot(dir string) string {
	root := dir
	for p := filepath.Dir(dir); p != filepath.Dir(p); p = filepath.Dir(p) {
		if isNode(p) {
			return topmost(p)
		}
		if _, err := os.Stat(p); err == nil {
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

// refuseLink refuses a local node that is a symbolic link, or that is reached through one
// within its store: below the topmost directory that is a node or is named like one.
func refuseLink(location string) error {
	if scheme, _, isURL := strings.Cut(location, "://"); isURL && scheme != "file" {
		return nil
	}
	dir, err := localPath(location)
	if err != nil {
		return err
	}
	top := dir
	for p := dir; p != filepath.Dir(p); p = filepath.Dir(p) {
		if isNode(p) || strings.HasSuffix(p, ".zarr") {
			top = p
		}
	}
	for p := dir; len(p) >= len(top) && p != filepath.Dir(p); p = filepath.Dir(p) {
		if target, err := os.Readlink(p); err == nil {
			return fault.Argument("%s is a symbolic link to %s; name what it leads to, or remove the link", filepath.Base(p), target)
		}
	}
	return nil
}

// removeEmpty removes the directory of a local store that has become empty.
func removeEmpty(location string) {
	if dir, ok := localDir(location); ok {
		_ = os.Remove(dir) // whatever is in it stays
	}
}

// localDir returns the path of a location of this machine.
func localDir(location string) (dir string, ok bool) {
	dir, err := localPath(location)
	return dir, err == nil && (!strings.Contains(location, "://") || strings.HasPrefix(location, "file://"))
}

// plainPathError takes the path off an error of the operating system, since the location
// is said anyway.
func plainPathError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
