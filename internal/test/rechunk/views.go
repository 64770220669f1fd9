// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
)

// reads checks the elements of the array "a", as it is opened now.
func reads(t *testing.T, s store.Store, want ...int32) {
	t.Helper()
	a, err := zarr.At(s, "a").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := zarr.Read[int32](t.Context(), a, nil); err != nil || !slices.Equal(got.Data, want) {
		t.Errorf("read %v (%v), want %v", got.Data, err, want)
	}
}

// vacuumed begins the names of the notes of a vacuum, which stay.
const vacuumed = "__varve/grids/vacuumed-"

// keys returns all keys of a store but those of such notes.
func keys(t *testing.T, s store.Store) string {
	t.Helper()
	var list []string
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(e.Name, vacuumed) {
			list = append(list, e.Name)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// isOpen reports whether a claim says that a rechunk of an array is not finished.
func isOpen(t *testing.T, s store.Store, array string) bool {
	t.Helper()
	found, err := store.Exists(t.Context(), s, store.MustKey(array+"/__varve/regrid.json"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// values returns the elements of an array, as it is opened now.
func values(t *testing.T, s store.Store, array string) []int32 {
	t.Helper()
	a, err := zarr.At(s, array).OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := zarr.Read[int32](t.Context(), a, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got.Data
}

// given is a source of values.
func given(shape []int64, values []int32) *zarr.Source {
	return &zarr.Source{Shape: shape, Read: func(_ context.Context, box grid.Box, dst []byte) error {
		for at := range box.Indices() {
			i := int64(0)
			for axis, n := range shape {
				i = i*n + at[axis]
			}
			binary.NativeEndian.PutUint32(dst, uint32(values[i]))
			dst = dst[4:]
		}
		return nil
	}}
}
