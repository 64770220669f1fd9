// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"varve.dev/zarr/internal/directory"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// linkedStore makes a store with a directory, links, and another store that is not in it.
func linkedStore(t *testing.T) *filestore.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "s")
	for _, name := range []string{"s/x/y", "out"} {
		if err := os.MkdirAll(filepath.Join(filepath.Dir(dir), name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"l": "x/y", "x/up": "..", "x/out": "../../out", "x/lost": "nothing", "x/y/f": "../../v", "x/a": "../b"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "b"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "v"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := filestore.OpenStore(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close(s) })
	return s
}

func at(t *testing.T, text string) store.Path {
	t.Helper()
	p, err := store.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestResolve(t *testing.T) {
	s := linkedStore(t)
	for from, want := range map[string]string{"": "", "x": "x", "l": "x/y", "l/new/n": "x/y/new/n", "x/up": "", "x/up/x": "x"} {
		if got, err := store.DirectoriesOf(s).Resolve(at(t, from)); err != nil || got.String() != want {
			t.Errorf("%s is %s, %v; want %s", from, got, err, want)
		}
	}
	if p, err := store.DirectoriesOf(s).Resolve(at(t, "x/out/n")); err == nil {
		t.Errorf("a link out of the store leads to %s", p)
	}
}

// TestResolveFaults has a system that cannot tell whether a name is a link. The answer is
// an error, and not that it is none.
func TestResolveFaults(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("x", filepath.Join(dir, "l")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	root, err := vfs.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range []error{syscall.EMFILE, syscall.EIO} {
		for k := int64(0); ; k++ {
			hook, failed := vfs.FailAt(k, fault)
			s := filestore.On(vfs.Hook(root, hook), nil)
			got, err := store.DirectoriesOf(s).Resolve(at(t, "l/n"))
			if !failed() {
				break
			}
			if !errors.Is(err, fault) {
				t.Errorf("call %d: %s, %v; want %v", k, got, err, fault)
			}
		}
	}
	if err := root.Close(); err != nil {
		t.Error(err)
	}
}

func TestIdentities(t *testing.T) {
	s := linkedStore(t)
	for _, c := range []struct {
		a, b string
		same bool
	}{{"l", "x/y", true}, {"l", "l", true}, {"x", "x/y", false}, {"x/up", "", true}, {"none", "other", false}, {"none", "x", false}} {
		if same, err := directory.Same(s, at(t, c.a), at(t, c.b)); same != c.same || err != nil {
			t.Errorf("%s and %s: %t, %v", c.a, c.b, same, err)
		}
	}
	ids, err := directory.Above(s, at(t, "l/new"))
	if err != nil || len(ids) != 4 || !ids[0].IsZero() || ids[1].IsZero() {
		t.Errorf("%v, %v", ids, err)
	}
}

func TestLinks(t *testing.T) {
	got := map[string]string{}
	for link, err := range store.DirectoriesOf(linkedStore(t)).Links(t.Context(), at(t, "")) {
		if err != nil {
			t.Fatal(err)
		}
		if got[link.Name] = link.To.String(); link.Lost {
			got[link.Name] = "lost"
		}
	}
	want := map[string]string{"l": "x/y", "l/f": "v", "x/y/f": "v", "x/out": "lost", "x/lost": "lost", "x/a": "b"}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestBelowLostLink reads values whose directory is a symbolic link to nothing, at every
// depth: they are no missing values. Those below directories that are missing, and below
// links that lead to directories, are.
func TestBelowLostLink(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s, err := filestore.OpenStore(dir, &filestore.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Write(ctx, store.Put(store.MustKey("a/c/0/0"), []byte("text")), store.Flush); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"a/c/1": "none", "b": "nowhere", "d": "a", "a/c/2": "0", "a/c/3": "1"} {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	for _, c := range []struct{ key, link string }{
		{"a/c/1/0", "a/c/1"}, {"a/c/1/0/0/0", "a/c/1"}, {"b/c/0/0", "b"}, {"b/zarr.json", "b"}, {"d/c/1/0", "d/c/1"}, {"a/c/3/0", "a/c/3"},
		{"a/c/0/1", ""}, {"a/c/4/0", ""}, {"a/c/4/1/2", ""}, {"none/c/0", ""}, {"none", ""}, {"d/c/4/0", ""}, {"a/c/2/1", ""}, {"a/c/0/0/0", ""},
	} {
		for range 2 { // the second time, directories are known
			key := store.MustKey(c.key)
			_, _, errGet := s.Get(ctx, key, store.Request{}, nil)
			_, errStat := s.Stat(ctx, key)
			_, errOpen := s.Open(ctx, key)
			for _, err := range []error{errGet, errStat, errOpen} {
				if missing := errors.Is(err, fs.ErrNotExist); missing != (c.link == "") || !missing && !strings.Contains(err.Error(), `is below "`+c.link+`", a symbolic link to`) {
					t.Errorf("%s: %v, want the link %q", c.key, err, c.link)
				}
			}
		}
	}
	// Directories that were missing are made meanwhile.
	if _, err := s.Write(ctx, store.Put(store.MustKey("none/c/0"), []byte("text")), store.Flush); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Get(ctx, store.MustKey("none/c/0"), store.Request{}, nil); err != nil {
		t.Error(err)
	}
}

// BenchmarkMissing reads values that are missing, in few and in many directories.
func BenchmarkMissing(b *testing.B) {
	for name, key := range map[string]func(i int) string{
		"one directory":       func(i int) string { return fmt.Sprintf("c/%d", i) },
		"100 of each":         func(i int) string { return fmt.Sprintf("c/%d/%d", i/100, i%100) },
		"a directory of each": func(i int) string { return fmt.Sprintf("c/%d/0", i) },
	} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "c"), 0o777); err != nil {
				b.Fatal(err)
			}
			var keys []store.Key
			for i := range 10000 {
				keys = append(keys, store.MustKey(key(i)))
			}
			for b.Loop() {
				s, err := filestore.OpenStore(dir, nil)
				if err != nil {
					b.Fatal(err)
				}
				for _, k := range keys {
					if _, _, err := s.Get(b.Context(), k, store.Request{}, nil); !errors.Is(err, fs.ErrNotExist) {
						b.Fatal(err)
					}
				}
				s.Close()
			}
		})
	}
}
