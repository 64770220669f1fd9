// SPDX-License-Identifier: Apache-2.0

package statistics_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/statistics"
	"varve.dev/zarr/store/memstore"
)

func TestMain(m *testing.M) { fixture.Main(m) }

// Statistics are made once. The writes that follow keep them in step.
func Example() {
	ctx := context.Background()
	a, err := zarr.At(memstore.New(), "depth").CreateArray(ctx, zarr.Spec{
		Shape: []int64{6}, Chunks: grid.Chunks(3), Type: dtype.Int16, Attributes: map[string]any{"_FillValue": -1},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, depths := range [][]int16{{12, 40, -1, 31, 8, 8}, {12, 40, -1, 31, 9, 250}} {
		if err := zarr.Write(ctx, a, nil, depths); err != nil {
			log.Fatal(err)
		}
		report, err := statistics.Make(ctx, a, nil)
		if err != nil {
			log.Fatal(err)
		}
		known, err := statistics.Known(ctx, a)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("read %d of %d chunks\n", report.Read, report.Chunks)
		for cell, s := range known {
			least, most := a.Type().AppendText(nil, s.Minimum), a.Type().AppendText(nil, s.Maximum)
			fmt.Printf("chunk %d: %s to %s, %d of %d missing\n", cell, least, most, s.Missing, s.Elements)
		}
	}
	// Output:
	// read 2 of 2 chunks
	// chunk [0]: 12 to 40, 1 of 3 missing
	// chunk [1]: 8 to 31, 0 of 3 missing
	// read 0 of 2 chunks
	// chunk [0]: 12 to 40, 1 of 3 missing
	// chunk [1]: 9 to 250, 0 of 3 missing
}

// TestDrop makes, reports and drops statistics.
func TestDrop(t *testing.T) {
	ctx := t.Context()
	a := fixture.ArrayOf(t, dtype.Int32, []int64{6}, grid.Every(2))
	if err := zarr.Write(ctx, a, nil, []int32{1, 2, 3, 4, 5, 6}); err != nil {
		t.Fatal(err)
	}
	for _, opt := range []*statistics.Options{{DryRun: true}, {Discard: true}, nil} {
		r, err := statistics.Make(ctx, a, opt)
		if err != nil || r.Chunks != 3 || r.Read != 3 || r.Cells != 3 {
			t.Errorf("%+v: %+v, %v", opt, r, err)
		}
	}
	count := func() (n int) {
		known, err := statistics.Known(ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		for range known {
			n++
		}
		return n
	}
	if n := count(); n != 3 {
		t.Errorf("%d known", n)
	}
	if found, err := statistics.Drop(ctx, a); !found || err != nil || count() != 0 {
		t.Error(found, err)
	}
}
