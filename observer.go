package zarr

import (
	"varve.dev/zarr/observe"
	observing "varve.dev/zarr/store/observed"
	"varve.dev/zarr/store/rehearsal"
)

// observed returns the hierarchy with another observer; nil keeps the one it has.
func (h *hierarchy) observed(o observe.Observer) *hierarchy {
	if o == nil {
		return h
	}
	s := h.store
	if h.observer != nil {
		s = s.(*observing.Store).Unwrap()
	}
	return &hierarchy{store: observing.New(s, o), location: h.location, observer: o, ledger: h.ledger}
}

// as returns the hierarchy as options ask for it: observed, and as a rehearsal of its
// changes.
func (h *hierarchy) as(o Options) *hierarchy {
	if o.Rehearsal == nil || o.Rehearsal == h.ledger {
		return h.observed(o.Observer)
	}
	s := h.store
	if h.observer != nil {
		s = s.(*observing.Store).Unwrap()
	}
	if o.Observer == nil {
		o.Observer = h.observer
	}
	r := &hierarchy{store: rehearsal.New(s, o.Rehearsal), location: h.location, ledger: o.Rehearsal}
	return r.observed(o.Observer)
}
