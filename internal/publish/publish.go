// Package publish is the one way in which a change of a node becomes visible.
//
// A node's metadata document is the only thing that readers trust: chunks that it does not describe do not exist.
// A change therefore runs in this order, and may be killed at any point:
//
//  1. Take the node's lock, so that no other writer works on a plan that this change makes wrong.
//  2. Read the document as it is now, and plan on that: what was known before may be old.
//  3. Stage: write the chunks that the new document will describe, under keys that the old one does not describe or
//     in places of a chunk that it does not reach. Make them durable.
//  4. Publish: write the document, on the condition that it is still the one that was read. This is the change.
//  5. Reclaim: delete the chunks that the new document does not describe any more, and clear what it cut off.
//  6. Let go of the lock.
//
// A death before 4 leaves the old state and perhaps chunks that nobody sees; whoever grows over them overwrites or
// deletes them in step 3. A death after 4 leaves the new state and perhaps chunks that nobody sees.
package publish

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr/store"
)

// ErrUnsafe says that the store can neither lock nor write on a condition, so that another writer's change could be lost.
var ErrUnsafe = errors.New("store cannot keep other writers away; say that this is the only one (SingleWriter), or use another store")

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
	Reclaim  func(context.Context, store.Batch) error // nil where nothing is to be reclaimed
}

// Update changes a node in the order that the package describes. plan is given the document as it is; a nil Change
// means that nothing is to be done. The error wraps [store.ErrConflict] where another writer published in between;
// then nothing is visible of the change and Update may be called again.
func Update(ctx context.Context, n Node, plan func(document []byte) (*Change, error)) (err error) {
	unlock, err := n.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	key := n.Path.Key(n.Document)
	old, info, err := n.Store.Get(ctx, key, store.Request{Limit: n.Limit}, nil)
	if err != nil {
		return err
	}
	change, err := plan(old)
	if err != nil || change == nil {
		return err
	}
	if err := n.batch(ctx, change.Stage); err != nil {
		return err
	}
	if err := n.publish(ctx, key, change.Document, store.IfVersion(info.Version), info.Version.IsZero()); err != nil {
		return err
	}
	return n.batch(ctx, change.Reclaim)
}

// Create publishes the document of a node that does not exist. The error wraps [store.ErrConflict] where it does.
func Create(ctx context.Context, n Node, document []byte) error {
	key := n.Path.Key(n.Document)
	err := n.publish(ctx, key, document, store.IfAbsent(), false)
	if !errors.Is(err, store.ErrUnsupported) {
		return err
	}
	found, err := store.Exists(ctx, n.Store, key)
	switch {
	case err != nil:
		return err
	case found:
		return fmt.Errorf("%w: %s", store.ErrConflict, key)
	}
	_, err = store.Put(ctx, n.Store, key, document, n.Durability)
	return err
}

// Remove deletes everything at and below a node, its document first: what is left after a death is not visible.
func Remove(ctx context.Context, n Node) error {
	if err := store.Delete(ctx, n.Store, n.Path.Key(n.Document)); err != nil {
		return err
	}
	return n.batch(ctx, func(ctx context.Context, b store.Batch) error {
		for e, err := range store.List(ctx, n.Store, n.Path, true) {
			if err == nil {
				err = b.Delete(ctx, n.Path.Key(e.Name))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// lock takes the node's lock. A store without locks is good enough if it writes on conditions or the caller is alone.
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

// publish writes the document on a condition, or without one where the store knows no conditions
// and the lock, or the caller's word, keeps others away.
func (n Node) publish(ctx context.Context, key store.Key, document []byte, cond store.Condition, plain bool) error {
	if !plain {
		_, err := store.PutIf(ctx, n.Store, key, document, cond, n.Durability)
		if !errors.Is(err, store.ErrUnsupported) || cond.Absent() {
			return err
		}
	}
	_, err := store.Put(ctx, n.Store, key, document, n.Durability)
	return err
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
