// SPDX-License-Identifier: Apache-2.0

package plain_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// texts creates an array of texts of some lengths.
func texts(t *testing.T, chunk int64, lengths ...int) (store.Store, []string) {
	t.Helper()
	s := memstore.New()
	spec := zarr.Spec{Shape: []int64{int64(len(lengths))}, Type: dtype.String, Chunks: grid.Chunks(chunk)}
	a := fixture.Must(zarr.At(s, "").CreateArray(t.Context(), spec, nil))
	data := make([]string, len(lengths))
	for i, n := range lengths {
		data[i] = fmt.Sprint(i, strings.Repeat("x", n))
	}
	if err := zarr.Write(t.Context(), a, nil, data); err != nil {
		t.Fatal(err)
	}
	return s, data
}

// TestLongText proposes chunks by the length of texts, so that one takes a small part of
// the memory that all texts need.
func TestLongText(t *testing.T) {
	lengths := slices.Repeat([]int{16 << 10}, 512)
	for _, c := range []struct {
		view  string
		chunk int64
	}{{"regular", 8}, {"regular", 512}, {"v2", 512}, {"regular,coarsen=0:2", 8}} {
		s, want := texts(t, c.chunk, lengths...)
		v := viewOf(t, s, c.view)
		a := shown(t, v, "")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		key := "c/3"
		if c.view == "v2" {
			key = "3"
		}
		if _, _, err := v.Get(t.Context(), store.MustKey(key), store.Request{}, nil); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; c.chunk == 8 && taken > 8 {
			t.Errorf("%s: a chunk takes %d MiB", c.view, taken)
		}
		if strings.Contains(c.view, "coarsen") {
			continue // TestLevels compares the elements
		}
		if got := fixture.Must(zarr.Read[string](t.Context(), a, nil)); !slices.Equal(got.Data, want) {
			t.Errorf("%s: elements are others", c.view)
		}
	}
}

// TestLongerText has texts that are much longer than the first ones. What is advised
// leads to a view that has them.
func TestLongerText(t *testing.T) {
	s, want := texts(t, 16, append(slices.Repeat([]int{1}, 1024), slices.Repeat([]int{16 << 10}, 1024)...)...)
	view := "regular"
	for range 9 {
		got, err := zarr.Read[string](t.Context(), shown(t, viewOf(t, s, view), ""), nil)
		if err == nil {
			if view == "regular" || !slices.Equal(got.Data, want) {
				t.Errorf("%s has all texts, or other ones", view)
			}
			return
		}
		fixture.Expect(t, err, zarr.ErrLimit, "limit", "chunks=")
		_, edges, _ := strings.Cut(err.Error(), "chunks=")
		view = "regular,chunks=" + edges
	}
	t.Error("no view has the texts: ", view)
}
