// SPDX-License-Identifier: Apache-2.0

package cached_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/cached"
)

// files returns the files below a folder, with their contents.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		b, err := os.ReadFile(p)
		all[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// entries returns the names of the files of entries.
func entries(t testing.TB, dir string) (names []string) {
	t.Helper()
	for name := range files(t, dir) {
		if strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestReopened(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "cache")
	f := newFar()
	value := pattern(300<<10, 1)
	f.write(t, "secret-name/c/0", value)
	reads(t, f, cached.New(f, folder(t, dir, 8<<20), nil), "secret-name/c/0", store.Whole(), value, 1, 0)
	reads(t, f, cached.New(f, folder(t, dir, 8<<20), nil), "secret-name/c/0", store.Whole(), value, 0, 1)
	if info, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has the mode %v, error %v", info.Mode(), err)
	}
	for name := range files(t, dir) {
		if strings.Contains(name, "secret") || strings.Contains(name, "far") {
			t.Errorf("the name %s tells what is in it", name)
		}
	}
}

// TestFolders checks which folders are refused, and that they stay as they are.
func TestFolders(t *testing.T) {
	for name, content := range map[string]map[string]string{
		"files":       {"thesis.tex": "x"},
		"another tag": {"CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n# of cargo"},
		"begun":       {"CACHEDIR.TAG": "Signature: 8a", "thesis.tex": "x"},
		"a long tag":  {"CACHEDIR.TAG": strings.Repeat("x", 1000)},
	} {
		dir := t.TempDir()
		for file, text := range content {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		before, _ := os.Stat(dir)
		if _, err := cached.Open(dir, 8<<20); !errors.Is(err, cached.ErrNotCache) {
			t.Errorf("%s: error %v", name, err)
		}
		after, _ := os.Stat(dir)
		if got := files(t, dir); len(got) != len(content) || got["thesis.tex"] != content["thesis.tex"] || before.Mode() != after.Mode() {
			t.Errorf("%s: the folder has changed: %v, %v", name, got, after.Mode())
		}
	}
	// A process that ended while it made the cache.
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "CACHEDIR.TAG"), []byte("Signature: 8a"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder(t, dir, 8<<20)
	file := filepath.Join(dir, "lock")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := cached.Open(file, 8<<20); !errors.Is(err, cached.ErrNotCache) {
		t.Errorf("a file: error %v", err)
	}
	if _, err := cached.Open(t.TempDir(), 100); err == nil {
		t.Error("a limit of 100 bytes is accepted")
	}
}

// TestForeignFiles checks that nothing is removed that is not an entry, even to make
// room.
func TestForeignFiles(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	c := folder(t, dir, 1<<20)
	f := newFar()
	s := cached.New(f, c, nil)
	value := pattern(200<<10, 1)
	f.write(t, "c/0", value)
	reads(t, f, s, "c/0", store.Whole(), value, 1, 0)
	entry := entries(t, dir)[0]
	sub, hash, _ := strings.Cut(entry, "/")
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(dir, "notes.txt"), "mine")
	put(filepath.Join(dir, sub, "notes.txt"), "mine")
	put(filepath.Join(dir, "zz", hash), "mine")
	put(filepath.Join(outside, hash), "mine")
	other := "00"
	if sub == other {
		other = "01"
	}
	// A link to a folder outside, and one in the place of an entry.
	linked := os.Symlink(outside, filepath.Join(dir, other)) == nil
	if linked {
		if err := errors.Join(os.Remove(filepath.Join(dir, entry)), os.Symlink(filepath.Join(outside, hash), filepath.Join(dir, entry))); err != nil {
			t.Fatal(err)
		}
		reads(t, f, s, "c/0", store.Whole(), value, 1, 0)
	}
	for i := range 40 {
		value := pattern(100<<10, i)
		key := "d/" + strconv.Itoa(i)
		f.write(t, key, value)
		reads(t, f, s, key, store.Whole(), value, 1, 0)
	}
	if got := files(t, dir); got["notes.txt"] != "mine" || got[sub+"/notes.txt"] != "mine" || got["zz/"+hash] != "mine" {
		t.Error("a file of another program was removed or changed")
	}
	if got := files(t, outside); len(got) != 1 || got[hash] != "mine" {
		t.Errorf("outside of the folder: %d files", len(got))
	}
}

// TestDamage changes each byte of an entry, and cuts it at each length. The value must be
// read from the store again.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	f := newFar()
	s := cached.New(f, folder(t, dir, 8<<20), nil)
	value := pattern(100, 1)
	f.write(t, "c/0", value)
	reads(t, f, s, "c/0", store.Whole(), value, 1, 0)
	name := filepath.Join(dir, entries(t, dir)[0])
	sound, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	damaged := func(what string, i int, b []byte) {
		t.Helper()
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		f.took()
		got, _, err := s.Get(t.Context(), store.MustKey("c/0"), store.Request{}, nil)
		if err != nil || string(got) != string(value) {
			t.Fatalf("%s %d: %d bytes, error %v", what, i, len(got), err)
		}
		if gets, _ := f.took(); gets != 1 {
			t.Errorf("%s %d: %d Get, want 1", what, i, gets)
		}
		if again, err := os.ReadFile(name); err != nil || len(again) != len(sound) {
			t.Errorf("%s %d: the entry is not written again: %v", what, i, err)
		}
	}
	for i := range sound {
		b := slices.Clone(sound)
		b[i] ^= 1 << (i % 8)
		damaged("bit", i, b)
		damaged("length", i, sound[:i])
	}
	damaged("longer by", 1, append(slices.Clone(sound), 0))
	// An entry of another place, which is sound by itself and has the same version.
	g := newFar()
	g.write(t, "c/0", pattern(100, 2))
	reads(t, g, cached.New(g, folder(t, dir, 8<<20), &cached.Options{Place: "elsewhere"}), "c/0", store.Whole(), pattern(100, 2), 1, 0)
	for _, e := range entries(t, dir) {
		if other := filepath.Join(dir, e); other != name {
			b, err := os.ReadFile(other)
			if err != nil {
				t.Fatal(err)
			}
			damaged("entry", 1, b)
		}
	}
}

