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
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// TestFewTasks checks that small chunks are staged together, because every task stores a
// record, but not more of them than fit into the memory of a task.
func TestFewTasks(t *testing.T) {
	for _, c := range []struct {
		memory, tasks int64
		cuts          []grid.Cut
	}{
		{1 << 20, 100, []grid.Cut{grid.Every(1), grid.Every(10)}}, // rows
		{1 << 20, 50, []grid.Cut{grid.Every(1), grid.Edges(1, 3, 6, 10, 30, 20, 5, 5, 20)}},
		// A task has a quarter of the memory: half of a row.
		{200, 200, []grid.Cut{grid.Every(1), grid.Every(10)}},
		// There are few blocks, each of a whole source chunk, so each is a task.
		{1 << 20, 10, []grid.Cut{grid.Every(100), grid.Every(10)}},
	} {
		a, err := zarr.At(memtest.New(), "a").CreateArray(t.Context(), zarr.Spec{
			Type: dtype.Uint8, Shape: []int64{100, 100}, Chunks: c.cuts, Codecs: fixture.Plain(),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]uint8, 100*100)
		for i := range data {
			data[i] = uint8(1 + i%100)
		}
		if err := zarr.Write(t.Context(), a, nil, data); err != nil {
			t.Fatal(err)
		}
		r := rechunk.Rechunking{Chunks: rechunk.Cuts{c.cuts[0], grid.Every(5)}}
		p, err := rechunk.NewPlan(t.Context(), a, r, &rechunk.Options{Memory: c.memory})
		if err != nil || len(p.Stages) != 1 || p.Stages[0].Tasks != c.tasks {
			t.Errorf("within %d bytes the stages are %v, want one with %d tasks; error %v", c.memory, p.Stages, c.tasks, err)
		}
	}
}

// counting counts the parts of values that are assembled.
type counting struct {
	memtest.Store
	mu    sync.Mutex
	parts []int
}

func (s *counting) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op == store.OpAssemble {
		s.mu.Lock()
		s.parts = append(s.parts, len(c.Parts))
		s.mu.Unlock()
	}
	return s.Store.Write(ctx, c, d)
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

func (b *countingBatch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	if c.Op == store.OpAssemble {
		return b.s.Write(ctx, c, b.d)
	}
	return b.Batch.Write(ctx, c)
}

// TestShardsAreCopiedInRuns merges shards of many inner chunks. The inner chunks of each
// keep their order, so each is copied with one request, not one for each inner chunk.
func TestShardsAreCopiedInRuns(t *testing.T) {
	s := &counting{Store: memtest.New()}
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

// TestPartsOfChunks makes columns of planes within little memory. The planes are not
// compressed, so they are read in parts, once and without scratch.
func TestPartsOfChunks(t *testing.T) {
	const bytes = 3 * 1200 * 1200
	planes := []grid.Cut{grid.Every(1), grid.Every(1200), grid.Every(1200)}
	for _, c := range []struct {
		name   string
		cuts   []grid.Cut
		memory int64 // of which a task has a quarter
		most   int64 // bytes read
	}{
		{"planes", planes, 1 << 20, bytes},
		{"rows", []grid.Cut{grid.Every(1), grid.Edges(300, 500, 400), grid.Edges(1200)}, 1 << 20, bytes},
		{"a prime number of rows", []grid.Cut{grid.Every(1), grid.Edges(601, 599), grid.Edges(1200)}, 1 << 20, bytes},
		// A task holds one plane, not both of a chunk. It is read again for some columns.
		{"two planes", []grid.Cut{grid.Edges(2, 1), grid.Every(1200), grid.Every(1200)}, 6 << 20, 2 * bytes},
	} {
		var counter observe.Counter
		s, err := filestore.Open(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := zarr.At(s, "a").CreateArray(t.Context(), zarr.Spec{
			Type: dtype.Uint8, Shape: []int64{3, 1200, 1200}, Chunks: c.cuts, Codecs: fixture.Plain(),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]uint8, bytes)
		for i := range data {
			data[i] = uint8(i%251 + 1)
		}
		if err := zarr.Write(t.Context(), a, nil, data); err != nil {
			t.Fatal(err)
		}
		if a, err = zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Observer: &counter, Write: true, Durability: store.Flush}); err != nil {
			t.Fatal(err)
		}
		request := rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(3), grid.Every(60), grid.Every(60)}}
		opt := &rechunk.Options{Memory: c.memory}
		p, err := rechunk.NewPlan(t.Context(), a, request, opt)
		if err != nil || len(p.Stages) != 1 {
			t.Errorf("%s: %d stages, want 1 (%v)", c.name, len(p.Stages), err)
		}
		before := counter.Stats()
		if _, err := rechunk.Do(t.Context(), a, request, opt); err != nil {
			t.Fatal(err)
		}
		read := counter.Stats().Sub(before).Read.Bytes
		if read > c.most+c.most/10 {
			t.Errorf("%s: %d bytes were read, want at most %d", c.name, read, c.most)
		}
		if b, err := zarr.Read[uint8](t.Context(), a, nil); err != nil || !slices.Equal(b.Data, data) {
			t.Errorf("%s: other elements (%v)", c.name, err)
		}
	}
}

// BenchmarkTask measures what a task costs beside its elements: each makes one chunk of
// two bytes from two others, in memory.
func BenchmarkTask(b *testing.B) {
	const tasks = 20_000
	for b.Loop() {
		b.StopTimer()
		m := memtest.New()
		spec := zarr.Spec{
			Shape: []int64{2 * tasks}, Type: dtype.Uint8, Chunks: []grid.Cut{grid.Every(1)}, Codecs: []metadata.Extension{{Name: "bytes"}},
		}
		a, err := zarr.At(m, "a").CreateArray(b.Context(), spec, nil)
		if err == nil {
			err = zarr.Fill(b.Context(), a, nil, uint8(1))
		}
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		_, err = rechunk.Do(b.Context(), a, rechunk.Rechunking{Chunks: []grid.Cut{grid.Every(2)}}, &rechunk.Options{Memory: 64 << 20})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/tasks, "µs/task")
}
