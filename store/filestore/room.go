// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"os"
	"path/filepath"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Room implements [store.Gauge]. A directory that does not exist yet will be in the file
// system of the nearest one above.
func (s *Store) Room(dir store.Path) (store.Room, error) {
	unknown := fail("looking for room in", dirOf(dir), store.ErrUnsupported)
	if s.dir == "" {
		return store.Room{}, unknown
	}
	top := filepath.Clean(s.dir)
	name := filepath.Join(top, filepath.FromSlash(dirOf(dir)))
	for name != top {
		if _, err := os.Stat(name); err == nil {
			break
		}
		name = filepath.Dir(name)
	}
	free, plain, ok := vfs.Room(name)
	if !ok {
		return store.Room{}, unknown
	}
	return store.Room{Free: free, Plain: plain}, nil
}
