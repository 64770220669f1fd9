// Package rehearsal is a store on which a change is tried: it reads from a store and
// keeps what is written to itself, so that the store below stays as it is. What the
// change would have done is told by its [Ledger]. A program that changes the rehearsal
// runs the same steps, and meets the same errors, as one that changes the store.
//
// Documents and what is put aside for a moment are kept. Of other values as much is kept
// as fits into 256 MiB, the newest last; whoever reads one that was dropped gets an
// error. A value that is made of pieces of its older version is put together when it is
// read, and not before.
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

// Store is a store below which nothing changes. It has the powers of that store
// ([store.As]). Its methods may be called from several goroutines at once. Make one with
// [New].
type Store struct {
	below  store.Store
	ledger *Ledger
	locks  sync.Map // of chan struct{} with room for one holder, by directory
}

// New returns a rehearsal of changes to s, which is only read. Nil stands for a store
// that is not there yet. All rehearsals of one ledger have to be of one store.
func New(s store.Store, l *Ledger) *Store {
	if s == nil {
		s = nothing{}
	}
	return &Store{below: s, ledger: l}
}

// Of returns the rehearsal that a store is, or that it wraps, and whether there is one.
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

// Unwrap implements [store.Wrapper], so that the powers are those of the store below.
func (s *Store) Unwrap() store.Store { return s.below }

// Place implements [store.Placer].
func (s *Store) Place() string { return store.PlaceOf(s.below) }

// Close closes the store below, if it can be closed.
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

// object is one version of a value that was written.
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

// Lock implements [store.Locker]. It keeps others away within this rehearsal only.
func (s *Store) Lock(ctx context.Context, dir store.Path) (unlock func() error, err error) {
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

// CopyFrom implements [store.Copier] for sources that the store below would probably copy
// itself: stores of its own kind.
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

// present returns what is known of a key now. The caller has the lock of the ledger.
func (s *Store) present(ctx context.Context, key store.Key) (e entry, exists bool, err error) {
	if e, changed := s.ledger.entries[key]; changed {
		return *e, e.exists, nil
	}
	info, err := store.Stat(ctx, s.below, key)
	if errors.Is(err, fs.ErrNotExist) {
		return entry{was: -1}, false, nil
	}
	return entry{info: info, was: info.Size, exists: true}, err == nil, err
}

// nothing is a store without values that has every power that a store of files has.
// Nobody uses the powers: a rehearsal only asks which there are.
type nothing struct {
	store.Writer
	store.ConditionalWriter
	store.ConditionalDeleter
	store.Deleter
	store.TreeDeleter
	store.Splicer
	store.Batcher
	store.Copier
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

// Place implements [store.Placer].
func (nothing) Place() string { return "" }
