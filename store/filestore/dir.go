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
// Every write below such a directory must make the name durable, even if a concurrent
// call made the directory. The number distinguishes it from a later directory of the same
// name.
type made struct {
	mu     sync.Mutex
	dirs   map[string]uint64
	unused uint64
}

// makeDir makes dir and the missing directories above it. It fails with [fs.ErrNotExist]
// if a concurrent deletion prunes a directory that it has just made. The caller may try
// again.
func (s *files) makeDir(dir string) error {
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
func (s *files) mkdir(dir string) error {
	m := &s.made
	m.mu.Lock()
	defer m.mu.Unlock()
	err := s.fs.Mkdir(dir)
	if err == nil {
		if m.dirs == nil {
			m.dirs = map[string]uint64{}
		}
		m.unused++
		m.dirs[dir] = m.unused
	}
	return err
}

// get returns the number of dir, or 0 if its name is durable.
func (m *made) get(dir string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dirs[dir]
}

// durable records that the name of directory number n is durable.
func (m *made) durable(dir string, n uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dirs[dir] == n { // otherwise a later directory of this name is not durable yet
		delete(m.dirs, dir)
	}
}

// syncDir makes the names in dir durable, and the names of dir and of the directories
// above it.
func (s *files) syncDir(dir string) error {
	if err := s.syncNames(dir); err != nil {
		return err
	}
	// A directory that this store made may not have a durable name yet. A power cut would
	// then lose it and every value below.
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

// syncNames makes the names in dir durable.
func (s *files) syncNames(dir string) error {
	f, err := s.fs.Open(dir)
	if vfs.Missing(err) && dir != "." {
		// A concurrent deletion pruned dir. Its removal must be durable instead.
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
