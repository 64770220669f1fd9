package publish

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr/store"
)

// Locks are the locks that one call holds, in the order in which it took them.
//
// A symbolic link or a mount gives a directory a second name. A call that wants the lock
// of a directory twice, once by each name, would wait for itself without end. So every
// lock that a call takes while it holds others is taken with [Node].Held set to those.
type Locks struct {
	outer   *Locks // held by the caller of this call; nil for none
	paths   []store.Path
	unlocks []func() error
}

// add notes that a node's lock is held until unlock is called.
func (l *Locks) add(n Node, unlock func() error) {
	l.paths, l.unlocks = append(l.paths, n.Path), append(l.unlocks, unlock)
}

// unlock lets go of all locks in the order in which they were taken. A removal takes
// those of groups last, so that no writer enters a group whose members are still locked.
func (l *Locks) unlock() (err error) {
	for _, unlock := range l.unlocks {
		err = errors.Join(err, unlock())
	}
	l.paths, l.unlocks = nil, nil
	return err
}

// name returns the path by which the node's directory is locked already, if it is.
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

// ownError says that the same call holds a lock already.
type ownError struct{ path, held store.Path }

func (e *ownError) Error() string {
	if e.path == e.held {
		return fmt.Sprintf("%q is named twice", "/"+e.path.String())
	}
	return fmt.Sprintf("%q is %q by another name", "/"+e.path.String(), "/"+e.held.String())
}

// lock takes the node's lock. It returns an [*ownError] instead of waiting for a lock
// that is among n.Held.
func (n Node) lock(ctx context.Context) (unlock func() error, err error) {
	ctx = store.WithLocking(ctx, n.Locking)
	if n.Held == nil {
		return store.Lock(ctx, n.Store, n.Path)
	}
	// To compare directories takes requests, so it is left to the case that the lock is
	// held by somebody.
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
		return nil, err
	}
	return store.Lock(ctx, n.Store, n.Path)
}

// unlockNothing stands for the unlock of a lock that was not taken.
func unlockNothing() error { return nil }
