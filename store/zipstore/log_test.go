// SPDX-License-Identifier: Apache-2.0

package zipstore_test

import (
	"strings"
	"testing"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/zipstore"
)

// temporaries returns the temporary files on a disk.
func temporaries(t *testing.T, disk vfs.FS) (names []string) {
	t.Helper()
	for e, err := range disk.ReadDir(".") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(e.Name(), "__tmp-") {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestSweep crashes a writer before every operation. The next writer in the directory
// removes its files. The archive is whole or does not exist.
func TestSweep(t *testing.T) {
	left := 0
	for k := int64(0); ; k++ {
		hook, stopped := vfs.StopAt(k)
		disk := vfs.NewDisk()
		_ = write(t, vfs.Hook(disk, hook))
		if !stopped() {
			break
		}
		for label, image := range disk.Images(0, 0) {
			if label != "everything" { // a killed process loses no name and no byte
				continue
			}
			before := state(t, image)
			left += len(temporaries(t, image))
			next, err := zipstore.On(image, "y.zip")
			if err != nil {
				t.Fatal(err)
			}
			if err := zipstore.Discard(next); err != nil {
				t.Error(err)
			}
			if names := temporaries(t, image); len(names) > 0 || state(t, image) != before {
				t.Errorf("stopped before operation %d: %q are left", k, names)
			}
		}
	}
	if left < 20 {
		t.Errorf("the writers left %d files, too few to show anything", left)
	}
}

// TestSweepSparesTheLiving writes archives in one directory concurrently. No writer
// removes the files of another one.
func TestSweepSparesTheLiving(t *testing.T) {
	disk := vfs.NewDisk()
	first, err := zipstore.On(disk, "x.zip")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Write(t.Context(), store.Put(store.MustKey("a"), []byte("1")), store.Sync); err != nil {
		t.Fatal(err)
	}
	if err := writeOther(t, disk); err != nil {
		t.Fatal(err)
	}
	if names := temporaries(t, disk); len(names) != 2 {
		t.Errorf("the first archive has %q, want its log and its lock", names)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if got, names := state(t, disk), temporaries(t, disk); got != "a=1" || len(names) > 0 {
		t.Errorf("%q, and %q are left", got, names)
	}
}

// writeOther makes another archive beside x.zip.
func writeOther(t *testing.T, disk vfs.FS) error {
	second, err := zipstore.On(disk, "y.zip")
	if err != nil {
		return err
	}
	if _, err := second.Write(t.Context(), store.Put(store.MustKey("b"), []byte("2")), store.Sync); err != nil {
		return err
	}
	return second.Close()
}
