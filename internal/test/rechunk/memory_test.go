// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// TestMemory cuts matrices of 10 MB to 250 MB, or to 20 GB with VARVE_LONG=1, from chunks
// of 1000 elements along each axis into those of 999. The memory does not grow with them,
// and is within that of the plan.
func TestMemory(t *testing.T) {
	racing.Skip(t)
	const budget, beyond = 128 << 20, 48 << 20 // beyond is garbage, too
	sides := []int64{1600, 8000}
	if fixture.Long() {
		sides = append(sides, 20_000, 71_000)
	}
	for _, side := range sides {
		a := matrix(t, side)
		request := rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(999), grid.Every(999)}}
		opt := &rechunk.Options{Memory: budget}
		plan, err := rechunk.NewPlan(t.Context(), a, request, opt)
		if err != nil || plan.Memory > budget {
			t.Fatalf("%d: a plan with %d bytes of memory (%v)", side, plan.Memory, err)
		}
		limited(plan.Memory + beyond/2)
		held := fixture.HeapMiB(func() {
			if _, err := rechunk.Do(t.Context(), a, request, opt); err != nil {
				t.Errorf("%d: %v", side, err)
			}
		})
		debug.SetMemoryLimit(math.MaxInt64)
		t.Logf("%d MB: %.0f MiB were held, %d MiB planned", 4*side*side/1e6, held, plan.Memory>>20)
		if most := float64(plan.Memory+beyond) / (1 << 20); held > most {
			t.Errorf("%d MB: %.0f MiB were held, want at most %.0f", 4*side*side/1e6, held, most)
		}
	}
}

// limited sets the memory limit of the garbage collector: what the process has now, and n
// bytes more.
func limited(n int64) {
	for range 3 { // pools keep what the array was made with for two collections
		debug.FreeOSMemory()
	}
	total := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(total)
	debug.SetMemoryLimit(int64(total[0].Value.Uint64()-total[1].Value.Uint64()) + n)
}

// matrix stores a matrix of float32 in a folder. Each of its rows has one value.
func matrix(t *testing.T, side int64) *zarr.Array {
	t.Helper()
	s, err := filestore.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close(s) })
	a, err := zarr.At(s, "a").CreateArray(t.Context(), zarr.Spec{
		Type: dtype.Float32, Shape: []int64{side, side}, Chunks: grid.Chunks(1000, 1000), Codecs: fixture.Packed(),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var block []float32
	for from := int64(0); from < side; from += 1000 {
		to := min(from+1000, side)
		block = block[:0]
		for row := from; row < to; row++ {
			for range side {
				block = append(block, float32(row+1))
			}
		}
		if err := zarr.Write(t.Context(), a, selection.Box{{from, to}, {0, side}}, block); err != nil {
			t.Fatal(err)
		}
	}
	return a
}
