// SPDX-License-Identifier: Apache-2.0

// Package filetest gives tests a store of files with all its powers as methods, so that
// stores of tests can embed it.
package filetest

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"varve.dev/zarr/internal/diskstore"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// Store is a store of package filestore.
type Store interface {
	store.Store
	store.Writer
	store.Batcher
	store.TreeDeleter
	store.Stater
	store.Lister
	store.Opener
	store.Locker
	store.Describer
	store.Directories
	io.Closer
}

// Open opens a directory until the test ends.
func Open(t testing.TB, dir string) Store {
	t.Helper()
	s, err := filestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := s.(Store)
	t.Cleanup(func() { f.Close() })
	return f
}

// On returns a store of the files of fsys. Closing it closes fsys.
func On(fsys vfs.FS) Store { return diskstore.Open(fsys, false).(Store) }

// Reader is [On] for a store that refuses writes.
func Reader(fsys vfs.FS) Store { return diskstore.Open(fsys, true).(Store) }

// Copied copies the files that match a pattern into a new folder, which it returns.
func Copied(t testing.TB, pattern string) string {
	t.Helper()
	dir := t.TempDir()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(name)), b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
