package zarr_test

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
	"varve.dev/zarr/store"
)

// growthCases are appends to an array of int32 that has the numbers from 1 on: the grid
// that is stored afterwards, the chunks that were written, and what was read besides the
// document.
var growthCases = []struct {
	name   string
	before zarr.Spec
	grow   grid.Growth
	count  int32
	after  string
	put    string
	get    string
}{
	{"append-one", edges(1, 2, 3), grid.AppendOne(), 4, "[1, 2, 3, 4]", "3", ""},
	{"append-one, same length", edges(1, 2, 3), grid.AppendOne(), 3, "[1, 2, [3, 2]]", "3", ""},
	{"append-one behind a run", within(edges(4, 4), 8), grid.AppendOne(), 1, "[[4, 2], 1]", "2", ""},
	{"append-one fills an open edge", within(edges(1, 4), 3), grid.AppendOne(), 2, "[1, 4]", "1", "1"},
	{"append-one fills and adds", within(edges(1, 4), 3), grid.AppendOne(), 5, "[1, 4, 3]", "1 2", "1"},
	{"append-one fills edges that are there", within(edges(2, 2, 3), 2), grid.AppendOne(), 4, "[[2, 2], 3]", "1 2", ""},
	{"repeat-last", edges(1, 2, 3), grid.RepeatLast(), 7, "[1, 2, [3, 4]]", "3 4 5", ""},
	{"repeat-last goes on", within(edges(1, 3, 3), 5), grid.RepeatLast(), 4, "[1, [3, 3]]", "2 3", "2"},
	{"fixed", edges(1, 2), grid.Fixed(2), 5, "[1, [2, 4]]", "2 3 4", ""},
	{"fixed fills first", within(edges(1, 4), 2), grid.Fixed(2), 4, "[1, 4, 2]", "1 2", "1"},
	{"pattern", edges(5), grid.Pattern(3, 1), 9, "[5, 3, 1, 3, 1, 3]", "1 2 3 4 5", ""},
	{"pattern begins anew", within(edges(5, 3), 8), grid.Pattern(1, 2), 2, "[5, 3, 1, 2]", "2 3", ""},
	{"preplanned", edges(5), grid.Preplanned(grid.Run{Length: 2, Count: 3}), 3, "[5, [2, 3]]", "1 2", ""},
	{"preplanned goes on", within(edges(5, 2, 2, 2), 8), grid.Preplanned(grid.Run{Length: 2, Count: 3}), 3, "[5, [2, 3]]", "2 3", "2"},
	{"calendar", within(edges(28), 28), months(), 32, "[28, 31, 30]", "1 2", ""},
	{"calendar within a month", within(edges(28), 20), months(), 4, "[28]", "0", "0"},
}

// keys names chunks as they are stored.
func keys(indices string) string {
	var names []string
	for _, i := range strings.Fields(indices) {
		names = append(names, "a/c/"+i)
	}
	return strings.Join(names, " ")
}

