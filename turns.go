package zarr

import (
	"context"
	"errors"
	"reflect"
	"sync"

	"golang.org/x/sync/semaphore"

	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/store"
)

// Within this process, calls that change one array take turns: any number of writes, or
// one change of its extent. The turns of an array are always taken before the lock of its
// store, which does the same between processes, and are waited for as long as that.

// allTurns is what a change of the extent takes; a write takes one.
const allTurns = 1 << 30

// place is an array of a store, whatever it is wrapped in. A store that cannot be
// compared shares its turns with others.
type place struct {
	store any
	path  store.Path
}

// turns are what calls on one array share while there are any.
type turns struct {
	queue *semaphore.Weighted
	users int // calls that have or want a turn

	gate    *semaphore.Weighted // of holders and unlock
	holders int                 // writes that need the lock of the store; they share it
	unlock  func() error
	locked  bool // unlock gives back a lock, not the mere right to go on
}

var inTurn = struct {
	sync.Mutex
	at map[place]*turns
}{at: map[place]*turns{}}

func placeOf(s store.Store, p store.Path) place {
	s = store.Driver(s)
	if !reflect.ValueOf(s).Comparable() {
		return place{path: p}
	}
	return place{s, p}
}

// enter waits for n of all turns at the node, and returns the function that gives them
// back.
func (n *node) enter(ctx context.Context, count int64) (t *turns, leave func(), err error) {
	return n.enterBy(count, func(queue *semaphore.Weighted) error { return n.await(ctx, queue, count) })
}

// await takes so much of a queue once it is there. The wait ends as the options say, like
// that for a lock of the store.
func (n *node) await(ctx context.Context, queue *semaphore.Weighted, count int64) error {
	if ctx.Err() == nil && queue.TryAcquire(count) {
		return nil
	}
	return engine.AwaitTurn(store.WithLocking(ctx, n.options.Locking), n.path.String(), func(ctx context.Context) error {
		return queue.Acquire(ctx, count)
	})
}

func (n *node) enterBy(count int64, acquire func(*semaphore.Weighted) error) (t *turns, leave func(), err error) {
	at := placeOf(n.hierarchy.store, n.path)
	inTurn.Lock()
	if t = inTurn.at[at]; t == nil {
		t = &turns{queue: semaphore.NewWeighted(allTurns), gate: semaphore.NewWeighted(1)}
		inTurn.at[at] = t
	}
	t.users++
	inTurn.Unlock()
	done := func() {
		inTurn.Lock()
		defer inTurn.Unlock()
		if t.users--; t.users == 0 {
			delete(inTurn.at, at)
		}
	}
	if err := acquire(t.queue); err != nil {
		done()
		return nil, nil, err
	}
	return t, func() { t.queue.Release(count); done() }, nil
}

// enterAtOnce is enter where nobody has to be waited for.
func (n *node) enterAtOnce(count int64) (leave func(), entered bool) {
	_, leave, err := n.enterBy(count, func(queue *semaphore.Weighted) error {
		if !queue.TryAcquire(count) {
			return ErrLocked
		}
		return nil
	})
	return leave, err == nil
}

// hold takes the lock of the store for the writes of this process, so that no other one
// makes the array grow or shrink. A store without locks is taken as it is, and locked is
// false.
func (t *turns) hold(ctx context.Context, n *node) (release func() error, locked bool, err error) {
	if err := n.await(ctx, t.gate, 1); err != nil {
		return nil, false, err
	}
	defer t.gate.Release(1)
	if t.holders == 0 {
		unlock, err := store.Lock(store.WithLocking(ctx, n.options.Locking), n.hierarchy.store, n.path)
		t.locked = err == nil
		if errors.Is(err, store.ErrUnsupported) {
			unlock, err = func() error { return nil }, nil
		}
		if err != nil {
			return nil, false, err
		}
		t.unlock = unlock
	}
	t.holders++
	return t.release, t.locked, nil
}

// release gives the lock of the store back when the last write that shares it is done.
func (t *turns) release() error {
	_ = t.gate.Acquire(context.Background(), 1) // whoever has it is about to release it or to fail
	defer t.gate.Release(1)
	if t.holders--; t.holders > 0 {
		return nil
	}
	return t.unlock()
}
