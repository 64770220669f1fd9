// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"errors"
	"slices"
	"testing"

	"varve.dev/zarr/store"
)

// Strange are names of objects that are no keys. A service holds them, and a listing must
// not be silent about them.
var Strange = []string{"g/../../etc/x", "g//x", "g/./x", "g/dir/"}

// CheckStrange checks a driver for a service that holds the objects "g/zarr.json" and
// "g/a\tb/c/0", those of [Strange], each with a value, and the empty object "g/mark/",
// with which other programs mark a directory.
func CheckStrange(t *testing.T, s store.Store) {
	t.Helper()
	dir, err := store.ParsePath("g")
	if err != nil {
		t.Fatal(err)
	}
	names := func() (names []string) {
		var bad *store.UnusableError
		for e, err := range store.List(t.Context(), s, dir, store.Deep) {
			if err != nil && !errors.As(err, &bad) {
				t.Fatal(err)
			}
			if err == nil {
				names = append(names, e.Name)
			}
		}
		if slices.Sort(names); bad == nil || bad.Count != int64(len(Strange)) {
			t.Errorf("listed %q, and %v", names, bad)
		}
		return names
	}
	want := []string{"a\tb/c/0", "zarr.json"}
	if got := names(); !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	order := store.TreeOrder{First: []string{"zarr.json"}}
	if err := store.DeleteTree(t.Context(), s, dir, order, store.Sync); !errors.Is(err, store.ErrUnusable) {
		t.Errorf("deletion: %v", err)
	}
	if got := names(); !slices.Equal(got, want) {
		t.Errorf("the deletion leaves %q, want %q", got, want)
	}
	for _, err := range store.List(t.Context(), s, dir, store.Flat) {
		if err != nil && !errors.Is(err, store.ErrUnusable) {
			t.Error(err)
		}
	}
}
