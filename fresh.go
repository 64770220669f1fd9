package zarr

import (
	"context"
	"time"

	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// Refresh reads the document again, so that later calls see what other programs published
// since.
func (a *Array) Refresh(ctx context.Context) error {
	_, err := a.reload(ctx, a.state.Load())
	return a.fail("refresh", err)
}

// reload reads the document again and returns the newest state: that of the document, or
// one that was published in this process while it was read.
func (a *Array) reload(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	now := time.Now()
	data, info, err := a.hierarchy.store.Get(ctx, a.key(), store.Request{Limit: a.options.Limits.document()}, nil)
	if err != nil {
		return nil, err
	}
	var attributes []byte
	if a.isV2() {
		if attributes, err = a.hierarchy.reader(a.options.Limits).Attributes(ctx, a.path); err != nil {
			return nil, err
		}
	}
	next, err := a.parse(data, attributes, info.Version)
	if err != nil {
		return nil, err
	}
	next.Confirm(now)
	if !a.state.CompareAndSwap(s, next) {
		next = a.state.Load()
	}
	return next, nil
}

// fresh returns the state s, or a newer one where the document was replaced since s was
// read. A store that knows no versions cannot tell.
func (a *Array) fresh(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	now := time.Now()
	info, err := store.Stat(ctx, a.hierarchy.store, a.key())
	if err != nil {
		return s, err
	}
	if info.Version == s.Version {
		s.Confirm(now)
		return s, nil
	}
	return a.reload(ctx, s)
}
