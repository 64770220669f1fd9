// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"varve.dev/zarr/store"
)

// TestForeignNames lists, reads and deletes files whose names other programs make.
func TestForeignNames(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	want := []string{"a/\x01/k", `back\slash`, "c:", "line\nbreak", "not\xffutf8", "ta\tb", strings.Repeat("long/", 250) + "k"}
	for _, name := range want {
		write(t, filepath.Join(dir, name), "foreign")
		if value, err := get(t, s, name); string(value) != "foreign" || err != nil {
			t.Errorf("%q: %q, error %v", name, value, err)
		}
	}
	slices.Sort(want)
	if got := names(t, s); !slices.Equal(got, want) {
		t.Errorf("the store holds %q, want %q", got, want)
	}
	for _, name := range want {
		if _, err := s.Write(t.Context(), store.Delete(store.MustKey(name)), store.Sync); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// writeIn makes a file in a new directory.
func writeIn(dir, name string) error {
	return errors.Join(os.MkdirAll(dir, 0o777), os.WriteFile(filepath.Join(dir, name), nil, 0o666))
}

// TestUnusable lists and deletes a tree with what is no value. The listing names it, and
// the deletion deletes nothing.
func TestUnusable(t *testing.T) {
	for name, make := range map[string]func(dir string) error{
		"pipe":          func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "a", "x"), 0o666) },
		"reserved file": func(dir string) error { return os.WriteFile(filepath.Join(dir, "a", "__tmp-results"), nil, 0o666) },
		"a node":        func(dir string) error { return writeIn(filepath.Join(dir, "a", "__varve"), ".zarray") },
		"its chunk":     func(dir string) error { return writeIn(filepath.Join(dir, "a", "__varve"), "0.0") },
		"a member":      func(dir string) error { return writeIn(filepath.Join(dir, "a", "__varve", "parts"), "zarr.json") },
		"broken link":   func(dir string) error { return os.Symlink("none", filepath.Join(dir, "a", "x")) },
		"link outside":  func(dir string) error { return os.Symlink("../../x", filepath.Join(dir, "a", "x")) },
		"absolute link": func(dir string) error { return os.Symlink(dir, filepath.Join(dir, "a", "x")) },
		"endless link":  func(dir string) error { return os.Symlink("../a", filepath.Join(dir, "a", "x")) },
		"loop of links": func(dir string) error { return os.Symlink("x", filepath.Join(dir, "a", "x")) },
		"reserved name": func(dir string) error { return os.Mkdir(filepath.Join(dir, "a", "__tmp-x"), 0o777) },
	} {
		dir := t.TempDir()
		s := open(t, dir, nil)
		put(t, s, "a/k", "v")
		put(t, s, "b/k", "v")
		if err := make(dir); err != nil {
			t.Skip(err)
		}
		var bad *store.UnusableError
		n := 0
		for _, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
			if n++; err != nil && !errors.As(err, &bad) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n != 3 || bad == nil || bad.Count != 1 {
			t.Errorf("%s: %d entries, and %v", name, n, bad)
		}
		order := store.TreeOrder{First: []string{"k"}}
		// A deletion deletes links, and not what they lead to.
		if strings.Contains(name, "link") {
			if err := s.DeleteTree(t.Context(), pathOf(t, "a"), order, store.Flush); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if value, err := get(t, s, "b/k"); string(value) != "v" || err != nil {
				t.Errorf("%s: the deletion has deleted values: %v", name, err)
			}
			continue
		}
		if err := s.DeleteTree(t.Context(), store.Path{}, order, store.Flush); !errors.Is(err, store.ErrUnusable) {
			t.Errorf("%s: %v", name, err)
		}
		if value, err := get(t, s, "b/k"); string(value) != "v" || err != nil {
			t.Errorf("%s: the deletion has deleted values: %v", name, err)
		}
		if err := s.DeleteTree(t.Context(), pathOf(t, "b"), order, store.Flush); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
