// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store/memstore"
)

// way is a rechunk, and the numbers of chunks that it results in.
type way struct {
	request rechunk.Request
	chunks  []int64
}

// tale is an array as real data make it: its spec, the planes of each append along the
// first axis, and the ways in which it is then rechunked, one after the other.
type tale[T int8 | int64 | float32] struct {
	spec    zarr.Spec
	appends []int64
	ways    []way
}

// value returns the value of an element by its place in C order.
func (c tale[T]) value(i int64) T { return T(1 + i%101) }

// tell makes the array, rechunks it, and compares all elements each time: for the array,
// for a program that opens it then, and for one that has opened it before.
func (c tale[T]) tell(t *testing.T) {
	t.Helper()
	s := memstore.New()
	c.spec.Type = dtype.Of[T]()
	a, err := zarr.At(s, "a").CreateArray(t.Context(), c.spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	plane, at := fixture.Count(c.spec.Shape[1:]), int64(0)
	numbers := func(n int64) []T {
		list := make([]T, n)
		for i := range list {
			list[i] = c.value(at + int64(i))
		}
		return list
	}
	for _, n := range c.appends {
		if err := zarr.Append(t.Context(), a, 0, numbers(n*plane), &zarr.AppendOptions{RoundUp: true}); err != nil {
			t.Fatal(err)
		}
		at += n * plane
	}
	total := at
	at = 0
	want := numbers(total)
	check := func(who string, a *zarr.Array) {
		t.Helper()
		if b, err := zarr.Read[T](t.Context(), a, nil); err != nil || !slices.Equal(b.Data, want) {
			t.Fatalf("%s reads other elements (%v)", who, err)
		}
	}
	check("the writer", a)
	for i, w := range c.ways {
		before := fixture.Must(zarr.At(s, "a").OpenArray(t.Context(), nil))
		r, err := rechunk.Do(t.Context(), a, w.request, nil)
		if errors.Is(err, rechunk.ErrNoKeys) {
			if _, err = rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1}); err == nil {
				r, err = rechunk.Do(t.Context(), a, w.request, nil)
			}
		}
		if err != nil || !r.Changed {
			t.Fatalf("way %d: %+v (%v)", i, r, err)
		}
		if got := a.Grid().Chunks(); !slices.Equal(got, w.chunks) {
			t.Errorf("way %d: %v chunks, want %v: %s", i, got, w.chunks, a)
		}
		check(fmt.Sprintf("way %d: the array", i), a)
		check(fmt.Sprintf("way %d: a reader from before", i), before)
		check(fmt.Sprintf("way %d: a new reader", i), fixture.Must(zarr.At(s, "a").OpenArray(t.Context(), nil)))
	}
}

// startsOf returns the calendar of an axis of n evenly spaced times.
func startsOf(t *testing.T, start, step string, unit calendar.Unit, n int64) *rechunk.Calendar {
	t.Helper()
	s, err := calendar.ParseSteps(start, step, "standard")
	if err != nil {
		t.Fatal(err)
	}
	edges, err := s.Buckets(unit).Edges(n)
	if err != nil {
		t.Fatal(err)
	}
	c := &rechunk.Calendar{Until: n}
	for at, i := int64(0), 0; i < len(edges); i++ {
		c.Starts = append(c.Starts, at)
		at += edges[i]
	}
	return c
}

// chromosomes are the lengths of those of GRCh38: 1 to 22, X and Y.
var chromosomes = []int64{
	248956422, 242193529, 198295559, 190214555, 181538259, 170805979, 159345973, 145138636, 138394717, 133797422, 135086622, 133275309,
	114364328, 107043718, 101991189, 90338345, 83257441, 80373285, 58617616, 64444167, 46709983, 50818468, 156040895, 57227415,
}

