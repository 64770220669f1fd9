// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

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
	s, err := filestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
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
		if got, err := store.Resolve(s, at(t, from)); err != nil || got.String() != want {
			t.Errorf("%s is %s, %v; want %s", from, got, err, want)
		}
	}
	if p, err := store.Resolve(s, at(t, "x/out/n")); err == nil {
		t.Errorf("a link out of the store leads to %s", p)
	}
}

func TestIdentities(t *testing.T) {
	s := linkedStore(t)
	for _, c := range []struct {
		a, b string
		same bool
	}{{"l", "x/y", true}, {"l", "l", true}, {"x", "x/y", false}, {"x/up", "", true}, {"none", "other", false}, {"none", "x", false}} {
		if same, err := store.SameDirectory(s, at(t, c.a), at(t, c.b)); same != c.same || err != nil {
			t.Errorf("%s and %s: %t, %v", c.a, c.b, same, err)
		}
	}
	ids, err := store.Identities(s, at(t, "l/new"))
	if err != nil || len(ids) != 4 || ids[0] != nil || ids[1] == nil {
		t.Errorf("%v, %v", ids, err)
	}
}

func TestLinks(t *testing.T) {
	got := map[string]string{}
	for link, err := range store.Links(t.Context(), linkedStore(t), at(t, "")) {
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
