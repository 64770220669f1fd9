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
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"time"

	"varve.dev/zarr/internal/quantity"
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
			err = Incomplete(err, unlockErr)
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
	if !fenced || !n.Recent.matches(old.Version) {
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
	conditional := store.Can(n.Store, store.OpPutIf)
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

// run is one run of Update. Its two kinds, [exclusive] and [fence], differ in how they
// exclude concurrent writers.
type run interface {
	stage(context.Context, *Change) error
	// secure makes every concurrent plan on the document of step 2 fail when it
	// publishes.
	secure(context.Context) error
	// warn marks the document and gives it a new version; see [Change.Warn].
	warn(context.Context) error
	publish(ctx context.Context, document []byte) (store.Version, error)
	reclaim(context.Context, *Change) error
}

// begin returns the run for a change.
func (n Node) begin(old Document, c *Change, fenced bool) (run, error) {
	if fenced || c.Warn {
		// The present document gets the ID of a fence.
		if err := cmp.Or(n.checkTrailRoom(c.Document), n.checkTrailRoom(old.Bytes)); err != nil {
			return nil, err
		}
	}
	switch {
	case !fenced:
		return &exclusive{n, old}, nil
	case old.Version.IsZero():
		// Neither the fence nor step 4 could be conditional.
		return nil, fmt.Errorf("%w: it does not report versions", ErrUnsafe)
	}
	return &fence{Node: n, planned: trailOf(old.Bytes).last(), document: old, change: c}, nil
}

// Incomplete wraps errors in [ErrIncomplete], those of steps 5 and 6 for example. Without
// an error it returns nil.
func Incomplete(errs ...error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrIncomplete) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrIncomplete, err)
}

// outcomeUnknown wraps the errors of a write in [ErrOutcomeUnknown]. The result is no
// conflict, even if an answer was one: who meets a conflict plans again, and the change
// would be made twice.
func outcomeUnknown(errs ...error) error {
	err := errors.Join(errs...)
	if errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("%w: %v", ErrOutcomeUnknown, err)
	}
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
}

// exclusive is the run of a writer that has no concurrent writers, because it holds the
// lock or the caller declared a single writer.
type exclusive struct {
	Node
	old Document
}

func (e *exclusive) stage(ctx context.Context, c *Change) error {
	err := e.batch(ctx, c.Stage)
	if err != nil {
		// No document will describe the staged chunks. Those that stay are orphaned and
		// invisible.
		_ = e.batch(store.Finishing(ctx), c.Abandon)
	}
	return err
}

func (e *exclusive) secure(context.Context) error { return nil }

// warn rewrites the document with the mark and the ID of a fence. A store that derives
// versions from the content needs other bytes even if an earlier warning has left the
// mark.
func (e *exclusive) warn(ctx context.Context) error {
	document := withFence(withMark(e.old.Bytes), newID())
	version, err := e.publish(ctx, document)
	if err == nil {
		e.old = Document{document, version}
	}
	return err
}

func (e *exclusive) reclaim(ctx context.Context, c *Change) error {
	if err := e.batch(ctx, c.Reclaim); err != nil {
		return err
	}
	// Tidy may remove its objects only once the writes of Reclaim are durable.
	return e.batch(ctx, c.Tidy)
}

// publish replaces the document on the condition that it is still the one that was
// read. If the store has no versions, it relies on the lock, or on the caller's
// declaration of a single writer.
func (e *exclusive) publish(ctx context.Context, document []byte) (store.Version, error) {
	if !e.old.Version.IsZero() {
		version, err := store.Write(ctx, e.Store, store.PutIf(e.key(), document, store.IfVersion(e.old.Version)), e.Durability)
		if !errors.Is(err, store.ErrUnsupported) {
			return e.settle(ctx, document, version.Version, err)
		}
	}
	// The store has no versions or no conditional writes. Only the lock, or the caller's
	// declaration, excludes concurrent writers.
	version, err := store.Write(ctx, e.Store, store.Put(e.key(), document), e.Durability)
	return e.settle(ctx, document, version.Version, err)
}

// settle finds the outcome of a write that failed, perhaps because its answer was lost or
// was that of a second delivery. There is no concurrent writer, so it compares the
// present document.
func (n Node) settle(ctx context.Context, document []byte, version store.Version, err error) (store.Version, error) {
	// A store with locks delivers nothing twice. If the document is another one although
	// this writer holds the lock, the lock is lost, and equal bytes may be a rival's.
	if _, locks := store.As[store.Locker](n.Store); locks && errors.Is(err, store.ErrConflict) {
		return version, err
	}
	// Where there is no bucket or no permission, nothing can be looked at.
	if err == nil || certainlyNotWritten(err) && !errors.Is(err, store.ErrConflict) {
		return version, err
	}
	there, lookErr := n.read(context.WithoutCancel(ctx))
	switch {
	case lookErr == nil && bytes.Equal(there.Bytes, document) && errors.Is(err, store.ErrDurability):
		// Published, but a power cut may undo it.
		return there.Version, fmt.Errorf("%w: %w", ErrIncomplete, err)
	case lookErr == nil && bytes.Equal(there.Bytes, document):
		return there.Version, nil
	case lookErr == nil || errors.Is(lookErr, fs.ErrNotExist) || errors.Is(err, store.ErrConflict):
		// Still the old document, or none yet: nothing was published.
		return store.Version{}, err
	}
	return store.Version{}, outcomeUnknown(err)
}

// certainlyNotWritten reports whether the error of a write says that nothing was
// written, and why another attempt would end in the same way.
func certainlyNotWritten(err error) bool {
	for _, sure := range [...]error{store.ErrConflict, store.ErrUnsupported, store.ErrNoBucket, store.ErrRefused} {
		if errors.Is(err, sure) {
			return true
		}
	}
	return false
}

