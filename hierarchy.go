// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"strings"

	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
	observing "varve.dev/zarr/store/observed"
)

// hierarchy is all nodes of one store.
type hierarchy struct {
	store    store.Store
	location string            // for messages
	observer observe.Observer  // nil if there is none; otherwise store is an [observing.Store]
	ledger   *rehearsal.Ledger // nil unless store is a rehearsal
}

// name returns the location of a path for messages.
func (h *hierarchy) name(p store.Path) string {
	if h.location == "" {
		return p.String()
	}
	if p.IsRoot() {
		return h.location
	}
	return strings.TrimSuffix(h.location, "/") + "/" + p.String()
}

// sweep removes temporary files of crashed writers from the store. It sends no request;
// see [store.UploadSweeper].
func (h *hierarchy) sweep(ctx context.Context) {
	if s, ok := store.Driver(h.store).(store.Sweeper); ok {
		s.Sweep(ctx)
	}
}

// explained replaces [tree.ErrNoNode] by an error that names what is at the path.
func (h *hierarchy) explained(ctx context.Context, p store.Path, err error) error {
	if err == tree.ErrNoNode {
		return tree.Describe(ctx, h.store, p)
	}
	return err
}

// reader returns a reader of documents in the store.
func (h *hierarchy) reader(l Limits) tree.Reader {
	return tree.Reader{Store: h.store, Limits: l.metadata()}
}

// observed returns the hierarchy with another observer; nil keeps the one it has.
func (h *hierarchy) observed(o observe.Observer) *hierarchy {
	if o == nil {
		return h
	}
	s := h.store
	if h.observer != nil {
		// The new observer replaces the old one. Wrapping twice would report every
		// request to both.
		s = s.(*observing.Store).Unwrap()
	}
	return &hierarchy{store: observing.New(s, o), location: h.location, observer: o, ledger: h.ledger}
}

// as returns the hierarchy with the observer and the rehearsal of options.
func (h *hierarchy) as(o Options) *hierarchy {
	if o.Rehearsal == nil || o.Rehearsal == h.ledger {
		return h.observed(o.Observer)
	}
	s := h.store
	if h.observer != nil {
		s = s.(*observing.Store).Unwrap()
	}
	// The rehearsal must be below the observer, so that the observer also sees requests
	// that the ledger answers.
	if o.Observer == nil {
		o.Observer = h.observer
	}
	r := &hierarchy{store: rehearsal.New(s, o.Rehearsal), location: h.location, ledger: o.Rehearsal}
	return r.observed(o.Observer)
}
