// SPDX-License-Identifier: Apache-2.0

package zipstore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/zipstore"
)

// write makes an archive in which some values are replaced and one is deleted.
func write(t *testing.T, disk vfs.FS) error {
	a, err := zipstore.On(disk, "x.zip")
	if err != nil {
		return err
	}
	for _, step := range []string{"a=1", "zarr.json={}", "a/b=22", "zarr.json={1}", "c=333"} {
		key, value, _ := strings.Cut(step, "=")
		if _, err = a.Write(t.Context(), store.Put(store.MustKey(key), []byte(value)), store.Sync); err != nil {
			return errors.Join(err, a.Close())
		}
	}
	return errors.Join(errOf(a.Write(t.Context(), store.Delete(store.MustKey("c")), store.Sync)), a.Close())
}

// state returns the content of an archive, or "" if there is none.
func state(t *testing.T, disk vfs.FS) string {
	t.Helper()
	z, err := zipstore.OpenArchive(t.Context(), fixture.FileReader(disk), store.MustKey("x.zip"), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for e, err := range z.List(t.Context(), store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		value, _, err := z.Get(t.Context(), store.MustKey(e.Name), store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Name+"="+string(value))
	}
	return strings.Join(all, " ")
}

const whole = "a=1 a/b=22 zarr.json={1}"

// TestCrash stops the machine before every operation. The archive is whole or does not
// exist. It is whole once Close has returned.
func TestCrash(t *testing.T) {
	points, images := 0, 0
	for k := int64(0); ; k++ {
		hook, stopped := vfs.StopAt(k)
		disk := vfs.NewDisk()
		err := write(t, vfs.Hook(disk, hook))
		points++
		for label, image := range disk.Images(uint64(k), 40) {
			images++
			if got := state(t, image); got != whole && (got != "" || err == nil) {
				t.Errorf("stopped before operation %d, %s: %q (Close said %v)", k, label, got, err)
			}
		}
		if !stopped() {
			break
		}
	}
	t.Logf("%d points, %d images", points, images)
	if points < 20 || images < 900 {
		t.Errorf("%d points and %d images are too few", points, images)
	}
}

// TestFaults fails every operation once. If Close fails, the archive does not exist,
// and no files remain.
func TestFaults(t *testing.T) {
	fault := errors.New("input/output error")
	for k := int64(0); ; k++ {
		hook, failed := vfs.FailAt(k, fault)
		disk := vfs.NewDisk()
		err := write(t, vfs.Hook(disk, hook))
		if !failed() {
			break
		}
		got := state(t, disk)
		switch {
		case err == nil && got != whole, err != nil && !errors.Is(err, fault):
			t.Errorf("operation %d fails: %q, %v", k, got, err)
		case errors.Is(err, store.ErrDurability) && got == whole:
		case err != nil && got != "" && !strings.Contains(fmt.Sprint(err), "remov"):
			t.Errorf("operation %d fails: there is an archive, though %v", k, err)
		}
	}
}

// errOf returns the error of a change.
func errOf(_ store.Written, err error) error { return err }
