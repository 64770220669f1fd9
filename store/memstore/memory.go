// SPDX-License-Identifier: Apache-2.0

// Package memstore is a store in memory. It has every power of package store except
// [store.Copier], so it is also the reference for drivers.
//
// A write replaces the value, and open objects keep reading the old one. Only
// [Store.Patch] changes a value in place, under a lock of that value; open objects then
// fail with [store.ErrConflict]. Clones share their bytes until one of them is patched.
//
// The end of the process loses all values, regardless of the requested durability.
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

// Store holds values in memory. Its methods are safe for concurrent use. Make one with
// [New].
type Store struct {
	mu     sync.RWMutex
	values map[store.Key]value
	dirs   index
	writes int64

	locks locks
}

// value is one version of a value. It can be read while its storage has the same version.
type value struct {
	*storage
	version  store.Version
	modified time.Time
}

// storage holds the bytes of a value and of its patched versions. Its lock is taken
// before that of the store, never after it.
type storage struct {
	data []byte // never replaced; patches change the bytes

	mu     sync.RWMutex
	now    store.Version
	shared bool // another storage may have the same data, which no patch may change
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

// Get implements [store.Store].
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
		// A concurrent patch changed the value after the lookup. Look up the new version.
		case !errors.Is(err, store.ErrConflict):
			return nil, store.Info{}, err
		}
	}
}

// read appends the bytes that q selects to dst. If the value was patched, the error is
// [store.ErrConflict].
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

// conflict is the error of a value that has changed.
func conflict(key store.Key) error { return fmt.Errorf("memory: %s: %w", key, store.ErrConflict) }

// Open implements [store.Opener]. The object stays readable until the value is patched.
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

// isCurrent reports whether the value has not been patched. It waits until a running
// patch has ended, so that an object is not opened for a version about to disappear.
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

// may decides whether to write or delete, from the present value of the key.
type may func(v value, exists bool) bool

// anyway permits an unconditional write.
func anyway(value, bool) bool { return true }

// onlyIf returns the decision of a write on a condition.
func onlyIf(cond store.Condition) may {
	return func(v value, exists bool) bool { return cond.Holds(v.version, exists) }
}

// Put implements [store.Writer].
func (s *Store) Put(ctx context.Context, key store.Key, data []byte, _ store.Durability) (store.Version, error) {
	return s.set(ctx, key, &storage{data: clone(data)}, anyway)
}

// PutIf implements [store.ConditionalWriter].
func (s *Store) PutIf(
	ctx context.Context, key store.Key, data []byte, cond store.Condition, _ store.Durability,
) (store.Version, error) {
	return s.set(ctx, key, &storage{data: clone(data)}, onlyIf(cond))
}

// clone returns a copy without spare capacity.
func clone(data []byte) []byte { return append(make([]byte, 0, len(data)), data...) }

// set stores new storage if may agrees. It sets the version of the storage.
func (s *Store) set(ctx context.Context, key store.Key, fresh *storage, may may) (store.Version, error) {
	if err := ctx.Err(); err != nil {
		return store.Version{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.values[key]
	if !may(old, exists) {
		return store.Version{}, conflict(key)
	}
	fresh.now = s.next()
	s.values[key] = value{fresh, fresh.now, time.Now()}
	if !exists {
		s.dirs.add(key)
	}
	return fresh.now, nil
}

// next returns the version of a write. The caller holds the lock of the store.
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

// remove removes the value at key if may agrees.
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
