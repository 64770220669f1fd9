// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/filter"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/ragged"
	"varve.dev/zarr/selection"
)

// drift is one row of the model of a ragged set.
type drift struct {
	id   int32
	lat  []float32
	name []int64
}

// drawnDrifts returns rows of up to four elements.
func drawnDrifts(r *rand.Rand) []drift {
	rows := make([]drift, r.IntN(200))
	for i := range rows {
		rows[i].id = int32(i)
		for range r.IntN(5) {
			rows[i].lat, rows[i].name = append(rows[i].lat, r.Float32()), append(rows[i].name, r.Int64N(9))
		}
	}
	return rows
}

// flat returns the columns of rows.
func flat(rows []drift) (lengths []int64, ids []int32, lat []float32, name []int64) {
	for _, row := range rows {
		lengths, ids = append(lengths, int64(len(row.lat))), append(ids, row.id)
		lat, name = append(lat, row.lat...), append(name, row.name...)
	}
	return lengths, ids, lat, name
}

// newDrifts makes a set of Varve, which is cut at rows, by appends.
func newDrifts(ctx context.Context, at *zarr.Location, r *rand.Rand, sparse bool, rows []drift) (err error) {
	var s *ragged.Set
	if sparse {
		s, err = ragged.CreateCSR(ctx, at, 9, dtype.Float32, nil)
	} else {
		s, err = ragged.Create(ctx, at, []ragged.Field{{Name: "id", Type: dtype.Int32, PerRow: true}, {Name: "data", Type: dtype.Float32}, {Name: "indices", Type: dtype.Int64}}, nil)
	}
	for len(rows) > 0 && err == nil {
		n := 1 + r.IntN(len(rows))
		lengths, ids, lat, name := flat(rows[:n])
		columns := []ragged.Column{ragged.Values("data", lat), ragged.Values("indices", name)}
		if !sparse {
			columns = append(columns, ragged.Values("id", ids))
		}
		err, rows = s.Append(ctx, lengths, columns...), rows[n:]
	}
	return err
}

// foreignDrifts makes a set of another program, whose chunks have one length, some of
// them in shards.
func foreignDrifts(ctx context.Context, at *zarr.Location, r *rand.Rand, sparse bool, rows []drift, attributes map[string]any) error {
	g, err := at.CreateGroup(ctx, attributes, nil)
	if err != nil {
		return err
	}
	lengths, ids, lat, name := flat(rows)
	spec := func(n int, typ dtype.Type, dimension string) zarr.Spec {
		s := zarr.Spec{Shape: []int64{int64(n)}, Type: typ, Chunks: grid.Chunks(8), DimensionNames: []string{dimension}}
		if r.IntN(2) == 0 {
			s.InnerChunks = grid.Chunks(4)
		}
		return s
	}
	err = errors.Join(put(ctx, g.At("data"), spec(len(lat), dtype.Float32, "obs"), lat), put(ctx, g.At("indices"), spec(len(name), dtype.Int64, "obs"), name))
	if sparse {
		offsets := []int32{0}
		for i, n := range lengths {
			offsets = append(offsets, offsets[i]+int32(n))
		}
		return errors.Join(err, put(ctx, g.At("indptr"), spec(len(offsets), dtype.Int32, "ptr"), offsets))
	}
	counts := spec(len(lengths), dtype.Int64, "row")
	counts.Attributes = map[string]string{"sample_dimension": "obs"}
	return errors.Join(err, put(ctx, g.At("row_size"), counts, lengths), put(ctx, g.At("id"), spec(len(ids), dtype.Int32, "row"), ids))
}

