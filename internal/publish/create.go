package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// File is a document that stands beside the one that makes a node, as that of the attributes in format 2.
type File struct {
	Name  string
	Bytes []byte
}

// Create publishes the document of a node that does not exist, and returns its version where the store knows it. Files that go with
// it are written before, so that nobody sees the node without them. The error wraps [store.ErrConflict] where there is such
// a document or file.
func Create(ctx context.Context, n Node, document []byte, beside ...File) (store.Version, error) {
	for i, f := range beside {
		if _, err := n.named(f.Name).create(ctx, f.Bytes); err != nil {
			n.forget(ctx, beside[:i])
			return store.Version{}, err
		}
	}
	version, err := n.create(ctx, document)
	if errors.Is(err, store.ErrConflict) {
		n.forget(ctx, beside)
	}
	return version, err
}

// named returns the node with another document in the place of its own.
func (n Node) named(document string) Node {
	n.Document = document
	return n
}

// forget removes files of a node that was not created. What stays is of no use, and does no harm.
func (n Node) forget(ctx context.Context, files []File) {
	for _, f := range files {
		_ = store.Delete(context.WithoutCancel(ctx), n.Store, n.Path.Key(f.Name))
	}
}

func (n Node) create(ctx context.Context, document []byte) (store.Version, error) {
	key := n.key()
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

// documents are the names of all documents that nodes have, in both formats.
var documents = []string{metadata.V2Group, metadata.V2Array, metadata.V3Node, metadata.V2Consolidated, metadata.V2Attributes}

// Remove deletes everything at and below a node, documents first: what is left after a death is not visible. Then it
// publishes another document in its place, where that is not nil, as [Create] does. The node's lock is held all the time, so that a
// change of the old node and the new node do not meet.
func Remove(ctx context.Context, n Node, document []byte, beside ...File) (version store.Version, err error) {
	unlock, err := n.lockIfThere(ctx)
	if err != nil {
		return version, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := n.deleteOwn(ctx); err != nil {
		return version, err
	}
	for _, first := range [...]bool{true, false} {
		if err := n.batch(ctx, func(ctx context.Context, b store.Batch) error { return n.deleteAll(ctx, b, first) }); err != nil {
			return version, err
		}
	}
	if document == nil {
		return version, nil
	}
	return Create(ctx, n, document, beside...)
}

// deleteOwn deletes the documents that make a node of the place: first those of format 2, which a reader sees once the other is gone.
func (n Node) deleteOwn(ctx context.Context) error {
	for _, name := range [...]string{metadata.V2Group, metadata.V2Array} {
		found, err := store.Exists(ctx, n.Store, n.Path.Key(name))
		if err == nil && found {
			err = store.Delete(ctx, n.Store, n.Path.Key(name))
		}
		if err != nil {
			return err
		}
	}
	return store.Delete(ctx, n.Store, n.Path.Key(metadata.V3Node))
}

// deleteAll deletes the documents below a node, or everything.
func (n Node) deleteAll(ctx context.Context, b store.Batch, first bool) error {
	for e, err := range store.List(ctx, n.Store, n.Path, true) {
		if err != nil {
			return err
		}
		key := n.Path.Key(e.Name)
		if first && !slices.Contains(documents, key.Base()) {
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
