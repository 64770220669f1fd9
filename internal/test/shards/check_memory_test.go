// SPDX-License-Identifier: Apache-2.0

package shards_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"runtime/debug"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// indexed returns an array of shards of n inner chunks. Every entry of their indexes is
// the same, and they have no other bytes.
func indexed(t *testing.T, shards, n int, entry [2]uint64, opt *zarr.Options) *zarr.Array {
	t.Helper()
	s := memstore.New()
	_, err := zarr.At(s, "").CreateArray(t.Context(), zarr.Spec{
		Shape: []int64{int64(shards * n)}, Type: dtype.Uint8, Chunks: grid.Chunks(int64(n)), InnerChunks: grid.Chunks(1),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	shard := make([]byte, 0, 16*n+4)
	for range n {
		shard = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(shard, entry[0]), entry[1])
	}
	shard = binary.LittleEndian.AppendUint32(shard, crc32.Checksum(shard, crc32.MakeTable(crc32.Castagnoli)))
	for i := range shards {
		if _, err := store.Write(t.Context(), s, store.Put(store.MustKey("c/"+string(rune('0'+i))), shard), store.Sync); err != nil {
			t.Fatal(err)
		}
	}
	a, err := zarr.At(s, "").OpenArray(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestMemoryOfHostileIndexes checks shards whose index has only faulty entries. The
// check takes little more memory than the stored and the decoded index, however many
// faults there are, and reports the first of them.
func TestMemoryOfHostileIndexes(t *testing.T) {
	racing.Skip(t)
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // garbage does not count
	const n, shards = 1 << 19, 3
	for name, c := range map[string]struct {
		entry [2]uint64
		opt   zarr.CheckOptions
	}{
		"empty":     {entry: [2]uint64{0, 0}},
		"outside":   {entry: [2]uint64{7, 7}},
		"IndexOnly": {entry: [2]uint64{7, 7}, opt: zarr.CheckOptions{IndexOnly: true}},
	} {
		t.Run(name, func(t *testing.T) {
			a := indexed(t, shards, n, c.entry, &zarr.Options{Budget: 32 << 20})
			defer a.Close()
			faults := 0
			used := fixture.HeapMiB(func() {
				for f, err := range a.CheckShards(t.Context(), &c.opt) {
					if err != nil || !errors.Is(f.Err, zarr.ErrCorrupt) {
						t.Fatal(f, err)
					}
					faults++
				}
			})
			t.Logf("%.0f MiB, %d faults reported", used, faults)
			// The stored and the decoded index, of 8 MiB each, the order of its entries,
			// and a buffer for some of them.
			if most := 6.0 * 16 * n / (1 << 20); used > most || faults != shards*1001 {
				t.Errorf("%.0f MiB, want at most %.0f; %d faults reported", used, most, faults)
			}
		})
	}
}

// TestLimitOfIndexes refuses a shard whose index is longer than the limit of a chunk.
func TestLimitOfIndexes(t *testing.T) {
	a := indexed(t, 1, 1<<12, [2]uint64{0, 0}, &zarr.Options{Limits: zarr.Limits{Chunk: 1 << 15}})
	defer a.Close()
	found, err := a.CheckShard(t.Context(), []int64{0}, nil)
	if err != nil || len(found.Faults) != 1 || !errors.Is(found.Faults[0].Err, zarr.ErrLimit) {
		t.Errorf("%+v, error %v", found, err)
	}
	if _, err := zarr.Read[uint8](t.Context(), a, nil); !errors.Is(err, zarr.ErrLimit) {
		t.Errorf("reading: %v", err)
	}
}
