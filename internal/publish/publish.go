// Package publish makes changes of nodes visible.
//
// Readers trust only the metadata document of a node: a chunk that it does not describe
// does not exist for them. So a change runs in this order and may crash at any point:
//
//  1. Lock the node. Concurrent writers would otherwise plan against a document that this
//     change replaces.
//  2. Read the document again and plan on it. The caller's copy may be stale.
//  3. Stage: write the chunks that only the new document describes, and the parts of
//     present chunks that the old document does not reach. Make them durable.
//  4. Publish: replace the document, on the condition that it is still the one of step 2.
//     This commits the change. Later failures do not undo it, and a cancelled context no
//     longer stops it.
//  5. Reclaim: delete the superseded chunks and clear what the new document cuts off.
//  6. Unlock the node.
//
// A crash before step 4 leaves the old state and possibly orphaned chunks, which readers
// never look up. The next writer that grows into their place overwrites or deletes them
// in step 3. A crash after step 4 leaves the new state and possibly superseded chunks,
// which are equally invisible.
//
// Stores without locks need conditional writes. There, a fence takes the place of the
// lock (see fence.go). A change of several nodes is a transaction with a journal (see
// [UpdateAll]).
package publish

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr/store"
)

var (
	// ErrUnsafe reports that the store has neither locks nor conditional writes, so
	// concurrent writers could lose each other's changes.
	ErrUnsafe = errors.New("the store has neither locks nor conditional writes, so concurrent changes could be lost; declare this the only writer (SingleWriter), or use another store")
	// ErrIncomplete reports that a change was published but a later step failed: its
	// superseded chunks were not removed, or the change was not made durable. Do not
	// repeat the change. What is left over is invisible and is overwritten when its
	// place is used.
	ErrIncomplete = errors.New("published, but a later step failed")
	// ErrOutcomeUnknown reports that the change may or may not have been published.
	// Read the node before repeating the change.
	ErrOutcomeUnknown = errors.New("it is unknown whether the change was published")
)

// Node is the node to change, and how to change it.
type Node struct {
	Store        store.Store
	Path         store.Path
	Document     string // name of the metadata document, "zarr.json" or ".zarray"
	Durability   store.Durability
	SingleWriter bool  // the caller guarantees that there is no concurrent writer
	Limit        int64 // maximum size of the document in bytes
	Locking      store.Locking
	Holder       string // identifies the caller to a reservation of the node; see [Hold]
	Held         *Locks // locks that the caller holds already; may be nil
}

// Document is one version of a node's metadata document.
type Document struct {
	Bytes   []byte
	Version store.Version // zero if the store has no versions
}

// Change is what a plan returns. All functions may be nil.
type Change struct {
	Document []byte                                   // nil if only Reclaim and Tidy are to run
	Stage    func(context.Context, store.Batch) error // writes the new chunks
	// Marker is the marker chunk: the first chunk that Stage puts. Every plan on the
	// same document that puts any chunk guarded by it puts Marker first. The zero Key
	// means that there is none.
	Marker store.Key
	// Guarded reports whether every plan on the same document that puts the chunk at
	// key puts Marker first. It is called only after Marker is put. A nil Guarded
	// means that no chunk is guarded.
	Guarded func(key store.Key) bool
	// Published is called, under the lock, as soon as the document is published. The
	// version is zero if the store has none.
	Published func(store.Version)
	Reclaim   func(context.Context, store.Batch) error // deletes and clears superseded chunks
	// Tidy removes what is no longer needed once the writes of Reclaim are durable.
	Tidy func(context.Context, store.Batch) error
	// Abandon deletes staged chunks after Stage failed. Its errors are ignored,
	// because what it leaves is invisible.
	Abandon func(context.Context, store.Batch) error
}

