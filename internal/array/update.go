// SPDX-License-Identifier: Apache-2.0

package array

import (
	"context"
	"errors"
	"time"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/store"
)

// Update publishes a change. plan returns the change of the newest state, and the state
// that it leads to. If another writer publishes first, Update plans again. If a writer
// has crashed, Update completes its change first.
func (a *Array) Update(ctx context.Context, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) error {
	if err := a.Writable(); err != nil {
		return err
	}
	n := a.Node.Node
	n.Recent = &a.recent
	return a.UpdateAs(ctx, n, plan)
}

// UpdateAs is Update for a node that may name the holder of a reservation.
func (a *Array) UpdateAs(ctx context.Context, n publish.Node, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) error {
	// Compare with this state later: a new one means that a change was published.
	published := a.state.Load()
	defer a.Flush(ctx)
	err := publish.Retry(ctx, func() error {
		err := publish.Update(ctx, n, a.Planned(ctx, plan))
		switch {
		case errors.Is(err, publish.ErrPending):
			// ErrPending is a conflict, so Retry plans again after the recovery.
			err = errors.Join(a.FinishOthers(ctx), err)
		case errors.Is(err, publish.ErrHeld):
			// The reservation may be published, and its writer crashed before it
			// could end it.
			if ended, endErr := a.EndPublished(ctx, ""); ended || endErr != nil {
				err = errors.Join(endErr, publish.ErrPending) // which is a conflict, so retry tries again
			}
		}
		return err
	})
	// The consolidated metadata of the groups above has a copy of the document. Update it
	// last: readers of the copy then never see chunks that are not stored yet.
	if now := a.state.Load(); now != published && (err == nil || errors.Is(err, publish.ErrIncomplete)) {
		err = errors.Join(err, tree.RefreshAbove(store.Finishing(ctx), store.Key{}, a.Node))
	}
	return err
}

// Planned turns a plan on a state into a plan on a document. Once the change is
// published, the array takes over the new state.
func (a *Array) Planned(ctx context.Context, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) func(publish.Document) (*publish.Change, error) {
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
				next.Inherit(old)
			}
			a.become(next)
		}
		return change, nil
	}
}

// become makes next the state of the array. In format 2 the attributes have a document of
// their own and may have changed meanwhile, so they are taken from the present state.
func (a *Array) become(next *snapshot.Array) {
	if !a.Node.IsV2() {
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
	attributes, err := s.Doc.MarshalAttributes(a.Node.Limits)
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

// FinishOthers completes what a crashed writer has begun: it rolls a transaction of this
// array forward or back, or ends a published reservation. Then it reads the array again.
func (a *Array) FinishOthers(ctx context.Context) error {
	_, err := a.FinishFound(ctx)
	return err
}

// FinishFound is [Array.FinishOthers]. It reports whether there was a transaction or a
// reservation.
func (a *Array) FinishFound(ctx context.Context) (found bool, err error) {
	found, err = a.Node.FinishTransaction(ctx)
	if !found || err != nil {
		return found, err
	}
	// A transaction may have changed the document of this array.
	if _, err := a.Look(ctx, a.state.Load()); err != nil {
		return true, err
	}
	_, err = a.EndPublished(ctx, "")
	return true, err
}

// Change publishes the change that plan makes of the newest state. If another writer
// publishes first, it plans again. Other calls of this process on the array wait.
func (a *Array) Change(ctx context.Context, plan func(*snapshot.Array) (*snapshot.Reshape, error)) error {
	lock, err := a.Lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	return a.Update(ctx, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) { return a.Grow(old, plan) })
}

// Grow returns the change that plan makes of old, and the state that it leads to.
func (a *Array) Grow(old *snapshot.Array, plan func(*snapshot.Array) (*snapshot.Reshape, error)) (*publish.Change, *snapshot.Array, error) {
	// A nil plan without an error means that nothing has to change.
	g, err := plan(old)
	if err != nil || g == nil {
		return nil, nil, err
	}
	b := a.Binding()
	next, err := b.Resized(old, g.Grid)
	if err != nil {
		return nil, nil, err
	}
	c, err := old.Stage(next, g, b.Limits)
	return c, next, err
}

// UpdateAttributesV2 changes the attributes of an array of format 2.
func (a *Array) UpdateAttributesV2(ctx context.Context, change func(object []byte) ([]byte, error)) error {
	if err := a.Writable(); err != nil {
		return err
	}
	// PublishAttributes locks only while it runs, so a concurrent call may replace the
	// state before the loop below.
	raw, err := a.Node.PublishAttributes(ctx, change)
	if err != nil {
		return err
	}
	// Add the attributes to whatever state is the newest. A concurrent change of the
	// extent must not be lost, so try again if the state was replaced.
	for {
		s := a.state.Load()
		doc, err := s.Doc.WithAttributes(raw)
		if err != nil {
			return err
		}
		next, err := a.Binding().Bind(doc, s.Grid, s.Version)
		if err != nil {
			return err
		}
		next.ConfirmAs(s)
		next.Inherit(s)
		if a.state.CompareAndSwap(s, next) {
			return tree.RefreshAbove(store.Finishing(ctx), store.Key{}, a.Node)
		}
	}
}

// Misread returns notes on deviations of the document for which other programs return
// wrong values. They are among those of zarr.Array.Notes; [Array.Respell] ends them.
func (a *Array) Misread() []string {
	s := a.state.Load()
	notes := s.Doc.Misread()
	for _, r := range s.Engine.Chain.Repairs() {
		if r.Misread {
			notes = append(notes, r.Note)
		}
	}
	return notes
}

// Respell publishes the document of the array again, in the specified form. Elements and
// attributes do not change.
func (a *Array) Respell(ctx context.Context) error {
	return a.Update(ctx, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		doc := old.Document()
		doc = doc.Resized(doc.Shape, doc.ChunkGrid) // which no longer has the repairs
		next, err := a.Binding().Bind(doc, old.Grid, store.Version{})
		if err != nil {
			return nil, nil, err
		}
		document, err := doc.Marshal(a.Node.Limits)
		return &publish.Change{Document: document}, next, err
	})
}
