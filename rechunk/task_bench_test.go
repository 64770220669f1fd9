// SPDX-License-Identifier: Apache-2.0

package rechunk_test

import (
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store/memstore"
)

// BenchmarkTask measures what a task costs beside its elements: each makes one chunk of
// two bytes from two others, in memory.
func BenchmarkTask(b *testing.B) {
	const tasks = 20_000
	for b.Loop() {
		b.StopTimer()
		m := memstore.New()
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
