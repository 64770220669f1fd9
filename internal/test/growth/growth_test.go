// SPDX-License-Identifier: Apache-2.0

package growth_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
)

// growthCases are appends to an array of int32 that has the numbers from 1 on. Each has
// the grid after it, the chunks that it writes, and the chunks that it reads.
var growthCases = []struct {
	name   string
	before zarr.Spec
	grow   grid.Growth
	count  int32
	after  string
	put    string
	get    string
}{
	{"append-one", fixture.Edges(1, 2, 3), grid.AppendOne(), 4, "[1, 2, 3, 4]", "3", ""},
	{"append-one, same length", fixture.Edges(1, 2, 3), grid.AppendOne(), 3, "[1, 2, [3, 2]]", "3", ""},
	{"append-one behind a run", fixture.Within(fixture.Edges(4, 4), 8), grid.AppendOne(), 1, "[[4, 2], 1]", "2", ""},
	{"append-one fills an open edge", fixture.Within(fixture.Edges(1, 4), 3), grid.AppendOne(), 2, "[1, 4]", "1", "1"},
	{"append-one fills and adds", fixture.Within(fixture.Edges(1, 4), 3), grid.AppendOne(), 5, "[1, 4, 3]", "1 2", "1"},
	{"append-one fills edges that are there", fixture.Within(fixture.Edges(2, 2, 3), 2), grid.AppendOne(), 4, "[[2, 2], 3]", "1 2", ""},
	{"repeat-last", fixture.Edges(1, 2, 3), grid.RepeatLast(), 7, "[1, 2, [3, 4]]", "3 4 5", ""},
	{"repeat-last continues", fixture.Within(fixture.Edges(1, 3, 3), 5), grid.RepeatLast(), 4, "[1, [3, 3]]", "2 3", "2"},
	{"fixed", fixture.Edges(1, 2), grid.Fixed(2), 5, "[1, [2, 4]]", "2 3 4", ""},
	{"fixed fills first", fixture.Within(fixture.Edges(1, 4), 2), grid.Fixed(2), 4, "[1, 4, 2]", "1 2", "1"},
	{"pattern", fixture.Edges(5), grid.Pattern(3, 1), 9, "[5, 3, 1, 3, 1, 3]", "1 2 3 4 5", ""},
	{"pattern repeats", fixture.Within(fixture.Edges(5, 3), 8), grid.Pattern(1, 2), 2, "[5, 3, 1, 2]", "2 3", ""},
	{"preplanned", fixture.Edges(5), grid.Preplanned(grid.Run{Length: 2, Count: 3}), 3, "[5, [2, 3]]", "1 2", ""},
	{"preplanned continues", fixture.Within(fixture.Edges(5, 2, 2, 2), 8), grid.Preplanned(grid.Run{Length: 2, Count: 3}), 3, "[5, [2, 3]]", "2 3", "2"},
	{"calendar", fixture.Within(fixture.Edges(28), 28), fixture.Months(), 32, "[28, 31, 30]", "1 2", ""},
	{"calendar within a month", fixture.Within(fixture.Edges(28), 20), fixture.Months(), 4, "[28]", "0", "0"},
}

// keys returns the keys of chunks.
func keys(indices string) string {
	var names []string
	for _, i := range strings.Fields(indices) {
		names = append(names, "a/c/"+i)
	}
	return strings.Join(names, " ")
}

