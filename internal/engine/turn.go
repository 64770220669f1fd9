// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"

	"varve.dev/zarr/store"
)

// turn is a lock that excludes other writers of one chunk within this process. In
// contrast to a mutex, the wait for it ends with a context.
type turn struct{ taken chan struct{} } // has room for one value

// turns has the turns of all chunks, indexed by a hash of the key. Writers of different
// chunks rarely share one. A turn is made when it is first needed.
var (
	turns [8192]atomic.Pointer[turn]
	seed  = maphash.MakeSeed()
)

func turnOf(key store.Key) *turn {
	at := &turns[maphash.String(seed, key.String())%uint64(len(turns))]
	if t := at.Load(); t != nil {
		return t
	}
	at.CompareAndSwap(nil, &turn{make(chan struct{}, 1)})
	return at.Load()
}

// lock waits for the turn of the chunk as long as the [store.Locking] of the context
// permits. Unless it fails, the caller calls unlock.
func (w *worker) lock(ctx context.Context) (*turn, error) {
	t := turnOf(w.key)
	select {
	case t.taken <- struct{}{}:
		return t, nil
	default:
	}
	if store.LockingOf(ctx).Timeout < 0 {
		// Such a call does not wait for locks. But keys share turns, so the holder may be
		// a writer of another chunk, which ends soon.
		return t, t.await(ctx)
	}
	return t, AwaitTurn(ctx, w.key.String(), t.await)
}

// await takes the turn when it is free, or fails when the context ends.
func (t *turn) await(ctx context.Context) error {
	select {
	case t.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *turn) unlock() { <-t.taken }

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
