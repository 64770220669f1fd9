package zarr

import (
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store/observed"
	"varve.dev/zarr/store/rehearsal"
)

// Observed returns the same hierarchy, of which o is told what is done in it: every
// request to the store, and every chunk that is decoded or encoded. It takes the place of
// an earlier observer of the hierarchy; nil leaves that as it is. Nodes that are opened
// with [Options.Observer] are in such a hierarchy.
func (h *Hierarchy) Observed(o observe.Observer) *Hierarchy {
	if o == nil {
		return h
	}
	s := h.store
	if h.observer != nil {
		s = s.(*observed.Store).Unwrap()
	}
	return &Hierarchy{store: observed.New(s, o), location: h.location, observer: o, ledger: h.ledger}
}

// as returns the hierarchy as options ask for it: observed, and as a rehearsal of its
// changes.
func (h *Hierarchy) as(o Options) *Hierarchy {
	if o.Rehearsal == nil || o.Rehearsal == h.ledger {
		return h.Observed(o.Observer)
	}
	s := h.store
	if h.observer != nil {
		s = s.(*observed.Store).Unwrap()
	}
	if o.Observer == nil {
		o.Observer = h.observer
	}
	r := &Hierarchy{store: rehearsal.New(s, o.Rehearsal), location: h.location, ledger: o.Rehearsal}
	return r.Observed(o.Observer)
}
