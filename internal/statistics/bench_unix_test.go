// SPDX-License-Identifier: Apache-2.0

//go:build unix

package statistics_test

import (
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/statistics"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/filestore"
)

// BenchmarkInStep compares writers of an array that has statistics with those of one that
// has none: a day of 721 by 1440 numbers that is appended to ten years, and a gigabyte
// that is written. overhead is what statistics add to the time, and cpu-overhead to the
// processor time, on which other programs of the machine have less influence.
func BenchmarkInStep(b *testing.B) {
	const rows, columns = 721, 1440
	plane := make([]float32, rows*columns)
	for i := range plane {
		y, x := float64(i/columns), float64(i%columns)
		plane[i] = float32(280 + 20*math.Sin(y/90) + 3*math.Cos(x/50) + 0.01*float64(i*7919%97))
	}
	var gigabyte []float32
	for name, c := range map[string]struct {
		spec zarr.Spec
		do   func(a *zarr.Array) error
	}{
		"append": {zarr.Spec{Shape: []int64{3650, rows, columns}, Chunks: grid.Chunks(1, rows, columns)}, func(a *zarr.Array) error {
			return zarr.Append(b.Context(), a, 0, plane, nil)
		}},
		"append-plain": {zarr.Spec{Shape: []int64{3650, rows, columns}, Chunks: grid.Chunks(1, rows, columns), Codecs: fixture.Plain()}, func(a *zarr.Array) error {
			return zarr.Append(b.Context(), a, 0, plane, nil)
		}},
		"append-tiles": {zarr.Spec{Shape: []int64{3650, rows, columns}, Chunks: grid.Chunks(1, 181, 180)}, func(a *zarr.Array) error {
			return zarr.Append(b.Context(), a, 0, plane, nil)
		}},
		"write": {zarr.Spec{Shape: []int64{256, rows, columns}, Chunks: grid.Chunks(4, 256, 256)}, func(a *zarr.Array) error {
			if gigabyte == nil {
				for range 256 {
					gigabyte = append(gigabyte, plane...)
				}
			}
			return zarr.Write(b.Context(), a, nil, gigabyte)
		}},
	} {
		b.Run(name, func(b *testing.B) {
			s, err := filestore.Open(b.TempDir(), nil)
			if err != nil {
				b.Fatal(err)
			}
			var arrays [2]*zarr.Array
			var took, worked [2][]time.Duration
			for i, name := range []string{"without", "kept"} {
				c.spec.Type = dtype.Float32
				if arrays[i], err = zarr.At(s, name).CreateArray(b.Context(), c.spec, nil); err == nil {
					err = zarr.Write(b.Context(), arrays[i], selection.Box{{0, 1}, {0, rows}, {0, columns}}, plane)
				}
				if err == nil && i == 1 {
					_, err = statistics.Make(b.Context(), arrays[i], nil)
				}
				if err == nil {
					err = c.do(arrays[i]) // before the clock runs
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			n := 0
			for b.Loop() {
				for k := range 2 {
					i := (k + n) % 2
					start, before := time.Now(), processorTime(b)
					if err := c.do(arrays[i]); err != nil {
						b.Fatal(err)
					}
					took[i] = append(took[i], time.Since(start))
					worked[i] = append(worked[i], processorTime(b)-before)
				}
				n++
			}
			for name, times := range map[string][2][]time.Duration{"": took, "cpu-": worked} {
				slices.Sort(times[0])
				slices.Sort(times[1])
				without, kept := float64(times[0][n/2]), float64(times[1][n/2]) // the middle ones
				b.ReportMetric(100*(kept/without-1), name+"overhead-%")
				b.ReportMetric(without/1e6, name+"ms-without")
			}
		})
	}
}

// processorTime returns what this process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
