// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

func TestIsOwn(t *testing.T) {
	for name, want := range map[string]bool{
		"__tmp-": true, "__tmp-x": true, "a/__tmp-x": true, "__tmp-x/a": true, "a/__tmp-/b": true, "x__/__tmp-1": true,
		"__varve.lock": true, "a/__varve.lock": true, "a/__varve.publish": true, "__varve.lock/x": true,
		"__tmp": false, "_tmp-x": false, "x__tmp-x": false, "a/x__varve.lock": false, "__varve.lock.x": false,
		"___tmp-x": false, "__": false, "a__b": false, "zarr.json": false, "c/0/1": false, "__varve": false,
	} {
		if isOwn(name) != want {
			t.Errorf("isOwn(%q) is %t", name, !want)
		}
	}
}

func TestCheckWindows(t *testing.T) {
	for name, ok := range map[string]bool{
		"zarr.json": true, "c/0/1": true, ".hidden": true, "a b": true, "é": true, "..a": true,
		"a.": false, "a ": false, "a./b": false, "a /b": false, "...": false, " ": false, "ab:c": false, "a?": false, "*": false,
		"a<b": false, "a>b": false, "a|b": false, `a"b`: false,
	} {
		if err := checkWindows(name); (err == nil) != ok || err != nil && !errors.Is(err, store.ErrInvalidKey) {
			t.Errorf("%q: error is %v, want success %t", name, err, ok)
		}
	}
}

// TestLinks reads, writes, lists and deletes through symbolic links: inside the root they
// work, outside they do not.
func TestLinks(t *testing.T) {
	outer := t.TempDir()
	top := filepath.Join(outer, "store")
	s, err := Open(top, &Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(s)
	ctx := t.Context()
	put := func(name string) error {
		_, err := store.Write(ctx, s, store.Put(store.MustKey(name), []byte("text")), store.Flush)
		return err
	}
	if err := errors.Join(put("dir/file"), os.WriteFile(filepath.Join(outer, "secret"), []byte("secret"), 0o666)); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"in": "dir", "infile": "dir/file", "out": "..", "outfile": "../secret", "abs": outer, "broken": "none", "loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	for name, ok := range map[string]bool{
		"dir/file": true, "in/file": true, "infile": true,
		"out/secret": false, "outfile": false, "abs/secret": false, "broken": false, "loop": false, "out/store/dir/file": false,
	} {
		if _, _, err := s.Get(ctx, store.MustKey(name), store.Request{}, nil); (err == nil) != ok {
			t.Errorf("Get %q: error is %v, want success %t", name, err, ok)
		}
		if _, err := store.Stat(ctx, s, store.MustKey(name)); (err == nil) != ok {
			t.Errorf("Stat %q: error is %v, want success %t", name, err, ok)
		}
	}
	for _, name := range []string{"out/new", "abs/new", "out/a/new", "loop/new"} {
		if put(name) == nil {
			t.Errorf("Put %q: no error", name)
		}
		if _, err := store.Write(ctx, s, store.Delete(store.MustKey(strings.Replace(name, "new", "secret", 1))), store.Sync); err == nil {
			t.Logf("Delete %q found nothing", name)
		}
	}
	if got, err := os.ReadFile(filepath.Join(outer, "secret")); string(got) != "secret" {
		t.Errorf("the file outside is %q, error %v", got, err)
	}
	throughLinks(t, s.(*files))
}

// throughLinks lists a store that has links, and writes and deletes below one.
func throughLinks(t *testing.T, s *Store) {
	ctx := t.Context()
	put := func(name string) error {
		_, err := s.Write(ctx, store.Put(store.MustKey(name), nil), store.Flush)
		return err
	}
	lost := []string{"abs", "broken", "loop", "out", "outfile"} // what no call follows
	for how, want := range map[store.Listing][]string{
		store.Flat: {"dir", "in", "infile"},
		store.Deep: {"dir/file", "in/file", "infile"},
	} {
		var got, unusable []string
		for e, err := range s.List(ctx, store.Path{}, how) {
			switch {
			case err != nil:
				t.Error(err)
			case e.Unusable != "":
				unusable = append(unusable, e.Name)
			default:
				got = append(got, e.Name)
			}
		}
		if slices.Sort(unusable); !slices.Equal(unusable, lost) {
			t.Errorf("List (%d) cannot use %q, want %q", how, unusable, lost)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("List (%d): %q, want %q", how, got, want)
		}
	}
	key := store.MustKey("in/new")
	if _, err := s.Write(ctx, store.Put(key, []byte("new")), store.Sync); err != nil {
		t.Error(err)
	}
	if got, _, err := s.Get(ctx, store.MustKey("dir/new"), store.Request{}, nil); string(got) != "new" {
		t.Errorf("Get: %q and error %v", got, err)
	}
	for _, key := range []store.Key{key, store.MustKey("in/file")} {
		if _, err := s.Write(ctx, store.Delete(key), store.Sync); !errors.Is(err, vfs.ErrLinked) {
			t.Errorf("Delete %s: error is %v, want %v", key, err, vfs.ErrLinked)
		}
	}
	// A link to a node is another name of it.
	err := errors.Join(put("dir/zarr.json"), errOf(s.Write(ctx, store.Delete(store.MustKey("in/file")), store.Sync)), errOf(s.Write(ctx, store.Delete(store.MustKey("infile")), store.Sync)))
	if err != nil {
		t.Error(err)
	}
	if _, err := s.fs.Stat("in"); err != nil {
		t.Errorf("deleting below a link: %v", err)
	}
	if _, err := s.Write(ctx, store.Put(store.MustKey("in/deep/new"), nil), store.Sync); err != nil || len(s.made.dirs) > 0 {
		t.Errorf("writing below a link: %v, and the names of %v are not durable", err, s.made.dirs)
	}
}

// TestClock checks that no two writes have the same time, even if the clock is set back.
func TestClock(t *testing.T) {
	s := On(nil, nil)
	last := s.timestamp()
	for range 1000 {
		next := s.timestamp()
		if next <= last {
			t.Fatalf("%d after %d", next, last)
		}
		last = next
	}
	const future int64 = 1 << 62
	s.clock.Store(future)
	if got := s.timestamp(); got != future+1 {
		t.Errorf("%d after %d", got, future)
	}
}

// errOf returns the error of a change.
func errOf(_ store.Written, err error) error { return err }
