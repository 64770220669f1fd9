// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr/store"
)

// File is an additional document of a node, such as the attributes in format 2.
type File struct {
	Name  string
	Bytes []byte
}

// Create publishes the document of a new node and returns its version, or the zero
// version if the store has none. It writes the files beside the document first, so that
// no reader sees the node without them. If the node or one of the files exists, the error
// wraps [store.ErrConflict].
func Create(ctx context.Context, n Node, document []byte, beside ...File) (store.Version, error) {
	for i, f := range beside {
		if _, err := n.named(f.Name).create(ctx, f.Bytes); err != nil {
			// The file that failed belongs to another writer. Remove only the
			// earlier ones.
			n.forget(ctx, beside[:i])
			return store.Version{}, err
		}
	}
	version, err := n.create(ctx, document)
	if errors.Is(err, store.ErrConflict) {
		// A concurrent writer created the node without these files; otherwise the
		// loop above would have failed. They must not become part of it.
		n.forget(ctx, beside)
	}
	return version, err
}

// named returns the node with another document.
func (n Node) named(document string) Node {
	n.Document = document
	return n
}

// forget removes files of a node that was not created. A file that stays is harmless.
func (n Node) forget(ctx context.Context, files []File) {
	for _, f := range files {
		_ = store.Delete(context.WithoutCancel(ctx), n.Store, n.Path.MustKey(f.Name))
	}
}

func (n Node) create(ctx context.Context, document []byte) (store.Version, error) {
	key := n.key()
	version, err := store.PutIf(ctx, n.Store, key, document, store.IfAbsent(), n.Durability)
	if !errors.Is(err, store.ErrUnsupported) {
		return n.settle(ctx, document, version, err)
	}
	// The store has no conditional writes, so two concurrent calls may both succeed.
	found, err := store.Exists(ctx, n.Store, key)
	switch {
	case err != nil:
		return store.Version{}, err
	case found:
		return store.Version{}, fmt.Errorf("%w: %s", store.ErrConflict, key)
	}
	return store.Put(ctx, n.Store, key, document, n.Durability)
}