// TestDamagedPages flips one bit in each page of a long entry. Other pages stay usable.
func TestDamagedPages(t *testing.T) {
	for page := range int64(8) {
		dir := t.TempDir()
		f := newFar()
		s := cached.New(f, folder(t, dir, 8<<20), nil)
		value := pattern(500<<10, 1)
		f.write(t, "c/0", value)
		reads(t, f, s, "c/0", store.Whole(), value, 1, 0)
		name := filepath.Join(dir, entries(t, dir)[0])
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)-len(value)+int(page)*(64<<10)+100] ^= 4
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		other := (page + 1) % 8 * (64 << 10)
		reads(t, f, s, "c/0", store.Span(other, 1000), value, 0, 1)
		reads(t, f, s, "c/0", store.Span(page*(64<<10), 10), value, 1, 1)
		// Without the beginning of the value, there is no version to ask for.
		reads(t, f, s, "c/0", store.Whole(), value, 1, int(max(0, 1-page)))
	}
}

// TestLimit fills caches beyond their limit, from several goroutines.
func TestLimit(t *testing.T) {
	const limit = 2 << 20
	for kind, cache := range caches {
		t.Run(kind, func(t *testing.T) {
			c := cache(t, limit)
			f := newFar()
			s := cached.New(f, c, nil)
			var keys []string
			for i := range 60 {
				keys = append(keys, "c/"+strconv.Itoa(i))
				f.write(t, keys[i], pattern(50_000+i*3000, i))
			}
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() {
					for i := range 120 {
						k := (i*7 + g*11) % len(keys)
						got, _, err := s.Get(t.Context(), store.MustKey(keys[k]), store.Request{}, nil)
						if err != nil || string(got) != string(pattern(50_000+k*3000, k)) {
							t.Errorf("%s: %d bytes, error %v", keys[k], len(got), err)
							return
						}
						if i%20 == 0 {
							if held, err := c.Held(); err != nil || held > limit {
								t.Errorf("%d bytes are held, the limit is %d; error %v", held, limit, err)
							}
						}
					}
				})
			}
			wg.Wait()
			if held, err := c.Held(); err != nil || held > limit || held < limit/2 {
				t.Errorf("%d bytes are held, the limit is %d; error %v", held, limit, err)
			}
		})
	}
}