// TestFilteredSets filters drawn ragged sets of both layouts, of Varve and of other
// programs, and compares the rows with those of a plain list.
func TestFilteredSets(t *testing.T) {
	seeds := uint64(120)
	if racing.Detector {
		seeds = 24 // the full number runs without the race detector
		// Goroutines record chunks, as in the tests that take too long here.
		defer filter.ShortRounds(2)()
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 3))
		rows, sparse, kind := drawnDrifts(r), seed%2 == 0, "csr_matrix"
		s := memtest.New()
		attributes := map[string]any{}
		if sparse && seed%4 == 0 {
			kind = "csc_matrix"
		}
		if sparse {
			attributes = map[string]any{"encoding-type": kind, "encoding-version": "0.1.0", "shape": []int{len(rows), 9}}
			if kind == "csc_matrix" {
				attributes["shape"] = []int{9, len(rows)}
			}
		}
		from := map[string]*zarr.Location{"own": zarr.At(memtest.New(), ""), "foreign": zarr.At(s, "foreign")}
		err := newDrifts(t.Context(), from["own"], r, sparse, rows)
		if err = errors.Join(err, foreignDrifts(t.Context(), from["foreign"], r, sparse, rows, attributes)); err != nil {
			t.Fatal(err)
		}
		request, want := filter.Request{Mask: make([]bool, len(rows))}, []drift{}
		if !sparse {
			request.Dimension = "row"
		}
		few := 1 + r.IntN(4)
		for i := range rows {
			if request.Mask[i] = r.IntN(few) == 0 || i >= 10 && i < 50; request.Mask[i] {
				want = append(want, rows[i])
			}
		}
		if !sparse && seed%3 == 0 { // by a column with a value for each row
			request, want = parsed(t, "id >= 5 and id < 60"), rows[min(5, len(rows)):min(60, len(rows))]
		}
		for name, src := range from {
			opt := &filter.Options{Memory: 1 << (14 + r.IntN(12))}
			report, err := filter.Do(t.Context(), src, zarr.At(s, "of/"+name), request, opt)
			if err != nil || report.Kept != int64(len(want)) || report.Rows != int64(len(rows)) {
				t.Fatalf("seed %d, %s: %+v, %v", seed, name, report, err)
			}
			if err := sameDrifts(t.Context(), zarr.At(s, "of/"+name), sparse, want); err != nil {
				t.Fatalf("seed %d, %s: %v", seed, name, err)
			}
		}
		g, err := zarr.At(s, "of/foreign").OpenGroup(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		shape := fmt.Sprintf(`"shape":[%d,9]`, len(want))
		if kind == "csc_matrix" {
			shape = fmt.Sprintf(`"shape":[9,%d]`, len(want))
		}
		if sparse && !strings.Contains(strings.Join(strings.Fields(string(g.Attributes())), ""), shape) {
			t.Errorf("seed %d: %s, want %s", seed, g.Attributes(), shape)
		}
	}
}

// sameDrifts compares a set with rows.
func sameDrifts(ctx context.Context, at *zarr.Location, sparse bool, want []drift) error {
	g, err := at.OpenGroup(ctx, nil)
	if err != nil {
		return err
	}
	s, err := ragged.Of(ctx, g)
	if err != nil {
		return err
	}
	n := int64(len(want))
	if s.Rows() != n {
		return fmt.Errorf("%d rows, want %d", s.Rows(), n)
	}
	total := int64(0)
	lat, err := ragged.Read[float32](ctx, s, "data", 0, n)
	names, nameErr := ragged.Read[int64](ctx, s, "indices", 0, n)
	if err = errors.Join(err, nameErr); err != nil {
		return err
	}
	for i, row := range want {
		if total += int64(len(row.lat)); !slices.Equal(lat[i], row.lat) || !slices.Equal(names[i], row.name) {
			return fmt.Errorf("row %d is %v, %v, want %v", i, lat[i], names[i], row)
		}
	}
	for _, name := range []string{"data", "indices"} {
		if k := s.Field(name).Shape()[0]; k != total {
			return fmt.Errorf("%s has %d elements, want %d", name, k, total)
		}
	}
	if sparse {
		return nil
	}
	ids, err := zarr.Read[int32](ctx, s.PerRow("id"), nil)
	for i, row := range want {
		if err == nil && ids.Data[i] != row.id {
			err = fmt.Errorf("row %d is %d, want %d", i, ids.Data[i], row.id)
		}
	}
	return err
}

