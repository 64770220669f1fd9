package filestore

import (
	"context"
	"errors"
	"iter"
	"path"
	"strings"
	"time"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// WriterState is what is known of the writer of a temporary file.
type WriterState int

const (
	// WriterUnknown is a writer that may be alive: on another machine, or where there are
	// no locks to tell.
	WriterUnknown WriterState = iota
	// WriterAlive is a writer that holds its lock.
	WriterAlive
	// WriterDead is a writer that was killed.
	WriterDead
)

// Temporary is a temporary file: of a write that is under way, or of one whose writer was
// killed.
type Temporary struct {
	Name     string // in the store, with '/' on every platform
	Size     int64  // bytes
	Modified time.Time
	Writer   WriterState
}

// Temporary yields the temporary files at and below a directory. It changes nothing; a
// store that was opened for reading only cannot try locks, so that no writer is known.
func (s *Store) Temporary(ctx context.Context, dir store.Path) iter.Seq2[Temporary, error] {
	return func(yield func(Temporary, error) bool) {
		c := census{s: s, known: map[string]WriterState{}}
		more, err := c.walk(ctx, dirOf(dir), func(t Temporary) bool { return yield(t, nil) })
		if err != nil && more {
			yield(Temporary{}, fail("looking for temporary files below", dirOf(dir), err))
		}
	}
}

// RemoveTemporary removes the files that writes which were killed have left behind, and
// returns how many. Only files older than age go, and none whose writer is alive: one of
// which nothing is known may be under way.
func (s *Store) RemoveTemporary(ctx context.Context, age time.Duration) (n int, err error) {
	if err := s.writable(ctx); err != nil {
		return 0, fail("cleaning", ".", err)
	}
	s.Sweep(ctx)
	latest := time.Now().Add(-age)
	for t, err := range s.Temporary(ctx, store.Path{}) {
		if err != nil {
			return n, err
		}
		if t.Writer == WriterAlive || t.Modified.After(latest) || s.fs.Remove(t.Name) != nil {
			continue
		}
		n++
		s.prune(path.Dir(t.Name))
	}
	return n, nil
}

// census finds temporary files and asks after their writers, each once.
type census struct {
	s     *Store
	known map[string]WriterState
}

// walk calls use for every temporary file below dir, and reports whether it wants more.
// It follows no links.
func (c *census) walk(ctx context.Context, dir string, use func(Temporary) bool) (more bool, err error) {
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
		if !strings.HasPrefix(e.Name(), own.Temporary) || !e.Type().IsRegular() {
			continue
		}
		st, err := c.s.fs.Stat(name)
		if err != nil {
			continue // it is gone
		}
		if !use(Temporary{name, st.Size, time.Unix(0, st.Mtime), c.ask(writerOf(name))}) {
			return false, nil
		}
	}
	return true, nil
}

// ask returns what is known of a writer.
func (c *census) ask(id string) WriterState {
	if id == "" || c.s.readOnly {
		return WriterUnknown
	}
	state, known := c.known[id]
	if !known {
		state = c.s.stateOf(id)
		c.known[id] = state
	}
	return state
}

// stateOf looks whether a writer holds its lock. One without a file may be that of a
// store which was opened at another directory, above or below this one.
func (s *Store) stateOf(id string) WriterState {
	name := path.Join(own.Writers, id)
	content, err := s.fs.Open(name)
	if err != nil {
		return WriterUnknown
	}
	defer content.Close()
	boot, _, ok := readWriter(content)
	lock, err := s.fs.TryLock(name)
	switch {
	case err == nil:
		if replaced(content, lock) {
			_ = s.fs.Remove(name)
		}
		_ = lock.Close()
	case errors.Is(err, vfs.ErrLocked):
		return WriterAlive
	}
	if err == nil && (ok && boot == s.boot && boot != "" || s.fs.Local()) {
		return WriterDead
	}
	return WriterUnknown
}

// discard removes a file of the store's own when all around it is deleted, and reports
// whether it is gone. What a live writer or the holder of a lock has stays. So does a
// lock that cannot be tried: it may be held.
func (s *Store) discard(name string) (gone bool, err error) {
	base := path.Base(name)
	if base != own.Lock && base != own.Publish {
		if s.stateOf(writerOf(name)) == WriterAlive {
			return false, nil
		}
		return removed(s.fs.Remove(name))
	}
	lock, err := s.fs.TryLock(name)
	switch {
	case err == nil:
		defer lock.Close() // it is removed while it is held, as its holder does
	case errors.Is(err, vfs.ErrLocked) || vfs.Missing(err):
		return false, nil
	case !errors.Is(err, errors.ErrUnsupported): // nobody holds a lock where there are none
		return false, err
	}
	return removed(s.fs.Remove(name))
}

// removed reports whether a file was removed, given the error of doing so. One that was
// not there is no error.
func removed(err error) (bool, error) {
	if vfs.Missing(err) {
		return false, nil
	}
	return err == nil, err
}

// discardWriters removes the files of all writers but those that are alive.
func (s *Store) discardWriters(dir string) {
	for e, err := range s.fs.ReadDir(dir) {
		if err != nil {
			break
		}
		name := path.Join(dir, e.Name())
		if lock, err := s.fs.TryLock(name); err == nil {
			_ = s.fs.Remove(name)
			_ = lock.Close()
		}
	}
	_ = s.fs.RemoveDir(dir)
}
