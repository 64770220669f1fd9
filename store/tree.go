// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
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

// DeleteTree deletes everything below dir. If s is not a [TreeDeleter], it lists the
// values and deletes them one by one. A crash before it returns leaves the values that
// are last in the order.
func DeleteTree(ctx context.Context, s Store, dir Path, order TreeOrder, d Durability) error {
	if t, ok := As[TreeDeleter](s); ok {
		return t.DeleteTree(ctx, dir, order, d)
	}
	for _, name := range order.First {
		if err := deleteFound(ctx, s, dir, name); err != nil {
			return err
		}
	}
	// At every depth, delete what makes other values visible before those values.
	for _, first := range [...]bool{true, false} {
		err := deleteListed(ctx, s, dir, d, func(name string) bool {
			return (!first || slices.Contains(order.First, path.Base(name))) && name != order.Last
		})
		if err != nil {
			return err
		}
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

// deleteFound deletes one value in dir if there is one.
func deleteFound(ctx context.Context, s Store, dir Path, name string) error {
	key, err := dir.Key(name)
	if err != nil {
		return err
	}
	if found, err := Exists(ctx, s, key); err != nil || !found {
		return err
	}
	return Delete(ctx, s, key)
}

// deletedAtOnce is the number of concurrent deletions of a tree.
const deletedAtOnce = 32

// deleteListed deletes the values below dir whose relative names are wanted, several at
// a time.
func deleteListed(ctx context.Context, s Store, dir Path, d Durability, wanted func(name string) bool) error {
	b, err := NewBatch(ctx, s, d)
	if err != nil {
		return err
	}
	defer b.Discard()
	g, within := parallel.New(ctx)
	g.SetLimit(deletedAtOnce)
	err = nil
	for e, failed := range List(within, s, dir, true) {
		if err = failed; err != nil {
			break
		}
		if wanted(e.Name) {
			g.Go(func() error { return b.Delete(within, dir.MustKey(e.Name)) })
		}
	}
	if err := g.Wait(err); err != nil {
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
