package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/store"
)

// Create publishes the document of a node that does not exist, and returns its version where the store knows it.
// The error wraps [store.ErrConflict] where there is one.
func Create(ctx context.Context, n Node, document []byte) (store.Version, error) {
	key := n.Path.Key(n.Document)
	version, err := store.PutIf(ctx, n.Store, key, document, store.IfAbsent(), n.Durability)
	if !errors.Is(err, store.ErrUnsupported) {
		return n.settle(ctx, document, version, err)
	}
	found, err := store.Exists(ctx, n.Store, key)
	switch {
	case err != nil:
		return store.Version{}, err
	case found:
		return store.Version{}, fmt.Errorf("%w: %s", store.ErrConflict, key)
	}
	return store.Put(ctx, n.Store, key, document, n.Durability)
}

// Remove deletes everything at and below a node, documents first: what is left after a death is not visible. Then it
// publishes another document in its place, where that is not nil. The node's lock is held all the time, so that a
// change of the old node and the new node do not meet.
func Remove(ctx context.Context, n Node, document []byte) (version store.Version, err error) {
	unlock, err := n.lockIfThere(ctx)
	if err != nil {
		return version, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := store.Delete(ctx, n.Store, n.Path.Key(n.Document)); err != nil {
		return version, err
	}
	for _, documents := range [...]bool{true, false} {
		if err := n.batch(ctx, func(ctx context.Context, b store.Batch) error { return n.deleteAll(ctx, b, documents) }); err != nil {
			return version, err
		}
	}
	if document == nil {
		return version, nil
	}
	return Create(ctx, n, document)
}

// deleteAll deletes the documents below a node, or everything.
func (n Node) deleteAll(ctx context.Context, b store.Batch, documents bool) error {
	for e, err := range store.List(ctx, n.Store, n.Path, true) {
		if err != nil {
			return err
		}
		key := n.Path.Key(e.Name)
		if documents && key.Base() != n.Document {
			continue
		}
		if err := b.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// lockIfThere takes the lock of a node that may not be there, in a store that may have no locks.
func (n Node) lockIfThere(ctx context.Context) (func() error, error) {
	unlock, err := store.Lock(ctx, n.Store, n.Path)
	if errors.Is(err, store.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) {
		return func() error { return nil }, nil
	}
	return unlock, err
}
