// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"time"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// Refresh reads the document again. Later calls see what other processes have published.
// If they have dropped or inserted elements, indices mean other elements from now on.
func (a *Array) Refresh(ctx context.Context) error {
	_, err := a.reload(ctx, a.state.Load())
	return a.fail("refresh", err)
}

// reload reads the document again, and the array takes it over. It returns the state of
// that document, or a newer one that another call of this process has published
// meanwhile.
func (a *Array) reload(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	next, err := a.load(ctx, s)
	if err != nil {
		return nil, err
	}
	return a.adopt(s, next), nil
}

// load reads the document again. s is an older state.
func (a *Array) load(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
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
		return nil, fault.InFile(a.key(), err)
	}
	next.Confirm(now)
	next.SetWritten(info.Modified)
	// The same version says the same, except for attributes of format 2.
	if next.Numbering = s.Numbering; next.Version != s.Version || next.Version.IsZero() {
		a.number(ctx, s, next)
	}
	return next, ctx.Err()
}

// adopt makes next the state of the array, unless another call has published or reloaded
// since s was loaded: that state may be newer, so it wins.
func (a *Array) adopt(s, next *snapshot.Array) *snapshot.Array {
	if !a.state.CompareAndSwap(s, next) {
		return a.state.Load()
	}
	return next
}

// look returns s if the document still has the version of s, or else a newer state. The
// array takes that over only if elements have the same indices there. In a store without
// versions look always returns s.
func (a *Array) look(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
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
	if is := a.state.Load(); is.Version == info.Version {
		return is, nil
	}
	next, err := a.load(ctx, s)
	if err != nil {
		return s, err
	}
	// If another call has published meanwhile, its state stays.
	if next.Numbering == s.Numbering {
		a.state.CompareAndSwap(s, next)
	}
	return next, nil
}

// fresh returns s or a newer state, like look. If elements have other indices there, it
// returns s and [errMoved].
func (a *Array) fresh(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	now, err := a.look(ctx, s)
	if err == nil && now.Numbering != s.Numbering {
		err = movedSince(s)
	}
	if err != nil {
		return s, err
	}
	return now, nil
}

// newest is look for calls that are given no indices: the array takes over the newer
// state in any case.
func (a *Array) newest(ctx context.Context) (*snapshot.Array, error) {
	s := a.state.Load()
	now, err := a.look(ctx, s)
	if err != nil || now.Numbering == s.Numbering {
		return now, err
	}
	return a.adopt(s, now), nil
}
