// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"varve.dev/zarr/store"

	"errors"

	"varve.dev/zarr/internal/vfs"
)

// On returns a cache in a prepared folder, which is given as a file system. Each use of
// an entry is noted at once.
func On(fsys vfs.FS, limit int64) *Cache {
	return &Cache{shelf: &disk{fs: fsys, limit: limit}}
}

// Prepare makes a folder a cache.
func Prepare(dir string) error { return prepare(dir) }

// EachUse makes a cache in a folder note each use of an entry, not one a minute.
func (c *Cache) EachUse() { c.shelf.(*disk).fresh = 0 }

// Held returns the bytes that a cache holds. In a folder, it counts the files while no
// process writes.
func (c *Cache) Held() (total int64, err error) {
	if m, ok := c.shelf.(*memory); ok {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, n := range m.nodes {
			total += n.bytes()
		}
		return total, nil
	}
	d := c.shelf.(*disk)
	d.mu.Lock()
	defer d.mu.Unlock()
	err = errors.New("the lock is not free")
	for range 100 {
		failed := d.locked(func(l *ledger) error {
			if st, statErr := d.fs.Stat(newName); statErr == nil {
				total = space(st.Size)
			}
			err = d.scan(l)
			total += l.total
			return nil
		})
		if failed != nil || err == nil {
			return total + besides, errors.Join(failed, err)
		}
	}
	return 0, err
}

// Waiting returns the number of readers that wait for the request of another one.
func Waiting(s store.Store) (n int) {
	f := &s.(*frontStore).flights
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := map[*flight]bool{}
	for _, v := range f.values {
		seen[v] = true
	}
	for _, b := range f.blocks {
		seen[b] = true
	}
	for v := range seen {
		n += v.waiters
	}
	return n
}

// Hold keeps flights from ending until release is called.
func Hold(s store.Store) (release func()) {
	f := &s.(*frontStore).flights
	f.mu.Lock()
	return f.mu.Unlock
}

// Spoil overwrites the buffers that are free.
func Spoil() {
	var list []*buffer
	for range 8 {
		b := newBuffer()
		clear(b.bytes)
		list = append(list, b)
	}
	for _, b := range list {
		b.free()
	}
}