// Writers of a region take no lock. Another writer may replace the grid while they store
// their chunks, so they look at the document afterwards. But a change that copies the
// present chunks to a new grid ([Change.Warn]) compares their versions at one moment, and
// publishes at a later one. A chunk that is stored in between would be lost, although the
// document did not change before its writer looked.
//
// So the change warns before it compares: it marks the document. A writer that finds the
// document without a mark after it has stored its chunks knows that the comparison is yet
// to come. One that finds the mark must not rely on the comparison: it waits for the lock
// or, in a store without locks, disturbs the change ([Disturb]).
//
// A transaction of several nodes ([UpdateAll]) publishes a document even if it was
// disturbed after the journal was stored. So a writer that has found the mark also looks
// for a pointer to a journal ([CheckPending]), and finishes the transaction before it
// looks at the document again. The pointer is stored before the fence, so either the
// writer finds it, or the fence fails.
//
// The mark is a space at the end of the document, before the last newline. Every new
// document is without it. A crash leaves it, which costs later writers a request.
const mark = " "

// withMark returns a document with the mark of a warning.
func withMark(document []byte) []byte {
	t := trailOf(document)
	t.warned = true
	return t.appendTo(document)
}

// Warned reports whether a document has the mark of a warning.
func Warned(document []byte) bool {
	return strings.HasSuffix(string(bytes.TrimRight(document, "\n")), mark)
}

// Disturb gives the document of a node another version, if it still has the given one. A
// change that was planned on that version can then no longer be published, and is planned
// again. If the version is another one already, the error wraps [store.ErrConflict].
func Disturb(ctx context.Context, n Node, version store.Version) error {
	d, err := n.read(ctx)
	if err != nil {
		return err
	}
	if d.Version != version {
		return fmt.Errorf("%w: the document was published again", store.ErrConflict)
	}
	if err := n.checkTrailRoom(d.Bytes); err != nil {
		return err
	}
	_, err = store.Write(ctx, n.Store, store.PutIf(n.key(), withFence(d.Bytes, newID()), store.IfVersion(version)), n.Durability)
	return err
}

const (
	// changeTries is the number of attempts to plan and publish a change while
	// concurrent writers publish first.
	changeTries = 32
	// LongestPause bounds the pause between two attempts in a store that answers at once.
	LongestPause = 50 * time.Millisecond
	// crowd is the number of writers that share a node without starving one. In a store
	// that answers late, pauses grow to the time that so many attempts take.
	crowd = 16
	// farthestPause bounds the pause between two attempts in any store.
	farthestPause = 10 * time.Second
)

// Final is a conflict that remains when the change is tried again.
type Final interface {
	error
	Final()
}

// Retry calls do, with random pauses, until it returns no [store.ErrConflict]. It does
// not repeat a call after a [Final] conflict, for a node that is held, or if the change
// was published.
func Retry(ctx context.Context, do func() error) (err error) {
	pause := time.Millisecond
	for range changeTries {
		begin := time.Now()
		if err = do(); !errors.Is(err, store.ErrConflict) || isFinal(err) {
			return err
		}
		took := time.Since(begin)
		pause = max(pause, min(took, farthestPause))
		select {
		case <-time.After(rand.N(pause)): // random, so that writers do not conflict again
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, max(LongestPause, crowd*took), farthestPause)
	}
	return fmt.Errorf("%w; gave up after %s", err, quantity.Count(changeTries, "tries"))
}

// isFinal reports whether a conflict stays when the change is tried again.
func isFinal(err error) bool {
	var final Final
	return errors.As(err, &final) || errors.Is(err, ErrHeld) || errors.Is(err, ErrIncomplete)
}

// ownError reports that this call holds the lock already.
type ownError struct{ path, held store.Path }

func (e *ownError) Error() string {
	if e.path == e.held {
		return fmt.Sprintf("%q is named twice", "/"+e.path.String())
	}
	return fmt.Sprintf("%q is %q by another name", "/"+e.path.String(), "/"+e.held.String())
}

// lock takes the node's lock. If n.Held contains it, lock returns an [*ownError] instead
// of waiting for itself.
func (n Node) lock(ctx context.Context) (unlock func() error, err error) {
	ctx = store.WithLocking(ctx, n.Locking)
	if n.Held == nil {
		return store.Lock(ctx, n.Store, n.Path)
	}
	// Comparing directories costs requests. Do it only if the lock is taken.
	once := store.LockingOf(ctx)
	once.Timeout = -1
	unlock, err = store.Lock(store.WithLocking(ctx, once), n.Store, n.Path)
	if !errors.Is(err, store.ErrLocked) {
		return unlock, err
	}
	if held, own := n.Held.name(n); own {
		return nil, &ownError{n.Path, held}
	}
	if store.LockingOf(ctx).Timeout < 0 {
		// The caller does not wait for locks.
		return nil, err
	}
	return store.Lock(ctx, n.Store, n.Path)
}

// lockIfThere takes the lock of a node that may not exist, unless the caller holds it. If
// the driver has no locks, it succeeds without one. If only the file system has none, as
// on some network mounts, the caller must be the only writer or the directory must be
// empty.
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
	for _, listErr := range store.List(ctx, n.Store, n.Path, store.Flat) {
		// The directory is not empty, so another writer may be using it.
		return nil, errors.Join(listErr, fmt.Errorf("%w: %w", ErrUnsafe, err))
	}
	return unlockNothing, nil
}

// unlockNothing replaces unlock if no lock was taken.
func unlockNothing() error { return nil }