// TestFilterSetRefuses checks what would leave elements that belong to no row.
func TestFilterSetRefuses(t *testing.T) {
	s, ctx := memtest.New(), t.Context()
	rows := []drift{{1, []float32{1, 2}, []int64{3, 4}}, {2, nil, nil}, {3, []float32{5}, []int64{6}}}
	if err := foreignDrifts(ctx, zarr.At(s, "set"), rand.New(rand.NewPCG(1, 1)), false, rows, nil); err != nil {
		t.Fatal(err)
	}
	try := func(r filter.Request, kind zarr.Kind, words ...string) {
		t.Helper()
		_, err := filter.Do(ctx, zarr.At(s, "set"), zarr.At(s, "of"), r, nil)
		fixture.Expect(t, err, err, kind, words...)
	}
	try(filter.Request{Mask: make([]bool, 3), Dimension: "obs"}, "unsupported", "row_size", "filter the rows", `"row"`)
	byRow := filter.Request{Mask: []bool{true, false, true}, Dimension: "row"}
	// An array of elements in another group has no group with their lengths.
	spec := zarr.Spec{Shape: []int64{3}, Type: dtype.Int8, DimensionNames: []string{"obs"}}
	if _, err := zarr.At(s, "set/more/x").CreateArray(ctx, spec, nil); err != nil {
		t.Fatal(err)
	}
	try(byRow, "unsupported", "more/x", "another group")
	if err := zarr.At(s, "set/more").Delete(ctx, &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	spec.DimensionNames, spec.Attributes = []string{"event"}, map[string]string{"instance_dimension": "row"}
	if _, err := zarr.At(s, "set/of").CreateArray(ctx, spec, nil); err != nil {
		t.Fatal(err)
	}
	try(byRow, "unsupported", "set/of"[4:], "numbers of rows")
	if err := zarr.At(s, "set/of").Delete(ctx, &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	// Elements that are missing, or lengths that change meanwhile.
	h := hooked(s, func() error {
		a, err := zarr.At(s, "set/row_size").OpenArray(ctx, &zarr.Options{Write: true})
		if err == nil {
			err = zarr.Write(ctx, a, selection.Box{{0, 2}}, []int64{1, 1})
		}
		return err
	})
	_, err := filter.Do(ctx, zarr.At(h, "set"), zarr.At(h, "some"), byRow, nil)
	fixture.Expect(t, err, zarr.ErrSourceChanged, "source-changed", "the lengths of rows")
	a, err := zarr.At(s, "set/data").OpenArray(ctx, &zarr.Options{Write: true})
	if err == nil {
		err = a.Resize(ctx, []int64{2}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	try(byRow, "corrupt", "data")
}

// TestResumedSets stops filters of ragged sets before file system operations, changes an
// element, and filters again.
func TestResumedSets(t *testing.T) {
	racing.Skip(t) // many times what TestFilteredSets does, one after the other
	defer filter.ShortRounds(1)()
	for _, sparse := range []bool{false, true} {
		resumed := int64(0)
		for n := int64(0); ; n += 11 {
			rows, src, disk := drawnDrifts(rand.New(rand.NewPCG(7, 7))), located{memtest.New()}, vfs.NewDisk()
			if err := newDrifts(t.Context(), zarr.At(src, ""), rand.New(rand.NewPCG(8, 8)), sparse, rows); err != nil {
				t.Fatal(err)
			}
			request, want := filter.Request{Mask: make([]bool, len(rows))}, []drift{}
			if !sparse {
				request.Dimension = "row"
			}
			for i := range rows {
				if request.Mask[i] = i%3 > 0 || i > 40; request.Mask[i] {
					want = append(want, rows[i])
				}
			}
			if _, err := zarr.At(fixture.FileStore(disk), "").CreateGroup(t.Context(), nil, nil); err != nil {
				t.Fatal(err)
			}
			stop, stopped := vfs.StopAt(n)
			_, err := filter.Do(t.Context(), zarr.At(src, ""), zarr.At(fixture.FileStore(vfs.Hook(disk, stop)), "b"), request, nil)
			if !stopped() {
				if err != nil || resumed < 4 || n < 100 {
					t.Fatalf("%d operations, %d chunks were resumed: %v", n, resumed, err)
				}
				break
			}
			to, opt := zarr.At(fixture.FileStore(disk), "b"), new(filter.Options)
			if _, err := to.Open(t.Context(), nil); err == nil {
				opt.Overwrite = true
			}
			a, err := zarr.At(src, "data").OpenArray(t.Context(), &zarr.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(want, func(d drift) bool { return len(d.lat) > 0 })
			first := int64(0)
			for _, row := range rows[:want[at].id] {
				first += int64(len(row.lat))
			}
			want[at].lat[0] = -1
			if err := zarr.Write(t.Context(), a, selection.Box{{first, first + 1}}, []float32{-1}); err != nil {
				t.Fatal(err)
			}
			report, err := filter.Do(t.Context(), zarr.At(src, ""), to, request, opt)
			if err != nil {
				t.Fatalf("operation %d: %v", n, err)
			}
			resumed = max(resumed, report.Resumed)
			if err := sameDrifts(t.Context(), to, sparse, want); err != nil {
				t.Fatalf("operation %d: %v", n, err)
			}
		}
	}
}
