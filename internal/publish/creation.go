// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

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
	key, id := n.key(), newID()
	if n.trails() {
		if err := n.room(document); err != nil {
			return store.Version{}, err
		}
		document = created(document, id)
	}
	version, err := store.PutIf(ctx, n.Store, key, document, store.IfAbsent(), n.Durability)
	conflict := errors.Is(err, store.ErrConflict)
	switch {
	case err == nil:
		return version, nil
	case n.trails() && (conflict || !unwritten(err)):
		return n.settleCreation(ctx, id, err)
	case conflict:
		return version, err
	case !errors.Is(err, store.ErrUnsupported):
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

// settleCreation finds out whether the document that is there has come from this
// creation: an answer may be lost, or be that of a second delivery of the request.
// The version is zero if others have written since.
func (n Node) settleCreation(ctx context.Context, id writeID, failed error) (store.Version, error) {
	there, err := n.read(context.WithoutCancel(ctx))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return store.Version{}, failed
	case err != nil:
		return store.Version{}, unknown(failed, err)
	}
	t := trailOf(there.Bytes)
	switch {
	// A trail that no longer reaches back to the creation counts as that of another node:
	// so many others have written since, while this request was under way.
	case !slices.Contains(t.published, id):
		return store.Version{}, failed
	case t.last() == id && t.fence == 0:
		return there.Version, nil
	}
	return store.Version{}, nil
}
