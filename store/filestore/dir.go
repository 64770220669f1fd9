// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"errors"
	"io/fs"
	"path"
	"sync"

	"varve.dev/zarr/internal/vfs"
)

// made holds the directories that this store made and whose names are not durable yet.
// Every write below one of them must make its name durable, whichever call made it. The
// number tells a directory from a later one with the same name.
type made struct {
	mu   sync.Mutex
	dirs map[string]uint64
	next uint64
}

// makeDir makes dir and the missing directories above it. It fails with [fs.ErrNotExist]
// if a concurrent deletion prunes what it has just made; the caller may try again.
func (s *Store) makeDir(dir string) error {
	if dir == "." {
		return nil
	}
	err := s.mkdir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = s.makeDir(path.Dir(dir)); err == nil {
			err = s.mkdir(dir)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// mkdir makes one directory. It holds the lock of made, so that no concurrent write can
// find the directory before it is recorded, and skip the sync.
func (s *Store) mkdir(dir string) error {
	m := &s.made
	m.mu.Lock()
	defer m.mu.Unlock()
	err := s.fs.Mkdir(dir)
	if err == nil {
		if m.dirs == nil {
			m.dirs = map[string]uint64{}
		}
		m.next++
		m.dirs[dir] = m.next
	}
	return err
}

// get returns the number of dir, or 0 if its name is durable.
func (m *made) get(dir string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dirs[dir]
}

// durable forgets dir, unless it was pruned and made again after it had number n.
func (m *made) durable(dir string, n uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dirs[dir] == n {
		delete(m.dirs, dir)
	}
}

// syncDir makes the names in dir durable, and the names of new directories on the way to
// it.
func (s *Store) syncDir(dir string) error {
	if err := s.syncNames(dir); err != nil {
		return err
	}
	for d := range parents(dir) {
		n := s.made.get(d)
		if n == 0 {
			continue
		}
		if err := s.syncNames(path.Dir(d)); err != nil {
			return err
		}
		s.made.durable(d, n)
	}
	return nil
}

// syncNames syncs one directory. If dir was pruned, that deletion must be durable
// instead, so it syncs the directory above.
func (s *Store) syncNames(dir string) error {
	f, err := s.fs.Open(dir)
	if vfs.Missing(err) && dir != "." {
		return s.syncNames(path.Dir(dir))
	}
	if err != nil {
		return err
	}
	err = s.sync(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