// TestTales rechunks arrays as real data make them, scaled down, in several ways.
func TestTales(t *testing.T) {
	t.Run("ERA5", func(t *testing.T) { // a year of six-hourly fields, appended by the day
		n := int64(365 * 4)
		tale[float32]{
			spec:    zarr.Spec{Shape: []int64{0, 9, 16}, Chunks: []grid.Cut{grid.Edges(), grid.Every(9), grid.Every(16)}},
			appends: slices.Repeat([]int64{4}, 365),
			ways: []way{
				{rechunk.Compaction{Calendar: startsOf(t, "2023-01-01", "6h", calendar.Month, n)}, []int64{12, 1, 1}},
				{rechunk.Compaction{Calendar: startsOf(t, "2023-01-01", "6h", calendar.Year, n)}, []int64{1, 1, 1}},
				{rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(n), grid.Every(3), grid.Every(4)}}, []int64{1, 3, 4}},
				{rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(124), grid.Every(9), grid.Every(16)}, Inner: rechunk.Cuts{grid.Every(4), grid.Every(9), grid.Every(16)}}, []int64{12, 1, 1}},
				{rechunk.Rechunking{Unpack: true}, []int64{365, 1, 1}},
				{rechunk.Regularization{Chunk: []int64{100, 5, 7}}, []int64{15, 2, 3}},
			},
		}.tell(t)
	})
	t.Run("ERA5 in shards", func(t *testing.T) { // of days, which become months without decoding
		n := int64(365 * 4)
		tale[float32]{
			spec: zarr.Spec{
				Shape: []int64{0, 9, 16}, Chunks: []grid.Cut{grid.Edges(4), grid.Every(9), grid.Every(16)},
				InnerChunks: grid.Chunks(4, 9, 8),
			},
			appends: slices.Repeat([]int64{4}, 365),
			ways: []way{
				{rechunk.Compaction{Calendar: startsOf(t, "2023-01-01", "6h", calendar.Month, n), LeaveTail: 31}, []int64{11 + 31, 1, 1}},
				{rechunk.Compaction{Calendar: startsOf(t, "2023-01-01", "6h", calendar.Month, n)}, []int64{12, 1, 1}},
				{rechunk.Compaction{UpTo: n}, []int64{1, 1, 1}},
				{rechunk.Regularization{Chunk: []int64{124, 9, 16}}, []int64{12, 1, 1}},
			},
		}.tell(t)
	})
	t.Run("gridMET", func(t *testing.T) { // daily fields, a file for each year
		n := int64(365 + 366 + 3*365 + 366)
		tale[float32]{
			spec:    zarr.Spec{Shape: []int64{0, 5, 7}, Chunks: []grid.Cut{grid.Edges(), grid.Every(5), grid.Every(4)}},
			appends: []int64{365, 366, 365, 365, 365, 366},
			ways: []way{
				{rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Runs(grid.Run{Length: 31, Count: 70}, grid.Run{Length: 22, Count: 1}), grid.Every(5), grid.Every(4)}}, []int64{71, 1, 2}},
				{rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Edges(365, 366, 365, 365, 365, 366), grid.Every(5), grid.Every(7)}}, []int64{6, 1, 1}},
				{rechunk.Compaction{Calendar: &rechunk.Calendar{Starts: []int64{0, 365 + 366, 4*365 + 1}, Until: n}}, []int64{3, 1, 1}},
				{rechunk.Compaction{Edges: []grid.Run{{Length: n, Count: 1}}}, []int64{1, 1, 1}},
				{rechunk.Regularization{Chunk: []int64{366, 5, 7}}, []int64{6, 1, 1}},
			},
		}.tell(t)
	})
	t.Run("GRCh38", func(t *testing.T) { // one chunk for each chromosome
		var lengths []int64
		for _, n := range chromosomes {
			lengths = append(lengths, n/200_000)
		}
		tale[int8]{
			spec:    zarr.Spec{Shape: []int64{0}, Chunks: []grid.Cut{grid.Edges()}},
			appends: lengths,
			ways: []way{
				{rechunk.Compaction{UpTo: 2500}, []int64{8}},
				{rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Edges(lengths...)}}, []int64{24}},
				{rechunk.Regularization{Chunk: []int64{1000}}, []int64{16}},
				{rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(4096)}, Inner: rechunk.Cuts{grid.Every(128)}}, []int64{4}},
			},
		}.tell(t)
	})
	t.Run("GRCh38 in shards", func(t *testing.T) { // of whole inner chunks
		var lengths []int64
		for _, n := range chromosomes {
			lengths = append(lengths, n/200_000/16*16)
		}
		tale[int8]{
			spec:    zarr.Spec{Shape: []int64{0}, Chunks: []grid.Cut{grid.Edges(lengths[0])}, InnerChunks: grid.Chunks(16)},
			appends: lengths,
			ways: []way{
				{rechunk.Compaction{Bytes: 3 << 10}, []int64{6}},
				{rechunk.Rechunking{Unpack: true}, []int64{952}},
				{rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Edges(lengths...)}, Inner: rechunk.Cuts{grid.Every(16)}, IndexAtStart: true}, []int64{24}},
			},
		}.tell(t)
	})
	t.Run("HEALPix", func(t *testing.T) { // cells of an ocean, one chunk for each parent
		r := rand.New(rand.NewPCG(76, 4096))
		var parents []int64
		for range 76 {
			parents = append(parents, min(256, 1+r.Int64N(300)))
		}
		sum := int64(0)
		for _, n := range parents {
			sum += n
		}
		whole := (sum + 255) / 256
		tale[int64]{
			spec:    zarr.Spec{Shape: []int64{0}, Chunks: []grid.Cut{grid.Edges()}},
			appends: parents,
			ways: []way{
				{rechunk.Regularization{Chunk: []int64{256}}, []int64{whole}},
				{rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Edges(parents...)}}, []int64{76}},
				{rechunk.Compaction{UpTo: sum, LeaveTail: 1}, []int64{2}},
			},
		}.tell(t)
	})
	t.Run("ROMS", func(t *testing.T) { // the domains of ranks, on two axes
		domains := grid.Edges(10, 8, 8, 8, 10)
		tale[float32]{
			spec:    zarr.Spec{Shape: []int64{0, 44, 44}, Chunks: []grid.Cut{grid.Every(1), domains, domains}},
			appends: []int64{1, 1, 2},
			ways: []way{
				{rechunk.Compaction{Axis: 1, UpTo: 18}, []int64{4, 3, 5}},
				{rechunk.Compaction{Axis: 2, UpTo: 44}, []int64{4, 3, 1}},
				{rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(2), domains, domains}}, []int64{2, 5, 5}},
				{rechunk.Regularization{Chunk: []int64{4, 11, 22}}, []int64{1, 4, 2}},
			},
		}.tell(t)
	})
}
