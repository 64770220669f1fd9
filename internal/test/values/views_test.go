// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// block432 is an array of 4×3×2 numbers, starting at 0, with names for two of its axes.
func block432(t testing.TB, s store.Store) *zarr.Array {
	t.Helper()
	a, err := zarr.At(s, "").CreateArray(context.Background(), zarr.Spec{
		Shape: []int64{4, 3, 2}, Type: dtype.Int32, Chunks: grid.Chunks(3, 2, 2),
		DimensionNames: []string{"time", "lat", ""},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(context.Background(), a, nil, fixture.Numbers(0, 24)); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestViewNames(t *testing.T) {
	ctx := t.Context()
	a := block432(t, memtest.New())
	v := fixture.Must(a.View(selection.Named{"lat": selection.List(2, 0, 0)}))
	v = fixture.Must(v.Transpose(1, 2, 0))
	if got := v.DimensionNames(); !slices.Equal(got, []string{"lat", "", "time"}) || !slices.Equal(v.Shape(), []int64{3, 2, 4}) || v.Rank() != 3 {
		t.Fatalf("%q, %v", got, v.Shape())
	}
	v = fixture.Must(v.View(selection.Named{"time": selection.At(-1)}))
	if got := v.DimensionNames(); !slices.Equal(got, []string{"lat", ""}) {
		t.Fatalf("%q", got)
	}
	b, err := zarr.Read[int32](ctx, v, selection.Basic{selection.All(), selection.At(1)})
	if err != nil || !slices.Equal(b.Data, []int32{23, 19, 19}) {
		t.Errorf("%v, %v", b, err)
	}
	points := fixture.Must(v.View(selection.Points{selection.Coords(0, 1), selection.Coords(1, 0)}))
	if points.DimensionNames() != nil {
		t.Errorf("points have the names %q", points.DimensionNames())
	}
}

// TestViewErrors selects from views what is outside of them.
func TestViewErrors(t *testing.T) {
	a := block432(t, memtest.New())
	v := fixture.Must(a.View(selection.Basic{selection.Span(1, 3)}))
	for name, sel := range map[string]selection.Selection{
		"beyond the view": selection.Basic{selection.At(2)}, "too many axes": selection.Box{{0, 1}, {0, 1}, {0, 1}, {0, 1}},
		"another mask": selection.Mask{Shape: []int64{4, 3, 2}, Data: make([]bool, 24)}, "blocks of a view": selection.Blocks{},
		"no such name": selection.Named{"lon": selection.At(0)}, "fields of numbers": selection.Fields{Names: []string{"a"}},
	} {
		if _, err := v.View(sel); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, axes := range [][]int{{0}, {0, 1, 1}, {0, 1, 3}, {0, 1, -1}} {
		if _, err := v.Transpose(axes...); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("transposed by %d: %v", axes, err)
		}
	}
	if _, err := a.View(selection.Blocks{Inner: true}); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Errorf("inner chunks of an array without shards: %v", err)
	}
}

// TestViewAndGrowth makes views of an array that grows and shrinks. They keep their
// elements as long as these are in the array.
func TestViewAndGrowth(t *testing.T) {
	ctx := t.Context()
	a := block432(t, memtest.New())
	last := fixture.Must(a.View(selection.Basic{selection.At(-1)}))
	mask := fixture.Must(a.View(selection.Mask{Shape: []int64{4, 3, 2}, Data: slices.Concat([]bool{true}, make([]bool, 22), []bool{true})}))
	if err := a.Resize(ctx, []int64{6, 5, 2}, nil); err != nil {
		t.Fatal(err)
	}
	check := func(v *zarr.View, want ...int32) {
		t.Helper()
		if b, err := zarr.Read[int32](ctx, v, nil); err != nil || !slices.Equal(b.Data, want) {
			t.Errorf("%v, want %v (%v)", b.Data, want, err)
		}
	}
	check(last, 18, 19, 20, 21, 22, 23)
	check(mask, 0, 23)
	if err := a.Resize(ctx, []int64{3, 3, 2}, nil); err != nil {
		t.Fatal(err)
	}
	for _, v := range []*zarr.View{last, mask} {
		if _, err := zarr.Read[int32](ctx, v, nil); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("reading removed elements: %v", err)
		}
	}
}

// TestViewReadsNothing makes views of an array, which must not read chunks.
func TestViewReadsNothing(t *testing.T) {
	s := &fixture.Noted{Store: memtest.New()}
	v := fixture.Must(block432(t, s).View(selection.Basic{selection.Span(0, 2)}))
	v = fixture.Must(v.View(selection.Orthogonal{selection.List(1, 0)}))
	v = fixture.Must(v.Transpose())
	s.Gets = nil
	if fixture.Must(v.View(selection.Points{selection.Coords(0, 1), selection.Coords(0), selection.Coords(1)})); len(s.Gets) > 0 {
		t.Errorf("views read %v", s.Gets)
	}
}

func TestStridedErrors(t *testing.T) {
	ctx := t.Context()
	a := block432(t, memtest.New())
	sel := selection.Basic{selection.At(0)}
	for _, tt := range []struct {
		name    string
		n       int
		strides []int64
	}{
		{"too few strides", 100, []int64{1}}, {"too short", 5, []int64{2, 1}}, {"negative", 100, []int64{2, -1}},
		{"overlapping", 100, []int64{1, 1}}, {"one place", 100, []int64{0, 1}}, {"overflow", 100, []int64{1 << 62, 1}},
	} {
		if err := zarr.ReadStrided(ctx, a, sel, make([]int32, tt.n), tt.strides); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if err := zarr.WriteStrided(ctx, a, nil, fixture.Numbers(5, 3), []int64{0, 1, 0}); err != nil {
		t.Fatal(err)
	}
	want := slices.Repeat([]int32{5, 5, 6, 6, 7, 7}, 4)
	if b, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(b.Data, want) {
		t.Errorf("broadcast: %v (%v)", b.Data, err)
	}
	if err := zarr.WriteStrided(ctx, a, sel, fixture.Numbers(0, 5), []int64{2, 1}); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Errorf("too short to write: %v", err)
	}
}

// slowGets is a store that counts concurrent reads, and fails on demand.
type slowGets struct {
	memtest.Store
	current, most, gets atomic.Int64
	fail                atomic.Bool
}

func (s *slowGets) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	n := s.current.Add(1)
	defer s.current.Add(-1)
	s.gets.Add(1)
	s.most.Store(max(s.most.Load(), n))
	runtime.Gosched()
	if s.fail.Load() && key.Base() != "zarr.json" {
		return nil, store.Info{}, fs.ErrPermission
	}
	return s.Store.Get(ctx, key, q, dst)
}

