// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// TestDistributions is the motivation "parts with different distributions" of ZEP 3:
// events sorted by the place where they were seen, most of them at few places. In chunks
// of one length, a place is spread over several, or shares one with others. A rechunk
// gives each place a chunk, and reading it takes one request. Rare places then share one.
func TestDistributions(t *testing.T) {
	ctx := t.Context()
	counts := []int64{3, 170, 1, 2, 55, 1, 1, 90, 4} // events at each place
	events := int64(0)
	for _, n := range counts {
		events += n
	}
	counter := new(observe.Counter)
	a, err := zarr.At(memstore.New(), "events").CreateArray(ctx, fixture.Every(events, 64), &zarr.CreateOptions{Options: zarr.Options{Observer: counter}})
	if err == nil {
		err = zarr.Write(ctx, a, nil, fixture.Numbers(1, int32(events)))
	}
	if err != nil {
		t.Fatal(err)
	}
	// read reads every place, and returns the requests that this took and the bytes.
	read := func() (requests, bytes int64) {
		t.Helper()
		before, from := counter.Stats(), int64(0)
		for _, n := range counts {
			got, err := zarr.Read[int32](ctx, a, selection.Box{{from, from + n}})
			if err != nil || !slices.Equal(got.Data, fixture.Numbers(1+int32(from), int32(n))) {
				t.Fatalf("events %d to %d: %v", from, from+n, err)
			}
			from += n
		}
		got := counter.Stats().Sub(before).Of(observe.Get)
		return got.Times, got.Bytes
	}
	was, bytesBefore := read()
	if _, err := rechunk.Do(ctx, a, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Edges(counts...)}}, nil); err != nil {
		t.Fatal(err)
	}
	is, bytesAfter := read()
	if is > int64(len(counts))+1 || is >= was || bytesAfter > bytesBefore { // and a look at the document
		t.Errorf("%d requests of %d bytes for %d places, and %d of %d bytes before", is, bytesAfter, len(counts), was, bytesBefore)
	}
	if _, err := rechunk.Do(ctx, a, rechunk.Compaction{UpTo: 60}, nil); err != nil {
		t.Fatal(err)
	}
	if read(); a.Grid().Axis(0).Chunks() >= int64(len(counts)) || a.Grid().Axis(0).Longest(grid.Interval{Stop: 3}) != 170 {
		t.Errorf("chunks %v", a.Grid())
	}
}
