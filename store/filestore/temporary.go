// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"errors"
	"iter"
	"path"
	"time"

	"varve.dev/zarr/internal/leftover"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// writerState is the state of the writer of a temporary file.
type writerState int

const (
	// writerUnknown means that the writer may be running. It may be on another machine,
	// or there is no lock that would show it.
	writerUnknown writerState = iota
	// writerRunning means that the writer holds its lock.
	writerRunning
	// writerGone means that the writer has crashed or was killed.
	writerGone
)

// temporary is a temporary file and the state of its writer.
type temporary struct {
	leftover.File
	writer writerState
}

// Leftovers implements [leftover.Finder].
func (s *files) Leftovers(ctx context.Context, dir store.Path) iter.Seq2[leftover.File, error] {
	return func(yield func(leftover.File, error) bool) {
		for t, err := range s.listTemporary(ctx, dir) {
			if !yield(t.File, err) {
				return
			}
		}
	}
}

// listTemporary yields the temporary files in dir and below.
func (s *files) listTemporary(ctx context.Context, dir store.Path) iter.Seq2[temporary, error] {
	return func(yield func(temporary, error) bool) {
		c := census{s: s, known: map[string]writerState{}}
		more, err := c.walk(ctx, dirOf(dir), func(t temporary) bool { return yield(t, nil) })
		if err != nil && more {
			yield(temporary{}, fail("looking for temporary files below", dirOf(dir), err))
		}
	}
}

// RemoveTemporary removes the temporary files that crashed writers have left in a store
// of this package: all files of writers that are gone, and the files of unknown writers
// that are older than age. It returns the number of the latter. The error for other
// stores is [store.ErrUnsupported].
func RemoveTemporary(ctx context.Context, s store.Store, age time.Duration) (n int, err error) {
	f, ok := store.Driver(s).(*files)
	if !ok {
		return 0, fail("cleaning", ".", store.ErrUnsupported)
	}
	return f.removeTemporary(ctx, age)
}

func (s *files) removeTemporary(ctx context.Context, age time.Duration) (n int, err error) {
	if err := s.writable(ctx); err != nil {
		return 0, fail("cleaning", ".", err)
	}
	// Sweep removes the files of writers that are known to be gone. The loop judges the
	// rest by their age.
	s.Sweep(ctx)
	latest := time.Now().Add(-age)
	for t, err := range s.listTemporary(ctx, store.Path{}) {
		if err != nil {
			return n, err
		}
		if t.writer == writerRunning || t.Modified.After(latest) || s.fs.Remove(t.Name) != nil {
			continue
		}
		n++
		s.prune(path.Dir(t.Name))
	}
	return n, nil
}

// census finds temporary files and checks each writer once.
type census struct {
	s     *files
	known map[string]writerState
}

// walk calls use for every temporary file below dir until use returns false. It follows
// no links.
func (c *census) walk(ctx context.Context, dir string, use func(temporary) bool) (more bool, err error) {
	for e, err := range c.s.fs.ReadDir(dir) {
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case vfs.Missing(err):
			return true, nil
		case err != nil:
			return true, err
		}
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			if more, err := c.walk(ctx, name, use); err != nil || !more {
				return more, err
			}
			continue
		}
		// The driver makes only regular files of this name.
		if !own.IsTemporary(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		st, err := c.s.fs.Stat(name)
		if err != nil {
			continue // its writer has renamed or removed it
		}
		state := c.ask(writerOf(name))
		if !use(temporary{leftover.File{Name: name, Size: st.Size, Modified: time.Unix(0, st.Mtime), Left: state == writerGone}, state}) {
			return false, nil
		}
	}
	return true, nil
}

// ask returns the state of a writer.
func (c *census) ask(id string) writerState {
	if id == "" {
		return writerUnknown
	}
	state, known := c.known[id]
	if !known {
		state = c.s.stateOf(id)
		c.known[id] = state
	}
	return state
}

// stateOf checks whether a writer holds its lock.
func (s *files) stateOf(id string) writerState {
	name := path.Join(own.Writers, id)
	content, err := s.fs.Open(name)
	if err != nil {
		// The writer may have opened a directory above or below this one, and keeps its
		// file there.
		return writerUnknown
	}
	defer content.Close()
	boot, _, ok := readWriter(content)
	lock, err := s.fs.TryLock(name)
	switch {
	case err == nil:
		// The writer ended normally between Open and TryLock, and TryLock made a new
		// file.
		if replaced(content, lock) {
			_ = s.fs.Remove(name)
		}
		_ = lock.Close()
	// The writer holds the lock, or a concurrent sweep does.
	case errors.Is(err, vfs.ErrLocked):
		return writerRunning
	}
	// A free lock proves that the writer has ended only if this machine would see its
	// lock: in the same boot, or on a local file system.
	if err == nil && (ok && boot == s.boot && boot != "" || s.fs.Local()) {
		return writerGone
	}
	return writerUnknown
}

// discard removes a file of the driver for DeleteTree, and reports whether it did. Files
// of running writers and locks that may be held stay.
func (s *files) discard(name string) (gone bool, err error) {
	base := path.Base(name)
	if base != own.Lock && base != own.Publish {
		// The rest are temporary files. Removing the file of a running writer would make
		// its Put fail.
		if s.stateOf(writerOf(name)) == writerRunning {
			return false, nil
		}
		return removed(s.fs.Remove(name))
	}
	lock, err := s.fs.TryLock(name)
	switch {
	case err == nil:
		defer lock.Close() // after the removal, for the reason given in tryLock
	case errors.Is(err, vfs.ErrLocked) || vfs.Missing(err):
		return false, nil
	case !errors.Is(err, errors.ErrUnsupported): // it may be held; unsupported locks cannot
		return false, err
	}
	return removed(s.fs.Remove(name))
}

// removed converts the error of a removal. It returns false without an error if the file
// was missing.
func removed(err error) (bool, error) {
	if vfs.Missing(err) {
		return false, nil
	}
	return err == nil, err
}

// discardWriters removes the files of all writers that are not running.
func (s *files) discardWriters(dir string) {
	for e, err := range s.fs.ReadDir(dir) {
		if err != nil {
			break
		}
		name := path.Join(dir, e.Name())
		// A running writer holds the lock of its file, so that file stays.
		if lock, err := s.fs.TryLock(name); err == nil {
			_ = s.fs.Remove(name)
			_ = lock.Close()
		}
	}
	_ = s.fs.RemoveDir(dir)
}

// Touch gives the file at key the modification time of now, as if its bytes had been
// written again. The value has a new version afterwards. The time is not made durable. If
// there is no value, the error is [io/fs.ErrNotExist].
func (s *files) Touch(ctx context.Context, key store.Key) error {
	err := s.writable(ctx)
	if err != nil {
		return fail("touching", key.String(), err)
	}
	name, err := nameOf(key)
	if err == nil {
		err = s.fs.Touch(name, s.timestamp())
	}
	if err != nil {
		return fail("touching", key.String(), err)
	}
	return nil
}
