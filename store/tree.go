// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"path"
	"slices"
)

// TreeOrder says in which order [DeleteTree] deletes.
type TreeOrder struct {
	// First names the values that go first, such as documents that make the rest visible.
	// Those in the directory itself go in this order, then those at any depth.
	First []string
	// Last names one value in the directory itself that goes after all others. "" means
	// none.
	Last string
}

// TreeDeleter deletes a whole directory. A store needs it if its directories can hold
// symbolic links or other things that are not values: a listing does not show those, and
// following a link would lead out of the directory.
type TreeDeleter interface {
	// DeleteTree deletes everything below dir, and dir itself if the store has
	// directories. It follows no symbolic link but deletes the link itself. If dir is a
	// link, or a directory is replaced by one meanwhile, DeleteTree returns an error.
	DeleteTree(ctx context.Context, dir Path, order TreeOrder, d Durability) error
}

// TreeChecker can tell beforehand why [DeleteTree] would fail.
type TreeChecker interface {
	// CheckTree returns an error if nothing below dir can be deleted, because the store
	// is read-only, or dir is a symbolic link or lies behind one.
	CheckTree(dir Path) error
}

// CheckTree returns why [DeleteTree] would fail, or nil if s is not a [TreeChecker].
func CheckTree(s Store, dir Path) error {
	if c, ok := As[TreeChecker](s); ok {
		return c.CheckTree(dir)
	}
	return nil
}

// DeleteTree deletes everything below dir. If s is not a [TreeDeleter], it lists the
// values and deletes them one by one. A crash on the way leaves the values that come last
// in the order.
func DeleteTree(ctx context.Context, s Store, dir Path, order TreeOrder, d Durability) error {
	if t, ok := As[TreeDeleter](s); ok {
		return t.DeleteTree(ctx, dir, order, d)
	}
	for _, name := range order.First {
		if err := deleteFound(ctx, s, dir, name); err != nil {
			return err
		}
	}
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

// deleteListed deletes the values below dir whose relative names are wanted.
func deleteListed(ctx context.Context, s Store, dir Path, d Durability, wanted func(name string) bool) error {
	b, err := NewBatch(ctx, s, d)
	if err != nil {
		return err
	}
	defer b.Discard()
	for e, err := range List(ctx, s, dir, true) {
		if err != nil {
			return err
		}
		if !wanted(e.Name) {
			continue
		}
		if err := b.Delete(ctx, dir.MustKey(e.Name)); err != nil {
			return err
		}
	}
	return b.Commit(ctx)
}

// Sweeper deletes what crashed writers left behind, other than values.
type Sweeper interface {
	// Sweep deletes the temporary objects of writers that are known to have ended, and no
	// others. What it cannot delete does no harm and stays.
	Sweep(ctx context.Context)
}
