// SPDX-License-Identifier: Apache-2.0

// Package observed wraps a store and reports every request to an observer.
package observed

import (
	"context"
	"io"
	"iter"
	"time"

	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// Store reports the requests to the store below. It has the powers of that store
// ([store.As]), and so do its batches.
type Store struct {
	below store.Store
	watch
}

// New returns s with every request reported to o, which must not be nil.
func New(s store.Store, o observe.Observer) *Store { return &Store{s, watch{o}} }

// Unwrap implements [store.Wrapper].
func (s *Store) Unwrap() store.Store { return s.below }

// Observer returns the observer given to New.
func (s *Store) Observer() observe.Observer { return s.observer }

// watch reports operations that have ended.
type watch struct{ observer observe.Observer }

// done reports an operation that began at start. After an error, no bytes count.
func (w watch) done(ctx context.Context, op observe.Op, key store.Key, bytes int64, start time.Time, err error) {
	observe.Done(ctx, w.observer, op, key, bytes, start, err)
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	start := time.Now()
	out, info, err := s.below.Get(ctx, key, q, dst)
	s.done(ctx, observe.Get, key, int64(len(out)-len(dst)), start, err)
	return out, info, err
}

// ReadVersion implements [store.VersionReader].
func (s *Store) ReadVersion(ctx context.Context, key store.Key, info store.Info, q store.Request, dst []byte) ([]byte, error) {
	start := time.Now()
	out, err := store.ReadVersion(ctx, s.below, key, info, q, dst)
	s.done(ctx, observe.Get, key, int64(len(out)-len(dst)), start, err)
	return out, err
}

// Stat implements [store.Stater].
func (s *Store) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	start := time.Now()
	info, err := store.Stat(ctx, s.below, key)
	s.done(ctx, observe.Stat, key, 0, start, err)
	return info, err
}

// List implements [store.Lister]. The reported duration does not include the time that
// the caller spends on entries.
func (s *Store) List(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return s.listed(ctx, dir, store.List(ctx, s.below, dir, deep))
}

// ListVersions implements [store.VersionLister]. It is reported as one listing, like
// List.
func (s *Store) ListVersions(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return s.listed(ctx, dir, store.ListVersions(ctx, s.below, dir, deep))
}

// listed reports a listing of dir when it ends.
func (s *Store) listed(ctx context.Context, dir store.Path, entries iter.Seq2[store.Entry, error]) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		start := time.Now()
		var elsewhere time.Duration
		var failed error
		for e, err := range entries {
			failed = err
			// The operation takes no time while the caller uses the entry.
			left := time.Now()
			more := yield(e, err)
			elsewhere += time.Since(left)
			if !more {
				break
			}
		}
		s.observer.Observe(ctx, observe.Event{
			Op: observe.List, Key: dir.AsKey(), Start: start, Duration: time.Since(start) - elsewhere, Err: failed,
		})
	}
}

// Lock implements [store.Locker].
func (s *Store) Lock(ctx context.Context, dir store.Path) (unlock func() error, err error) {
	start := time.Now()
	unlock, err = store.Lock(ctx, s.below, dir)
	s.done(ctx, observe.Lock, dir.AsKey(), 0, start, err)
	return unlock, err
}

// Place implements [store.Placer].
func (s *Store) Place() string { return store.PlaceOf(s.below) }

// Room implements [store.Gauge].
func (s *Store) Room(dir store.Path) (store.Room, error) { return store.RoomOf(s.below, dir) }

// Requests implements [store.Pacer].
func (s *Store) Requests() int { return store.RequestsOf(s.below) }

// Close closes the store below if it has a Close method.
func (s *Store) Close() error {
	if c, ok := store.As[io.Closer](s.below); ok {
		return c.Close()
	}
	return nil
}
