// SPDX-License-Identifier: Apache-2.0

package beam

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

var errTest = errors.New("a failure of the test")

// TestFailsOnce lets every task fail once, before it begins or after its effect. It is
// tried again, and the pipeline succeeds.
func TestFailsOnce(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			p := newPlace(t)
			p.array(t, "alone", rows)
			p.array(t, "shared", rows)
			plan := p.plan(t, rechunked("shared"))
			var failed sync.Map
			failWith(t, func(step string, t job.Task) error {
				if _, again := failed.LoadOrStore(t, true); step != when || again {
					return nil
				}
				return errTest
			})
			counters := mustRun(t, plan, Options{Tasks: 5})
			if counters["retries"] != counters["tasks"] && when == "before" {
				t.Errorf("counters: %v", counters)
			}
			p.alone(t, rechunked("alone"))
			p.same(t, "alone", "shared")
		})
	}
}

// TestStoreFails lets single requests fail while tasks are executed.
func TestStoreFails(t *testing.T) {
	p := newPlace(t)
	p.array(t, "alone", rows)
	p.array(t, "shared", rows)
	plan := p.plan(t, rechunked("shared"))
	var n atomic.Int64
	p.failing(func(op stepping.Op) error {
		if strings.HasPrefix(op.Key.String(), "shared/") && !isShare(op) && n.Add(1)%397 == 0 {
			return errTest
		}
		return nil
	})
	counters := mustRun(t, plan, Options{Attempts: 20})
	p.failing(nil)
	t.Logf("%d requests", n.Load())
	if counters["retries"] == 0 {
		t.Error("nothing was tried again")
	}
	p.alone(t, rechunked("alone"))
	p.same(t, "alone", "shared")
}

// isShare reports whether an operation is one of the object that says that a process
// executes tasks. If a store without locks fails to delete it, the process looks alive,
// and publishing takes Options.Ended.
func isShare(op stepping.Op) bool { return op.Key.Base() == "share.json" }

// TestFailsAlways lets one task fail always: the pipeline fails, and nothing is
// published. When the store works again, another pipeline continues.
func TestFailsAlways(t *testing.T) {
	p := newPlace(t)
	p.array(t, "alone", rows)
	p.array(t, "shared", rows)
	before := p.values(t, "shared")
	plan := p.plan(t, rechunked("shared"))
	last := must(job.Open(t.Context(), plan)).Stages() - 1
	attempts := 0
	failWith(t, func(step string, t job.Task) error {
		if t.Stage != last || t.Number != 3 || step != "before" {
			return nil
		}
		attempts++
		return errTest
	})
	if _, err := run(t, plan, Options{Tasks: 5}); err == nil || !strings.Contains(err.Error(), errTest.Error()) {
		t.Fatalf("the pipeline has ended with %v", err)
	}
	if attempts != usualAttempts {
		t.Errorf("%d attempts", attempts)
	}
	if now := p.values(t, "shared")["zarr.json"]; now != before["zarr.json"] {
		t.Error("something is published")
	}
	failWith(t, func(string, job.Task) error { return nil })
	result := p.at + "/result.json"
	mustRun(t, plan, Options{Tasks: 5, Result: result})
	if s := must(ReadSummary(t.Context(), result)); !s.Changed {
		t.Errorf("summary: %+v", s)
	}
	p.alone(t, rechunked("alone"))
	p.same(t, "alone", "shared")
}

// TestPublishTwice lets the publication fail after its effect: once, so that the worker
// tries again, and always, so that the pipeline fails and another one offers all tasks
// and the publication again. It takes effect once.
func TestPublishTwice(t *testing.T) {
	for _, times := range []int{1, usualAttempts} {
		p := newPlace(t)
		p.array(t, "alone", rows)
		p.array(t, "shared", rows)
		plan := p.plan(t, rechunked("shared"))
		failures, published := 0, map[string]bool{}
		failWith(t, func(step string, _ job.Task) error {
			if step != "published" {
				return nil
			}
			value, _, err := p.memory.Get(context.Background(), store.MustKey("shared/zarr.json"), store.Request{Limit: 1 << 20}, nil)
			if published[string(value)] = true; err != nil {
				return err
			}
			if failures++; failures > times {
				return nil
			}
			return errTest
		})
		_, err := run(t, plan, Options{Tasks: 5})
		if (err != nil) != (times == usualAttempts) {
			t.Fatalf("the pipeline has ended with %v", err)
		}
		if err != nil {
			mustRun(t, plan, Options{Tasks: 5})
		}
		if len(published) != 1 {
			t.Errorf("%d documents were published", len(published))
		}
		p.alone(t, rechunked("alone"))
		p.same(t, "alone", "shared")
	}
}

// TestOfferedAgain runs a pipeline twice. The second time it changes nothing, and a task
// costs few requests.
func TestOfferedAgain(t *testing.T) {
	p := newPlace(t)
	p.array(t, "a", rows)
	plan := p.plan(t, rechunked("a"))
	result := p.at + "/result.json"
	first := mustRun(t, plan, Options{Result: result})
	before := p.values(t, "a")
	p.count()
	second := mustRun(t, plan, Options{Result: result})
	n := float64(p.count())
	if second["tasks"] != first["tasks"] || second["bytes_written"] != 0 {
		t.Errorf("first %v, then %v", first, second)
	}
	perTask := n / float64(second["tasks"])
	if t.Logf("%.1f requests for a task that is offered again", perTask); perTask > 8 {
		t.Errorf("%.1f requests for a task that is offered again", perTask)
	}
	if !maps.Equal(before, p.values(t, "a")) {
		t.Error("something is changed")
	}
	if s := must(ReadSummary(t.Context(), result)); !s.Changed {
		t.Errorf("the summary of the first publication is lost: %+v", s)
	}
}

// TestAtOnce runs two pipelines of one plan at once. Their options differ, so they share
// no worker: each stands for a process.
func TestAtOnce(t *testing.T) {
	p := newPlace(t)
	p.array(t, "alone", rows)
	p.array(t, "shared", rows)
	plan := p.plan(t, rechunked("shared"))
	errs := make([]error, 2)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = run(t, plan, Options{Tasks: 6, Attempts: 5 + i, Patience: 20 * time.Second}) })
	}
	all.Wait()
	if errs[0] != nil || errs[1] != nil {
		t.Fatal(errs)
	}
	p.alone(t, rechunked("alone"))
	p.same(t, "alone", "shared")
}

// TestPatience lets another process execute tasks while a pipeline wants to publish. It
// waits for it, and gives up after a time.
func TestPatience(t *testing.T) {
	p := newPlace(t)
	p.array(t, "alone", rows)
	p.array(t, "shared", rows)
	plan := p.plan(t, rechunked("shared"))
	other := must(job.NewWorker(must(job.Open(t.Context(), plan)), nil))
	defer other.Close()
	join := func() {
		if _, err := other.Do(t.Context(), job.Task{Of: 4}); err != nil {
			t.Fatal(err)
		}
	}
	join()
	if _, err := run(t, plan, Options{Tasks: 4, Patience: 20 * time.Millisecond}); err == nil || !strings.Contains(err.Error(), rechunk.ErrClaimed.Error()) {
		t.Fatalf("published beside a worker: %v", err)
	}
	leaving := time.AfterFunc(300*time.Millisecond, func() { _ = other.Leave() })
	defer leaving.Stop()
	if counters := mustRun(t, plan, Options{Tasks: 4, Patience: 20 * time.Second}); counters["retries"] == 0 {
		t.Error("it has not waited")
	}
	p.alone(t, rechunked("alone"))
	p.same(t, "alone", "shared")
}
