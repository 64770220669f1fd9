// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Bounds are those of a node that is served: nothing that a symbolic link leads to
// outside of the node is read, and nothing hidden.
type Bounds struct {
	Root store.Path // of the node
	// Directories follow symbolic links, where the store has them.
	Directories store.Directories
}

// Confine returns the bounds of the node at a location, and the location within them.
func Confine(at *zarr.Location) (*Bounds, *zarr.Location, error) {
	root, err := store.ParsePath(at.Path())
	if err != nil {
		return nil, nil, err
	}
	b := &Bounds{root, store.DirectoriesOf(at.Store())}
	if _, links := store.Driver(at.Store()).(store.Directories); links {
		at = at.Wrapped(func(below store.Store) store.Store { return &confined{below, b} })
	}
	_, err = b.Directories.Resolve(root)
	return b, at, err
}

// errLeadsOut is the error for a symbolic link that is not followed.
var errLeadsOut = fmt.Errorf("a symbolic link to what is not served: %w", fs.ErrPermission)

// Check returns an error unless a path below the node lies in it after all symbolic links
// are followed, and is not hidden there. The node itself may be a link, and may have been
// switched to another node since the last request.
func (b *Bounds) Check(path string) error { return b.follow(path, IsHidden) }

// follow is Check for a path without a segment that is refused.
func (b *Bounds) follow(path string, refused func(string) bool) error {
	key, err := b.Root.Key(path + "/x") // files of Varve have keys, and no paths
	if err != nil {
		return errLeadsOut
	}
	below := key.Dir()
	real, err := b.Directories.Resolve(below)
	// Without a link on the whole path, there is none on the way to the node.
	root := b.Root
	if err == nil && real != below {
		root, err = b.Directories.Resolve(b.Root)
	}
	switch {
	case errors.Is(err, vfs.ErrLinked), errors.Is(err, store.ErrInvalidKey):
		return errLeadsOut // of the store
	case err != nil:
		return err
	}
	for ; real != root; real = real.Parent() {
		if real.IsRoot() || refused(real.Name()) {
			return errLeadsOut
		}
	}
	return nil
}

// confined is the store of a node as views and values read it: no symbolic link leads out
// of the node, or to what is hidden there.
type confined struct {
	store.Store
	*Bounds
}

// Unwrap implements [store.Wrapper].
func (c *confined) Unwrap() store.Store { return c.Store }

// checkKey returns an error for a key that a link leads away from the node.
func (c *confined) checkKey(key store.Key) error {
	path := key.String()
	if !c.Root.IsRoot() {
		below, ok := strings.CutPrefix(path, c.Root.String()+"/")
		if !ok {
			return nil // such as the document of a group above
		}
		path = below
	}
	refused := IsHidden
	for name := range strings.SplitSeq(path, "/") {
		if IsHidden(name) {
			refused = func(string) bool { return false } // the library reads its own files
		}
	}
	if err := c.follow(path, refused); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// Get implements [store.Store].
func (c *confined) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if err := c.checkKey(key); err != nil {
		return nil, store.Info{}, err
	}
	return c.Store.Get(ctx, key, q, dst)
}

// Stat implements [store.Stater].
func (c *confined) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	if err := c.checkKey(key); err != nil {
		return store.Info{}, err
	}
	return store.Stat(ctx, c.Store, key)
}

// Open implements [store.Opener].
func (c *confined) Open(ctx context.Context, key store.Key) (store.Object, error) {
	if err := c.checkKey(key); err != nil {
		return nil, err
	}
	return store.Open(ctx, c.Store, key)
}

// List implements [store.Lister].
func (c *confined) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return store.List(ctx, c.Store, dir, how)
}
