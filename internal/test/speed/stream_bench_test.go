// SPDX-License-Identifier: Apache-2.0

package speed_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// metered is a store that counts written values and their bytes.
type metered struct {
	memtest.Store
	puts, bytes atomic.Int64
}

func (s *metered) add(value []byte) {
	s.puts.Add(1)
	s.bytes.Add(int64(len(value)))
}

func (s *metered) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	switch c.Op {
	case store.OpPut, store.OpPutIf:
		s.add(c.Value)
	case store.OpSplice:
		for i := range c.Parts {
			s.bytes.Add(max(int64(len(c.Parts[i].Data)), c.Parts[i].N))
		}
		s.puts.Add(1)
	}
	return s.Store.Write(ctx, c, d)
}

func (s *metered) Batch(context.Context, store.Durability) (store.Batch, error) {
	return meteredBatch{s}, nil
}

// meteredBatch is a batch whose values are counted like others.
type meteredBatch struct{ s *metered }

func (b meteredBatch) Can(op store.Op) bool { return op <= store.OpDelete }

func (b meteredBatch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	return b.s.Write(ctx, c, store.Flush)
}

func (b meteredBatch) Commit(context.Context) error { return nil }
func (b meteredBatch) Discard()                     {}

// BenchmarkStream writes 128 images of 512×512 uint16 (64 MiB) plane by plane to shards
// of 64, with zstd: as a stream with the budgets of two layers and of one, with a
// checkpoint after every eighth image, and by appends of one image and of 64. puts
// counts the written values, including documents. stored is how often each encoded byte
// is written. peak-MiB is the memory that the stream keeps.
func BenchmarkStream(b *testing.B) {
	const side, planes, total = 512, 64, 128
	data := make([]uint16, 0, total*side*side)
	for z := range uint64(total) {
		data = append(data, fixture.Image(side, 12, z)...)
	}
	plane := func(z, n int) []uint16 { return data[z*side*side : (z+n)*side*side] }
	stream := func(budget int64, checkpoint int) func(context.Context, *zarr.Array) (float64, error) {
		return func(ctx context.Context, a *zarr.Array) (float64, error) {
			s, err := a.Stream(ctx, 0, &zarr.StreamOptions{Budget: budget})
			for z := 0; z < total && err == nil; z++ {
				err = zarr.WritePlanes(ctx, s, plane(z, 1))
				if err == nil && checkpoint > 0 && z%checkpoint == checkpoint-1 {
					err = s.Checkpoint(ctx)
				}
			}
			if err == nil {
				err = s.Close(ctx)
			}
			return float64(s.Stats().Peak) / (1 << 20), err
		}
	}
	appends := func(n int) func(context.Context, *zarr.Array) (float64, error) {
		return func(ctx context.Context, a *zarr.Array) (float64, error) {
			for z := 0; z < total; z += n {
				if err := zarr.Append(ctx, a, 0, plane(z, n), nil); err != nil {
					return 0, err
				}
			}
			return 0, nil
		}
	}
	for _, bench := range []struct {
		name string
		run  func(context.Context, *zarr.Array) (float64, error)
	}{
		{"stream", stream(0, 0)}, {"stream/budget=16MiB", stream(16<<20, 0)}, {"stream/budget=8MiB", stream(8<<20, 0)},
		{"stream/checkpoint=8", stream(0, 8)}, {"append=1", appends(1)}, {"append=64", appends(planes)},
	} {
		for _, where := range []string{"memory", "local"} {
			b.Run(fmt.Sprintf("%s/%s", bench.name, where), func(b *testing.B) {
				benchStream(b, where, fixture.Images(side, planes), int64(len(data))*2, bench.run)
			})
		}
	}
}

func benchStream(b *testing.B, where string, spec zarr.Spec, size int64, run func(context.Context, *zarr.Array) (float64, error)) {
	ctx := context.Background()
	b.SetBytes(size)
	var overhead, peak float64
	counted := &metered{Store: memtest.New()}
	for i := range b.N {
		b.StopTimer()
		var s store.Store = counted
		if where == "local" {
			local, err := filestore.Open(b.TempDir(), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close(local)
			s = local
		}
		a, err := zarr.At(s, fmt.Sprint("a", i)).CreateArray(ctx, spec, nil)
		if err != nil {
			b.Fatal(err)
		}
		resetPeak()
		before := peakMiB()
		counted.puts.Store(0)
		counted.bytes.Store(0)
		b.StartTimer()
		if peak, err = run(ctx, a); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		overhead = max(overhead, peakMiB()-before)
		b.StartTimer()
	}
	if where == "memory" {
		b.ReportMetric(float64(counted.puts.Load()), "puts")
		b.ReportMetric(float64(counted.bytes.Load())/float64(size)*16/12, "stored")
	} else {
		b.ReportMetric(overhead, "overhead-MiB")
	}
	b.ReportMetric(peak, "peak-MiB")
}
