// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"
	"slices"
	"time"

	"varve.dev/zarr/internal/parallel"
)

// TreeOrder is the order in which [DeleteTree] deletes.
type TreeOrder struct {
	// First has the names of values to delete first, such as documents that make the rest
	// visible. Those in the directory itself are deleted in this order, then those at any
	// depth.
	First []string
	// Last is the name of a value in the directory itself to delete after all others, or
	// "" for none.
	Last string
}

// TreeDeleter deletes a whole directory. A store needs it if its directories can hold
// symbolic links or other objects that are not values. A listing does not show those, and
// following a link would lead out of the directory.
type TreeDeleter interface {
	// DeleteTree deletes everything below dir, and dir itself if the store has
	// directories. It deletes symbolic links and does not follow them. If dir is a link,
	// or a link replaces a directory meanwhile, DeleteTree returns an error.
	DeleteTree(ctx context.Context, dir Path, order TreeOrder, d Durability) error
}

// TreeChecker checks whether [DeleteTree] would fail.
type TreeChecker interface {
	// CheckTree returns an error if nothing below dir can be deleted, because the store
	// is read-only, or dir is a symbolic link or is reached through one.
	CheckTree(dir Path) error
}

// CheckTree returns the error with which [DeleteTree] would fail at once. It returns
// nil if s is not a [TreeChecker].
func CheckTree(s Store, dir Path) error {
	if c, ok := As[TreeChecker](s); ok {
		return c.CheckTree(dir)
	}
	return nil
}

// NameChecker checks whether [DeleteTree] would fail for names that cannot be used.
type NameChecker interface {
	// CheckNames returns an [UnusableError] if there are such names below dir that
	// DeleteTree meets: it follows no links.
	CheckNames(ctx context.Context, dir Path) error
}

