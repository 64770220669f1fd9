package engine

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"

	"varve.dev/zarr/store"
)

// turn is a lock under which writers of one chunk take turns within this process. Unlike
// a mutex, waiting for it ends with a context.
type turn struct{ taken chan struct{} } // of one place

// turns are the turns of all chunks; a key always has the same one. There are so many
// that writers of different chunks hardly ever share one. Each is made when it is first
// needed.
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

// lock waits for this process's turn to change the chunk, as the context's
// [store.Locking] says. Unlock follows, unless it fails.
//
// A call that waits for no lock still waits here, until its context ends. Keys share
// turns, so that it may be kept out for a moment by a chunk of another array, or by one
// of its own.
func (w *worker) lock(ctx context.Context) (*turn, error) {
	t := turnOf(w.key)
	select {
	case t.taken <- struct{}{}:
		return t, nil
	default:
	}
	if store.LockingOf(ctx).Timeout < 0 {
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

// AwaitTurn calls acquire, which waits for another call of this process until its context
// ends, as the [store.Locking] of ctx says. The other call is named as a holder of the
// name.
func AwaitTurn(ctx context.Context, name string, acquire func(context.Context) error) error {
	lock := func(ctx context.Context) (func() error, error) { return nil, acquire(ctx) }
	_, err := store.AwaitLock(ctx, name, lock, func() store.Holder {
		h := store.ThisProcess("another call of this program")
		h.Since = time.Time{} // that is not known
		return h
	})
	return err
}
