// SPDX-License-Identifier: Apache-2.0

// Package nodelock orders the calls of this process on one node.
//
// Any number of writes run at the same time; a change of the shape runs alone. Writes to
// chunks at the border of an array also need the lock of the store, which excludes other
// processes. They share one such lock, see [Held.LockStore].
//
// To avoid deadlocks, a call takes the lock of this process first, and then that of the
// store.
package nodelock

import (
	"context"
	"errors"
	"reflect"
	"sync"

	"golang.org/x/sync/semaphore"

	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/store"
)

// exclusive is the weight of a change of the shape; a write has the weight 1.
const exclusive = 1 << 30

// Node is a node, and the options for waiting for its lock.
type Node struct {
	Store   store.Store
	Path    store.Path
	Locking store.Locking // limits the wait for either lock
}

// Held is the lock of a node, held by a call.
type Held struct {
	node   Node
	lock   *lock
	weight int64
	done   func()
}

// lock is the state that concurrent calls on one node share.
type lock struct {
	queue *semaphore.Weighted
	users int // calls that hold the lock or wait for it

	gate    *semaphore.Weighted // guards the fields below
	holders int                 // writes that share the lock of the store
	unlock  func() error
	locked  bool // the store has locks
}

// place identifies a node regardless of the wrappers of its store.
type place struct {
	driver any
	path   store.Path
}

// locks has the locks that are in use.
var locks = struct {
	sync.Mutex
	at map[place]*lock
}{at: map[place]*lock{}}

// place returns the key of the node in locks. Drivers of a type that cannot be compared
// share their locks. This is slower, but still correct.
func (n Node) place() place {
	driver := store.Driver(n.Store)
	if !reflect.ValueOf(driver).Comparable() {
		return place{path: n.Path}
	}
	return place{driver, n.Path}
}

// Share waits until no change of the shape runs. Other writes may run at the same time.
// The caller calls [Held.Release].
func (n Node) Share(ctx context.Context) (*Held, error) {
	return n.enter(1, func(queue *semaphore.Weighted) error { return n.await(ctx, queue, 1) })
}

// Exclude waits until no other call holds the lock. The caller calls [Held.Release].
func (n Node) Exclude(ctx context.Context) (*Held, error) {
	return n.enter(exclusive, func(queue *semaphore.Weighted) error { return n.await(ctx, queue, exclusive) })
}

// TryExclude is [Node.Exclude] for callers that must not wait. It reports whether the
// lock was free.
func (n Node) TryExclude() (*Held, bool) {
	h, err := n.enter(exclusive, func(queue *semaphore.Weighted) error {
		if !queue.TryAcquire(exclusive) {
			return store.ErrLocked
		}
		return nil
	})
	return h, err == nil
}

// await acquires a weight. It applies n.Locking, as a wait for the lock of the store
// does.
func (n Node) await(ctx context.Context, queue *semaphore.Weighted, weight int64) error {
	// Fast path: if the lock is free, there is no wait to prepare.
	if ctx.Err() == nil && queue.TryAcquire(weight) {
		return nil
	}
	return engine.AwaitTurn(store.WithLocking(ctx, n.Locking), n.Path.String(), func(ctx context.Context) error {
		return queue.Acquire(ctx, weight)
	})
}

func (n Node) enter(weight int64, acquire func(*semaphore.Weighted) error) (*Held, error) {
	at := n.place()
	locks.Lock()
	l := locks.at[at]
	if l == nil {
		l = &lock{queue: semaphore.NewWeighted(exclusive), gate: semaphore.NewWeighted(1)}
		locks.at[at] = l
	}
	// Count the call before the wait. It then keeps the lock in the map, so that a later
	// call finds the same lock.
	l.users++
	locks.Unlock()
	done := func() {
		locks.Lock()
		defer locks.Unlock()
		if l.users--; l.users == 0 {
			delete(locks.at, at)
		}
	}
	if err := acquire(l.queue); err != nil {
		done()
		return nil, err
	}
	return &Held{n, l, weight, done}, nil
}

// Release releases the lock of this process. It is called once.
func (h *Held) Release() {
	h.lock.queue.Release(h.weight)
	h.done()
}

// LockStore takes the lock of the store for the writes of this process, so that no other
// process changes the shape. Concurrent writes share it, and the last call of unlock
// releases it. If the store has no locks, locked is false, and other processes are not
// excluded.
func (h *Held) LockStore(ctx context.Context) (unlock func() error, locked bool, err error) {
	l := h.lock
	if err := h.node.await(ctx, l.gate, 1); err != nil {
		return nil, false, err
	}
	defer l.gate.Release(1)
	// The first of the concurrent writes takes the lock for all of them.
	if l.holders == 0 {
		unlock, err := store.Lock(store.WithLocking(ctx, h.node.Locking), h.node.Store, h.node.Path)
		l.locked = err == nil
		if errors.Is(err, store.ErrUnsupported) {
			unlock, err = func() error { return nil }, nil
		}
		if err != nil {
			return nil, false, err
		}
		l.unlock = unlock
	}
	l.holders++
	return l.unlockStore, l.locked, nil
}

// unlockStore releases the lock of the store after the last write that shares it.
func (l *lock) unlockStore() error {
	// The gate is held only while a lock is taken or released, so this wait is short. Do
	// not skip the unlock because a caller has cancelled its context.
	_ = l.gate.Acquire(context.Background(), 1)
	defer l.gate.Release(1)
	// Other writes still rely on the lock.
	if l.holders--; l.holders > 0 {
		return nil
	}
	return l.unlock()
}
