// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"varve.dev/zarr/internal/racing"
)

// TestChangesAgree makes each change in two trees, with one kernel call and with os.Root.
// The errors and the trees are equal. Only a change of times follows links.
func TestChangesAgree(t *testing.T) {
	racing.Skip(t)
	names := []string{"new", "dir/new", "indir/new", "chain/sub/new", "none/new", "file/new", "outandin/new", "dir/../new"}
	for _, c := range openCases {
		names = append(names, c.name)
	}
	const at = int64(1_700_000_000_123_456_789)
	for what, c := range map[string]struct {
		fast, plain func(r *Root, name string) error
	}{
		"create": {
			func(r *Root, name string) error { return closed(r.Create(name)) },
			func(r *Root, name string) error {
				return closed(r.createPlain(name))
			},
		},
		"mkdir": {
			func(r *Root, name string) error { return r.Mkdir(name) },
			func(r *Root, name string) error { return r.mkdirPlain(name) },
		},
		"touch": {
			func(r *Root, name string) error { return r.Touch(name, at) },
			func(r *Root, name string) error {
				return r.usePlain(func(o *os.Root) error { return o.Chtimes(name, time.Time{}, time.Unix(0, at)) })
			},
		},
		"move": {
			func(r *Root, name string) error { return r.Rename("dir/sub/file", name) },
			func(r *Root, name string) error { return r.renamePlain("dir/sub/file", name) },
		},
		"link": {
			func(r *Root, name string) error { return linked(r.Link("dir/sub/file", name)) },
			func(r *Root, name string) error { return linked(r.linkPlain("dir/sub/file", name)) },
		},
		"link from": {
			func(r *Root, name string) error { return linked(r.Link(name, "taken")) },
			func(r *Root, name string) error { return linked(r.linkPlain(name, "taken")) },
		},
		"take": {
			func(r *Root, name string) error { return r.Rename(name, "taken") },
			func(r *Root, name string) error { return r.renamePlain(name, "taken") },
		},
	} {
		for _, name := range names {
			if name == "." && (what == "move" || what == "take") {
				continue // EBUSY and EINVAL
			}
			a, top := openTree(t)
			makeLinks(t, top)
			b, plainTop := openTree(t)
			makeLinks(t, plainTop)
			err, plainErr := c.fast(a, name), c.plain(b, name)
			if (err == nil) != (plainErr == nil) || Missing(err) != Missing(plainErr) || errors.Is(err, fs.ErrExist) != errors.Is(plainErr, fs.ErrExist) ||
				errors.Is(err, ErrLinked) != errors.Is(plainErr, ErrLinked) {
				t.Errorf("%s %q: %v, of os.Root %v", what, name, err, plainErr)
			}
			if x, y := treeText(t, top), treeText(t, plainTop); x != y {
				t.Errorf("%s %q leaves\n%s, os.Root\n%s", what, name, x, y)
			}
		}
	}
}

// linked returns an error if the status of a new link to a file is wrong.
func linked(s Stat, err error) error {
	if err == nil && s.Mode.IsRegular() && (s.Ino == 0 || s.Size != 4) {
		err = fmt.Errorf("the status is %+v", s)
	}
	return err
}

func closed(f File, err error) error {
	if err == nil {
		err = f.Close()
	}
	return err
}

// treeText lists all files and directories of a tree, and the times that
// [TestChangesAgree] sets.
func treeText(t *testing.T, top string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(filepath.Dir(top), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(strings.TrimPrefix(name, filepath.Dir(top)) + " " + info.Mode().String())
		if m := info.ModTime(); m.Year() < 2025 {
			b.WriteString(" " + m.UTC().String())
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestLinksAgree reads links with one kernel call and with os.Root.
func TestLinksAgree(t *testing.T) {
	r, top := openTree(t)
	makeLinks(t, top)
	for _, c := range openCases {
		to, err := r.Readlink(c.name)
		root, plainErr := r.plain()
		if plainErr != nil {
			t.Fatal(plainErr)
		}
		want, plainErr := root.Readlink(c.name)
		if to != want || (err == nil) != (plainErr == nil) || Missing(err) != Missing(plainErr) {
			t.Errorf("%q leads to %q, %v, of os.Root %q, %v", c.name, to, err, want, plainErr)
		}
	}
}

// TestListAgrees compares listings with those of package os, for every file type.
func TestListAgrees(t *testing.T) {
	r, top := openTree(t)
	makeLinks(t, top)
	if err := unix.Mkfifo(filepath.Join(top, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	var names []string
	for e, err := range r.ReadDir(".") {
		if err != nil {
			t.Fatal(err)
		}
		is, err := os.Lstat(filepath.Join(top, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if e.Type() != is.Mode().Type() || e.IsDir() != is.IsDir() {
			t.Errorf("%s: %v, want %v", e.Name(), e.Type(), is.Mode())
		}
		if info, err := e.Info(); err != nil || !os.SameFile(info, is) {
			t.Errorf("%s: %v, %v", e.Name(), info, err)
		}
		dir, err := os.Open(top)
		if err != nil {
			t.Fatal(err)
		}
		looked, err := entryMode(int(dir.Fd()), e.Name(), unix.DT_UNKNOWN)
		if err := errors.Join(err, dir.Close()); err != nil || looked != e.Type() {
			t.Errorf("%s: a look tells %v, %v", e.Name(), looked, err)
		}
		names = append(names, e.Name())
	}
	want, err := os.ReadDir(top)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	if !slices.EqualFunc(names, want, func(a string, b fs.DirEntry) bool { return a == b.Name() }) {
		t.Errorf("%q, want %q", names, want)
	}
}

// TestParseEntry checks that truncated entries are errors, and that deleted entries are
// skipped.
func TestParseEntry(t *testing.T) {
	entry := []byte{1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, unix.DT_REG, 'a', 'b', 0, 0, 0}
	binary.NativeEndian.PutUint16(entry[entryLength:], uint16(len(entry)))
	for length := range entry {
		if _, _, err := parseEntry(-1, entry[:length]); err == nil {
			t.Errorf("%d bytes were taken", length)
		}
	}
	e, rest, err := parseEntry(-1, append(slices.Clone(entry), 'x'))
	if err != nil || e == nil || e.name != "ab" || e.mode != 0 || string(rest) != "x" {
		t.Errorf("%+v, %q, %v", e, rest, err)
	}
	gone := slices.Clone(entry)
	copy(gone, make([]byte, 8))
	if e, rest, err := parseEntry(-1, gone); e != nil || len(rest) != 0 || err != nil {
		t.Errorf("%+v, %q, %v", e, rest, err)
	}
	short := slices.Clone(entry)
	binary.NativeEndian.PutUint16(short[entryLength:], 3)
	if _, _, err := parseEntry(-1, short); err == nil {
		t.Error("an entry shorter than its head was taken")
	}
}

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
