// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestIdentified opens a directory by the first of several names that still leads to it.
func TestIdentified(t *testing.T) {
	here, other := t.TempDir(), t.TempDir()
	was, err := os.Stat(here)
	if err != nil {
		t.Fatal(err)
	}
	r, err := identified(was, here+"/none", other, here)
	if err != nil || r == nil || r.Name() != here {
		t.Fatalf("%v, %v", r, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if r, err := identified(was, here+"/none", other); r != nil || err != nil {
		t.Errorf("%v was taken for another directory, %v", r, err)
	}
}

// TestNoDescriptors checks the error if a process has no free file descriptors. It must
// not report a missing file.
func TestNoDescriptors(t *testing.T) {
	r, _ := openTree(t)
	link(t, r.fast.path, "link", "file")
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: was.Max}); err != nil {
		t.Skip("the limit of open files stays as it is here:", err)
	}
	_, createErr := r.Create("new")
	_, openErr := r.Open("file")
	_, statErr := r.Stat("file")
	_, linkErr := r.Readlink("link")
	_, lockErr := r.TryLock("lock")
	_, plainErr := r.plain()
	errs := map[string]error{
		"create": createErr, "open": openErr, "stat": statErr, "readlink": linkErr, "lock": lockErr, "plain": plainErr,
		"mkdir": r.Mkdir("new"), "touch": r.Touch("file", 1), "rename": r.Rename("file", "other"), "remove": r.Remove("file"), "list": listAll(r),
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	for what, err := range errs {
		if !errors.Is(err, unix.EMFILE) || Missing(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := r.Stat("file"); err != nil {
		t.Error(err)
	}
}

func listAll(r *Root) error {
	for _, err := range r.ReadDir(".") {
		if err != nil {
			return err
		}
	}
	return nil
}
