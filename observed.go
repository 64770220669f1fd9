package zarr

import (
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store/observed"
)

// Observed returns the same hierarchy, of which o is told what is done in it: every request to the store, and every chunk that is decoded
// or encoded. It takes the place of an earlier observer of the hierarchy; nil leaves that as it is. Nodes that are opened with
// [Options.Observer] are in such a hierarchy.
func (h *Hierarchy) Observed(o observe.Observer) *Hierarchy {
	if o == nil {
		return h
	}
	s := h.store
	if h.observer != nil {
		s = s.(*observed.Store).Unwrap()
	}
	return &Hierarchy{store: observed.New(s, o), location: h.location, observer: o}
}
