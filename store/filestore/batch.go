// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"path"
	"sync"

	"varve.dev/zarr/store"
)

// Batch implements [store.Batcher]. Each Put syncs its file and moves it into place, so
// goroutines sync in parallel and nothing is buffered. Commit syncs each directory that
// was written to, once.
func (s *Store) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	if err := s.writable(ctx); err != nil {
		return nil, fail("beginning", "batch", err)
	}
	// Stay registered as a writer until the batch ends. Otherwise each Put would make and
	// remove the writer's file.
	s.begin()
	return &batch{s: s, d: d, dirs: map[string]bool{}, end: sync.OnceFunc(func() { s.end(nil) })}, nil
}

type batch struct {
	s *Store
	d store.Durability

	mu   sync.Mutex
	dirs map[string]bool // directories that Commit syncs
	end  func()
}

func (b *batch) Put(ctx context.Context, key store.Key, value []byte) error {
	name, err := nameOf(key)
	if err == nil {
		name, _, err = b.s.publish(ctx, name, whole(value), b.d)
	}
	if err != nil {
		return fail("writing", key.String(), err)
	}
	b.touch(path.Dir(name))
	return nil
}

// PutIf implements [store.ConditionalBatch].
func (b *batch) PutIf(ctx context.Context, key store.Key, value []byte, cond store.Condition) error {
	name, err := nameOf(key)
	if err == nil {
		name, _, err = b.s.publishIf(ctx, name, whole(value), cond, b.d)
	}
	if err != nil {
		return fail("writing", key.String(), err)
	}
	b.touch(path.Dir(name))
	return nil
}

// Splice implements [store.SplicingBatch].
func (b *batch) Splice(ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment) error {
	_, dir, err := b.s.splice(ctx, key, from, fragments, b.d)
	if err != nil {
		return fail("splicing", key.String(), err)
	}
	b.touch(dir)
	return nil
}

// DeleteIf implements [store.ConditionalBatch].
func (b *batch) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	dir, err := b.s.removeIf(ctx, key, v)
	if err != nil {
		return fail("deleting", key.String(), err)
	}
	b.touch(dir)
	return nil
}

func (b *batch) Delete(ctx context.Context, key store.Key) error {
	dir, err := b.s.remove(ctx, key)
	if err != nil {
		return fail("deleting", key.String(), err)
	}
	// If there was no value, no name has changed, and Commit has nothing to sync.
	if dir != "" {
		b.touch(dir)
	}
	return nil
}

func (b *batch) touch(dir string) {
	if b.d == store.Flush {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dirs[dir] = true
}

// Commit implements [store.Batch].
func (b *batch) Commit(ctx context.Context) error {
	defer b.end()
	b.mu.Lock()
	defer b.mu.Unlock()
	// One sync covers all names that changed in a directory. Until then, a power cut may
	// keep some of the renames and lose the others.
	for dir := range b.dirs {
		err := b.s.writable(ctx)
		if err == nil {
			err = b.s.syncDir(dir)
		}
		if err != nil {
			return fail("committing", dir, err)
		}
	}
	clear(b.dirs)
	return nil
}

// Discard implements [store.Batch].
func (b *batch) Discard() { b.end() }