// CheckNames returns an [UnusableError] if [DeleteTree] would fail with one. It lists
// everything below dir if s is not a [NameChecker].
func CheckNames(ctx context.Context, s Store, dir Path) error {
	if c, ok := Driver(s).(NameChecker); ok { // a wrapper has nothing to add
		return c.CheckNames(ctx, dir)
	}
	for _, err := range List(ctx, s, dir, true) {
		if errors.Is(err, ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// DeleteTree deletes everything below dir. If s is not a [TreeDeleter], it lists the
// values and deletes them one by one. If the listing ends with an error, such as an
// [UnusableError], nothing is deleted. A crash before it returns leaves the values that
// are last in the order.
func DeleteTree(ctx context.Context, s Store, dir Path, order TreeOrder, d Durability) error {
	if t, ok := As[TreeDeleter](s); ok {
		return t.DeleteTree(ctx, dir, order, d)
	}
	// At every depth, delete what makes other values visible before those values. The
	// first listing finds these, and shows that all names can be deleted.
	var first []string
	for e, err := range List(ctx, s, dir, true) {
		if err != nil {
			return err
		}
		if slices.Contains(order.First, path.Base(e.Name)) && e.Name != order.Last {
			first = append(first, e.Name)
		}
	}
	for _, name := range order.First {
		if slices.Contains(first, name) {
			if err := Delete(ctx, s, dir.MustKey(name)); err != nil {
				return err
			}
		}
	}
	if err := deleteEach(ctx, s, dir, d, slices.Values(first)); err != nil {
		return err
	}
	var failed error
	rest := func(yield func(string) bool) {
		for e, err := range List(ctx, s, dir, true) {
			if failed = err; err != nil || e.Name != order.Last && !yield(e.Name) {
				return
			}
		}
	}
	if err := deleteEach(ctx, s, dir, d, rest); err != nil || failed != nil {
		return cmp.Or(err, failed)
	}
	if order.Last == "" {
		return nil
	}
	key, err := dir.Key(order.Last)
	if err != nil {
		return err
	}
	return Delete(ctx, s, key)
}

// deletedAtOnce is the number of concurrent deletions of a tree.
const deletedAtOnce = 32

// deleteEach deletes the values below dir with the given relative names, several at a
// time.
func deleteEach(ctx context.Context, s Store, dir Path, d Durability, names iter.Seq[string]) error {
	b, err := NewBatch(ctx, s, d)
	if err != nil {
		return err
	}
	defer b.Discard()
	g, within := parallel.New(ctx)
	g.SetLimit(deletedAtOnce)
	for name := range names {
		if within.Err() != nil {
			break
		}
		g.Go(func() error { return b.Delete(within, dir.MustKey(name)) })
	}
	if err := g.Wait(ctx.Err()); err != nil {
		return err
	}
	return b.Commit(ctx)
}

// Sweeper deletes objects that crashed writers left and that are not values.
type Sweeper interface {
	// Sweep deletes the temporary objects of writers that are known to have ended, and no
	// others. An object that it cannot delete stays and is harmless. Each opening for
	// writing calls it, so it is quick.
	Sweep(ctx context.Context)
}

// UploadSweeper aborts uploads that crashed writers left in an object store: their parts
// cost storage, and no reader sees them. Unlike [Sweeper] it sends requests, so opening
// a node does not use it, but cleaning up does.
type UploadSweeper interface {
	// SweepUploads aborts the uploads of the store's own keys that began longer ago than
	// age, and returns their number. Uploads in progress that are older fail. A dry run
	// aborts none, and returns the same number.
	SweepUploads(ctx context.Context, age time.Duration, dryRun bool) (n int, err error)
}

// Identity identifies a directory regardless of its names.
type Identity interface {
	// Same reports whether both are known to be the same directory, even of two stores.
	Same(Identity) bool
}

// Link is a symbolic link in a store.
type Link struct {
	Name string // relative to the listed directory
	To   Path   // the target, without links
	// Lost means that the link leads out of the store or is broken. No listing shows its
	// target, and To is not set.
	Lost bool
}

// Linker finds the names of one directory. A store needs it if symbolic links or mounts
// can give a directory several names. In other stores, different names are different
// directories.
type Linker interface {
	// Resolve returns the path of dir without symbolic links. Segments that do not exist
	// do not change. A link in dir that leads out of the store is an error.
	Resolve(dir Path) (Path, error)
	// Identify returns the identity of dir, following links. If dir does not exist, the
	// error is [fs.ErrNotExist].
	Identify(dir Path) (Identity, error)
	// Links yields the symbolic links at any depth below dir, in no order. It follows the
	// links that a deep listing follows, and skips a link to a directory that contains
	// the link.
	Links(ctx context.Context, dir Path) iter.Seq2[Link, error]
}

// linker returns the Linker of the store below all wrappers. Wrappers do not change
// directories.
func linker(s Store) (Linker, bool) {
	l, ok := Driver(s).(Linker)
	return l, ok
}

// Resolve returns the path of dir without symbolic links, or dir if s is not a [Linker].
func Resolve(s Store, dir Path) (Path, error) {
	if l, ok := linker(s); ok {
		return l.Resolve(dir)
	}
	return dir, nil
}

// Links yields the symbolic links below dir, or nothing if s is not a [Linker].
func Links(ctx context.Context, s Store, dir Path) iter.Seq2[Link, error] {
	if l, ok := linker(s); ok {
		return l.Links(ctx, dir)
	}
	return func(func(Link, error) bool) {}
}

// Identify returns the identity of dir. It returns nil if dir does not exist or s is not
// a [Linker].
func Identify(s Store, dir Path) (Identity, error) {
	l, ok := linker(s)
	if !ok {
		return nil, nil
	}
	id, err := l.Identify(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return id, err
}

// Identities returns the identities of dir and of all directories above it, after links
// are resolved, up to the top of the store. Directories that do not exist have a nil
// identity. If s is not a [Linker], the result is empty.
func Identities(s Store, dir Path) (ids []Identity, err error) {
	if _, ok := linker(s); !ok {
		return nil, nil
	}
	// Resolve links first: the parents that count are those of the target.
	for dir, err = Resolve(s, dir); err == nil; dir = dir.Parent() {
		var id Identity
		id, err = Identify(s, dir)
		ids = append(ids, id)
		if dir.IsRoot() {
			break
		}
	}
	return ids, err
}

// SameDirectory reports whether two paths name one directory: the paths are equal, or
// their identities are the same.
func SameDirectory(s Store, a, b Path) (bool, error) {
	if a == b {
		return true, nil
	}
	x, err := Identify(s, a)
	if err != nil || x == nil {
		return false, err
	}
	y, err := Identify(s, b)
	return err == nil && y != nil && x.Same(y), err
}
