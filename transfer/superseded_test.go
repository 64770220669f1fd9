// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/trees"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/transfer"
)

// TestSuperseded copies and moves arrays with chunks of former grids and files of other
// programs. A copy leaves out the chunks only, a move nothing.
func TestSuperseded(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, s store.Store) (former []string){
		"rechunked": func(t *testing.T, s store.Store) []string {
			a := trees.Numbered(t, zarr.At(s, "g/a"), 6)
			before := trees.Values(t, s, "")
			if _, err := rechunk.Do(t.Context(), a, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(3)}}, nil); err != nil {
				t.Fatal(err)
			}
			now := trees.Values(t, s, "")
			maps.DeleteFunc(before, func(k, v string) bool { return !strings.Contains(k, "c/") || now[k] != v })
			return slices.Sorted(maps.Keys(before))
		},
		"beyond the shape": func(t *testing.T, s store.Store) []string {
			trees.Numbered(t, zarr.At(s, "g/a"), 6)
			return put(t, s, "g/a/c/3", "g/a/c/100")
		},
		"of another encoding": func(t *testing.T, s store.Store) []string {
			trees.Numbered(t, zarr.At(s, "g/a"), 6)
			return put(t, s, "g/a/0", "g/a/c.0", "g/a/c.1")
		},
		"below a group of format 2": func(t *testing.T, s store.Store) []string {
			trees.TreeV2(t, s, "g/a")
			var beyond []string
			for key := range trees.Values(t, s, "") {
				if dir, ok := strings.CutSuffix(key, "/.zarray"); ok {
					beyond = append(beyond, put(t, s, dir+"/99.99")...)
				}
			}
			return beyond
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := memstore.New()
			former := prepare(t, s)
			if len(former) == 0 {
				t.Fatal("nothing is superseded")
			}
			// Files of other programs: by their names, or because no array is above them.
			put(t, s, "g/a/README.md", "g/a/tables/part.0.parquet", "g/a/c/x", "g/notes/0/0")
			want := trees.Values(t, s, "g")
			maps.DeleteFunc(want, func(k, _ string) bool { return strings.Contains(k, "__varve/") || slices.Contains(former, "g/"+k) })
			planned, err := transfer.Copy(t.Context(), zarr.At(s, "g"), zarr.At(s, "copy"), &transfer.Options{DryRun: true})
			if err != nil {
				t.Fatal(err)
			}
			r, err := transfer.Copy(t.Context(), zarr.At(s, "g"), zarr.At(s, "copy"), nil)
			if err != nil || r.Superseded != int64(len(former)) || r.Superseded != planned.Superseded || r.Values != planned.Values || r.Bytes != planned.Bytes {
				t.Fatalf("%+v, planned %+v, of %q (%v)", r, planned, former, err)
			}
			if d := trees.Differ(want, trees.Values(t, s, "copy")); d != "" {
				t.Errorf("the copy differs: %s", d)
			}
			all := trees.Values(t, s, "g")
			maps.DeleteFunc(all, func(k, _ string) bool { return strings.Contains(k, "__varve/") })
			if r, err = transfer.Move(t.Context(), zarr.At(s, "g"), zarr.At(s, "moved"), nil); err != nil || r.Superseded != 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if d := trees.Differ(all, trees.Values(t, s, "moved")); d != "" {
				t.Errorf("what was moved differs: %s", d)
			}
		})
	}
}

// put stores values and returns their keys.
func put(t *testing.T, s store.Store, keys ...string) []string {
	t.Helper()
	for _, key := range keys {
		if _, err := store.Put(t.Context(), s, store.MustKey(key), []byte("value of "+key), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}
