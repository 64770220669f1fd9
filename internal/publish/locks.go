// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/store"
)

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
	for _, listErr := range store.List(ctx, n.Store, n.Path, false) {
		// The directory is not empty, so another writer may be using it.
		return nil, errors.Join(listErr, fmt.Errorf("%w: %w", ErrUnsafe, err))
	}
	return unlockNothing, nil
}

// unlockNothing replaces unlock if no lock was taken.
func unlockNothing() error { return nil }
