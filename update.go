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
	// changeTries is how often a change is planned anew because another writer published
	// first.
	changeTries = 32
	// longestPause is the longest time between two tries.
	longestPause = 50 * time.Millisecond
)

// retry does something until no other writer comes first, with pauses.
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

// update publishes a change that plan makes of the newest state, and the state that it
// leads to. Where another writer publishes first it plans again, and where one died it
// finishes what that one had begun.
func (a *Array) update(ctx context.Context, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) error {
	if err := a.writable(); err != nil {
		return err
	}
	return a.updateAs(ctx, a.publisher(), plan)
}

// updateAs is update by one who may hold the array.
func (a *Array) updateAs(ctx context.Context, n publish.Node, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) error {
	published := a.state.Load()
	err := retry(ctx, func() error {
		err := publish.Update(ctx, n, a.planned(plan))
		switch {
		case errors.Is(err, publish.ErrPending):
			err = errors.Join(a.finishOthers(ctx), err)
		case errors.Is(err, publish.ErrHeld):
			if ended, endErr := a.endPublished(ctx, ""); ended || endErr != nil {
				err = errors.Join(endErr, publish.ErrPending) // so that this is tried again
			}
		}
		return err
	})
	if now := a.state.Load(); now != published && (err == nil || errors.Is(err, ErrIncomplete)) {
		err = errors.Join(err, a.hierarchy.refreshAbove(store.Finishing(ctx), store.Key{}, a.node))
	}
	return err
}

// planned returns the plan on a document that is made on the state which it describes.
// Once the change is published, the array has the state that it leads to.
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

// become gives the array its next state. In format 2 attributes, which have a document of
// their own, may have changed meanwhile: they are those of the present state.
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

// known returns the state that a document describes: the present one where it is of that
// version. In format 2 the attributes, which have a document of their own, are those that
// are known.
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