// TestGrowth appends to every kind of edges with every policy.
func TestGrowth(t *testing.T) {
	for _, tt := range growthCases {
		t.Run(tt.name, func(t *testing.T) {
			ctx, s := t.Context(), newTally()
			tt.before.Codecs = plain()
			a, err := zarr.At(s, "a").CreateArray(ctx, tt.before, nil)
			if err != nil {
				t.Fatal(err)
			}
			n := int32(tt.before.Shape[0])
			if err := zarr.Write(ctx, a, nil, numbers(1, n)); err != nil {
				t.Fatal(err)
			}
			s.taken()
			if err := zarr.Append(ctx, a, 0, numbers(n+1, tt.count), &zarr.AppendOptions{Grow: tt.grow}); err != nil {
				t.Fatal(err)
			}
			read := 0
			if tt.get != "" {
				read = 1
			}
			ops, touched, _ := s.taken()
			if touched != keys(tt.put) || strings.Contains(ops, "1 get chunk") != (read == 1) || strings.Contains(ops, "list") {
				t.Errorf("%s (%s), want %s written and %q read", ops, touched, keys(tt.put), keys(tt.get))
			}
			a, err = zarr.At(s, "a").OpenArray(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(a.Metadata().ChunkGrid.Configuration), list(tt.after); !sameJSON(got, want) {
				t.Errorf("the grid %s is stored, want %s", got, want)
			}
			if b, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(b.Data, numbers(1, n+tt.count)) {
				t.Errorf("it holds %v, %v", b.Data, err)
			}
		})
	}
}

// sameJSON compares JSON by what is not white space.
func sameJSON(a, b string) bool {
	strip := func(s string) string { return strings.Join(strings.Fields(s), "") }
	return strip(a) == strip(b)
}

// TestResizeGrows grows axes without elements: no chunk is written, and both axes are cut
// as they should be.
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
		ctx, s := t.Context(), newTally()
		a, err := zarr.At(s, "a").CreateArray(ctx, zarr.Spec{Shape: []int64{4, 3}, Type: dtype.Of[int32](), Chunks: tt.cuts}, nil)
		if err != nil {
			t.Fatal(err)
		}
		old := state{[]int64{4, 3}, numbers(1, 12), ""}
		if err := zarr.Write(ctx, a, nil, old.data); err != nil {
			t.Fatal(err)
		}
		s.taken()
		if err := a.Resize(ctx, tt.shape, &zarr.ResizeOptions{Grow: tt.grow}); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if ops, _, _ := s.taken(); strings.Contains(ops, "put chunk") {
			t.Errorf("%s: %s", tt.name, ops)
		}
		if got := string(a.Metadata().ChunkGrid.Configuration); !sameJSON(got, list(tt.after)) {
			t.Errorf("%s: the grid %s is stored, want %s", tt.name, got, tt.after)
		}
		if got := lookAgain(t, a, tt.name); !got.equal(old.resized(tt.shape...)) {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestGrowthRefused makes changes that cannot be: nothing is changed, and the message
// says what to do.
func TestGrowthRefused(t *testing.T) {
	more := func(how grid.Growth) func(context.Context, *zarr.Array) error { return appending(numbers(1, 4), how) }
	for _, tt := range []struct {
		name  string
		spec  zarr.Spec
		do    func(context.Context, *zarr.Array) error
		is    error
		kind  string
		words []string
	}{
		{"a policy on a regular axis", every(6, 4), more(grid.Fixed(2)), zarr.ErrInvalidArgument, "invalid-argument", []string{"axis 0", "unlock"}},
		{"a calendar on a regular axis", every(6, 4), more(months()), zarr.ErrInvalidArgument, "invalid-argument", []string{"calendar:month", "unlock"}},
		{"a plan that ends too early", edges(1, 2), more(grid.Preplanned(grid.Run{Length: 3, Count: 1})), zarr.ErrInvalidArgument, "invalid-argument", []string{"axis 0", "1 elements before"}},
		{"a plan that contradicts", within(edges(1, 8), 3), more(grid.Preplanned(grid.Run{Length: 3, Count: 4})), zarr.ErrInvalidArgument, "invalid-argument", []string{"contradicts", "[8]"}},
		{"a pattern with 0", edges(1, 2), more(grid.Pattern(2, 0)), zarr.ErrInvalidArgument, "invalid-argument", []string{"pattern:2,0"}},
		{"no pattern", edges(1, 2), more(grid.Pattern()), zarr.ErrInvalidArgument, "invalid-argument", nil},
		{"a fixed length of 0", edges(1, 2), more(grid.Fixed(0)), zarr.ErrInvalidArgument, "invalid-argument", []string{"at least 1"}},
		{"boundaries that do not move", edges(1, 2), more(grid.ByBoundaries("calendar:odd", func(at int64) (int64, error) { return at, nil })),
			zarr.ErrInvalidArgument, "invalid-argument", []string{"element 3"}},
		{"an append to another shape", edges(1, 2), func(ctx context.Context, a *zarr.Array) error {
			return zarr.Append(ctx, a, 0, numbers(1, 2), &zarr.AppendOptions{Expect: []int64{5}})
		}, zarr.ErrConflict, "conflict", []string{"[3]", "[5]"}},
		{"a resize of another shape", edges(1, 2), resizing(&zarr.ResizeOptions{Expect: []int64{3, 1}}, 9), zarr.ErrConflict, "conflict", []string{"[3]", "[3 1]"}},
		{"trim a regular chunk", every(6, 4), resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 5), zarr.ErrInvalidArgument, "invalid-argument", []string{"axis 0", "unlock"}},
		{"trim a regular chunk in place", every(6, 4), resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 6), zarr.ErrInvalidArgument, "invalid-argument", []string{"unlock"}},
		{"no shrink policy", edges(1, 2), resizing(&zarr.ResizeOptions{Shrink: 7}, 2), zarr.ErrInvalidArgument, "invalid-argument", []string{"shrink(7)"}},
		{"too many policies", edges(1, 2), resizing(&zarr.ResizeOptions{Grow: make([]grid.Growth, 2)}, 9), zarr.ErrInvalidArgument, "invalid-argument", []string{"2 growth policies"}},
		{"another rank", edges(1, 2), resizing(nil, 3, 1), zarr.ErrInvalidArgument, "invalid-argument", []string{"2 axes"}},
		{"a negative extent", edges(1, 2), resizing(nil, -1), zarr.ErrInvalidArgument, "invalid-argument", []string{"axis 0"}},
		{"an axis that is not there", edges(1, 2), unlocking(&zarr.UnlockOptions{Axes: []int{1}}), zarr.ErrInvalidArgument, "invalid-argument", []string{"axis 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, s := t.Context(), newTally()
			a, err := zarr.At(s, "a").CreateArray(ctx, tt.spec, nil)
			if err == nil {
				err = zarr.Write(ctx, a, nil, numbers(1, int32(tt.spec.Shape[0])))
			}
			if err != nil {
				t.Fatal(err)
			}
			before, _, _ := s.Store.Get(ctx, store.MustKey("a/zarr.json"), store.Request{}, nil)
			s.taken()
			expect(t, tt.do(ctx, a), tt.is, tt.kind, tt.words...)
			if ops, chunks, _ := s.taken(); chunks != "" || strings.Contains(ops, "publish") {
				t.Errorf("%s (%s)", ops, chunks)
			}
			after, _, _ := s.Store.Get(ctx, store.MustKey("a/zarr.json"), store.Request{}, nil)
			if !bytes.Equal(before, after) {
				t.Errorf("the document became %s", after)
			}
		})
	}
}

