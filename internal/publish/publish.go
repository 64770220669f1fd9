// SPDX-License-Identifier: Apache-2.0

// Package publish makes changes of nodes visible.
//
// Readers trust only the metadata document of a node: a chunk that it does not describe
// does not exist for them. So a change runs in this order and may crash at any point:
//
//  1. Lock the node. Concurrent writers would otherwise plan against a document that this
//     change replaces.
//  2. Read the document again and plan on it. The caller's copy may be stale.
//     A change that copies present chunks then marks the document, to warn writers that
//     take no lock (see [Warned]).
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

// Update changes a node in the order that the package comment describes. It passes the
// present document to plan. If plan returns a nil [Change], Update changes nothing.
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
	// here or publishing fails below. For the same reason, a version that was checked
	// before need not be checked again.
	if !fenced || !n.Recent.is(old.Version) {
		if err := n.checkFree(ctx); err != nil {
			return err
		}
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
	if change.Warn {
		// A crash after this leaves the old document with the ID of a fence.
		if err = run.warn(ctx); err != nil {
			return err
		}
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
	n.Recent.Set(version)
	// Step 5. Continue after a cancellation, but no longer wait for locks. A
	// crash in here leaves superseded chunks.
	return errors.Join(err, run.reclaim(store.Finishing(ctx), change))
}

// excludeWriters takes the node's lock, unless the caller holds it already. If the store
// has no locks, fenced reports that the change needs a fence. A single writer needs
// neither.
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
