// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"bytes"
	"runtime"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
)

// TestStreamMemory streams images that compress little to a local store, with the
// budgets of shards and of layers. The stream keeps no more than its budget, by its own
// count and by that of the heap.
func TestStreamMemory(t *testing.T) {
	racing.Skip(t)
	const side, planes = 128, 16 // 32 KiB and 512 KiB
	const plane = side * side * 2
	for _, tt := range []struct {
		name   string
		budget int64
		early  int64
	}{
		{"a shard", 17 * plane, 0},
		{"half a shard", 9 * plane, 2},
		{"a layer", 4 * plane, 6},
		{"half a layer", 2 * plane, 14},
		{"a plane", plane, 30},
		{"less", 1, 30},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := t.Context()
			s, err := filestore.Open(t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close(s)
			a, err := zarr.At(s, "a").CreateArray(ctx, fixture.Images(side, planes), nil)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := a.Stream(ctx, 0, &zarr.StreamOptions{Budget: tt.budget})
			if err != nil {
				t.Fatal(err)
			}
			before := heap()
			for i := range uint64(2 * planes) {
				if err := zarr.WritePlanes(ctx, stream, fixture.Image(side, 15, i)); err != nil {
					t.Fatal(err)
				}
				if i%5 == 4 {
					if held := heap() - before; held > max(tt.budget, plane)+plane {
						t.Errorf("after %d planes the heap has %d bytes more, the budget is %d", i+1, held, tt.budget)
					}
				}
			}
			stats := stream.Stats()
			if stats.Peak > max(tt.budget, plane) || stats.Held > stats.Peak || stats.Early != tt.early {
				t.Errorf("%+v, the budget is %d", stats, tt.budget)
			}
			t.Logf("%d bytes: %+v", tt.budget, stats)
			for _, i := range []int64{0, 7, 17, 31} {
				b, err := zarr.Read[uint16](ctx, a, selection.Basic{selection.At(i)})
				if err != nil || !equalImages(b.Data, fixture.Image(side, 15, uint64(i))) {
					t.Errorf("plane %d is wrong (%v)", i, err)
				}
			}
		})
	}
}

func equalImages(a, b []uint16) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// heap returns the bytes in use, without pooled buffers.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestStreamLongChunk fills a chunk that is longer than the first buffer of the stream,
// along an axis that is not the first.
func TestStreamLongChunk(t *testing.T) {
	const row, planes = 1 << 20, 12
	a, err := zarr.At(memstore.New(), "a").CreateArray(t.Context(), zarr.Spec{
		Shape: []int64{2, 0, row}, Type: dtype.Uint8, Codecs: fixture.Plain(), Chunks: grid.Chunks(2, planes, row),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := a.Stream(t.Context(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint8(planes) {
		plane := append(bytes.Repeat([]byte{i}, row), bytes.Repeat([]byte{i + 100}, row)...)
		if err := zarr.WritePlanes(t.Context(), stream, plane); err != nil {
			t.Fatal(err)
		}
	}
	if s := stream.Stats(); s.Peak != (8+planes)*2*row || stream.Stats().Published != planes {
		t.Errorf("%+v, %d planes are published", s, stream.Stats().Published)
	}
	for i := range int64(planes) {
		b, err := zarr.Read[uint8](t.Context(), a, selection.Basic{selection.All(), selection.At(i)})
		if err != nil || !bytes.Equal(b.Data, append(bytes.Repeat([]byte{byte(i)}, row), bytes.Repeat([]byte{byte(i) + 100}, row)...)) {
			t.Errorf("plane %d is wrong (%v)", i, err)
		}
	}
}
