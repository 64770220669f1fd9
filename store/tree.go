// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"iter"
	"path"
	"slices"

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
	for e, err := range List(ctx, s, dir, Deep) {
		if err != nil {
			return err
		}
		if slices.Contains(order.First, path.Base(e.Name)) && e.Name != order.Last {
			first = append(first, e.Name)
		}
	}
	for _, name := range order.First {
		if slices.Contains(first, name) {
			if _, err := Write(ctx, s, Delete(dir.MustKey(name)), d); err != nil {
				return err
			}
		}
	}
	if err := deleteEach(ctx, s, dir, d, slices.Values(first)); err != nil {
		return err
	}
	var failed error
	rest := func(yield func(string) bool) {
		for e, err := range List(ctx, s, dir, Deep) {
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
	_, err = Write(ctx, s, Delete(key), d)
	return err
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
		g.Go(func() error {
			_, err := b.Write(within, Delete(dir.MustKey(name)))
			return err
		})
	}
	if err := g.Wait(ctx.Err()); err != nil {
		return err
	}
	return b.Commit(ctx)
}
