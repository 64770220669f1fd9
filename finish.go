package zarr

import (
	"context"
	"errors"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// finish finishes what a writer that died has left, for a node that is opened for reading
// ([Options].Finish), and reports whether there was anything to try. It waits for nobody,
// and what it cannot do is left to the next writer: reading does without.
//
// Only a lock that is free tells that the writer is dead. Where a store has none it may
// be at work, and would have to begin anew.
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
		_ = w.moveAside(ctx) // what stays aside is read from there
	}
	return true
}

// hasAside reports whether chunks are put aside, as far as that can be told.
func (a *Array) hasAside(ctx context.Context) bool {
	for _, err := range a.state.Load().Engine.Aside(ctx) {
		return err == nil
	}
	return false
}
