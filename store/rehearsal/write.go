package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"varve.dev/zarr/store"
)

// Put implements [store.Writer].
func (s *Store) Put(ctx context.Context, key store.Key, value []byte, _ store.Durability) (store.Version, error) {
	return s.set(ctx, key, value, nil)
}

// PutIf implements [store.ConditionalWriter].
func (s *Store) PutIf(ctx context.Context, key store.Key, value []byte, cond store.Condition, _ store.Durability) (store.Version, error) {
	return s.set(ctx, key, value, &cond)
}

// Delete implements [store.Deleter].
func (s *Store) Delete(ctx context.Context, key store.Key) error { return s.remove(ctx, key, nil) }

// DeleteIf implements [store.ConditionalDeleter].
func (s *Store) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	cond := store.IfVersion(v)
	return s.remove(ctx, key, &cond)
}

// DeleteTree implements [store.TreeDeleter]. What is no value, as a link, is not told of.
func (s *Store) DeleteTree(ctx context.Context, dir store.Path, _ store.TreeOrder, _ store.Durability) error {
	for e, err := range s.List(ctx, dir, true) {
		if err == nil {
			err = s.Delete(ctx, dir.Key(e.Name))
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// set makes value that of a key, on a condition unless that is nil.
func (s *Store) set(ctx context.Context, key store.Key, value []byte, cond *store.Condition) (store.Version, error) {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	e, err := s.may(ctx, key, cond)
	if err != nil {
		return store.Version{}, err
	}
	return s.ledger.put(key, value, e.was), nil
}

// remove deletes the value of a key, on a condition unless that is nil.
func (s *Store) remove(ctx context.Context, key store.Key, cond *store.Condition) error {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	e, err := s.may(ctx, key, cond)
	if err == nil && (e.exists || e.was >= 0) {
		s.ledger.change(key, &entry{was: e.was})
	}
	return err
}

// may returns what is known of a key whose value is to change, if the condition holds.
func (s *Store) may(ctx context.Context, key store.Key, cond *store.Condition) (entry, error) {
	if err := ctx.Err(); err != nil {
		return entry{}, err
	}
	e, exists, err := s.present(ctx, key)
	if err == nil && cond != nil && !cond.Holds(e.info.Version, exists) {
		err = fmt.Errorf("rehearsal: %s: %w", key, store.ErrConflict)
	}
	return e, err
}

// Splice implements [store.Splicer].
func (s *Store) Splice(ctx context.Context, key store.Key, from store.Version, pieces []store.Piece, d store.Durability) (store.Version, error) {
	return s.rewrite(ctx, key, from, d, func(old []byte) ([]byte, error) {
		size, err := store.SplicedSize(int64(len(old)), pieces)
		if err != nil {
			return nil, err
		}
		value := make([]byte, 0, size)
		for _, p := range pieces {
			if p.Data == nil {
				p.Data = old[p.Off : p.Off+p.N]
			}
			value = append(value, p.Data...)
		}
		return value, nil
	})
}

// Patch implements [store.Patcher].
func (s *Store) Patch(ctx context.Context, key store.Key, from store.Version, patches []store.Patch, d store.Durability) (store.Version, error) {
	return s.rewrite(ctx, key, from, d, func(old []byte) ([]byte, error) {
		if err := store.CheckPatches(int64(len(old)), patches); err != nil {
			return nil, err
		}
		value := slices.Clone(old)
		for _, p := range patches {
			copy(value[p.Off:], p.Data)
		}
		return value, nil
	})
}

// rewrite replaces version from of a value by what change makes of it.
func (s *Store) rewrite(
	ctx context.Context, key store.Key, from store.Version, d store.Durability, change func(old []byte) ([]byte, error),
) (store.Version, error) {
	old, info, err := s.Get(ctx, key, store.Request{}, nil)
	if ctx.Err() != nil {
		return store.Version{}, ctx.Err()
	}
	if absent := errors.Is(err, fs.ErrNotExist); absent || err == nil && info.Version != from {
		return store.Version{}, fmt.Errorf("rehearsal: %s: %w", key, store.ErrConflict)
	}
	if err != nil {
		return store.Version{}, err
	}
	value, err := change(old)
	if err != nil {
		return store.Version{}, fmt.Errorf("rehearsal: %s: %w", key, err)
	}
	return s.PutIf(ctx, key, value, store.IfVersion(from), d)
}

// Batch implements [store.Batcher].
func (s *Store) Batch(ctx context.Context, _ store.Durability) (store.Batch, error) {
	return batch{s}, ctx.Err()
}

// batch writes at once: there is nothing to make durable.
type batch struct{ s *Store }

func (b batch) Put(ctx context.Context, key store.Key, value []byte) error {
	_, err := b.s.set(ctx, key, value, nil)
	return err
}

func (b batch) PutIf(ctx context.Context, key store.Key, value []byte, cond store.Condition) error {
	_, err := b.s.set(ctx, key, value, &cond)
	return err
}

func (b batch) Delete(ctx context.Context, key store.Key) error { return b.s.Delete(ctx, key) }

func (b batch) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	return b.s.DeleteIf(ctx, key, v)
}

func (b batch) Splice(ctx context.Context, key store.Key, from store.Version, pieces []store.Piece) error {
	_, err := b.s.Splice(ctx, key, from, pieces, store.Flush)
	return err
}

func (b batch) Commit(ctx context.Context) error { return ctx.Err() }
func (b batch) Discard()                         {}
