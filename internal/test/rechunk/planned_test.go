// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store/memstore"
)

// TestPlannedCounts compares the counts of plans with what is staged, for requests of
// every kind on chunks and on shards.
func TestPlannedCounts(t *testing.T) {
	edges := fixture.Edges(31, 28, 31)
	inShards := func(n ...int64) zarr.Spec {
		s := fixture.Edges(n...)
		s.InnerChunks = grid.Chunks(2)
		return s
	}
	for name, c := range map[string]struct {
		spec    zarr.Spec
		request rechunk.Request
		opt     rechunk.Options
	}{
		"merge chunks":      {edges, rechunk.Compaction{UpTo: 60}, rechunk.Options{}},
		"regular":           {edges, rechunk.Regularization{Chunk: []int64{30}}, rechunk.Options{}},
		"drop":              {edges, rechunk.Removal{Range: grid.Interval{Start: 10, Stop: 40}}, rechunk.Options{}},
		"insert":            {edges, rechunk.Insertion{At: 40, From: given([]int64{5}, fixture.Numbers(1000, 5))}, rechunk.Options{}},
		"other codecs":      {edges, rechunk.Rechunking{Codecs: fixture.Plain()}, rechunk.Options{}},
		"elsewhere":         {edges, rechunk.Compaction{UpTo: 60}, rechunk.Options{Into: zarr.At(memstore.New(), "b")}},
		"merge shards":      {inShards(30, 30, 30), rechunk.Compaction{UpTo: 60}, rechunk.Options{}},
		"unpack":            {inShards(30, 30, 30), rechunk.Rechunking{Unpack: true}, rechunk.Options{}},
		"pack":              {fixture.Every(90, 2), rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(30)}, Inner: rechunk.Cuts{grid.Every(2)}}, rechunk.Options{}},
		"shards across":     {inShards(30, 30, 30), rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(20)}, Inner: rechunk.Cuts{grid.Every(2)}}, rechunk.Options{}},
		"inner chunks":      {inShards(30, 30, 30), rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(30)}, Inner: rechunk.Cuts{grid.Every(5)}}, rechunk.Options{}},
		"shards elsewhere":  {inShards(30, 30, 30), rechunk.Compaction{UpTo: 60}, rechunk.Options{Into: zarr.At(memstore.New(), "b")}},
		"drop of shards":    {inShards(30, 30, 30), rechunk.Removal{Range: grid.Interval{Start: 30, Stop: 60}}, rechunk.Options{}},
		"nothing to change": {edges, rechunk.Compaction{UpTo: 31}, rechunk.Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := zarr.At(memstore.New(), "a").CreateArray(t.Context(), c.spec, nil)
			if err == nil {
				err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 90))
			}
			if err != nil {
				t.Fatal(err)
			}
			plan, err := rechunk.NewPlan(t.Context(), a, c.request, &c.opt)
			if err != nil {
				t.Fatal(err)
			}
			report, err := rechunk.Do(t.Context(), a, c.request, &c.opt)
			if err != nil {
				t.Fatal(err)
			}
			did, planned := report.Staged, plan.Counts
			// Which bytes are shared turns out when they are.
			did.BytesCopied, planned.BytesCopied = did.BytesCopied+did.BytesLinked, planned.BytesCopied+planned.BytesLinked
			did.BytesLinked, planned.BytesLinked = 0, 0
			// A plan counts the indexes of shards, which are not copied.
			if c.spec.InnerChunks != nil && did.BytesCopied <= planned.BytesCopied {
				planned.BytesCopied = did.BytesCopied
			}
			if did != planned || report.Changed != plan.Changes {
				t.Errorf("did  %+v\nplan %+v", did, planned)
			}
		})
	}
}
