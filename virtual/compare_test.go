// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/virtual"
)

// TestCompare joins files that repeat an array of more than 1 MiB. It is compared only if
// that is wanted, also when a file is added later.
func TestCompare(t *testing.T) {
	dir, large := t.TempDir(), make([]int32, 1<<19)
	for i := range large {
		large[i] = int32(i)
	}
	for _, name := range []string{"1.zarr", "2.zarr", "3.zarr"} {
		if name == "3.zarr" {
			large[len(large)-1]++
		}
		node(t, dir, name+"/v", []int32{1, 2}, []string{"time"}, []int64{2}, nil, "")
		node(t, dir, name+"/area", large, []string{"y", "x"}, []int64{1 << 9, 1 << 10}, nil, "")
	}
	for _, c := range []struct {
		how   virtual.Join
		other string
		want  error
		notes int
	}{
		{virtual.Join{Concat: "time"}, "3.zarr", nil, 1},
		{virtual.Join{Concat: "time", Compare: true}, "2.zarr", nil, 0},
		{virtual.Join{Concat: "time", Compare: true}, "3.zarr", virtual.ErrMismatch, 0},
		{virtual.Join{Compare: true}, "2.zarr", nil, 0},
		{virtual.Join{Compare: true}, "3.zarr", virtual.ErrMismatch, 0},
		{virtual.Join{}, "2.zarr", virtual.ErrMismatch, 0},
	} {
		j, err := collect(t, dir, c.how, "1.zarr", c.other)
		if !errors.Is(err, c.want) || len(j.Notes()) != c.notes || err != nil && !strings.Contains(err.Error(), "area") {
			t.Errorf("%+v, %s: %v, %q", c.how, c.other, err, j.Notes())
		}
	}
	j, err := collect(t, dir, virtual.Join{Concat: "time"}, "1.zarr")
	if err != nil {
		t.Fatal(err)
	}
	m, err := j.Finish()
	if err != nil {
		t.Fatal(err)
	}
	root := stored(t, dir, m)
	for name, want := range map[string]error{"2.zarr": nil, "3.zarr": virtual.ErrMismatch} {
		if err := addCompared(t, root, filepath.Join(dir, name)); !errors.Is(err, want) {
			t.Errorf("%s is added: %v, want %v", name, err, want)
		}
	}
}

// addCompared adds a file to a manifest, and compares all that it repeats. It stores
// nothing.
func addCompared(t *testing.T, root, name string) error {
	t.Helper()
	s, err := filestore.Open(filepath.Dir(root), nil)
	if err != nil {
		t.Fatal(err)
	}
	path, err := store.ParsePath(filepath.Base(root))
	if err != nil {
		t.Fatal(err)
	}
	m, err := virtual.Open(t.Context(), s, path)
	if err != nil {
		t.Fatal(err)
	}
	m.Join.Compare = true
	j, err := virtual.Extend(t.Context(), m, root)
	if err != nil {
		t.Fatal(err)
	}
	c, err := virtual.NewCollector(root)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.Collect(t.Context(), j, []string{name})
}
