// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"varve.dev/zarr/store"
)

// turns has the turns of all chunks, indexed by a hash of the key. A turn is a lock that
// excludes other writers of one chunk within this process. In contrast to a mutex, the
// wait for it ends with a context. Writers of different chunks rarely share one. A turn
// is made when it is first needed.
var (
	turns [8192]atomic.Pointer[semaphore.Weighted]
	seed  = maphash.MakeSeed()
)

func turnOf(key store.Key) *semaphore.Weighted {
	at := &turns[maphash.String(seed, key.String())%uint64(len(turns))]
	if t := at.Load(); t != nil {
		return t
	}
	// Another goroutine may store a turn first. Then use that one.
	at.CompareAndSwap(nil, semaphore.NewWeighted(1))
	return at.Load()
}

// lock waits for the turn of the chunk as long as the [store.Locking] of the context
// permits. Unless it fails, the caller releases the turn.
func (w *worker) lock(ctx context.Context) (*semaphore.Weighted, error) {
	t := turnOf(w.key)
	if t.TryAcquire(1) {
		return t, nil
	}
	await := func(ctx context.Context) error { return t.Acquire(ctx, 1) }
	if store.LockingOf(ctx).Timeout < 0 {
		// Such a call does not wait for locks. But keys share turns, so the holder may be
		// a writer of another chunk, which ends soon.
		return t, await(ctx)
	}
	return t, AwaitTurn(ctx, w.key.String(), await)
}

// AwaitTurn calls acquire, which waits for another call of this process. It applies the
// timeout and the messages of the [store.Locking] of ctx. name is what the other call
// holds.
func AwaitTurn(ctx context.Context, name string, acquire func(context.Context) error) error {
	lock := func(ctx context.Context) (func() error, error) { return nil, acquire(ctx) }
	_, err := store.AwaitLock(ctx, name, lock, func() store.Holder {
		h := store.ThisProcess("another call of this program")
		h.Since = time.Time{} // unknown
		return h
	})
	return err
}
