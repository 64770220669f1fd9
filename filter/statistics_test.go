// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"os"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/filter"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/statistics"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// TestReadsWhatMatches filters a table whose rows are clustered. With statistics, it
// reads hardly more than the chunks that match.
func TestReadsWhatMatches(t *testing.T) {
	chunks, edge := int64(1500), int64(500)
	if os.Getenv("VARVE_LONG") != "" {
		chunks = 100_000
	}
	for name, spec := range map[string]zarr.Spec{
		"chunks": {Chunks: grid.Chunks(edge)},
		"shards": {Chunks: grid.Chunks(100 * edge), InnerChunks: grid.Chunks(edge)},
	} {
		t.Run(name, func(t *testing.T) { countReads(t, spec, chunks, edge) })
	}
}

func countReads(t *testing.T, spec zarr.Spec, chunks, edge int64) {
	ctx, s := t.Context(), memstore.New()
	spec.Shape, spec.Type, spec.DimensionNames = []int64{chunks * edge}, dtype.Float64, []string{"row"}
	at := zarr.At(s, "t/x")
	if _, err := zarr.At(s, "t").CreateGroup(ctx, nil, nil); err != nil {
		t.Fatal(err)
	}
	values := make([]float64, spec.Shape[0])
	for i := range values {
		values[i] = float64(i) + 0.125*float64(i*i%7)
	}
	if err := put(ctx, at, spec, values); err != nil {
		t.Fatal(err)
	}
	a, err := at.OpenArray(ctx, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	first, last := 0.4*float64(len(values)), 0.45*float64(len(values))
	request := parsed(t, fmt.Sprintf("x >= %g and x < %g", first, last))
	plan := func() (*filter.Plan, int64, int64) {
		count := new(observe.Counter)
		opt := &filter.Options{}
		opt.Observer = count
		p, err := filter.NewPlan(ctx, zarr.At(s, "t"), zarr.At(memstore.New(), ""), request, opt)
		if err != nil {
			t.Fatal(err)
		}
		stats := count.Stats()
		return p, stats.Of(observe.Get).Bytes + stats.Of(observe.Read).Bytes, stats.Of(observe.Decode).Times
	}
	was, all, _ := plan()
	if _, err := statistics.Make(ctx, a, nil); err != nil {
		t.Fatal(err)
	}
	is, bytes, decoded := plan()
	if is.Kept != was.Kept || is.Counts != was.Counts {
		t.Fatalf("%v with statistics, %v without", is, was)
	}
	matching := all * is.Kept / is.Rows
	t.Logf("%d of %d rows: read %d bytes of %d in %d chunks, %d match", is.Kept, is.Rows, bytes, all, decoded, matching)
	if bytes > 2*matching || decoded > chunks/50 {
		t.Errorf("read %d bytes, %d match; decoded %d chunks", bytes, matching, decoded)
	}
	// Another program writes a chunk that did not match: only that one is read as well.
	if err := zarr.Write(ctx, a, selection.Box{{7, 8}}, []float64{first + 1}); err != nil {
		t.Fatal(err)
	}
	if p, _, again := plan(); p.Kept != is.Kept+1 || again <= decoded || again > decoded+101 {
		t.Errorf("after a write: %v, %d chunks decoded, %d before", p, again, decoded)
	}
}