// Update changes a node in the order that the package comment describes. It passes the
// present document to plan; a nil [Change] ends the update without an effect.
//
// An error that wraps [store.ErrConflict] means that a concurrent writer published first.
// Then nothing of this change is visible, and Update may be called again. After
// [ErrIncomplete] the change is visible.
func Update(ctx context.Context, n Node, plan func(Document) (*Change, error)) (err error) {
	unlock, fenced, err := n.excludeWriters(ctx)
	if err != nil {
		return err
	}
	// Step 6 runs on every path. A lock that cannot be released after step 4 does not
	// undo the change, so that error becomes ErrIncomplete.
	published := false
	defer func() {
		if unlockErr := unlock(); published {
			err = incomplete(err, unlockErr)
		} else {
			err = errors.Join(err, unlockErr)
		}
	}()
	old, err := n.read(ctx)
	if err != nil {
		return err
	}
	// Check this after reading the document. A transaction without locks writes its
	// pointers first and raises its fences second, so either the pointer is visible
	// here or publishing fails below.
	if err := n.checkFree(ctx); err != nil {
		return err
	}
	change, err := plan(old)
	if err != nil || change == nil {
		return err
	}
	run, err := n.begin(old, change, fenced)
	if err != nil {
		return err
	}
	// Without a new document the change has no step 3 or 4.
	if change.Document == nil {
		return run.reclaim(ctx, change)
	}
	// Step 3. A crash or failure in here leaves chunks that no document describes.
	if err = run.stage(ctx, change); err != nil {
		return err
	}
	// Step 4. A crash in here leaves the old or the new document, never a mixture:
	// stores replace values atomically.
	version, err := run.publish(ctx, change.Document)
	if published = err == nil || errors.Is(err, ErrIncomplete); !published {
		// Keep the staged chunks. If the outcome is unknown, the write may still
		// arrive, and the document then describes them.
		return err
	}
	if change.Published != nil {
		change.Published(version)
	}
	// Step 5. Continue after a cancellation, but no longer wait for locks. A
	// crash in here leaves superseded chunks.
	return errors.Join(err, run.reclaim(store.Finishing(ctx), change))
}

// key returns the key of the node's document.
func (n Node) key() store.Key { return n.Path.MustKey(n.Document) }

// read returns the present document.
func (n Node) read(ctx context.Context) (Document, error) {
	data, info, err := n.Store.Get(ctx, n.key(), store.Request{Limit: n.Limit}, nil)
	return Document{data, info.Version}, err
}

// excludeWriters takes the node's lock, unless the caller holds it already. If the store
// has no locks, it returns fenced for a store with conditional writes, and neither for a
// single writer.
func (n Node) excludeWriters(ctx context.Context) (unlock func() error, fenced bool, err error) {
	unlock, fenced, err = n.lockOrFence(ctx)
	if own := (*ownError)(nil); errors.As(err, &own) {
		return unlockNothing, false, nil
	}
	return unlock, fenced, err
}

// lockOrFence is like excludeWriters, but returns an [*ownError] if the caller holds the
// lock already.
func (n Node) lockOrFence(ctx context.Context) (unlock func() error, fenced bool, err error) {
	unlock, err = n.lock(ctx)
	if !errors.Is(err, store.ErrUnsupported) {
		return unlock, false, err
	}
	_, conditional := store.As[store.ConditionalWriter](n.Store)
	if _, locks := store.As[store.Locker](n.Store); locks {
		// The driver implements locks but the file system has none, as on some
		// network mounts. Its conditional writes rely on the same locks.
		conditional = false
	}
	if !n.SingleWriter && !conditional {
		return nil, false, fmt.Errorf("%w: %w", ErrUnsafe, err)
	}
	return unlockNothing, !n.SingleWriter, nil
}

// batch runs work with a batch of writes, and commits the batch.
func (n Node) batch(ctx context.Context, work func(context.Context, store.Batch) error) error {
	if work == nil {
		return nil
	}
	return Batch(store.WithLocking(ctx, n.Locking), n.Store, n.Durability, work)
}

// Batch runs work with a batch of writes to s, and commits the batch.
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
