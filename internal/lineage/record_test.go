// SPDX-License-Identifier: Apache-2.0

package lineage_test

import (
	"context"
	"iter"
	"testing"

	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// vacuumed is a store in which something happens after each listing.
type vacuumed struct {
	memtest.Store
	after func()
}

func (s *vacuumed) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range s.Store.List(ctx, dir, how) {
			if !yield(e, err) {
				return
			}
		}
		s.after()
	}
}

// TestRecordsWhileVacuumed reads records of which some are deleted between the listing
// and the reads.
func TestRecordsWhileVacuumed(t *testing.T) {
	ctx, s := t.Context(), &vacuumed{Store: memtest.New(), after: func() {}}
	a := lineage.Array{Store: s}
	doc, err := metadata.ParseArray([]byte(`{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int8",
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}}, "chunk_key_encoding": {"name": "default"},
		"codecs": [{"name": "bytes"}], "fill_value": 0}`), metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var records []*lineage.Record
	for _, id := range []string{"0123456789abcdef", "123456789abcdef0", "23456789abcdef01"} {
		r, err := lineage.NewRecord(id, "compact", doc, doc, metadata.Limits{})
		if err == nil {
			err = a.Put(ctx, r, store.Flush)
		}
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	s.after = func() {
		if len(records) > 1 {
			r := records[0]
			records = records[1:]
			if err := a.Remove(ctx, r); err != nil {
				t.Error(err)
			}
		}
	}
	left, err := a.Records(ctx)
	if err != nil || len(left) != 1 || left[0].ID != records[0].ID {
		t.Errorf("%d records, %v", len(left), err)
	}
}
