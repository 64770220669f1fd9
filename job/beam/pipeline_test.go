// SPDX-License-Identifier: Apache-2.0

package beam

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/rechunk"
)

// run executes a plan on Prism. The result of the publication is stored at opt.Result.
func run(t testing.TB, plan string, opt Options) (metrics.QueryResults, error) {
	t.Helper()
	p, s := beam.NewPipelineWithRoot()
	out, err := TryExecute(t.Context(), s, plan, opt)
	if err != nil {
		return metrics.QueryResults{}, err
	}
	if out.Type().Type().String() != "string" {
		t.Errorf("the result has elements of type %v", out.Type())
	}
	r, err := beam.Run(context.Background(), "prism", p)
	if err != nil {
		return metrics.QueryResults{}, err
	}
	return r.Metrics().AllMetrics(), nil
}

// mustRun executes a plan on Prism, and returns its counters.
func mustRun(t testing.TB, plan string, opt Options) map[string]int64 {
	t.Helper()
	m, err := run(t, plan, opt)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int64{}
	for _, c := range m.Counters() {
		if c.Key.Namespace == Namespace {
			all[c.Key.Name] += c.Result()
		}
	}
	return all
}

// failWith makes steps of pipelines fail until the test ends.
func failWith(t testing.TB, f func(step string, t job.Task) error) {
	was := fault
	fault = f
	t.Cleanup(func() { fault = was })
}

// rows is the length of the axes of arrays.
const rows = 64

// rechunked is a rechunk of rows into columns, with so little memory that it has
// three stages.
func rechunked(node string) wanted {
	return wanted{node, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(rows), grid.Every(1)}}, 16 * 4 * rows}
}

// TestRechunk rechunks an array in several stages. The result is that of one process,
// byte by byte, and no task begins before all of the stage before are done.
func TestRechunk(t *testing.T) {
	p := newPlace(t)
	p.array(t, "alone", rows)
	p.array(t, "shared", rows)
	plan := p.plan(t, rechunked("shared"))
	x := must(job.Open(t.Context(), plan))
	if x.Stages() < 3 {
		t.Fatalf("%d stages", x.Stages())
	}
	seen := newWatch()
	failWith(t, seen.note)
	result := p.at + "/result.json"
	counters := mustRun(t, plan, Options{Tasks: 7, Result: result})
	p.alone(t, rechunked("alone"))
	p.same(t, "alone", "shared")
	seen.check(t, x.Stages())
	if n := counters["tasks"]; n != int64(7*x.Stages()) {
		t.Errorf("%d tasks", n)
	}
	if counters["bytes_written"] < rows*rows*4 || counters["bytes_read"] < rows*rows*4 || counters["requests"] < 2*rows || counters["retries"] != 0 {
		t.Errorf("counters: %v", counters)
	}
	s := must(ReadSummary(t.Context(), result))
	if !s.Changed || len(s.Arrays) != 1 || !s.Arrays[0].Changed || s.Arrays[0].Operation != "rechunk" {
		t.Errorf("summary: %+v", s)
	}
}

// watch notes when tasks begin and end.
type watch struct {
	mu         sync.Mutex
	begun, end map[int][]time.Time // by stages
}

func newWatch() *watch { return &watch{begun: map[int][]time.Time{}, end: map[int][]time.Time{}} }

func (w *watch) note(step string, t job.Task) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch step {
	case "before":
		w.begun[t.Stage] = append(w.begun[t.Stage], time.Now())
	case "after":
		w.end[t.Stage] = append(w.end[t.Stage], time.Now())
	}
	return nil
}

// check checks that stages came one after the other.
func (w *watch) check(t *testing.T, stages int) {
	t.Helper()
	if len(w.end) != stages {
		t.Errorf("tasks of %d stages ended", len(w.end))
	}
	for k := 1; k < stages; k++ {
		last := slices.MaxFunc(w.end[k-1], time.Time.Compare)
		if first := slices.MinFunc(w.begun[k], time.Time.Compare); first.Before(last) {
			t.Errorf("stage %d began %v before the end of the one before", k, last.Sub(first))
		}
	}
}

