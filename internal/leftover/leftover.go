// SPDX-License-Identifier: Apache-2.0

// Package leftover finds the temporary files of a store of files, some of which crashed
// writers have left.
package leftover

import (
	"context"
	"iter"
	"time"

	"varve.dev/zarr/store"
)

// File is a temporary file. Its writer is either writing it or has crashed.
type File struct {
	Name     string // in the store, with '/' on every platform
	Size     int64  // bytes
	Modified time.Time
	Left     bool // its writer is known to have ended, so the next writer removes it
}

// Finder is what the driver of package filestore has besides the powers of a store.
type Finder interface {
	// Leftovers does what [All] does.
	Leftovers(ctx context.Context, dir store.Path) iter.Seq2[File, error]
}

// All yields the temporary files of a store of package filestore in dir and below, and
// nothing of other stores. It changes nothing. Of a writer whose lock this process may
// not try, such as on a read-only disk, it is unknown whether it has ended.
func All(ctx context.Context, s store.Store, dir store.Path) iter.Seq2[File, error] {
	if f, ok := store.Driver(s).(Finder); ok {
		return f.Leftovers(ctx, dir)
	}
	return func(func(File, error) bool) {}
}

// Below lists the temporary files at and below the node with this path.
func Below(ctx context.Context, s store.Store, node string) (files []File, err error) {
	dir, err := store.ParsePath(node)
	if err != nil {
		return nil, err
	}
	for f, err := range All(ctx, s, dir) {
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}
