package store

import (
	"context"
	"path"
	"slices"
)

// TreeOrder says in which order [DeleteTree] deletes.
type TreeOrder struct {
	// First names the values that go first, as documents that make the rest visible:
	// those in the directory itself in this order, then those at any depth.
	First []string
	// Last names one value in the directory itself that goes after all others; "" is
	// none.
	Last string
}

// TreeDeleter is the power to remove a directory as a whole. A store whose directories
// may hold symbolic links, or what is no value, needs it: a listing shows neither, and
// would lead out of the directory.
type TreeDeleter interface {
	// DeleteTree removes everything below dir, and dir with it where the store has
	// directories. It follows no symbolic link: a link itself goes. A dir that is one is
	// an error, and so is one that appears on the way.
	DeleteTree(ctx context.Context, dir Path, order TreeOrder, d Durability) error
}

// TreeChecker is the power to say why [DeleteTree] would not begin.
type TreeChecker interface {
	// CheckTree returns why nothing below dir can be removed: the store is read-only, or
	// dir is a symbolic link or behind one.
	CheckTree(dir Path) error
}

// CheckTree returns why [DeleteTree] would not begin, nil where a store cannot tell.
func CheckTree(s Store, dir Path) error {
	if c, ok := As[TreeChecker](s); ok {
		return c.CheckTree(dir)
	}
	return nil
}

// DeleteTree removes everything below dir, by way of a listing where s is no
// [TreeDeleter]. A crash in between leaves what the order puts last.
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

// deleteListed deletes the values below dir whose names, relative to it, are wanted.
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

// Sweeper is the power to remove what killed writers left behind besides values.
type Sweeper interface {
	// Sweep removes the temporary objects of writers that are known to be dead, and
	// nobody else's. What it cannot remove does no harm and stays.
	Sweep(ctx context.Context)
}
