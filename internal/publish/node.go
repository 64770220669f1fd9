// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"context"
	"errors"

	"varve.dev/zarr/store"
)

var (
	// ErrUnsafe reports that the store has neither locks nor conditional writes, so
	// concurrent writers could lose each other's changes.
	ErrUnsafe = errors.New("the store has neither locks nor conditional writes, so concurrent changes could be lost; declare this the only writer (SingleWriter), or use another store")
	// ErrIncomplete reports that a change was published but a later step failed: its
	// superseded chunks were not removed, or the change was not made durable. Do not
	// repeat the change. The remaining chunks are invisible, and an array that grows
	// there overwrites them.
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
	Concurrency  int     // most nodes that are worked on at once in a store without locks; 0 is 16
	Holder       string  // identifies the caller to a reservation of the node; see [Hold]
	Held         *Locks  // locks that the caller holds, or nil
	Recent       *Recent // nil if nothing is remembered, or the node has a holder
}

// Document is one version of a node's metadata document.
type Document struct {
	Bytes   []byte
	Version store.Version // zero if the store has no versions
}

// AtOnce returns the most nodes that are worked on at once: one in a store with locks,
// where a request takes no time.
func (n Node) AtOnce() int {
	if _, locks := store.As[store.Locker](n.Store); locks {
		return 1
	}
	return cmp.Or(n.Concurrency, mostAtOnce)
}

// mostAtOnce is the default of [Node.Concurrency].
const mostAtOnce = 16

// key returns the key of the node's document.
func (n Node) key() store.Key { return n.Path.MustKey(n.Document) }

// Fenced reports whether changes of the node run under a fence: the store has no locks,
// and there may be other writers. Then chunks are deleted on conditions.
func (n Node) Fenced() bool {
	_, locks := store.As[store.Locker](n.Store)
	return !locks && !n.SingleWriter
}

// trails reports whether documents of the node have trails: they tell concurrent writers
// apart where there are no locks.
func (n Node) trails() bool {
	_, conditional := store.As[store.ConditionalWriter](n.Store)
	return n.Fenced() && conditional
}

// read returns the present document.
func (n Node) read(ctx context.Context) (Document, error) {
	data, info, err := n.Store.Get(ctx, n.key(), store.Request{Limit: n.Limit}, nil)
	return Document{data, info.Version}, err
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

// Locks are the locks that one call holds, in the order in which it took them.
//
// A symbolic link or a mount gives a directory a second name. A call that locks the same
// directory by both names would deadlock with itself. To prevent that, a call that holds
// locks sets [Node].Held to them before it takes the next one.
type Locks struct {
	outer   *Locks // locks of the caller, or nil
	paths   []store.Path
	unlocks []func() error
}

// add records a lock that the call has taken.
func (l *Locks) add(n Node, unlock func() error) {
	l.paths, l.unlocks = append(l.paths, n.Path), append(l.unlocks, unlock)
}

// unlock releases all locks in the order in which they were taken. A removal takes the
// locks of groups last, so no writer can enter a group while its members are still
// locked.
func (l *Locks) unlock() (err error) {
	for _, unlock := range l.unlocks {
		err = errors.Join(err, unlock())
	}
	l.paths, l.unlocks = nil, nil
	return err
}

// name returns the path under which the node's directory is locked already.
func (l *Locks) name(n Node) (store.Path, bool) {
	for ; l != nil; l = l.outer {
		for _, p := range l.paths {
			if same, err := store.SameDirectory(n.Store, n.Path, p); same && err == nil {
				return p, true
			}
		}
	}
	return store.Path{}, false
}

// Change is the result of a plan. All functions may be nil.
type Change struct {
	Document []byte // nil if only Reclaim and Tidy are to run
	// Warn marks the present document, and gives it a new version, before Stage. A change
	// that reads the present chunks in Stage needs it; see [Warned].
	Warn  bool
	Stage func(context.Context, store.Batch) error // writes the new chunks
	// Share is the part of the caller's budget and requests, of 1, that Stage takes at
	// most. 0 means all of it, as 1 does.
	Share float64
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
	// Kept is called for each chunk that Reclaim deletes and that stays nevertheless, in
	// a store without locks. The cause wraps [store.ErrConflict] if another writer has
	// changed the chunk, and [store.ErrUnsupported] if the store does not delete on
	// conditions. Calls may run at the same time. Kept may be nil.
	Kept func(key store.Key, cause error)
	// Tidy removes objects that nothing needs once the writes of Reclaim are durable.
	Tidy func(context.Context, store.Batch) error
	// Abandon deletes staged chunks after Stage failed. Its errors are ignored,
	// because the remaining chunks are invisible.
	Abandon func(context.Context, store.Batch) error
}
