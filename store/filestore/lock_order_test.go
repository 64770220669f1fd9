// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"context"
	"errors"
	"path"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// TestLockHeldUntilRemoved checks that the file of a lock is removed while the lock is
// held. Let go of first, it could be locked by another writer, and then be removed below
// that one, so that a third makes and locks a file of its own beside it.
func TestLockHeldUntilRemoved(t *testing.T) {
	disk, removed := vfs.NewDisk(), 0
	other := filestore.On(disk, nil)
	s := filestore.On(vfs.Hook(disk, func(op vfs.Op) error {
		if op.Kind != "remove" || !strings.HasPrefix(path.Base(op.Name), "__varve") {
			return nil
		}
		removed++
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		unlock, err := other.Lock(ctx, store.Path{})
		if err == nil {
			t.Error("the lock is free before its file is removed")
			err = unlock()
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		return nil
	}), nil)
	for range 2 {
		unlock, err := s.Lock(t.Context(), store.Path{})
		if err != nil {
			t.Fatal(err)
		}
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
		if left := names(t, other); len(left) > 0 {
			t.Errorf("left over: %q", left)
		}
	}
	if removed != 2 {
		t.Errorf("%d files were removed", removed)
	}
}
