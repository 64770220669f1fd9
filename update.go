package zarr

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

const (
	// changeTries bounds how often a change is planned, if other writers keep publishing
	// first.
	changeTries = 32
	// longestPause bounds the time between two tries.
	longestPause = 50 * time.Millisecond
)

// retry calls do until it no longer fails because of a concurrent writer, with random
// pauses. It does not retry conflicts that cannot go away: an unexpected shape, a
// reservation, or a change that was published already.
func retry(ctx context.Context, do func() error) (err error) {
	pause := time.Millisecond
	for range changeTries {
		var final *snapshot.Unexpected
		if err = do(); !errors.Is(err, ErrConflict) || errors.As(err, &final) || fault.Any(err, publish.ErrHeld, ErrIncomplete) {
			return err
		}
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, longestPause)
	}
	return fmt.Errorf("%w; gave up after %d tries", err, changeTries)
}

// update publishes a change. plan returns the change of the newest state, and the state
// that it leads to. If another writer publishes first, update plans again. If a writer
// has crashed, update completes its change first.
func (a *Array) update(ctx context.Context, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) error {
	if err := a.writable(); err != nil {
		return err
	}
	return a.updateAs(ctx, a.publisher(), plan)
}

// updateAs is update for a node that may name the holder of a reservation.
func (a *Array) updateAs(ctx context.Context, n publish.Node, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) error {
	published := a.state.Load()
	err := retry(ctx, func() error {
		err := publish.Update(ctx, n, a.planned(plan))
		switch {
		case errors.Is(err, publish.ErrPending):
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
	if now := a.state.Load(); now != published && (err == nil || errors.Is(err, ErrIncomplete)) {
		err = errors.Join(err, a.hierarchy.refreshAbove(store.Finishing(ctx), store.Key{}, a.node))
	}
	return err
}

// planned turns a plan on a state into a plan on a document. Once the change is published,
// the array takes over the new state.
func (a *Array) planned(plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) func(publish.Document) (*publish.Change, error) {
	return func(d publish.Document) (*publish.Change, error) {
		now := time.Now()
		old, err := a.known(d)
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
		change.Published = func(v store.Version) {
			next.Version = v
			next.Confirm(now)
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
func (a *Array) known(d publish.Document) (*snapshot.Array, error) {
	s := a.state.Load()
	if s.Version == d.Version && !d.Version.IsZero() {
		return s, nil
	}
	attributes, err := s.Doc.MarshalAttributes(a.options.Limits.metadata())
	if err != nil {
		return nil, err
	}
	return a.parse(d.Bytes, attributes, d.Version)
}