// TestPiecesEnd ends loops over pieces: by a break, by a cancelled context and by an
// error of the store. No read follows, few chunks were read ahead, and an error is
// yielded once. TestMain of the package checks that no goroutine is left.
func TestPiecesEnd(t *testing.T) {
	s := &slowGets{Store: memtest.New()}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a, err := zarr.At(s, "").CreateArray(ctx, zarr.Spec{Shape: []int64{1000}, Type: dtype.Int32, Chunks: grid.Chunks(10)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(ctx, a, nil, fixture.Numbers(0, 1000)); err != nil {
		t.Fatal(err)
	}
	s.gets.Store(0)
	for range zarr.Pieces[int32](ctx, a, nil) {
		break
	}
	if n := s.gets.Load(); n > 40 {
		t.Errorf("%d chunks were read for the first", n)
	}
	n := 0
	for p, err := range zarr.Pieces[int32](ctx, a, selection.Basic{selection.Stepped(selection.Open, selection.Open, -3)}) {
		if err != nil || p.Data[0]%3 != 0 {
			t.Fatal(p.Data, err)
		}
		if n += len(p.Data); n > 20 {
			s.fail.Store(true)
			break
		}
	}
	count, errs := 0, 0
	for _, err := range zarr.Pieces[int32](ctx, a, nil) {
		if count++; err != nil {
			errs++
			if !errors.Is(err, fs.ErrPermission) {
				t.Error(err)
			}
		}
	}
	if count != 1 || errs != 1 {
		t.Errorf("%d iterations, %d errors", count, errs)
	}
	s.fail.Store(false)
	count, errs = 0, 0
	for _, err := range zarr.Pieces[int32](ctx, a, nil) {
		if err != nil {
			if errs++; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			continue
		}
		if count++; count == 5 {
			cancel()
		}
	}
	if errs != 1 || count > 40 {
		t.Errorf("%d iterations, %d errors after cancelling", count, errs)
	}
	for _, err := range zarr.Pieces[int64](t.Context(), a, nil) {
		if !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Error(err)
		}
	}
}

// TestPiecesBudget checks that reading ahead stays within the budget.
func TestPiecesBudget(t *testing.T) {
	s := &slowGets{Store: memtest.New()}
	a, err := zarr.At(s, "").CreateArray(t.Context(), zarr.Spec{Shape: []int64{1000}, Type: dtype.Int32, Chunks: grid.Chunks(10)},
		&zarr.CreateOptions{Options: zarr.Options{Budget: 100}}) // a little more than one piece
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(t.Context(), a, nil, fixture.Numbers(0, 1000)); err != nil {
		t.Fatal(err)
	}
	s.most.Store(0)
	n := 0
	for p, err := range zarr.Pieces[int32](t.Context(), a, nil) {
		if err != nil {
			t.Fatal(err)
		}
		n += len(p.Data)
	}
	if n != 1000 || s.most.Load() != 1 {
		t.Errorf("%d elements, up to %d chunks at a time", n, s.most.Load())
	}
}

// TestConcurrentPoints lets several writers write points to the same chunks and shards
// of a store with conditional writes. No write is lost.
func TestConcurrentPoints(t *testing.T) {
	for name, inner := range map[string][]grid.Cut{"chunks": nil, "shards": {grid.Every(5)}} {
		t.Run(name, func(t *testing.T) {
			const writers, each = 8, 50
			under := memtest.New()
			spec := zarr.Spec{Shape: []int64{writers * each}, Type: dtype.Int32, Chunks: grid.Chunks(100), InnerChunks: inner}
			if _, err := zarr.At(under, "").CreateArray(t.Context(), spec, nil); err != nil {
				t.Fatal(err)
			}
			var group sync.WaitGroup
			for w := range writers {
				group.Go(func() {
					a, err := zarr.At(stepping.Conditional(under, stepping.Hooks{}), "").OpenArray(t.Context(), &zarr.Options{Write: true})
					if err != nil {
						t.Error(err)
						return
					}
					at, values := make([]int64, each), make([]int32, each)
					for i := range at {
						at[i] = int64((each-1-i)*writers + w)
						values[i] = int32(at[i]) + 1
					}
					for i := range 5 {
						part := slices.Concat(at[10*i:][:10], at[10*i:][:10]) // the last write of a point wins
						if err := zarr.Write(t.Context(), a, selection.Orthogonal{selection.List(part...)}, slices.Concat(make([]int32, 10), values[10*i:][:10])); err != nil {
							t.Error(err)
						}
					}
				})
			}
			group.Wait()
			a := fixture.Must(zarr.At(under, "").OpenArray(t.Context(), nil))
			if b, err := zarr.Read[int32](t.Context(), a, nil); err != nil || !slices.Equal(b.Data, fixture.Numbers(1, writers*each)) {
				t.Errorf("%v (%v)", b.Data, err)
			}
		})
	}
}