// TestGrowth appends to every kind of axis with every policy.
func TestGrowth(t *testing.T) {
	for _, tt := range growthCases {
		t.Run(tt.name, func(t *testing.T) {
			ctx, s := t.Context(), fixture.NewTally()
			tt.before.Codecs = fixture.Plain()
			a, err := zarr.At(s, "a").CreateArray(ctx, tt.before, nil)
			if err != nil {
				t.Fatal(err)
			}
			n := int32(tt.before.Shape[0])
			if err := zarr.Write(ctx, a, nil, fixture.Numbers(1, n)); err != nil {
				t.Fatal(err)
			}
			s.Taken()
			if err := zarr.Append(ctx, a, 0, fixture.Numbers(n+1, tt.count), &zarr.AppendOptions{Grow: tt.grow}); err != nil {
				t.Fatal(err)
			}
			read := 0
			if tt.get != "" {
				read = 1
			}
			ops, touched, _ := s.Taken()
			if touched != keys(tt.put) || strings.Contains(ops, "1 get chunk") != (read == 1) || strings.Contains(ops, "list") {
				t.Errorf("%s (%s), want %s written and %q read", ops, touched, keys(tt.put), keys(tt.get))
			}
			a, err = zarr.At(s, "a").OpenArray(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(a.Metadata().ChunkGrid.Configuration), fixture.List(tt.after); !sameJSON(got, want) {
				t.Errorf("the grid %s is stored, want %s", got, want)
			}
			if b, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(b.Data, fixture.Numbers(1, n+tt.count)) {
				t.Errorf("the array has %v, error %v", b.Data, err)
			}
		})
	}
}

// sameJSON reports whether two texts are equal without white space.
func sameJSON(a, b string) bool {
	strip := func(s string) string { return strings.Join(strings.Fields(s), "") }
	return strip(a) == strip(b)
}

// TestResizeGrows grows axes without writing elements. No chunk is written, and both
// axes get the right edges.
func TestResizeGrows(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cuts  []grid.Cut
		shape []int64
		grow  []grid.Growth
		after string
	}{
		{"one policy for all", []grid.Cut{grid.Edges(2, 2), grid.Edges(3)}, []int64{7, 8}, []grid.Growth{grid.Fixed(2)}, "[[2, 4]], [3, [2, 3]]"},
		{"one an axis", []grid.Cut{grid.Edges(2, 2), grid.Edges(3)}, []int64{7, 8}, []grid.Growth{grid.Pattern(1, 2), grid.RepeatLast()}, "[[2, 2], 1, 2], [[3, 3]]"},
		{"a regular axis follows", []grid.Cut{grid.Edges(2, 2), grid.Every(2)}, []int64{6, 9}, []grid.Growth{grid.Fixed(1)}, "[[2, 2], [1, 2]], 2"},
		{"none", []grid.Cut{grid.Edges(2, 2), grid.Edges(3)}, []int64{6, 3}, nil, "[[2, 3]], [3]"},
	} {
		ctx, s := t.Context(), fixture.NewTally()
		a, err := zarr.At(s, "a").CreateArray(ctx, zarr.Spec{Shape: []int64{4, 3}, Type: dtype.Int32, Chunks: tt.cuts}, nil)
		if err != nil {
			t.Fatal(err)
		}
		old := fixture.State{Shape: []int64{4, 3}, Data: fixture.Numbers(1, 12)}
		if err := zarr.Write(ctx, a, nil, old.Data); err != nil {
			t.Fatal(err)
		}
		s.Taken()
		if err := a.Resize(ctx, tt.shape, &zarr.ResizeOptions{Grow: tt.grow}); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if ops, _, _ := s.Taken(); strings.Contains(ops, "put chunk") {
			t.Errorf("%s: %s", tt.name, ops)
		}
		if got := string(a.Metadata().ChunkGrid.Configuration); !sameJSON(got, fixture.List(tt.after)) {
			t.Errorf("%s: the grid %s is stored, want %s", tt.name, got, tt.after)
		}
		if got := fixture.LookAgain(t, a, tt.name); !got.Equal(old.Resized(tt.shape...)) {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestGrowthRefused makes changes that are refused. Nothing changes, and the error says
// what to do.
func TestGrowthRefused(t *testing.T) {
	more := func(how grid.Growth) func(context.Context, *zarr.Array) error {
		return fixture.Appending(fixture.Numbers(1, 4), how)
	}
	for _, tt := range []struct {
		name   string
		spec   zarr.Spec
		do     func(context.Context, *zarr.Array) error
		target error
		kind   zarr.Kind
		words  []string
	}{
		{"a policy on a regular axis", fixture.Every(6, 4), more(grid.Fixed(2)), zarr.ErrInvalidArgument, "invalid-argument", []string{"axis 0", "unlock"}},
		{"a calendar on a regular axis", fixture.Every(6, 4), more(fixture.Months()), zarr.ErrInvalidArgument, "invalid-argument", []string{"calendar:month", "unlock"}},
		{"a plan that ends too early", fixture.Edges(1, 2), more(grid.Preplanned(grid.Run{Length: 3, Count: 1})), zarr.ErrInvalidArgument, "invalid-argument", []string{"axis 0", "1 element before"}},
		{"a plan that contradicts", fixture.Within(fixture.Edges(1, 8), 3), more(grid.Preplanned(grid.Run{Length: 3, Count: 4})), zarr.ErrInvalidArgument, "invalid-argument", []string{"contradicts", "[8]"}},
		{"a pattern with 0", fixture.Edges(1, 2), more(grid.Pattern(2, 0)), zarr.ErrInvalidArgument, "invalid-argument", []string{"pattern:2,0"}},
		{"no pattern", fixture.Edges(1, 2), more(grid.Pattern()), zarr.ErrInvalidArgument, "invalid-argument", nil},
		{"a fixed length of 0", fixture.Edges(1, 2), more(grid.Fixed(0)), zarr.ErrInvalidArgument, "invalid-argument", []string{"at least 1"}},
		{"boundaries that do not move", fixture.Edges(1, 2), more(grid.ByBoundaries("calendar:odd", func(at int64) (int64, error) { return at, nil })),
			zarr.ErrInvalidArgument, "invalid-argument", []string{"element 3"}},
		{"an append to another shape", fixture.Edges(1, 2), func(ctx context.Context, a *zarr.Array) error {
			return zarr.Append(ctx, a, 0, fixture.Numbers(1, 2), &zarr.AppendOptions{Expect: []int64{5}})
		}, zarr.ErrConflict, "conflict", []string{"[3]", "[5]"}},
		{"a resize of another shape", fixture.Edges(1, 2), fixture.Resizing(&zarr.ResizeOptions{Expect: []int64{3, 1}}, 9), zarr.ErrConflict, "conflict", []string{"[3]", "[3 1]"}},
		{"trim a regular chunk", fixture.Every(6, 4), fixture.Resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 5), zarr.ErrInvalidArgument, "invalid-argument", []string{"axis 0", "unlock"}},
		{"trim a regular chunk in place", fixture.Every(6, 4), fixture.Resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 6), zarr.ErrInvalidArgument, "invalid-argument", []string{"unlock"}},
		{"no shrink policy", fixture.Edges(1, 2), fixture.Resizing(&zarr.ResizeOptions{Shrink: 7}, 2), zarr.ErrInvalidArgument, "invalid-argument", []string{"shrink(7)"}},
		{"too many policies", fixture.Edges(1, 2), fixture.Resizing(&zarr.ResizeOptions{Grow: make([]grid.Growth, 2)}, 9), zarr.ErrInvalidArgument, "invalid-argument", []string{"2 growth policies"}},
		{"another rank", fixture.Edges(1, 2), fixture.Resizing(nil, 3, 1), zarr.ErrInvalidArgument, "invalid-argument", []string{"2 axes"}},
		{"a negative extent", fixture.Edges(1, 2), fixture.Resizing(nil, -1), zarr.ErrInvalidArgument, "invalid-argument", []string{"axis 0"}},
		{"an axis that is not there", fixture.Edges(1, 2), fixture.Unlocking(&zarr.RectilinearOptions{Axes: []int{1}}), zarr.ErrInvalidArgument, "invalid-argument", []string{"axis 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, s := t.Context(), fixture.NewTally()
			a, err := zarr.At(s, "a").CreateArray(ctx, tt.spec, nil)
			if err == nil {
				err = zarr.Write(ctx, a, nil, fixture.Numbers(1, int32(tt.spec.Shape[0])))
			}
			if err != nil {
				t.Fatal(err)
			}
			before, _, _ := s.Store.Get(ctx, store.MustKey("a/zarr.json"), store.Request{}, nil)
			s.Taken()
			fixture.Expect(t, tt.do(ctx, a), tt.target, tt.kind, tt.words...)
			if ops, chunks, _ := s.Taken(); chunks != "" || strings.Contains(ops, "publish") {
				t.Errorf("%s (%s)", ops, chunks)
			}
			after, _, _ := s.Store.Get(ctx, store.MustKey("a/zarr.json"), store.Request{}, nil)
			if !bytes.Equal(before, after) {
				t.Errorf("the document became %s", after)
			}
		})
	}
}

// TestBoundedGrowth opens an array of another program whose last edge ends at the
// extent. It can grow once it is rectilinear.
func TestBoundedGrowth(t *testing.T) {
	ctx, s := t.Context(), fixture.NewTally()
	a, err := zarr.At(s, "a").CreateArray(ctx, fixture.Raw(fixture.Edges(4, 2)), nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, fixture.Numbers(1, 6))
	}
	if err != nil {
		t.Fatal(err)
	}
	document, _, err := s.Store.Get(ctx, store.MustKey("a/zarr.json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := string(document)
	from := strings.Index(text, `"chunk_grid"`)
	to := from + strings.Index(text[from:], `"chunk_key_encoding"`)
	fixture.Put(t, s, "a/zarr.json", text[:from]+fmt.Sprintf(`"chunk_grid": {"name": %q, "configuration": {"chunk_shape": [4]}},`, "zarrs.regular_bounded")+text[to:])
	if a, err = zarr.At(s, "a").OpenArray(ctx, &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	if b, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(b.Data, fixture.Numbers(1, 6)) {
		t.Fatalf("the array has %v, error %v", b.Data, err)
	}
	fixture.Expect(t, zarr.Append(ctx, a, 0, fixture.Numbers(7, 1), nil), zarr.ErrInvalidArgument, "invalid-argument", "unlock")
	fixture.Expect(t, a.Resize(ctx, []int64{9}, nil), zarr.ErrInvalidArgument, "invalid-argument", "unlock")
	if err := a.MakeRectilinear(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := zarr.Append(ctx, a, 0, fixture.Numbers(7, 3), nil); err != nil {
		t.Fatal(err)
	}
	if b, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(b.Data, fixture.Numbers(1, 9)) || !sameJSON(string(a.Metadata().ChunkGrid.Configuration), fixture.List("[4, 2, 3]")) {
		t.Errorf("%v in %s, %v", b.Data, a.Metadata().ChunkGrid.Configuration, err)
	}
}
