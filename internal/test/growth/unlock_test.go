// SPDX-License-Identifier: Apache-2.0

package growth_test

import (
	"context"
	"maps"
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

// chunksOf returns the stored bytes of all chunks by key.
func chunksOf(t *testing.T, s store.Store) map[string]string {
	t.Helper()
	chunks := map[string]string{}
	for e, err := range store.List(context.Background(), s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Name, "zarr.json") {
			continue
		}
		data, _, err := s.Get(context.Background(), store.MustKey(e.Name), store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		chunks[e.Name] = string(data)
	}
	return chunks
}

// unlocks are arrays of raw int32, their grids after MakeRectilinear, and the chunks
// that it writes again.
var unlocks = []struct {
	name  string
	shape []int64
	cuts  []grid.Cut
	opt   *zarr.RectilinearOptions
	after string // "" if nothing changes
	again string
}{
	{"an axis", []int64{6}, grid.Chunks(4), nil, "[[4, 2]]", ""},
	{"chunks that are full", []int64{8}, grid.Chunks(4), nil, "[[4, 2]]", ""},
	{"chunks that are full, trimmed", []int64{8}, grid.Chunks(4), &zarr.RectilinearOptions{Trim: true}, "[[4, 2]]", ""},
	{"nothing in it", []int64{0}, grid.Chunks(4), &zarr.RectilinearOptions{Trim: true}, "[4]", ""},
	{"one short chunk", []int64{3}, grid.Chunks(4), &zarr.RectilinearOptions{Trim: true}, "[3]", "0"},
	{"a trimmed axis", []int64{6}, grid.Chunks(4), &zarr.RectilinearOptions{Trim: true}, "[4, 2]", "1"},
	{"two axes", []int64{3, 5}, grid.Chunks(2, 3), nil, "[[2, 2]], [[3, 2]]", ""},
	{"one of two", []int64{3, 5}, grid.Chunks(2, 3), &zarr.RectilinearOptions{Axes: []int{1}}, "2, [[3, 2]]", ""},
	{"two axes, trimmed", []int64{3, 5}, grid.Chunks(2, 3), &zarr.RectilinearOptions{Trim: true}, "[2, 1], [3, 2]", "0/1 1/0 1/1"},
	{"one of two, trimmed", []int64{3, 5}, grid.Chunks(2, 3), &zarr.RectilinearOptions{Axes: []int{0}, Trim: true}, "[2, 1], 3", "1/0 1/1"},
	{"the other axis of a list", []int64{3, 5}, []grid.Cut{grid.Edges(2, 2), grid.Every(3)}, nil, "[[2, 2]], [[3, 2]]", ""},
	{"a list", []int64{3}, []grid.Cut{grid.Edges(2, 2)}, nil, "", ""},
	{"a list, trimmed", []int64{3}, []grid.Cut{grid.Edges(2, 2)}, &zarr.RectilinearOptions{Trim: true}, "[2, 1]", "1"},
	{"no axes", []int64{}, []grid.Cut{}, nil, "", ""},
}

// TestUnlock makes arrays rectilinear. The elements stay, only trimmed chunks are
// rewritten, and appends to a trimmed array write new chunks only.
func TestUnlock(t *testing.T) {
	for _, tt := range unlocks {
		t.Run(tt.name, func(t *testing.T) {
			ctx, s := t.Context(), fixture.NewTally()
			a, err := zarr.At(s, "a").CreateArray(ctx, zarr.Spec{Shape: tt.shape, Type: dtype.Int32, Chunks: tt.cuts, Codecs: fixture.Plain()}, nil)
			data := fixture.Numbers(1, int32(fixture.Count(tt.shape)))
			if err == nil {
				err = zarr.Write(ctx, a, nil, data)
			}
			if err != nil {
				t.Fatal(err)
			}
			before, was := chunksOf(t, s), string(a.Metadata().ChunkGrid.Configuration)
			s.Taken()
			if err := a.MakeRectilinear(ctx, tt.opt); err != nil {
				t.Fatal(err)
			}
			if ops, _, _ := s.Taken(); (tt.after == "" || tt.again == "") && strings.Contains(ops, "chunk") || tt.after == "" && strings.Contains(ops, "publish") {
				t.Errorf("requests are %s", ops)
			}
			want := fixture.List(tt.after)
			if tt.after == "" {
				want = was
			}
			if got := string(a.Metadata().ChunkGrid.Configuration); !sameJSON(got, want) {
				t.Errorf("the grid is %s, want %s", got, want)
			}
			after := chunksOf(t, s)
			var again []string
			for key := range after {
				if after[key] != before[key] {
					again = append(again, strings.TrimPrefix(key, "a/c/"))
				}
			}
			if slices.Sort(again); strings.Join(again, " ") != tt.again || len(after) != len(before) {
				t.Errorf("chunks %q were stored again, of %v; want %s", again, slices.Sorted(maps.Keys(after)), tt.again)
			}
			if b, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(b.Data, data) {
				t.Errorf("the array has %v, error %v", b.Data, err)
			}
			if err := a.MakeRectilinear(ctx, tt.opt); err != nil {
				t.Error(err)
			}
			if ops, _, _ := s.Taken(); strings.Contains(ops, "publish") {
				t.Errorf("the second call makes the requests %s", ops)
			}
		})
	}
}

// TestUnlockThenAppend appends to an array that was made rectilinear. Its last chunk is
// filled up once and never written again.
func TestUnlockThenAppend(t *testing.T) {
	for _, fenced := range []bool{false, true} {
		for _, trim := range []bool{false, true} {
			ctx := t.Context()
			var s store.Store = memstore.New()
			if fenced {
				s = fixture.Conditional(s)
			}
			a, err := zarr.At(s, "a").CreateArray(ctx, fixture.Raw(fixture.Every(6, 4)), nil)
			if err == nil {
				err = zarr.Write(ctx, a, nil, fixture.Numbers(1, 6))
			}
			if err == nil {
				err = a.MakeRectilinear(ctx, &zarr.RectilinearOptions{Trim: trim})
			}
			if err != nil {
				t.Fatal(err)
			}
			last := []string{"a/c/1"}
			for i, n := range []int32{1, 2, 3} {
				at := int32(a.Shape()[0])
				before := chunksOf(t, s)
				if err := zarr.Append(ctx, a, 0, fixture.Numbers(at+1, n), nil); err != nil {
					t.Fatal(err)
				}
				for _, key := range last {
					touched := chunksOf(t, s)[key] != before[key]
					if full := trim || at >= 8; touched == full {
						t.Errorf("fenced %v, trim %v, append %d: the last chunk was written: %v", fenced, trim, i, touched)
					}
				}
			}
			want := "[[4, 2], 1, 3]" // 7, 9, 12
			if trim {
				want = "[4, 2, 1, 2, 3]"
			}
			if got := string(a.Metadata().ChunkGrid.Configuration); !sameJSON(got, fixture.List(want)) {
				t.Errorf("fenced %v, trim %v: the grid is %s, want %s", fenced, trim, got, want)
			}
			if b, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(b.Data, fixture.Numbers(1, 12)) {
				t.Errorf("fenced %v, trim %v: %v, %v", fenced, trim, b.Data, err)
			}
		}
	}
}
