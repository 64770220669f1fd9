// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// recover completes what a crashed writer has left: it rolls a transaction over several
// arrays forward or back, and moves chunks that are set aside to their keys.
func (a *Array) recover(ctx context.Context) error {
	if err := publish.Retry(ctx, func() error { return a.finishOthers(ctx) }); err != nil {
		return err
	}
	left := false
	for _, err := range a.state.Load().Engine.Aside(ctx) {
		if err != nil {
			return err
		}
		left = true
		break
	}
	if !left {
		return nil
	}
	lock, err := a.lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	return a.moveAside(ctx)
}

// finish completes the changes of crashed writers for a node that is opened for reading
// ([Options.Finish]). It reports whether there was anything to complete. It does not wait
// for locks, and ignores failures: reading works without it, and the next writer tries
// again.
//
// It needs a store with locks. A free lock proves that the writer has crashed; without
// locks the writer may still be running, and would conflict with this recovery.
func (a *Array) finish(ctx context.Context) bool {
	if _, locks := store.As[store.Locker](a.hierarchy.store); !locks || a.hierarchy.ledger != nil {
		return false
	}
	pending := errors.Is(publish.CheckFree(ctx, a.publisher()), publish.ErrPending)
	if !pending && !a.hasAside(ctx) {
		return false
	}
	w := &Array{node: a.node}
	w.options.Write, w.options.Locking = true, store.Locking{Operation: "finish", Timeout: -1}
	w.state.Store(a.state.Load())
	if err := w.finishOthers(ctx); err != nil {
		return true
	}
	if lock, free := w.lock().TryExclude(); free {
		defer lock.Release()
		_ = w.moveAside(ctx) // chunks that stay aside are still read from there
	}
	return true
}

// hasAside reports whether chunks are set aside. It returns false if listing fails.
func (a *Array) hasAside(ctx context.Context) bool {
	for _, err := range a.state.Load().Engine.Aside(ctx) {
		return err == nil
	}
	return false
}

// moveAside moves the chunks that are set aside to their keys. The caller holds the
// exclusive lock of the node.
func (a *Array) moveAside(ctx context.Context) error {
	return a.update(ctx, func(s *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		return &publish.Change{Reclaim: s.FetchAside, Tidy: s.TidyAside}, s, nil
	})
}
