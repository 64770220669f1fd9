// SPDX-License-Identifier: Apache-2.0

package rechunk_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// counting counts the parts of values that are assembled.
type counting struct {
	*memstore.Store
	mu    sync.Mutex
	parts []int
}

func (s *counting) Assemble(ctx context.Context, key store.Key, parts []store.Part, d store.Durability) (store.Version, error) {
	s.mu.Lock()
	s.parts = append(s.parts, len(parts))
	s.mu.Unlock()
	return s.Store.Assemble(ctx, key, parts, d)
}

func (s *counting) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	b, err := s.Store.Batch(ctx, d)
	return &countingBatch{b, s, d}, err
}

// countingBatch assembles in the store, which counts.
type countingBatch struct {
	store.Batch
	s *counting
	d store.Durability
}

func (b *countingBatch) Assemble(ctx context.Context, key store.Key, parts []store.Part) error {
	_, err := b.s.Assemble(ctx, key, parts, b.d)
	return err
}

// TestShardsAreCopiedInRuns merges shards of many inner chunks. The inner chunks of each
// keep their order, so each is copied with one request, not one for each inner chunk.
func TestShardsAreCopiedInRuns(t *testing.T) {
	s := &counting{Store: memstore.New()}
	a, err := zarr.At(s, "a").CreateArray(t.Context(), zarr.Spec{
		Type: dtype.Uint16, Shape: []int64{12, 16, 16}, Codecs: fixture.Plain(),
		Chunks: []grid.Cut{grid.Every(1), grid.Every(16), grid.Every(16)}, InnerChunks: []grid.Cut{grid.Every(1), grid.Every(2), grid.Every(4)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]uint16, 12*16*16)
	for i := range data {
		data[i] = uint16(i + 1)
	}
	if err := zarr.Write(t.Context(), a, nil, data); err != nil {
		t.Fatal(err)
	}
	if r, err := rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 6}, nil); err != nil || r.Staged.BytesDecoded+r.Staged.BytesEncoded > 0 {
		t.Fatalf("%+v (%v), want nothing decoded", r, err)
	}
	if want := []int{7, 7}; !slices.Equal(s.parts, want) { // six shards and an index
		t.Errorf("shards were assembled from %d parts, want %d", s.parts, want)
	}
	if got, err := zarr.Read[uint16](t.Context(), a, nil); err != nil || !slices.Equal(got.Data, data) {
		t.Errorf("other elements: %v", err)
	}
}
