package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// File is a document that stands beside the one that makes a node, as that of the
// attributes in format 2.
type File struct {
	Name  string
	Bytes []byte
}

// Create publishes the document of a node that does not exist, and returns its version
// where the store knows it. Files that go with it are written before, so that nobody sees
// the node without them. The error wraps [store.ErrConflict] where there is such a
// document or file.
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

// forget removes files of a node that was not created. What stays is of no use, and does
// no harm.
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
	found, err := store.Exists(ctx, n.Store, key)
	switch {
	case err != nil:
		return store.Version{}, err
	case found:
		return store.Version{}, fmt.Errorf("%w: %s", store.ErrConflict, key)
	}
	return store.Put(ctx, n.Store, key, document, n.Durability)
}

// documents are the names of all documents that nodes have, in both formats. Those of
// format 2 come first: a reader sees them once that of format 3 is gone.
var documents = []string{metadata.V2Group, metadata.V2Array, metadata.V3Node, metadata.V2Consolidated, metadata.V2Attributes}

// Remove deletes everything at and below a node, documents first, so that nobody sees
// half of it, and puts a note in their place: a removal that is interrupted can be
// repeated. The locks of the node and of the nodes below it are held all the time.
//
// check, unless it is nil, is called once all locks are held. Where it fails, nothing is
// deleted. It is given the node with these locks as [Node].Held, for what it changes
// elsewhere.
//
// A node that somebody holds is a [*MemberError] that wraps [ErrHeld], one that is part
// of an unfinished change of several one that wraps [ErrPending]: [Recover] comes first.
func Remove(ctx context.Context, n Node, check func(context.Context, Node) error) error {
	return n.removed(ctx, check, func() error { return nil })
}

// Replace is [Remove], and then publishes another document at the place, as [Create]
// does. The locks are held until that is done, so that a change of the old node does not
// meet the new one.
func Replace(ctx context.Context, n Node, document []byte, beside ...File) (version store.Version, err error) {
	err = n.removed(ctx, nil, func() error {
		version, err = Create(ctx, n, document, beside...)
		return err
	})
	return version, err
}

// removed removes a node, and calls next before it lets go of the locks.
func (n Node) removed(ctx context.Context, check func(context.Context, Node) error, next func() error) (err error) {
	r, err := n.lockBelow(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.locks.unlock()) }()
	if check != nil {
		if err := check(ctx, r.Node); err != nil {
			return err
		}
	}
	if err := n.hide(ctx); err != nil {
		return err
	}
	if err := r.delete(ctx); err != nil {
		return err
	}
	return next()
}

// hide deletes the documents of the node itself, and puts the note there. A cancelled
// context does not come between the two: without the note, leftovers look like the files
// of somebody else.
func (n Node) hide(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	hidden := false
	for _, name := range documents {
		found, err := store.Exists(ctx, n.Store, n.Path.MustKey(name))
		if err == nil && found {
			hidden = true
			err = store.Delete(ctx, n.Store, n.Path.MustKey(name))
		}
		if err != nil {
			return err
		}
	}
	if hidden {
		// A full disk has no room for the note, and a removal makes some: it goes on
		// without.
		_, _ = store.Put(ctx, n.Store, n.Path.MustKey(Unfinished), []byte("{}"), n.Durability)
	}
	return nil
}

// Unfinished is the key, below a node, of the note that a copy to its place, or its
// removal, was begun. It stands until the copy's last document is there, or nothing else
// is, and tells leftovers from values of which nobody knows.
const Unfinished = own.Dir + "/unfinished.json"

// Removable returns why [Remove] would not remove a node: what is in the way, or that a
// lock cannot be had.
func Removable(ctx context.Context, n Node) error {
	r, err := n.lockBelow(ctx)
	if err != nil {
		return err
	}
	return r.locks.unlock()
}

// lockIfThere takes the lock of a node that may not be there, unless the caller holds it.
// A store that is without locks altogether does without; where they only do not work, as
// on some network mounts, the caller has to be the only writer, unless nothing is there.
func (n Node) lockIfThere(ctx context.Context) (func() error, error) {
	unlock, err := n.lock(ctx)
	if own := (*ownError)(nil); errors.As(err, &own) || errors.Is(err, fs.ErrNotExist) {
		return unlockNothing, nil
	}
	if !errors.Is(err, store.ErrUnsupported) {
		return unlock, err
	}
	if _, locks := store.As[store.Locker](n.Store); !locks || n.SingleWriter {
		return unlockNothing, nil
	}
	for _, listErr := range store.List(ctx, n.Store, n.Path, false) {
		return nil, errors.Join(listErr, fmt.Errorf("%w: %w", ErrUnsafe, err))
	}
	return unlockNothing, nil
}
