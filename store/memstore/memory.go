// Package memstore is a store in memory, with every power that package store knows.
//
// A write replaces the value, and who has the old one open goes on to read it.
// [Store.Patch] alone changes a value in place, under a lock of the value's own; who has
// it open finds it changed.
//
// Nothing survives the process, whatever durability is asked for.
package memstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"sync"
	"time"

	"varve.dev/zarr/store"
)

// Store holds values in memory. Its methods may be called from several goroutines at
// once. Make one with [New].
type Store struct {
	mu     sync.RWMutex
	values map[store.Key]value
	dirs   index
	writes int64

	locks locks
}

// value is one version of a value. It can be read as long as its storage is of the same
// version.
type value struct {
	*storage
	version  store.Version
	modified time.Time
}

// storage holds the bytes of a value through its patches. Its lock is taken before that
// of the store, never after it.
type storage struct {
	data []byte // always these; what is in them changes with the version

	mu  sync.RWMutex
	now store.Version
}

func (v value) info() store.Info {
	return store.Info{Size: int64(len(v.data)), Version: v.version, Modified: v.modified}
}

// New returns an empty store.
func New() *Store {
	return &Store{values: map[store.Key]value{}, dirs: index{}, locks: locks{held: map[store.Path]chan struct{}{}}}
}

// lookup returns the value at key, or fs.ErrNotExist.
func (s *Store) lookup(ctx context.Context, key store.Key) (value, error) {
	if err := ctx.Err(); err != nil {
		return value{}, err
	}
	s.mu.RLock()
	v, ok := s.values[key]
	s.mu.RUnlock()
	if !ok {
		return value{}, fmt.Errorf("memory: %s: %w", key, fs.ErrNotExist)
	}
	return v, nil
}

// Get implements [store.Store]. A value that is patched before it is read is looked up
// again.
func (s *Store) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	for {
		v, err := s.lookup(ctx, key)
		if err != nil {
			return nil, store.Info{}, err
		}
		out, err := v.read(key, q, dst)
		switch {
		case err == nil:
			return out, v.info(), nil
		case !errors.Is(err, store.ErrConflict):
			return nil, store.Info{}, err
		}
	}
}

// read appends what q selects to dst. It fails with [store.ErrConflict] where the value
// has been patched.
func (v value) read(key store.Key, q store.Request, dst []byte) ([]byte, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.now != v.version {
		return nil, conflict(key)
	}
	off, n, err := q.Resolve(int64(len(v.data)))
	if err != nil {
		return nil, fmt.Errorf("memory: %s: %w", key, err)
	}
	return append(dst, v.data[off:off+n]...), nil
}

// Stat implements [store.Stater].
func (s *Store) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	v, err := s.lookup(ctx, key)
	if err != nil {
		return store.Info{}, err
	}
	return v.info(), nil
}

// conflict says that the value at key is not what it was.
func conflict(key store.Key) error { return fmt.Errorf("memory: %s: %w", key, store.ErrConflict) }

// Open implements [store.Opener]. The object keeps its version readable for as long as it
// is referred to, unless the value is patched.
func (s *Store) Open(ctx context.Context, key store.Key) (store.Object, error) {
	for {
		v, err := s.lookup(ctx, key)
		if err != nil {
			return nil, err
		}
		if v.isCurrent() {
			return object{key, v}, nil
		}
	}
}

// isCurrent reports whether the value has not been patched. It waits for the end of a
// patch, so that readers of a value that is patched all the time do not begin in the
// middle of one.
func (v value) isCurrent() bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.now == v.version
}

type object struct {
	key store.Key
	v   value
}

func (o object) Info() store.Info { return o.v.info() }
func (o object) Close() error     { return nil }

func (o object) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return o.v.read(o.key, q, dst)
}

// may decides whether the present value of a key is replaced or removed.
type may func(v value, exists bool) bool

// anyway is what an unconditional write asks for.
func anyway(value, bool) bool { return true }

// onlyIf asks for a condition.
func onlyIf(cond store.Condition) may {
	return func(v value, exists bool) bool { return cond.Holds(v.version, exists) }
}

// Put implements [store.Writer].
func (s *Store) Put(ctx context.Context, key store.Key, data []byte, _ store.Durability) (store.Version, error) {
	return s.set(ctx, key, clone(data), anyway)
}

// PutIf implements [store.ConditionalWriter].
func (s *Store) PutIf(
	ctx context.Context, key store.Key, data []byte, cond store.Condition, _ store.Durability,
) (store.Version, error) {
	return s.set(ctx, key, clone(data), onlyIf(cond))
}

// clone returns a copy that has no room to spare.
func clone(data []byte) []byte { return append(make([]byte, 0, len(data)), data...) }

// set stores data, and keeps it, where may agrees to replace the present value.
func (s *Store) set(ctx context.Context, key store.Key, data []byte, may may) (store.Version, error) {
	if err := ctx.Err(); err != nil {
		return store.Version{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.values[key]
	if !may(old, exists) {
		return store.Version{}, conflict(key)
	}
	version := s.next()
	s.values[key] = value{&storage{data: data, now: version}, version, time.Now()}
	if !exists {
		s.dirs.add(key)
	}
	return version, nil
}

// next returns the version of a write. The caller has the lock of the store.
func (s *Store) next() store.Version {
	s.writes++
	return store.MakeVersion(strconv.FormatInt(s.writes, 10))
}

// Delete implements [store.Deleter].
func (s *Store) Delete(ctx context.Context, key store.Key) error {
	return s.remove(ctx, key, anyway)
}

// DeleteIf implements [store.ConditionalDeleter].
func (s *Store) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	return s.remove(ctx, key, onlyIf(store.IfVersion(v)))
}

// remove removes the value at key where may agrees.
func (s *Store) remove(ctx context.Context, key store.Key, may may) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.values[key]
	if !may(old, exists) {
		return conflict(key)
	}
	if exists {
		delete(s.values, key)
		s.dirs.remove(key)
	}
	return nil
}