// TestOrder checks that the values that were used last are kept.
func TestOrder(t *testing.T) {
	for kind, cache := range caches {
		t.Run(kind, func(t *testing.T) {
			c := cache(t, 1<<20)
			if kind == "folder" {
				c.EachUse()
			}
			f := newFar()
			s := cached.New(f, c, nil)
			value := pattern(100<<10, 1)
			for i := range 30 {
				key := "c/" + strconv.Itoa(i)
				f.write(t, key, value)
				reads(t, f, s, key, store.Whole(), value, 1, 0)
				if i > 0 { // the first one is used all the time
					reads(t, f, s, "c/0", store.Whole(), value, 0, 1)
				}
				time.Sleep(2 * time.Millisecond) // file systems have coarse clocks
			}
			reads(t, f, s, "c/25", store.Whole(), value, 0, 1)
			reads(t, f, s, "c/1", store.Whole(), value, 1, 0)
		})
	}
}

// workload reads values, more than fit, and some of them again and in parts.
func workload(t *testing.T, f *far, s store.Store) {
	t.Helper()
	for i := range 12 {
		k := i * 5 % 8
		key, value := "c/"+strconv.Itoa(k), pattern(200<<10, k)
		for _, r := range []store.Range{store.Whole(), store.Suffix(100), store.Span(70_000, 5)} {
			got, _, err := s.Get(t.Context(), store.MustKey(key), store.Request{Range: r}, nil)
			off, n, _ := r.Resolve(int64(len(value)))
			if err != nil || string(got) != string(value[off:off+n]) {
				t.Fatalf("%s of %s: %d bytes, error %v", r, key, len(got), err)
			}
		}
	}
}

// TestFailures fails each operation on the folder, and all from each one on, as if the
// process had ended there. Values must be right, then and later, and the limit hold.
func TestFailures(t *testing.T) {
	const limit = 1 << 20
	f := newFar()
	for k := range 8 {
		f.write(t, "c/"+strconv.Itoa(k), pattern(200<<10, k))
	}
	for kind, inject := range map[string]func(int64) (func(vfs.Op) error, func() bool){
		"fails": func(n int64) (func(vfs.Op) error, func() bool) { return vfs.FailAt(n, syscall.ENOSPC) },
		"stops": vfs.StopAt,
	} {
		t.Run(kind, func(t *testing.T) {
			step := int64(43)
			if fixture.Long() {
				step = 1
			}
			for n := int64(0); ; n += step {
				dir := t.TempDir()
				if err := cached.Prepare(dir); err != nil {
					t.Fatal(err)
				}
				root, err := vfs.OpenRoot(dir)
				if err != nil {
					t.Fatal(err)
				}
				before, reached := inject(n)
				c := cached.On(vfs.Hook(root, before), limit)
				warnings := 0
				c.Warn = func(error) { warnings++ }
				workload(t, f, cached.New(f, c, nil))
				if warnings > 1 {
					t.Errorf("operation %d: %d warnings", n, warnings)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				again := folder(t, dir, limit)
				if held, err := again.Held(); err != nil || held > limit {
					t.Errorf("operation %d: %d bytes are held, error %v", n, held, err)
				}
				workload(t, f, cached.New(f, again, nil))
				if held, err := again.Held(); err != nil || held > limit {
					t.Errorf("operation %d, later: %d bytes are held, error %v", n, held, err)
				}
				if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
					t.Errorf("operation %d: a temporary file is left", n)
				}
				if !reached() {
					t.Logf("%d operations", n)
					return
				}
			}
		})
	}
}

// TestUnwritable checks that a full disk is reported once and reads continue.
func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	if err := cached.Prepare(dir); err != nil {
		t.Fatal(err)
	}
	root, err := vfs.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, failure := range []error{syscall.ENOSPC, fs.ErrPermission} {
		c := cached.On(vfs.Hook(root, func(op vfs.Op) error {
			if op.Kind == "write" || op.Kind == "create" {
				return failure
			}
			return nil
		}), 1<<20)
		var warnings []error
		c.Warn = func(err error) { warnings = append(warnings, err) }
		f := newFar()
		for k := range 8 {
			f.write(t, "c/"+strconv.Itoa(k), pattern(200<<10, k))
		}
		workload(t, f, cached.New(f, c, nil))
		if len(warnings) != 1 || !errors.Is(warnings[0], failure) {
			t.Errorf("warnings %v, want one of %v", warnings, failure)
		}
	}
	if err := root.Close(); err != nil {
		t.Error(err)
	}
}
