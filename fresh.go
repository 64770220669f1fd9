package zarr

import (
	"context"

	"varve.dev/zarr/store"
)

// Refresh reads the document again, so that later calls see what other programs published since.
func (a *Array) Refresh(ctx context.Context) error {
	_, err := a.reload(ctx, a.state.Load())
	return a.fail("refresh", err)
}

// reload reads the document again and returns the newest state: that of the document, or one that was published in this
// process while it was read.
func (a *Array) reload(ctx context.Context, s *state) (*state, error) {
	data, info, err := a.hierarchy.store.Get(ctx, a.path.Key(documentName), store.Request{Limit: a.options.Limits.document()}, nil)
	if err != nil {
		return nil, err
	}
	next, err := a.parse(data, info.Version)
	if err != nil {
		return nil, err
	}
	if !a.state.CompareAndSwap(s, next) {
		next = a.state.Load()
	}
	return next, nil
}

// fresh returns the state s, or a newer one where the document was replaced since s was read.
// A store that knows no versions cannot tell.
func (a *Array) fresh(ctx context.Context, s *state) (*state, error) {
	info, err := store.Stat(ctx, a.hierarchy.store, a.path.Key(documentName))
	if err != nil || info.Version == s.version {
		return s, err
	}
	return a.reload(ctx, s)
}
