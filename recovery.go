// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// recover completes what a crashed writer has left: it rolls a transaction over several
// arrays forward or back, and moves chunks that are set aside to their keys.
func (a *Array) recover(ctx context.Context) error {
	opened := a.state.Load()
	list, found := a.aside(ctx), false
	err := publish.Retry(ctx, func() error {
		did, err := a.finishFound(ctx)
		found = found || did || err != nil
		return err
	})
	left, listErr := list()
	if err != nil {
		return err
	}
	if found {
		if _, err := a.newest(ctx); err != nil {
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
	lock, err := a.lock().Exclude(ctx)
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
	if _, locks := store.As[store.Locker](a.hierarchy.store); !locks {
		go func() { _, _ = list() }() // the caller gets the result
	}
	return list
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
	if left, err := a.aside(ctx)(); !pending && (err != nil || !left) {
		return false
	}
	w := &Array{node: a.node}
	// A negative timeout does not wait for a lock: if another writer holds it, that
	// writer is running and will finish by itself.
	w.options.Write, w.options.Locking = true, store.Locking{Operation: "finish", Timeout: -1}
	w.state.Store(a.state.Load())
	// The caller reads the node again, because part of the transaction may have been
	// completed.
	if err := w.finishOthers(ctx); err != nil {
		return true
	}
	if lock, free := w.lock().TryExclude(); free {
		defer lock.Release()
		_ = w.moveAside(ctx) // chunks that stay aside are still read from there
	}
	return true
}

// moveAside moves the chunks that are set aside to their keys. The caller holds the
// exclusive lock of the node.
func (a *Array) moveAside(ctx context.Context) error {
	return a.update(ctx, func(s *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		return &publish.Change{Reclaim: s.FetchAside, Tidy: s.TidyAside}, s, nil
	})
}

// PendingChange is a transaction over several arrays ([Group.Append]) that is not
// complete: its writer is running, or has crashed.
type PendingChange struct {
	// Decided means that the transaction is committed. The next writer of one of the
	// arrays completes it, and it must not be repeated. Until then some of the arrays may
	// have changed and others not. A transaction that is not committed is not visible,
	// and the next writer undoes it.
	Decided bool
	// Arrays are the paths of the arrays that change, or nil if it is not committed.
	Arrays []string
	// Shape is the shape of the array after the transaction, or nil if it is not
	// committed.
	Shape []int64
}

// String says what is pending, and how it ends.
func (p *PendingChange) String() string {
	if !p.Decided {
		return "a change of several arrays was started but not decided: none of it is visible, and the next writer undoes it"
	}
	return fmt.Sprintf("a change of %s is decided but not finished: the shape will be %v, and some arrays may have "+
		"theirs already; the next writer or Options.Finish finishes it, so do not repeat it",
		quantity.Of(int64(len(p.Arrays)), "array"), p.Shape)
}

// PendingChange returns the pending transaction that the array is part of. If there is
// none, the error wraps [fs.ErrNotExist]; finding that out takes one request.
func (a *Array) PendingChange(ctx context.Context) (*PendingChange, error) {
	p, err := a.pendingChange(ctx)
	return p, a.fail("pending change", err)
}

func (a *Array) pendingChange(ctx context.Context) (*PendingChange, error) {
	found, err := publish.Look(ctx, a.publisher())
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fault.NotFound("no change of several arrays is pending")
	}
	p := &PendingChange{Decided: found.Committed}
	for _, node := range found.Nodes {
		p.Arrays = append(p.Arrays, node.String())
	}
	if found.Document == nil {
		return p, nil
	}
	// The journal has the new document of this array. The shape does not depend on the
	// attributes, so those of format 2 are not read.
	doc, err := a.parseDocument(found.Document, nil)
	if err == nil {
		p.Shape = slices.Clone(doc.Shape)
	}
	return p, err
}