// TestBoundedGrowth opens the grid of another program, whose last chunk is as long as
// what it holds. It grows once it is unlocked.
func TestBoundedGrowth(t *testing.T) {
	ctx, s := t.Context(), newTally()
	a, err := zarr.At(s, "a").CreateArray(ctx, raw(edges(4, 2)), nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, numbers(1, 6))
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
	put(t, s, "a/zarr.json", text[:from]+fmt.Sprintf(`"chunk_grid": {"name": %q, "configuration": {"chunk_shape": [4]}},`, grid.BoundedName)+text[to:])
	if a, err = zarr.At(s, "a").OpenArray(ctx, &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	if b, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(b.Data, numbers(1, 6)) {
		t.Fatalf("it holds %v, %v", b.Data, err)
	}
	expect(t, zarr.Append(ctx, a, 0, numbers(7, 1), nil), zarr.ErrInvalidArgument, "invalid-argument", "unlock")
	expect(t, a.Resize(ctx, []int64{9}, nil), zarr.ErrInvalidArgument, "invalid-argument", "unlock")
	if err := a.Unlock(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := zarr.Append(ctx, a, 0, numbers(7, 3), nil); err != nil {
		t.Fatal(err)
	}
	if b, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(b.Data, numbers(1, 9)) || !sameJSON(string(a.Metadata().ChunkGrid.Configuration), list("[4, 2, 3]")) {
		t.Errorf("%v in %s, %v", b.Data, a.Metadata().ChunkGrid.Configuration, err)
	}
}
