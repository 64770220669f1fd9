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

// Traits implements [store.Describer].
func (s *Store) Traits() store.Traits { return store.TraitsOf(s.below) }

// CheckKey implements [store.Describer].
func (s *Store) CheckKey(key store.Key) error { return store.CheckKey(s.below, key) }

// Close closes the store below if it has a Close method.
func (s *Store) Close() error { return store.Close(s.below) }

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

// LockHolder implements [store.Locker]. Only this process can hold the lock.
func (s *Store) LockHolder(store.Path) store.Holder { return store.Holder{} }

// copy copies from sources of the same kind as the store below, which that store could
// probably copy itself.
func (s *Store) copy(ctx context.Context, c store.Change) (made store.Written, err error) {
	if reflect.TypeOf(store.Driver(c.From)) != reflect.TypeOf(store.Driver(s.below)) {
		return made, fmt.Errorf("%w: rehearsal: a copy from a store of another kind", store.ErrUnsupported)
	}
	value, _, err := c.From.Get(ctx, c.Source, store.Request{}, nil)
	if err != nil {
		return made, err
	}
	made.Size = int64(len(value))
	made.Version, err = s.set(ctx, c.Key, value, nil)
	return made, err
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
	store.TreeDeleter
	store.Batcher
	store.Locker
}

func (nothing) Can(op store.Op) bool {
	return op >= store.OpPut && op <= store.OpClone && op != store.OpPatch
}

func (nothing) Write(context.Context, store.Change, store.Durability) (store.Written, error) {
	return store.Written{}, store.ErrUnsupported
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

func (nothing) List(ctx context.Context, _ store.Path, _ store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(store.Entry{}, err)
		}
	}
}
