// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"sync"

	"varve.dev/zarr/store"
)

// Batch implements [store.Batcher]. Each change syncs its file and moves it into place,
// so goroutines sync in parallel and nothing is buffered. Commit syncs each directory
// that was written to, once.
func (s *files) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	if err := s.writable(ctx); err != nil {
		return nil, fail("beginning", "batch", err)
	}
	// Stay registered as a writer until the batch ends. Otherwise each change would
	// make and remove the writer's file.
	s.begin()
	return &batch{s: s, d: d, dirs: map[string]bool{}, end: sync.OnceFunc(func() { s.end(nil) })}, nil
}

type batch struct {
	s *files
	d store.Durability

	mu   sync.Mutex
	dirs map[string]bool // directories that Commit syncs
	end  func()
}

// Can implements [store.Batch].
func (b *batch) Can(op store.Op) bool { return b.s.Can(op) }

// Write implements [store.Batch]. It does not look for versions.
func (b *batch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	o, err := b.s.change(ctx, c, b.d)
	if err != nil {
		return store.Written{}, fail(doing(c.Op), c.Key.String(), err)
	}
	// If there was nothing to delete, no name has changed, and Commit has nothing to
	// sync.
	if o.dir != "" {
		b.touch(o.dir)
	}
	return o.Written, nil
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
