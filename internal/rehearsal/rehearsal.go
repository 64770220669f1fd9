// SPDX-License-Identifier: Apache-2.0

// Package rehearsal is a store for dry runs. It reads from another store and keeps all
// changes in memory, so the store below does not change. A [Ledger] records the
// changes. A program that changes the rehearsal takes the same steps, and gets the same
// errors, as one that changes the store.
//
// Documents and chunks set aside are always kept in memory. Other values are kept up to
// 256 MiB in total, then the oldest are dropped, and reading a dropped value is an error.
// A value that is spliced from its older version is built when it is read.
package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"reflect"
	"sync"

	"varve.dev/zarr/store"
)

// Store is a rehearsal of changes to the store below. It has the powers of that store
// ([store.As]). Its methods are safe for concurrent use. Make one with [New].
type Store struct {
	below  store.Store
	ledger *Ledger
	locks  sync.Map // from directory to chan struct{} with capacity 1
}

// New returns a rehearsal of changes to s, which is only read. A nil s stands for a store
// that does not exist yet. All rehearsals with one ledger must be of the same store.
func New(s store.Store, l *Ledger) *Store {
	if s == nil {
		s = nothing{}
	}
	return &Store{below: s, ledger: l}
}

// Of returns the rehearsal that s is or wraps, and whether there is one.
func Of(s store.Store) (*Store, bool) {
	for {
		if r, ok := s.(*Store); ok {
			return r, true
		}
		w, ok := s.(store.Wrapper)
		if !ok {
			return nil, false
		}
		s = w.Unwrap()
	}
}

// Unwrap implements [store.Wrapper], so that s has the powers of the store below.
func (s *Store) Unwrap() store.Store { return s.below }

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

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	e, changed, err := s.ledger.find(ctx, key)
	if !changed {
		return s.below.Get(ctx, key, q, dst)
	}
	if err == nil {
		dst, err = e.read(ctx, key, q, dst)
	}
	if err != nil {
		return nil, store.Info{}, err
	}
	return dst, e.info, nil
}

// Stat implements [store.Stater].
func (s *Store) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	e, changed, err := s.ledger.find(ctx, key)
	if !changed {
		return store.Stat(ctx, s.below, key)
	}
	return e.info, err
}

// Open implements [store.Opener].
func (s *Store) Open(ctx context.Context, key store.Key) (store.Object, error) {
	e, changed, err := s.ledger.find(ctx, key)
	if !changed {
		return store.Open(ctx, s.below, key)
	}
	if err != nil {
		return nil, err
	}
	return object{key, e}, nil
}

// object is one version of a written value.
type object struct {
	key store.Key
	e   entry
}

func (o object) Info() store.Info { return o.e.info }
func (o object) Close() error     { return nil }

func (o object) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return o.e.read(ctx, o.key, q, dst)
}

// Lock implements [store.Locker]. It excludes only writers in this rehearsal.
func (s *Store) Lock(ctx context.Context, dir store.Path) (unlock func() error, err error) {
	// In contrast to a mutex, the wait for a channel can be cancelled.
	held, _ := s.locks.LoadOrStore(dir, make(chan struct{}, 1))
	turn := held.(chan struct{})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case turn <- struct{}{}:
		return sync.OnceValue(func() error { <-turn; return nil }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// CopyFrom implements [store.Copier] for sources of the same kind as the store below,
// which that store could probably copy itself.
func (s *Store) CopyFrom(
	ctx context.Context, key store.Key, from store.Store, source store.Key, _ store.Durability,
) (int64, store.Version, error) {
	if reflect.TypeOf(store.Driver(from)) != reflect.TypeOf(store.Driver(s.below)) {
		return 0, store.Version{}, fmt.Errorf("%w: rehearsal: a copy from a store of another kind", store.ErrUnsupported)
	}
	value, _, err := from.Get(ctx, source, store.Request{}, nil)
	if err != nil {
		return 0, store.Version{}, err
	}
	v, err := s.set(ctx, key, value, nil)
	return int64(len(value)), v, err
}

// present returns the present entry of a key. The caller holds the lock of the ledger.
func (s *Store) present(ctx context.Context, key store.Key) (e entry, exists bool, err error) {
	if e, changed := s.ledger.entries[key]; changed {
		return *e, e.exists, nil
	}
	info, err := store.Stat(ctx, s.below, key)
	if errors.Is(err, fs.ErrNotExist) {
		return entry{before: -1}, false, nil
	}
	return entry{info: info, before: info.Size, exists: true}, err == nil, err
}

// nothing is an empty store with every power of a file store. A rehearsal checks which
// powers it has, but never uses them.
type nothing struct {
	store.Writer
	store.ConditionalWriter
	store.ConditionalDeleter
	store.Deleter
	store.TreeDeleter
	store.Splicer
	store.Batcher
	store.Copier
	store.Cloner
	store.Assembler
	store.Locker
}

func (nothing) Get(ctx context.Context, key store.Key, _ store.Request, _ []byte) ([]byte, store.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, store.Info{}, err
	}
	return nil, store.Info{}, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
}

func (nothing) Stat(_ context.Context, key store.Key) (store.Info, error) {
	return store.Info{}, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
}

func (nothing) Open(_ context.Context, key store.Key) (store.Object, error) {
	return nil, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
}

func (nothing) List(ctx context.Context, _ store.Path, _ bool) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(store.Entry{}, err)
		}
	}
}

func (n nothing) ListVersions(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return n.List(ctx, dir, deep)
}

// Place implements [store.Placer].
func (nothing) Place() string { return "" }
