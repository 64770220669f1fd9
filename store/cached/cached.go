// SPDX-License-Identifier: Apache-2.0

// Package cached wraps a store with a cache of the values that were read, in memory or in
// a folder.
//
// # What may be old
//
// A cached value is used only if the store has that version now, or if the reader has
// pinned it ([store.Pin], [store.Open]):
//
//	value                                 request before cached bytes are used
//	metadata document below 64 KiB        never cached
//	metadata document                     Stat
//	references of an Icechunk repository  Stat
//	object that Varve keeps for itself    never cached
//	chunk, first read                     Stat, unless MaxAge or Immutable permits none
//	chunk, pinned and read before         none
//	value without a version               never cached
//	weak version, younger than 2 seconds  never cached; see [store.Version.IsWeak]
//	no value at a key                     never cached
//
// A value that is not in the cache is read without a Stat, except for a span of a value
// whose size is not known. A write through the wrapper ends the trust of [Options.MaxAge]
// and [Options.Immutable] in that key.
//
// # What is kept
//
// Bytes are kept in blocks of 64 KiB, and those of long reads in blocks of 4 MiB. A read
// of a part of a value is extended to whole small blocks, at most 64 KiB at either end.
// So a shard index and the inner chunks beside it are found again whatever ranges are
// asked for. The blocks that were used longest ago make room for new ones.
//
// Concurrent reads of one missing block share one request.
//
// # The folder
//
// Several processes may use one folder. Only its user can read it, and file names are
// hashes of keys, which reveal none. Each page of 64 KiB has a checksum, which every
// read compares. A damaged file is removed, and its bytes are read from the store again.
// If the folder cannot be written to, values are read from the store, and
// [Cache.Warn] is called once.
package cached

import (
	"context"
	"iter"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/zarr/store"
)

// Options configure a [Store]. The zero Options are correct for all data.
type Options struct {
	// Place distinguishes this store from others in one cache. The default is the place
	// of the store ([store.TraitsOf]). Without either, a cache in a folder is not used,
	// and one in memory keeps the store apart from all others.
	Place string
	// MaxAge is for how long the cached bytes of a chunk are used without asking the
	// store for its version. 0 asks each time.
	MaxAge time.Duration
	// Immutable means that chunks never change, so the store is not asked for their
	// versions. A chunk that does change is read as it was.
	Immutable bool
}

// Store is a store with a cache. It has the powers of the store below ([store.As]), and
// makes the same changes, also in batches. Its methods are safe for concurrent use.
// Make one with [New].
type frontStore struct {
	below store.Store
	cache *Cache
	opt   Options
	place string // "" if nothing may be cached

	flights flights
	written written
}

// stores counts the stores without a place.
var stores atomic.Int64

// New returns s with a cache, as a [store.Wrapper] that has the powers of s ([store.As]).
// A nil opt means the zero [Options].
func New(s store.Store, c *Cache, opt *Options) store.Store {
	n := &frontStore{below: s, cache: c}
	if opt != nil {
		n.opt = *opt
	}
	switch n.place = n.opt.Place; {
	case n.place != "":
	case store.TraitsOf(s).Place != "":
		n.place = store.TraitsOf(s).Place
	case c.private():
		n.place = "\x00" + strconv.FormatInt(stores.Add(1), 10)
	}
	return n
}

// Unwrap implements [store.Wrapper].
func (s *frontStore) Unwrap() store.Store { return s.below }

// Stat implements [store.Stater]. It always asks the store below.
func (s *frontStore) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	return store.Stat(ctx, s.below, key)
}

// List implements [store.Lister].
func (s *frontStore) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return store.List(ctx, s.below, dir, how)
}

// Lock implements [store.Locker].
func (s *frontStore) Lock(ctx context.Context, dir store.Path) (unlock func() error, err error) {
	return store.Lock(ctx, s.below, dir)
}

// LockHolder implements [store.Locker].
func (s *frontStore) LockHolder(dir store.Path) store.Holder {
	if l, ok := store.As[store.Locker](s.below); ok {
		return l.LockHolder(dir)
	}
	return store.Holder{}
}

// Traits implements [store.Describer].
func (s *frontStore) Traits() store.Traits { return store.TraitsOf(s.below) }

// CheckKey implements [store.Describer].
func (s *frontStore) CheckKey(key store.Key) error { return store.CheckKey(s.below, key) }

// Close closes the store below if it has a Close method. The cache stays open.
func (s *frontStore) Close() error { return store.Close(s.below) }

// written are the keys that were written through the wrapper, whose cached bytes are old.
type written struct {
	mu   sync.Mutex
	keys map[store.Key]struct{}
	all  bool // any key may have been written
}

// mostWritten bounds the keys that are remembered one by one.
const mostWritten = 1 << 16

// wrote ends the trust in the cached bytes of a key.
func (s *frontStore) wrote(key store.Key) {
	if s.opt.MaxAge <= 0 && !s.opt.Immutable {
		return // nothing is trusted
	}
	w := &s.written
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all = w.all || len(w.keys) == mostWritten; w.all {
		w.keys = nil
		return
	}
	if w.keys == nil {
		w.keys = map[store.Key]struct{}{}
	}
	w.keys[key] = struct{}{}
}

// wroteAny ends the trust in all cached bytes.
func (s *frontStore) wroteAny() {
	s.written.mu.Lock()
	defer s.written.mu.Unlock()
	s.written.all, s.written.keys = true, nil
}

// contains reports whether a key was written.
func (w *written) contains(key store.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.keys[key]
	return ok || w.all
}

// Open implements [store.Opener].
func (s *frontStore) Open(ctx context.Context, key store.Key) (store.Object, error) {
	o, err := store.Open(ctx, s.below, key)
	if err != nil || !s.keeps(key) || o.Info().Version.IsZero() {
		return o, err
	}
	return &object{o, s, key}, nil
}

// object is an open value.
type object struct {
	store.Object
	s   *frontStore
	key store.Key
}

// Read implements [store.Object].
func (o *object) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return o.s.read(ctx, o.key, o.Info(), o.Object, q, dst)
}
