// Package memory is a store in memory, with every power that package store knows.
//
// Values are immutable: a write replaces the value, so readers share it without copies and see it whole.
// Nothing survives the process, whatever durability is asked for.
package memory

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"sync"
	"time"

	"varve.dev/zarr/store"
)

// Store holds values in memory. Its methods may be called from several goroutines at once. Make one with [New].
type Store struct {
	mu     sync.RWMutex
	values map[store.Key]value
	dirs   index
	writes int64

	locks locks
}

// value is one version of a value; its bytes never change.
type value struct {
	data     []byte
	version  store.Version
	modified time.Time
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
	v, err := s.lookup(ctx, key)
	if err != nil {
		return nil, store.Info{}, err
	}
	out, err := v.read(key, q, dst)
	if err != nil {
		return nil, store.Info{}, err
	}
	return out, v.info(), nil
}

// read appends what q selects to dst.
func (v value) read(key store.Key, q store.Request, dst []byte) ([]byte, error) {
	off, n, err := q.Resolve(int64(len(v.data)))
	if err != nil {
		return nil, fmt.Errorf("memory: %s: %w", key, err)
	}
	return append(dst, v.data[off:off+n]...), nil
}

// Stat implements [store.Stater].
func (s *Store) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	v, err := s.lookup(ctx, key)
	return v.info(), err
}

// Open implements [store.Opener]. The object keeps its version readable for as long as it is referred to.
func (s *Store) Open(ctx context.Context, key store.Key) (store.Object, error) {
	v, err := s.lookup(ctx, key)
	if err != nil {
		return nil, err
	}
	return object{key, v}, nil
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

// Put implements [store.Writer].
func (s *Store) Put(ctx context.Context, key store.Key, data []byte, _ store.Durability) (store.Version, error) {
	return s.put(ctx, key, data, func(value, bool) bool { return true })
}

// PutIf implements [store.ConditionalWriter].
func (s *Store) PutIf(
	ctx context.Context, key store.Key, data []byte, cond store.Condition, _ store.Durability,
) (store.Version, error) {
	return s.put(ctx, key, data, func(v value, exists bool) bool { return cond.Holds(v.version, exists) })
}

// put stores a copy of data where may agrees to replace the present value.
func (s *Store) put(
	ctx context.Context, key store.Key, data []byte, may func(v value, exists bool) bool,
) (store.Version, error) {
	if err := ctx.Err(); err != nil {
		return store.Version{}, err
	}
	data = append(make([]byte, 0, len(data)), data...)
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.values[key]
	if !may(old, exists) {
		return store.Version{}, fmt.Errorf("memory: %s: %w", key, store.ErrConflict)
	}
	s.writes++
	version := store.MakeVersion(strconv.FormatInt(s.writes, 10))
	s.values[key] = value{data, version, time.Now()}
	if !exists {
		s.dirs.add(key)
	}
	return version, nil
}

// Delete implements [store.Deleter].
func (s *Store) Delete(ctx context.Context, key store.Key) error {
	return s.remove(ctx, key, func(value, bool) bool { return true })
}

// DeleteIf implements [store.ConditionalDeleter].
func (s *Store) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	cond := store.IfVersion(v)
	return s.remove(ctx, key, func(old value, exists bool) bool { return cond.Holds(old.version, exists) })
}

// remove removes the value at key where may agrees.
func (s *Store) remove(ctx context.Context, key store.Key, may func(v value, exists bool) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.values[key]
	if !may(old, exists) {
		return fmt.Errorf("memory: %s: %w", key, store.ErrConflict)
	}
	if exists {
		delete(s.values, key)
		s.dirs.remove(key)
	}
	return nil
}
