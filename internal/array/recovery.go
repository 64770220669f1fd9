// SPDX-License-Identifier: Apache-2.0

package array

import (
	"context"
	"errors"
	"sync"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// Recover completes what a crashed writer has left: it rolls a transaction over several
// arrays forward or back, and moves chunks that are set aside to their keys.
func (a *Array) Recover(ctx context.Context) error {
	opened := a.state.Load()
	list, found := a.aside(ctx), false
	err := publish.Retry(ctx, func() error {
		did, err := a.FinishFound(ctx)
		found = found || did || err != nil
		return err
	})
	left, listErr := list()
	if err != nil {
		return err
	}
	if found {
		if _, err := a.Newest(ctx); err != nil {
			return err
		}
		// The transaction may have published another grid, and chunks that are set aside
		// belong to the newest one.
		left, listErr = a.aside(ctx)()
	} else {
		// The document was read before the pointer of a transaction was looked for.
		a.recent.Set(opened.Version)
	}
	// The usual case: no lock is needed to find nothing.
	if listErr != nil || !left {
		return listErr
	}
	lock, err := a.Lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	return a.moveAside(ctx)
}

// aside returns a function that reports whether chunks are set aside, and must be called.
// In a store without locks, where that takes a round trip, the listing begins at once.
func (a *Array) aside(ctx context.Context) func() (bool, error) {
	list := sync.OnceValues(func() (bool, error) {
		for _, err := range a.state.Load().Engine.Aside(ctx) {
			return err == nil, err
		}
		return false, nil
	})
	if _, locks := store.As[store.Locker](a.Node.Store); !locks {
		go func() { _, _ = list() }() // the caller gets the result
	}
	return list
}

// Finish completes the changes of crashed writers for a node that is opened for reading
// (zarr.Options.Finish). It reports whether there was anything to complete. It does not
// wait for locks, and ignores failures: reading works without it, and the next writer
// tries again.
//
// It needs a store with locks. A free lock proves that the writer has crashed; without
// locks the writer may still be running, and would conflict with this recovery.
func (a *Array) Finish(ctx context.Context) bool {
	if _, locks := store.As[store.Locker](a.Node.Store); !locks || a.Rehearsed {
		return false
	}
	pending := errors.Is(publish.CheckFree(ctx, a.Node.Node), publish.ErrPending)
	if left, err := a.aside(ctx)(); !pending && (err != nil || !left) {
		return false
	}
	w := &Array{Setup: a.Setup}
	// A negative timeout does not wait for a lock: if another writer holds it, that
	// writer is running and will finish by itself.
	w.Refusal, w.Node.Locking = nil, store.Locking{Operation: "finish", Timeout: -1}
	w.state.Store(a.state.Load())
	// The caller reads the node again, because part of the transaction may have been
	// completed.
	if err := w.FinishOthers(ctx); err != nil {
		return true
	}
	if lock, free := w.Lock().TryExclude(); free {
		defer lock.Release()
		_ = w.moveAside(ctx) // chunks that stay aside are still read from there
	}
	return true
}

// moveAside moves the chunks that are set aside to their keys. The caller holds the
// exclusive lock of the node.
func (a *Array) moveAside(ctx context.Context) error {
	return a.Update(ctx, func(s *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		return &publish.Change{Reclaim: s.FetchAside, Tidy: s.TidyAside}, s, nil
	})
}
