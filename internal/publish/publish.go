// Package publish is the one way in which a change of a node becomes visible.
//
// A node's metadata document is the only thing that readers trust: chunks that it does
// not describe do not exist. A change therefore runs in this order, and may be killed at
// any point:
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
// A death before 4 leaves the old state and perhaps chunks that nobody sees; whoever
// grows over them overwrites or deletes them in step 3. A death after 4 leaves the new
// state and perhaps chunks that nobody sees.
//
// A store without locks has to have conditional writes. There a fence stands for the
// lock: see fence.go.
package publish

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr/store"
)

var (
	// ErrUnsafe says that the store has neither locks nor conditional writes, so that
	// another writer's change could be lost.
	ErrUnsafe = errors.New("the store has neither locks nor conditional writes to keep other writers away; say that this is the only one (SingleWriter), or use another store")
	// ErrIncomplete says that a change was published, and that what comes after failed:
	// removing what it left behind, or making it durable. The change must not be
	// repeated. What is left is not visible, and goes when its place is written to.
	ErrIncomplete = errors.New("published, but what comes after failed")
	// ErrOutcomeUnknown says that nobody can tell whether a change was published: look at
	// the node before it is repeated.
	ErrOutcomeUnknown = errors.New("it is unknown whether the change was published")
)

// Node is the place of a change.
type Node struct {
	Store        store.Store
	Path         store.Path
	Document     string // name of the metadata document, "zarr.json" or ".zarray"
	Durability   store.Durability
	SingleWriter bool  // the caller knows that nobody else writes
	Limit        int64 // most bytes of the document
	Locking      store.Locking
	Holder       string // who changes the node, where it may be held; see [Hold]
	Held         *Locks // which the caller holds already; nil for none
}

// Document is the metadata document of a node at one time.
type Document struct {
	Bytes   []byte
	Version store.Version // zero where the store knows none
}

// Change is what a plan asks for.
type Change struct {
	Document []byte                                   // nil where the one that is there stays, and there is only to reclaim
	Stage    func(context.Context, store.Batch) error // nil where nothing is to be staged
	// Witness is the first chunk that Stage puts, and puts before all others, where every
	// plan on the same document that puts any of its chunks puts this one first. The zero
	// Key says that there is none.
	Witness store.Key
	// Guarded reports whether every plan on the same document that puts the chunk under a
	// key puts the witness first; nil stands for none. It is asked only once the witness
	// is put.
	Guarded func(key store.Key) bool
	// Published is called, under the lock, as soon as the document is published, with its
	// version where the store knows it; nil where nobody wants to know.
	Published func(store.Version)
	Reclaim   func(context.Context, store.Batch) error // nil where nothing is to be reclaimed
	// Tidy removes what is of no use once what Reclaim wrote is durable; nil where
	// nothing is.
	Tidy func(context.Context, store.Batch) error
	// Abandon deletes what was staged, where staging failed; nil where it may stay. Its
	// errors are of no interest: what it leaves is not visible.
	Abandon func(context.Context, store.Batch) error
}

// Update changes a node in the order that the package describes. plan is given the
// document as it is; a nil Change means that nothing is to be done. The error wraps
// [store.ErrConflict] where another writer published in between: then nothing is visible
// of the change and Update may be called again. After [ErrIncomplete] the change is
// visible.
func Update(ctx context.Context, n Node, plan func(Document) (*Change, error)) (err error) {
	unlock, fenced, err := n.keepOthersAway(ctx)
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
	old, err := n.read(ctx)
	if err != nil {
		return err
	}
	if err := n.isPending(ctx); err != nil {
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
	if change.Document == nil {
		return run.reclaim(ctx, change)
	}
	if err = run.stage(ctx, change); err != nil {
		return err
	}
	version, err := run.publish(ctx, change.Document)
	if published = err == nil || errors.Is(err, ErrIncomplete); !published {
		return err // chunks that were staged stay: nobody knows whether a document that describes them is on its way
	}
	if change.Published != nil {
		change.Published(version)
	}
	return errors.Join(err, run.reclaim(store.Finishing(ctx), change))
}

// run is one run of Update: how it stages, publishes and reclaims.
type run interface {
	stage(context.Context, *Change) error
	// secure makes sure that no other writer publishes a plan on the document that was
	// read.
	secure(context.Context) error
	publish(ctx context.Context, document []byte) (store.Version, error)
	reclaim(context.Context, *Change) error
}

// begin returns the run of a change.
func (n Node) begin(old Document, c *Change, fenced bool) (run, error) {
	switch {
	case !fenced:
		return &alone{n, old}, nil
	case old.Version.IsZero():
		return nil, fmt.Errorf("%w: it knows no versions", ErrUnsafe)
	}
	return newFence(n, old, c), nil
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

// key returns the key of the node's document.
func (n Node) key() store.Key { return n.Path.MustKey(n.Document) }

// read returns the document as it is now.
func (n Node) read(ctx context.Context) (Document, error) {
	data, info, err := n.Store.Get(ctx, n.key(), store.Request{Limit: n.Limit}, nil)
	return Document{data, info.Version}, err
}

// keepOthersAway takes the node's lock, unless the caller holds it. A store without locks
// is good enough where the caller is alone, or where conditional writes make a fence.
func (n Node) keepOthersAway(ctx context.Context) (unlock func() error, fenced bool, err error) {
	unlock, fenced, err = n.lockOrFence(ctx)
	if own := (*ownError)(nil); errors.As(err, &own) {
		return unlockNothing, false, nil
	}
	return unlock, fenced, err
}

// lockOrFence is keepOthersAway where a lock that the caller holds is an [*ownError].
func (n Node) lockOrFence(ctx context.Context) (unlock func() error, fenced bool, err error) {
	unlock, err = n.lock(ctx)
	if !errors.Is(err, store.ErrUnsupported) {
		return unlock, false, err
	}
	_, conditional := store.As[store.ConditionalWriter](n.Store)
	if _, locks := store.As[store.Locker](n.Store); locks {
		conditional = false // a directory without locks: its conditional writes need one, too
	}
	if !n.SingleWriter && !conditional {
		return nil, false, fmt.Errorf("%w: %w", ErrUnsafe, err)
	}
	return unlockNothing, !n.SingleWriter, nil
}

// batch runs work with a batch of writes and makes them durable.
func (n Node) batch(ctx context.Context, work func(context.Context, store.Batch) error) error {
	if work == nil {
		return nil
	}
	return Batch(store.WithLocking(ctx, n.Locking), n.Store, n.Durability, work)
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
