package filestore

import (
	"errors"
	"io/fs"
	"path"
	"sync"

	"varve.dev/zarr/internal/vfs"
)

// made holds the directories that this store made and whose own names are not durable
// yet. Every write below one of them has to see to that, whoever made it. The number
// tells a directory from one that was made anew later.
type made struct {
	mu   sync.Mutex
	dirs map[string]uint64
	next uint64
}

// makeDir makes dir and the directories above it, as far as they are missing. It fails
// with [fs.ErrNotExist] where others prune what it has just made; then it is worth
// another try.
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

// mkdir makes one directory. It is remembered before anybody can write into it and ask.
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

// get returns the number of dir, 0 where its name is durable.
func (m *made) get(dir string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dirs[dir]
}

// durable forgets dir, unless it was made anew since it had the number n.
func (m *made) durable(dir string, n uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dirs[dir] == n {
		delete(m.dirs, dir)
	}
}

// syncDir makes the names in dir durable, and the names of the directories on the way to
// it that are new.
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

// syncNames syncs one directory. Where it was pruned, that is what has to last, so the
// one above is synced.
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
