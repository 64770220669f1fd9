// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"time"

	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// Refresh reads the document again. Later calls see what other processes have published.
func (a *Array) Refresh(ctx context.Context) error {
	_, err := a.reload(ctx, a.state.Load())
	return a.fail("refresh", err)
}

// reload reads the document again. It returns the state of that document, or a newer one
// that another call of this process has published meanwhile.
func (a *Array) reload(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	// Take the time before the request. A chunk that is stored while it runs may belong
	// to a later document.
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
	next.SetWritten(info.Modified)
	// Another call may have published or reloaded since s was loaded. Its state may be
	// newer than the document read here, so it wins.
	if !a.state.CompareAndSwap(s, next) {
		next = a.state.Load()
	}
	return next, nil
}

// fresh returns s if the document still has the version of s, or else a newer state. In a
// store without versions it always returns s.
func (a *Array) fresh(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	now := time.Now()
	info, err := store.Stat(ctx, a.hierarchy.store, a.key())
	if err != nil {
		return s, err
	}
	if info.Version == s.Version {
		s.Confirm(now)
		s.SetWritten(info.Modified)
		return s, nil
	}
	return a.reload(ctx, s)
}
