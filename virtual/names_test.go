// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// suffixes are the ends of names that references and foreign files may have.
var suffixes = []string{virtual.Suffix, kerchunk.Suffix, kerchunk.ParquetSuffix, kerchunk.LongParquetSuffix, ".nc", ".TIF"}

// below returns a new folder with a name in another one.
func below(t *testing.T, dir, name string) string {
	t.Helper()
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// numbers reads an array of int32.
func numbers(t *testing.T, location string) ([]int32, error) {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), location, nil)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	b, err := zarr.Read[int32](t.Context(), a, nil)
	return b.Data, err
}

// TestFoldersWithNames has manifests and arrays in folders that are named like manifests
// and references, but are none.
func TestFoldersWithNames(t *testing.T) {
	want := []int32{1, 2}
	for _, suffix := range suffixes {
		// In three of them, one in the other: each is asked once.
		dir := below(t, below(t, below(t, t.TempDir(), "a"+suffix), "b"+suffix), "c"+kerchunk.LongParquetSuffix)
		node(t, dir, "1.zarr/v", want, []string{"x"}, []int64{2}, nil, "")
		j, err := collect(t, dir, virtual.Join{}, "1.zarr")
		if err != nil {
			t.Fatal(suffix, err)
		}
		m, err := j.Finish()
		if err != nil {
			t.Fatal(suffix, err)
		}
		root := stored(t, dir, m)
		if got, err := numbers(t, root+"/v"); err != nil || !slices.Equal(got, want) {
			t.Errorf("below %s: %v (%v)", suffix, got, err)
		}

		// The name is that of an array of Zarr.
		node(t, dir, "g/v"+suffix, want, []string{"x"}, []int64{2}, nil, "")
		if got, err := numbers(t, filepath.Join(dir, "g/v"+suffix)); err != nil || !slices.Equal(got, want) {
			t.Errorf("v%s: %v (%v)", suffix, got, err)
		}
		elsewhere := t.TempDir()
		j, err = collect(t, elsewhere, virtual.Join{}, mustRel(t, elsewhere, filepath.Join(dir, "g/v"+suffix)))
		if err != nil {
			t.Errorf("v%s: %v", suffix, err)
			continue
		}
		if m, err = j.Finish(); err != nil {
			t.Fatal(err)
		}
		a, err := zarr.OpenArray(virtual.WithAllowed(t.Context(), dir), stored(t, elsewhere, m), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if b, err := zarr.Read[int32](t.Context(), a, nil); err != nil || !slices.Equal(b.Data, want) {
			t.Errorf("references to v%s: %v (%v)", suffix, b.Data, err)
		}
	}
}

func mustRel(t *testing.T, base, target string) string {
	t.Helper()
	rel, err := filepath.Rel(base, target)
	if err != nil {
		t.Fatal(err)
	}
	return rel
}

// TestNodeOfManifest makes a manifest of one array of another one: it has the references
// of that, and does not refer to the other manifest.
func TestNodeOfManifest(t *testing.T) {
	dir, want := t.TempDir(), []int32{1, 2}
	node(t, dir, "1.zarr/g/v", want, []string{"x"}, []int64{2}, nil, "")
	j, err := collect(t, dir, virtual.Join{}, "1.zarr")
	if err != nil {
		t.Fatal(err)
	}
	m, err := j.Finish()
	if err != nil {
		t.Fatal(err)
	}
	stored(t, dir, m)
	for _, name := range []string{"made.vz/g", "made.vz/g/v"} {
		m := alone(t, filepath.Join(dir, "other.vz"), filepath.Join(dir, name))
		if len(m.Sources) != 1 || m.Sources[0].Location != "../1.zarr/g/v/c/0" {
			t.Errorf("%s: it refers to %v", name, m.Sources)
		}
		s, path, err := store.OpenLocation(t.Context(), dir, store.Create)
		if err == nil {
			path, err = path.Join(filepath.Base(name) + "_other.vz")
		}
		if err == nil {
			err = m.Create(t.Context(), s, path)
		}
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, path.String())
		if name == "made.vz/g" {
			at += "/v"
		}
		if got, err := numbers(t, at); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v (%v)", name, got, err)
		}
	}
}
