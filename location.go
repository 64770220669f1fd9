package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"varve.dev/zarr/store/file"
)

// Open opens the node at a location: a path of the file system or a file:// URL. The store is the topmost directory
// that is reached through parents which are nodes themselves, so that era5.zarr/t2m is the node t2m of the store
// era5.zarr; symbolic links that lead out of it are not followed.
// A location without a node wraps [fs.ErrNotExist] and says what is there instead.
func Open(ctx context.Context, location string, opt *Options) (Node, error) {
	return openAt(location, opt, func(h *Hierarchy, path string) (Node, error) { return h.Open(ctx, path, opt) })
}

// OpenArray is [Open] for an array. A group there is an error that wraps [ErrInvalidArgument].
func OpenArray(ctx context.Context, location string, opt *Options) (*Array, error) {
	return openAt(location, opt, func(h *Hierarchy, path string) (*Array, error) { return h.OpenArray(ctx, path, opt) })
}

// OpenGroup is [Open] for a group. An array there is an error that wraps [ErrInvalidArgument].
func OpenGroup(ctx context.Context, location string, opt *Options) (*Group, error) {
	return openAt(location, opt, func(h *Hierarchy, path string) (*Group, error) { return h.OpenGroup(ctx, path, opt) })
}

// CreateArray creates an array at a location; see [Hierarchy.CreateArray]. Where no parent is a node, the store is the
// topmost directory of the location whose name ends in ".zarr", or else the node's own.
func CreateArray(ctx context.Context, location string, spec Spec, opt *CreateOptions) (*Array, error) {
	// A spec that cannot be must not leave a directory behind.
	if _, err := spec.array(node{hierarchy: new(Hierarchy), options: opt.orZero().Options}); err != nil {
		return nil, fail("create", location, err)
	}
	return createAt(location, func(h *Hierarchy, path string) (*Array, error) { return h.CreateArray(ctx, path, spec, opt) })
}

// CreateGroup creates a group at a location; see [Hierarchy.CreateGroup] and [CreateArray].
func CreateGroup(ctx context.Context, location string, attributes any, opt *CreateOptions) (*Group, error) {
	return createAt(location, func(h *Hierarchy, path string) (*Group, error) { return h.CreateGroup(ctx, path, attributes, opt) })
}

// Delete removes the node at a location with everything below it.
func Delete(ctx context.Context, location string, opt *Options) error {
	_, err := openAt(location, opt, func(h *Hierarchy, path string) (Node, error) { return nil, h.Delete(ctx, path, opt) })
	return err
}

// openAt finds the store of a location and calls open with the path in it.
func openAt[N Node](location string, opt *Options, open func(h *Hierarchy, path string) (N, error)) (n N, err error) {
	dir, err := localPath(location)
	if err != nil {
		return n, fail("open", location, err)
	}
	if _, err := os.Lstat(dir); err != nil {
		err = plainPathError(err)
		if errors.Is(err, fs.ErrNotExist) {
			err = notFound("nothing is here")
		}
		return n, fail("open", location, err)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return n, fail("open", location, notFound("no Zarr node here, only a file"))
	}
	root := topmost(dir)
	return in(root, dir, location, &file.Options{ReadOnly: !opt.orZero().Write}, "open", open)
}

// createAt finds the store of a location where there may be nothing yet.
func createAt[N Node](location string, create func(h *Hierarchy, path string) (N, error)) (n N, err error) {
	dir, err := localPath(location)
	if err != nil {
		return n, fail("create", location, err)
	}
	return in(newRoot(dir), dir, location, &file.Options{Create: true}, "create", create)
}

// in opens the store at root and does something with the node at dir.
func in[N Node](root, dir, location string, opt *file.Options, op string, do func(*Hierarchy, string) (N, error)) (n N, err error) {
	s, err := file.Open(root, opt)
	if err != nil {
		return n, fail(op, location, plainPathError(err))
	}
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return n, errors.Join(fail(op, location, err), s.Close())
	}
	path := filepath.ToSlash(rel)
	if path == "." {
		path = ""
	}
	h := &Hierarchy{store: s, location: strings.TrimSuffix(strings.TrimSuffix(filepath.ToSlash(location), "/"), "/"+path)}
	if path != "" && h.location == location {
		h.location = filepath.ToSlash(root)
	}
	n, err = do(h, path)
	if err != nil {
		return n, errors.Join(err, s.Close())
	}
	if Node(n) == nil {
		return n, fail(op, location, s.Close())
	}
	n.base().owner = true
	return n, nil
}

// localPath returns the absolute path of a location.
func localPath(location string) (string, error) {
	if location == "" {
		return "", badArgument("the location is empty")
	}
	scheme, rest, isURL := strings.Cut(location, "://")
	switch {
	case !isURL:
		rest = location
	case scheme != "file":
		return "", fmt.Errorf("%w: locations that begin with %q", ErrUnsupported, scheme+"://")
	}
	return filepath.Abs(filepath.FromSlash(rest))
}

// isNode reports whether a directory has a metadata document.
func isNode(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, documentName))
	return err == nil && info.Mode().IsRegular()
}

// topmost returns the highest directory that is reached from dir through parents that are nodes.
func topmost(dir string) string {
	for isNode(filepath.Dir(dir)) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
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

// plainPathError takes the path off an error of the operating system, since the location is said anyway.
func plainPathError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
