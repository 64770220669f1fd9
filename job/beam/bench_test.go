// SPDX-License-Identifier: Apache-2.0

package beam

import (
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/rechunk"
)

// benchTasks is the number of tasks of a stage in benchmarks.
const benchTasks = 1000

// thin makes an array in memory with two thin chunks for each task, and a plan that
// merges them. It returns the location of the plan.
func thin(b *testing.B) (plan string) {
	b.Helper()
	p := newPlace(b)
	a, err := zarr.CreateArray(b.Context(), p.at+"/a.zarr", zarr.Spec{
		Shape: []int64{2 * benchTasks, 16}, Type: dtype.Uint8, Chunks: grid.Chunks(1, 16),
	}, nil)
	if err == nil {
		err = zarr.Write(b.Context(), a, nil, bytesOf(2*benchTasks*16))
	}
	if err != nil {
		b.Fatal(err)
	}
	// So little memory that each new chunk is a block, and thus a task.
	return p.plan(b, wanted{"a.zarr", rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(2), grid.Every(16)}}, 64})
}

func bytesOf(n int) []uint8 {
	list := make([]uint8, n)
	for i := range list {
		list[i] = uint8(i + 1)
	}
	return list
}

// BenchmarkTinyTasks executes 1,000 tasks on Prism that merge two chunks of 16 bytes
// each.
func BenchmarkTinyTasks(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		plan := thin(b)
		if n := must(job.Open(b.Context(), plan)).Tasks(0); n != benchTasks {
			b.Fatalf("%d tasks", n)
		}
		b.StartTimer()
		measured(b, plan)
	}
}

// BenchmarkDoneTasks offers 1,000 tasks again that are done.
func BenchmarkDoneTasks(b *testing.B) {
	plan := thin(b)
	mustRun(b, plan, Options{})
	for b.Loop() {
		measured(b, plan)
	}
}

// BenchmarkAlone executes the plan of BenchmarkTinyTasks in one process, without Beam.
func BenchmarkAlone(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		plan := thin(b)
		w := must(job.NewWorker(must(job.Open(b.Context(), plan)), nil))
		b.StartTimer()
		began := time.Now()
		for k := range int64(benchTasks) {
			if _, err := w.Do(b.Context(), job.Task{Number: k, Of: benchTasks}); err != nil {
				b.Fatal(err)
			}
		}
		must(w.Publish(b.Context()))
		b.ReportMetric(float64(time.Since(began).Microseconds())/1000/benchTasks, "ms/task")
	}
}

// measured executes a pipeline, and reports the time per task.
func measured(b *testing.B, plan string) {
	began := time.Now()
	if n := mustRun(b, plan, Options{})["tasks"]; n != benchTasks {
		b.Fatalf("%d tasks", n)
	}
	b.ReportMetric(float64(time.Since(began).Microseconds())/1000/benchTasks, "ms/task")
}
