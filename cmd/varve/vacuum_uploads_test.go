// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
)

// uploading is a store with uploads of crashed writers.
type uploading struct {
	memtest.Store
	left int
	err  error
}

func (u *uploading) SweepUploads(_ context.Context, age time.Duration, dryRun bool) (n int, err error) {
	if age < 24*time.Hour {
		return 0, errors.New("writers may still run")
	}
	if n = u.left; !dryRun {
		u.left = 0
	}
	return n, u.err
}

// TestVacuumUploads checks that vacuum lists uploads, asks, and aborts them, that neither
// a dry run nor a command that writes does, and that a refusal is told.
func TestVacuumUploads(t *testing.T) {
	u := &uploading{Store: memtest.New(), left: 2}
	store.Register("uploading", func(_ context.Context, location string, _ store.Access) (store.Store, store.Path, error) {
		at, err := store.ParsePath(strings.TrimPrefix(location, "uploading://"))
		return u, at, err
	})
	must(t, "", "create", "uploading://g/a", "--shape", "4", "--chunks", "2", "--dtype", "int32")
	must(t, "", "write", "uploading://g/a", "--value", "7")
	says := func(words string, args ...string) {
		t.Helper()
		if out, errs, status := execute(t, "", args...); status != 0 || !strings.Contains(out+errs, words) {
			t.Errorf("%q: status %d, %s%s, want %q", args, status, out, errs, words)
		}
	}
	says("2 uploads of crashed writers to this store would be aborted", "vacuum", "uploading://g", "--dry-run")
	if _, errs, status := execute(t, "no\n", "vacuum", "uploading://g"); status == 0 || u.left != 2 || !strings.Contains(errs, "aborts 2 uploads") {
		t.Errorf("without consent: status %d, %d uploads are left, %s", status, u.left, errs)
	}
	says("2 uploads of crashed writers to this store were aborted", "vacuum", "uploading://g", "--yes")
	if u.left != 0 {
		t.Errorf("%d uploads are left", u.left)
	}
	u.err = errors.New("not permitted")
	says("may be left: not permitted", "vacuum", "uploading://g/a", "--yes")
}
