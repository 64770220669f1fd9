// SPDX-License-Identifier: Apache-2.0

package ragged_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/ragged"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

func TestMain(m *testing.M) { fixture.Main(m) }

// row is one row of the model.
type row struct {
	id    int32
	lat   []float32
	count []int64
}

// TestSets appends drawn rows to both layouts, compacts them, opens them again, and
// compares all rows with a table in memory.
func TestSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		stores := map[string]func() store.Store{
			"memory":      func() store.Store { return memstore.New() },
			"local":       func() store.Store { return fixture.FileStore(vfs.NewDisk()) },
			"conditional": func() store.Store { return fixture.Conditional(memstore.New()) },
		}
		h := zarr.At(stores[rapid.SampledFrom([]string{"memory", "local", "conditional"}).Draw(t, "store")](), "set")
		sparse := rapid.Bool().Draw(t, "sparse")
		s, err := createSet(ctx, h, sparse)
		if err != nil {
			t.Fatal(err)
		}
		var model []row
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { compare(t, s, sparse, model) },
			"append": func(t *rapid.T) {
				lengths := rapid.SliceOfN(rapid.Int64Range(0, 3), 0, 4).Draw(t, "lengths")
				rows := make([]row, len(lengths))
				for i, n := range lengths {
					rows[i].id = int32(len(model) + i)
					for k := range n {
						rows[i].lat = append(rows[i].lat, float32(100*(len(model)+i))+float32(k))
						rows[i].count = append(rows[i].count, int64(len(model)+i)-k)
					}
				}
				if err := appendRows(ctx, s, sparse, rows); err != nil {
					t.Fatal(err)
				}
				model = append(model, rows...)
			},
			"compact": func(t *rapid.T) {
				if err := s.Compact(ctx, rapid.Int64Range(1, 9).Draw(t, "up to"), nil); err != nil {
					t.Fatal(err)
				}
				checkCuts(t, s)
				for _, a := range s.Arrays() {
					if _, err := rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
						t.Fatal(err)
					}
				}
			},
			"open again": func(t *rapid.T) {
				g, err := h.OpenGroup(ctx, &zarr.Options{Write: true})
				if err == nil {
					s, err = ragged.Of(ctx, g)
				}
				if err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

func createSet(ctx context.Context, h *zarr.Location, sparse bool) (*ragged.Set, error) {
	if sparse {
		return ragged.CreateCSR(ctx, h, 50, dtype.Float32, nil)
	}
	return ragged.Create(ctx, h, []ragged.Field{
		{Name: "lat", Type: dtype.Float32, Attributes: map[string]string{"units": "degrees_north"}},
		{Name: "count", Type: dtype.Int64},
		{Name: "id", Type: dtype.Int32, PerRow: true},
	}, nil)
}

func appendRows(ctx context.Context, s *ragged.Set, sparse bool, rows []row) error {
	var lengths, counts []int64
	var lats []float32
	var ids []int32
	for _, r := range rows {
		lengths, counts, lats, ids = append(lengths, int64(len(r.lat))), append(counts, r.count...), append(lats, r.lat...), append(ids, r.id)
	}
	if sparse {
		return s.Append(ctx, lengths, ragged.Values("data", lats), ragged.Values("indices", counts))
	}
	return s.Append(ctx, lengths, ragged.Values("lat", lats), ragged.Values("count", counts), ragged.Values("id", ids))
}

func compare(t rapid.TB, s *ragged.Set, sparse bool, model []row) {
	t.Helper()
	ctx := context.Background()
	lat, count := "lat", "count"
	if sparse {
		lat, count = "data", "indices"
	}
	if s.Rows() != int64(len(model)) {
		t.Fatalf("%d rows, want %d", s.Rows(), len(model))
	}
	lats, err := ragged.Read[float32](ctx, s, lat, 0, s.Rows())
	counts, errCounts := ragged.Read[int64](ctx, s, count, 0, s.Rows())
	if err := errors.Join(err, errCounts); err != nil {
		t.Fatal(err)
	}
	for i, r := range model {
		if !slices.Equal(lats[i], r.lat) || !slices.Equal(counts[i], r.count) {
			t.Fatalf("row %d is %v and %v, want %v", i, lats[i], counts[i], r)
		}
	}
	at := int64(0)
	for first, end := range s.Blocks() {
		if first != at || end <= first {
			t.Fatalf("a block from %d to %d, want one from %d on", first, end, at)
		}
		at = end
	}
	if at != s.Rows() {
		t.Fatalf("blocks end at %d of %d", at, s.Rows())
	}
	if id := s.PerRow("id"); id != nil {
		b, err := zarr.Read[int32](ctx, id, nil)
		if err != nil || len(b.Data) != len(model) || len(model) > 0 && b.Data[len(model)-1] != model[len(model)-1].id {
			t.Fatalf("%v, %v", b.Data, err)
		}
	}
}

// checkCuts checks that the chunks of all arrays are cut at the same rows.
func checkCuts(t rapid.TB, s *ragged.Set) {
	t.Helper()
	var want []int64
	lengths, err := s.Lengths(0, s.Rows())
	if err != nil {
		t.Fatal(err)
	}
	at := int64(0)
	for first, end := range s.Blocks() {
		for _, n := range lengths[first:end] {
			at += n
		}
		if len(want) == 0 && at > 0 || len(want) > 0 && at > want[len(want)-1] {
			want = append(want, at)
		}
	}
	for _, name := range s.Fields() {
		var cuts []int64
		at := int64(0)
		for run := range s.Field(name).Grid().Axis(0).Logical() {
			for range run.Count {
				at += run.Length
				cuts = append(cuts, at)
			}
		}
		if !slices.Equal(cuts, want) {
			t.Fatalf("%s is cut at %v, the rows at %v", name, cuts, want)
		}
	}
}

// TestRagged is the motivation "ragged and sparse data" of ZEP 3: rows of unequal lengths
// in arrays that are cut at the same rows, so a block of rows is one request of each
// array.
func TestRagged(t *testing.T) {
	ctx := context.Background()
	counter := new(observe.Counter)
	h := zarr.At(memstore.New(), "")
	s := fixture.Must(createSet(ctx, h, false))
	for i := range int32(3) {
		rows := []row{{3 * i, []float32{1, 2}, []int64{1, 2}}, {3*i + 1, nil, nil}, {3*i + 2, []float32{float32(i)}, []int64{int64(i)}}}
		if err := appendRows(ctx, s, false, rows); err != nil {
			t.Fatal(err)
		}
	}
	s = fixture.Must(ragged.Of(ctx, fixture.Must(h.OpenGroup(ctx, &zarr.Options{Observer: counter}))))
	before := counter.Stats()
	for first, end := range s.Blocks() {
		if _, err := ragged.Read[float32](ctx, s, "lat", first, end); err != nil {
			t.Fatal(err)
		}
	}
	if n := counter.Stats().Sub(before).Of(observe.Get).Times; n != 3 {
		t.Errorf("%d requests for three blocks", n)
	}
}

// TestRivals appends to one set from several sets at once: no row is lost, doubled or
// torn.
func TestRivals(t *testing.T) {
	ctx := context.Background()
	for name, st := range map[string]store.Store{"locks": fixture.FileStore(vfs.NewDisk()), "conditions": fixture.Conditional(memstore.New())} {
		for _, sparse := range []bool{false, true} {
			t.Run(fmt.Sprint(name, sparse), func(t *testing.T) {
				h := zarr.At(st, fmt.Sprint("set", sparse))
				fixture.Must(createSet(ctx, h, sparse))
				var wg sync.WaitGroup
				errs := make([]error, 4)
				for w := range errs {
					wg.Go(func() {
						g, err := h.OpenGroup(ctx, &zarr.Options{Write: true})
						var s *ragged.Set
						if err == nil {
							s, err = ragged.Of(ctx, g)
						}
						for i := 0; i < 5 && err == nil; i++ {
							n := w // the first writer has only rows without elements
							err = appendRows(ctx, s, sparse, []row{{int32(w), slices.Repeat([]float32{float32(w)}, n), slices.Repeat([]int64{int64(w)}, n)}})
							if errors.Is(err, zarr.ErrConflict) {
								err = nil // others came first each time
							}
						}
						errs[w] = err
					})
				}
				wg.Wait()
				if err := errors.Join(errs...); err != nil {
					t.Fatal(err)
				}
				s := fixture.Must(ragged.Of(ctx, fixture.Must(h.OpenGroup(ctx, nil))))
				field := "lat"
				if sparse {
					field = "data"
				}
				rows := fixture.Must(ragged.Read[float32](ctx, s, field, 0, s.Rows()))
				for i, r := range rows {
					if len(r) > 0 && (len(r) != int(r[0]) || slices.Max(r) != slices.Min(r)) {
						t.Errorf("row %d is %v", i, r)
					}
				}
				if len(rows) < 5 || len(rows) > 20 {
					t.Errorf("%d rows", len(rows))
				}
			})
		}
	}
}

// TestRefused has sets and rows that are none.
func TestRefused(t *testing.T) {
	ctx := context.Background()
	h := zarr.At(memstore.New(), "")
	g := fixture.Must(h.At("none").CreateGroup(ctx, nil, nil))
	if _, err := ragged.Of(ctx, g); !errors.Is(err, zarr.ErrUnsupported) || !strings.Contains(err.Error(), "sample_dimension") {
		t.Error(err)
	}
	g = fixture.Must(h.At("half").CreateGroup(ctx, map[string]string{"encoding-type": "csr_matrix"}, nil))
	if _, err := ragged.Of(ctx, g); !errors.Is(err, zarr.ErrInvalidMetadata) {
		t.Error(err)
	}
	s := fixture.Must(createSet(ctx, h.At("set"), false))
	for name, err := range map[string]error{
		"too few values": s.Append(ctx, []int64{2}, ragged.Values("lat", []float32{1}), ragged.Values("count", []int64{1, 2}), ragged.Values("id", []int32{1})),
		"a column less":  s.Append(ctx, []int64{1}, ragged.Values("lat", []float32{1})),
		"unknown":        s.Append(ctx, []int64{1}, ragged.Values("x", []float32{1})),
		"twice":          s.Append(ctx, []int64{1}, ragged.Values("lat", []float32{1}), ragged.Values("lat", []float32{1})),
		"negative":       s.Append(ctx, []int64{-1}),
		"other type":     s.Append(ctx, []int64{1}, ragged.Values("lat", []float64{1}), ragged.Values("count", []int64{1}), ragged.Values("id", []int32{1})),
	} {
		if !errors.Is(err, zarr.ErrInvalidArgument) || s.Rows() != 0 {
			t.Errorf("%s: %v, %d rows", name, err, s.Rows())
		}
	}
	if _, err := ragged.Read[float32](ctx, s, "lat", 0, 1); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Error(err)
	}
	if _, err := ragged.Read[float32](ctx, s, "none", 0, 0); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Error(err)
	}
}

// TestDamagedRows has offsets and lengths that contradict the elements.
func TestDamagedRows(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		sparse bool
		rows   []int64
	}{
		"backwards": {true, []int64{0, 3, 2}}, "beyond": {true, []int64{0, 9, 10}}, "negative": {false, []int64{2, -1}}, "too long": {false, []int64{2, 9}},
		"overflow": {false, []int64{1<<63 - 1, 1}},
	} {
		h := zarr.At(memstore.New(), "")
		s := fixture.Must(createSet(ctx, h, c.sparse))
		rows := []row{{1, []float32{1, 2}, []int64{1, 2}}, {2, []float32{3}, []int64{3}}}
		if err := appendRows(ctx, s, c.sparse, rows); err != nil {
			t.Fatal(err)
		}
		array := map[bool]string{true: "indptr", false: "row_size"}[c.sparse]
		a := fixture.Must(h.At(array).OpenArray(ctx, &zarr.Options{Write: true}))
		if err := zarr.Write(ctx, a, nil, c.rows); err != nil {
			t.Fatal(err)
		}
		if _, err := ragged.Of(ctx, fixture.Must(h.OpenGroup(ctx, nil))); !errors.Is(err, zarr.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
