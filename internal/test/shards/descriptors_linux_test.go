// SPDX-License-Identifier: Apache-2.0

package shards_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
)

// TestFewDescriptors appends many chunks and reads them while the process may open few
// files. Either this succeeds, or the error says so and the array has its old or its new
// content.
func TestFewDescriptors(t *testing.T) {
	ctx := t.Context()
	spec := zarr.Spec{Shape: []int64{0}, Type: dtype.Int32, Codecs: fixture.Plain(), Chunks: grid.Chunks(1)}
	a, err := zarr.CreateArray(ctx, filepath.Join(t.TempDir(), "a.zarr"), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []int32
	failed, worked := 0, 0
	for spare := range 40 {
		next := make([]int32, 20)
		for i := range next {
			next[i] = int32(len(want) + i + 1)
		}
		var got zarr.Block[int32]
		var readErr error
		limited(t, spare, func() {
			err = zarr.Append(ctx, a, 0, next, nil)
			got, readErr = zarr.Read[int32](ctx, a, nil)
		})
		for _, err := range []error{err, readErr} {
			if err != nil && (!errors.Is(err, unix.EMFILE) || errors.Is(err, os.ErrNotExist)) {
				t.Errorf("%d to spare: %v", spare, err)
			}
		}
		if worked++; err != nil {
			failed++
		} else {
			want = append(want, next...)
		}
		if readErr == nil && !slices.Equal(got.Data, want) {
			t.Errorf("%d to spare: read %d elements, want %d", spare, len(got.Data), len(want))
		}
		if got, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(got.Data, want) {
			t.Fatalf("after %d to spare: %d elements, want %d, %v", spare, len(got.Data), len(want), err)
		}
	}
	if failed == 0 || worked == failed {
		t.Errorf("%d of %d failed", failed, worked)
	}
}

// limited calls do while the process may open only spare files more than are open now.
func limited(t *testing.T, spare int, do func()) {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	var was unix.Rlimit
	if err := errors.Join(err, unix.Getrlimit(unix.RLIMIT_NOFILE, &was)); err != nil {
		t.Skip(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(len(open) - 1 + spare), Max: was.Max}); err != nil {
		t.Skip("the limit of open files cannot be changed here:", err)
	}
	do()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
}
