// Package publish is the one way in which a change of a node becomes visible.
//
// A node's metadata document is the only thing that readers trust: chunks that it does not describe do not exist.
// A change therefore runs in this order, and may be killed at any point:
//
//  1. Take the node's lock, so that no other writer works on a plan that this change makes wrong.
//  2. Read the document as it is now, and plan on that: what was known before may be old.
//  3. Stage: write the chunks that the new document will describe, under keys that the old one does not describe or
//     in places of a chunk that it does not reach. Make them durable.
//  4. Publish: write the document, on the condition that it is still the one that was read. This is the change: what
//     happens from here on does not undo it, and a caller who gives up now does not stop it.
//  5. Reclaim: delete the chunks that the new document does not describe any more, and clear what it cut off.
//  6. Let go of the lock.
//
// A death before 4 leaves the old state and perhaps chunks that nobody sees; whoever grows over them overwrites or
// deletes them in step 3. A death after 4 leaves the new state and perhaps chunks that nobody sees.
package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/store"
)

var (
	// ErrUnsafe says that the store has no locks, so that another writer's change could be lost.
	ErrUnsafe = errors.New("the store has no locks to keep other writers away; say that this is the only one (SingleWriter), or use another store")
	// ErrIncomplete says that a change was published, and that what comes after failed: removing what it left behind, or
	// making it durable. The change must not be repeated. What is left is not visible, and goes when its place is written to.
	ErrIncomplete = errors.New("published, but what comes after failed")
	// ErrOutcomeUnknown says that nobody can tell whether a change was published: look at the node before it is repeated.
	ErrOutcomeUnknown = errors.New("it is unknown whether the change was published")
)

// Node is the place of a change.
type Node struct {
	Store        store.Store
	Path         store.Path
	Document     string // name of the metadata document, "zarr.json"
	Durability   store.Durability
	SingleWriter bool  // the caller knows that nobody else writes
	Limit        int64 // most bytes of the document
}

// Change is what a plan asks for.
type Change struct {
	Document []byte
	Stage    func(context.Context, store.Batch) error // nil where nothing is to be staged
	// Published is called, under the lock, as soon as the document is published, with its version where the store
	// knows it; nil where nobody wants to know.
	Published func(store.Version)
	Reclaim   func(context.Context, store.Batch) error // nil where nothing is to be reclaimed
	// Abandon deletes what was staged, where staging failed; nil where it may stay. Its errors are of no interest: what
	// it leaves is not visible.
	Abandon func(context.Context, store.Batch) error
}

// Update changes a node in the order that the package describes. plan is given the document as it is; a nil
// Change means that nothing is to be done. The error wraps [store.ErrConflict] where another writer published in between:
// then nothing is visible of the change and Update may be called again. After [ErrIncomplete] the change is visible.
func Update(ctx context.Context, n Node, plan func(document []byte) (*Change, error)) (err error) {
	unlock, err := n.lock(ctx)
	if err != nil {
		return err
	}
	published := false
	defer func() {
		if unlockErr := unlock(); published {
			err = incomplete(err, unlockErr)
		} else {
			err = errors.Join(err, unlockErr)
		}
	}()
	key := n.Path.Key(n.Document)
	old, info, err := n.Store.Get(ctx, key, store.Request{Limit: n.Limit}, nil)
	if err != nil {
		return err
	}
	change, err := plan(old)
	if err != nil || change == nil {
		return err
	}
	if err = n.batch(ctx, change.Stage); err != nil {
		_ = n.batch(context.WithoutCancel(ctx), change.Abandon)
		return err
	}
	version, err := n.replace(ctx, key, change.Document, info.Version)
	if published = err == nil || errors.Is(err, ErrIncomplete); !published {
		return err // chunks that were staged stay: nobody knows whether a document that describes them is on its way
	}
	if change.Published != nil {
		change.Published(version)
	}
	return errors.Join(err, n.batch(context.WithoutCancel(ctx), change.Reclaim))
}

// incomplete returns what went wrong after a change was published.
func incomplete(errs ...error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrIncomplete) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrIncomplete, err)
}

// Create publishes the document of a node that does not exist, and returns its version where the store knows it.
// The error wraps [store.ErrConflict] where there is one.
func Create(ctx context.Context, n Node, document []byte) (store.Version, error) {
	key := n.Path.Key(n.Document)
	version, err := store.PutIf(ctx, n.Store, key, document, store.IfAbsent(), n.Durability)
	if !errors.Is(err, store.ErrUnsupported) {
		return n.settle(ctx, key, document, version, err)
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

// lock takes the node's lock. A store without locks is good enough where the caller is alone.
func (n Node) lock(ctx context.Context) (func() error, error) {
	unlock, err := store.Lock(ctx, n.Store, n.Path)
	if !errors.Is(err, store.ErrUnsupported) {
		return unlock, err
	}
	if !n.SingleWriter {
		return nil, fmt.Errorf("%w: %w", ErrUnsafe, err)
	}
	return func() error { return nil }, nil
}

// lockIfThere takes the lock of a node that may not be there, in a store that may have no locks.
func (n Node) lockIfThere(ctx context.Context) (func() error, error) {
	unlock, err := store.Lock(ctx, n.Store, n.Path)
	if errors.Is(err, store.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) {
		return func() error { return nil }, nil
	}
	return unlock, err
}

// replace writes the document on the condition that the present one is of the version, or without a condition where the
// store knows none; then the lock, or the caller's word, keeps others away.
func (n Node) replace(ctx context.Context, key store.Key, document []byte, old store.Version) (store.Version, error) {
	if !old.IsZero() {
		version, err := store.PutIf(ctx, n.Store, key, document, store.IfVersion(old), n.Durability)
		if !errors.Is(err, store.ErrUnsupported) {
			return n.settle(ctx, key, document, version, err)
		}
	}
	version, err := store.Put(ctx, n.Store, key, document, n.Durability)
	return n.settle(ctx, key, document, version, err)
}

// settle finds out what became of a conditional write that failed for a reason other than its condition, as when the
// answer of a server is lost: the document that is there tells.
func (n Node) settle(ctx context.Context, key store.Key, document []byte, version store.Version, err error) (store.Version, error) {
	if err == nil || errors.Is(err, store.ErrConflict) {
		return version, err
	}
	there, info, lookErr := n.Store.Get(context.WithoutCancel(ctx), key, store.Request{Limit: n.Limit}, nil)
	switch {
	case lookErr == nil && bytes.Equal(there, document) && errors.Is(err, store.ErrDurability):
		return info.Version, fmt.Errorf("%w: %w", ErrIncomplete, err)
	case lookErr == nil && bytes.Equal(there, document):
		return info.Version, nil
	case lookErr == nil || errors.Is(lookErr, fs.ErrNotExist):
		return store.Version{}, err
	}
	return store.Version{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
}

// batch runs work with a batch of writes and makes them durable.
func (n Node) batch(ctx context.Context, work func(context.Context, store.Batch) error) error {
	if work == nil {
		return nil
	}
	return Batch(ctx, n.Store, n.Durability, work)
}

// Batch runs work with a batch of writes to s and commits it.
func Batch(ctx context.Context, s store.Store, d store.Durability, work func(context.Context, store.Batch) error) error {
	b, err := store.NewBatch(ctx, s, d)
	if err != nil {
		return err
	}
	defer b.Discard()
	if err := work(ctx, b); err != nil {
		return err
	}
	return b.Commit(ctx)
}