// TestArrays executes a plan of two arrays with different numbers of stages.
func TestArrays(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"a0", "a1", "b0", "b1"} {
		p.array(t, name, rows)
	}
	compact := wanted{"b1", rechunk.Compaction{Axis: 0, UpTo: 10}, 1 << 20}
	plan := p.plan(t, rechunked("a1"), compact)
	mustRun(t, plan, Options{})
	compact.node = "b0"
	p.alone(t, compact)
	p.alone(t, rechunked("a0"))
	p.same(t, "a0", "a1")
	p.same(t, "b0", "b1")
}

// TestFew checks that small plans are divided into no more tasks than they have.
func TestFew(t *testing.T) {
	p := &job.Plan{Work: job.Work{Stages: []job.Stage{{Tasks: 5}, {Tasks: 0}, {Tasks: 1e6}, {}}}}
	for stage, want := range []int64{5, 1, 1000} {
		if got := Tasks(p, stage, 0); got != want {
			t.Errorf("stage %d: %d tasks, want %d", stage, got, want)
		}
	}
	if got := Tasks(p, 2, 12); got != 12 {
		t.Errorf("%d tasks, want 12", got)
	}
}

// TestRefused checks that plans which workers cannot execute fail before a pipeline runs.
func TestRefused(t *testing.T) {
	p := newPlace(t)
	p.array(t, "a", 4)
	work := p.work(t, wanted{"a", rechunk.Compaction{Axis: 0, UpTo: 2}, 1 << 20})
	insertion := *work
	insertion.Operation = "insert"
	insertion.Request = must(json.Marshal(rechunk.Insertion{Identity: "x"}))
	for name, x := range map[string]struct {
		plan map[string]any
		opt  Options
		want error
	}{
		"a group":       {map[string]any{"group": p.at, "arrays": []*job.Work{work}}, Options{}, zarr.ErrUnsupported},
		"an insertion":  {map[string]any{"arrays": []*job.Work{&insertion}}, Options{}, zarr.ErrUnsupported},
		"nothing":       {map[string]any{"id": "x"}, Options{}, job.ErrPlan},
		"negative":      {map[string]any{"arrays": []*job.Work{work}}, Options{Tasks: -1}, zarr.ErrInvalidArgument},
		"too many":      {map[string]any{"arrays": []*job.Work{work}}, Options{Tasks: job.MostTasks + 1}, zarr.ErrInvalidArgument},
		"no attempts":   {map[string]any{"arrays": []*job.Work{work}}, Options{Attempts: -1}, zarr.ErrInvalidArgument},
		"no patience":   {map[string]any{"arrays": []*job.Work{work}}, Options{Patience: -1}, zarr.ErrInvalidArgument},
		"other version": {map[string]any{"varve_plan": 2}, Options{}, nil},
	} {
		if x.want == nil {
			continue
		}
		if _, err := run(t, p.put(t, x.plan), x.opt); !errors.Is(err, x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := run(t, p.at+"/none.json", Options{}); err == nil {
		t.Error("a plan that is missing is no error")
	}
}

// TestReplacedPlan checks that workers refuse another plan than that of the pipeline.
func TestReplacedPlan(t *testing.T) {
	p := newPlace(t)
	p.array(t, "a", 8)
	plan := p.plan(t, wanted{"a", rechunk.Compaction{Axis: 0, UpTo: 2}, 1 << 20})
	pipe, s := beam.NewPipelineWithRoot()
	Execute(s, plan, Options{})
	before := p.values(t, "a")
	p.plan(t, wanted{"a", rechunk.Compaction{Axis: 0, UpTo: 4}, 1 << 20})
	if _, err := beam.Run(context.Background(), "prism", pipe); err == nil {
		t.Error("no error")
	}
	if !maps.Equal(before, p.values(t, "a")) {
		t.Error("something is changed")
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
