// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"time"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/store"
)

// update publishes a change. plan returns the change of the newest state, and the state
// that it leads to. If another writer publishes first, update plans again. If a writer
// has crashed, update completes its change first.
func (a *Array) update(ctx context.Context, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) error {
	if err := a.writable(); err != nil {
		return err
	}
	n := a.publisher()
	n.Recent = &a.recent
	return a.updateAs(ctx, n, plan)
}

// updateAs is update for a node that may name the holder of a reservation.
func (a *Array) updateAs(ctx context.Context, n publish.Node, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) error {
	// Compare with this state later: a new one means that a change was published.
	published := a.state.Load()
	err := publish.Retry(ctx, func() error {
		err := publish.Update(ctx, n, a.planned(ctx, plan))
		switch {
		case errors.Is(err, publish.ErrPending):
			// ErrPending is a conflict, so Retry plans again after the recovery.
			err = errors.Join(a.finishOthers(ctx), err)
		case errors.Is(err, publish.ErrHeld):
			// The reservation may be published, and its writer crashed before it
			// could end it.
			if ended, endErr := a.endPublished(ctx, ""); ended || endErr != nil {
				err = errors.Join(endErr, publish.ErrPending) // which is a conflict, so retry tries again
			}
		}
		return err
	})
	// The consolidated metadata of the groups above has a copy of the document. Update it
	// last: readers of the copy then never see chunks that are not stored yet.
	if now := a.state.Load(); now != published && (err == nil || errors.Is(err, ErrIncomplete)) {
		err = errors.Join(err, tree.RefreshAbove(store.Finishing(ctx), store.Key{}, a.place()))
	}
	return err
}

// planned turns a plan on a state into a plan on a document. Once the change is
// published, the array takes over the new state.
func (a *Array) planned(ctx context.Context, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) func(publish.Document) (*publish.Change, error) {
	return func(d publish.Document) (*publish.Change, error) {
		// Publishing succeeds only if d is still current, so no other grid can appear
		// between this time and then.
		now := time.Now()
		old, err := a.known(ctx, d)
		if err != nil {
			return nil, err
		}
		change, next, err := plan(old)
		if err != nil {
			return nil, err
		}
		if change == nil {
			a.state.Store(old)
			return nil, nil
		}
		// Publish calls this between publishing and reclaiming, so that readers of this
		// process do not look for chunks that are about to be deleted.
		change.Published = func(v store.Version) {
			next.Version = v
			next.Confirm(now)
			if next.Numbering == nil {
				next.Numbering = old.Numbering
			}
			a.become(next)
		}
		return change, nil
	}
}

// become makes next the state of the array. In format 2 the attributes have a document of
// their own and may have changed meanwhile, so they are taken from the present state.
func (a *Array) become(next *snapshot.Array) {
	if !a.isV2() {
		a.state.Store(next)
		return
	}
	for {
		now := a.state.Load()
		if doc, err := next.Doc.WithAttributes(now.Doc.Attributes); err == nil { // they are an object
			next.Doc = doc
		}
		if a.state.CompareAndSwap(now, next) {
			return
		}
	}
}

// known returns the state that a document describes. It is the present state if that has
// the version of the document. In format 2 the attributes are those of the present state,
// because the document does not contain them.
func (a *Array) known(ctx context.Context, d publish.Document) (*snapshot.Array, error) {
	s := a.state.Load()
	// Keep the state and with it the grid, which may be expensive to parse.
	if s.Version == d.Version && !d.Version.IsZero() {
		return s, nil
	}
	attributes, err := s.Doc.MarshalAttributes(a.options.Limits.metadata())
	if err != nil {
		return nil, err
	}
	next, err := a.parse(d.Bytes, attributes, d.Version)
	if err != nil {
		return nil, err
	}
	a.number(ctx, s, next)
	return next, nil
}

// finishOthers completes what a crashed writer has begun: it rolls a transaction of this
// array forward or back, or ends a published reservation. Then it reads the array again.
func (a *Array) finishOthers(ctx context.Context) error {
	_, err := a.finishFound(ctx)
	return err
}

// finishFound is finishOthers. It reports whether there was a transaction or a
// reservation.
func (a *Array) finishFound(ctx context.Context) (found bool, err error) {
	found, err = a.place().FinishTransaction(ctx)
	if !found || err != nil {
		return found, err
	}
	// A transaction may have changed the document of this array.
	if _, err := a.look(ctx, a.state.Load()); err != nil {
		return true, err
	}
	_, err = a.endPublished(ctx, "")
	return true, err
}

// change publishes the change that plan makes of the newest state. If another writer
// publishes first, it plans again. Other calls of this process on the array wait.
func (a *Array) change(ctx context.Context, plan func(*snapshot.Array) (*snapshot.Reshape, error)) error {
	lock, err := a.lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	return a.update(ctx, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) { return a.grow(old, plan) })
}

// grow returns the change that plan makes of old, and the state that it leads to.
func (a *Array) grow(old *snapshot.Array, plan func(*snapshot.Array) (*snapshot.Reshape, error)) (*publish.Change, *snapshot.Array, error) {
	// A nil plan without an error means that nothing has to change.
	g, err := plan(old)
	if err != nil || g == nil {
		return nil, nil, err
	}
	b := a.binding()
	next, err := b.Resized(old, g.Grid)
	if err != nil {
		return nil, nil, err
	}
	c, err := old.Stage(next, g, b.Limits)
	return c, next, err
}
