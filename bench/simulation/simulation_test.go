// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"testing"
)

// quiet returns costs of workers that are never lost or slow, and of a service that
// permits and answers everything at once.
func quiet(t testing.TB) costs {
	t.Helper()
	c, _, err := parseCosts(builtin)
	if err != nil {
		t.Fatal(err)
	}
	c.life, c.slow, c.spread, c.start, c.launch = 0, 0, 0, 1e-9, 0
	c.latency, c.page, c.partitions, c.object = 1e-12, 1e-12, 1e9, 0
	return c
}

// bare is a way to hand out tasks that costs nothing.
func bare(tasks int64) executor {
	e := claims("", few(tasks))
	e.requests = func(*costs, int) load { return load{} }
	return e
}

// secondsEach returns a workload of stages with so many tasks of so many seconds.
func secondsEach(each float64, tasks ...int64) *workload {
	w := new(workload)
	for _, n := range tasks {
		w.stages = append(w.stages, stage{n, load{serial: each}})
	}
	return w
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(b)) }

// TestUndisturbed compares the time of undisturbed workers with the quotient of tasks and
// workers.
func TestUndisturbed(t *testing.T) {
	for _, c := range []struct {
		tasks   int64
		workers int
	}{{1, 1}, {7, 1}, {10, 10}, {11, 10}, {1000, 7}, {5, 100}} {
		r := simulate(setup{quiet(t), secondsEach(10, c.tasks, 2*c.tasks), bare(1), c.workers, each, 1})
		for k, n := range []int64{c.tasks, 2 * c.tasks} {
			want := math.Ceil(float64(n)/float64(c.workers)) * 10
			if !r.complete || !near(r.stages[k], want) {
				t.Errorf("%d tasks, %d workers: stage %d took %v, want %g s", n, c.workers, k, r.stages, want)
			}
		}
		if r.begun != r.tasks || r.lost != 0 {
			t.Errorf("%d of %d tasks were begun, %d workers lost", r.begun, r.tasks, r.lost)
		}
	}
}

// TestBounds compares loads that one thing bounds with what that permits.
func TestBounds(t *testing.T) {
	c := quiet(t)
	for _, k := range []struct {
		name string
		each load
		want float64
	}{
		{"link", load{in: 13e9, out: 2e9}, 13e9 / c.link},
		{"cores", load{in: 1, compute: 160}, 160 / c.cores},
		{"connections", load{puts: 10, writing: 80, putsAtOnce: 8}, 10},
		{"one after the other", load{serial: 3, compute: 16}, 4},
	} {
		w := &workload{stages: []stage{{4, k.each}}}
		if r := simulate(setup{c, w, bare(1), 2, each, 1}); !near(r.stages[0], 2*k.want) {
			t.Errorf("%s: %v, want %g s", k.name, r.stages, 2*k.want)
		}
	}
}

// TestThrottled compares a stage that the rate of the service bounds with that rate.
func TestThrottled(t *testing.T) {
	c := quiet(t)
	c.partitions = 1
	w := &workload{stages: []stage{{2000, load{puts: 350, putsAtOnce: 64}}}}
	r := simulate(setup{c, w, bare(1), 100, each, 1})
	if least := 2000*350/c.puts - 1; r.stages[0] < least || r.stages[0] > 1.2*least {
		t.Errorf("%v s, want between %g and a fifth more", r.stages, least)
	}
	if r.refused == 0 || r.writes < 2000*350 {
		t.Errorf("%d requests were refused, %d written", r.refused, r.writes)
	}
}

// TestListedOneByOne compares processes that list at once with the rate of one partition.
func TestListedOneByOne(t *testing.T) {
	c := quiet(t)
	w := secondsEach(1, 100)
	w.sources = 11e6 // 11,000 pages for each process
	r := simulate(setup{c, w, bare(1), 100, each, 1})
	want := 100 * 11000 / c.gets
	if r.stages[0] < want/2 || r.stages[0] > want*1.1+w.stages[0].each.serial {
		t.Errorf("%v s, want about %g", r.stages, want)
	}
}

// TestLease loses a worker whose task another one takes over.
func TestLease(t *testing.T) {
	c := quiet(t)
	c.lease = 60
	s := begin(setup{c, secondsEach(100, 2), bare(1), 2, each, 1})
	s.clock.after(50, nil, func() { s.processes[0].die() })
	s.clock.run(mostTime, func() bool { return s.published })
	// The other worker ends its task after 100 s, looks, waits for a lease and half of
	// the time between two looks, and works for 100 s. The new worker is not there yet.
	if want := 100 + 60 + 2.5 + 100; !near(s.result.stages[0], want) {
		t.Errorf("%v s, want %g", s.result.stages, want)
	}
	if s.result.begun != 3 || s.result.lost != 1 {
		t.Errorf("%d tasks begun, %d workers lost", s.result.begun, s.result.lost)
	}
}

// TestConservation loses workers all the time. It checks that no stage ends before all
// its tasks are done, and how much is repeated.
func TestConservation(t *testing.T) {
	for _, e := range ways() {
		for seed := range uint64(5) {
			c := quiet(t)
			c.life, c.slow, c.spread, c.start = 2000, 0.05, 0.2, 30
			u := setup{c, secondsEach(20, 3000, 1000), e, 50, each, seed}
			s := begin(u)
			s.ended = func() { checkEnded(t, s) }
			complete := s.clock.run(mostTime, func() bool {
				if s.finished < 0 || s.finished > s.tasks() {
					t.Fatalf("%s: %d of %d tasks are done", e.name, s.finished, s.tasks())
				}
				return s.published
			})
			if r := s.result; !complete || len(r.stages) != 2 || r.begun < r.tasks || r.lost == 0 {
				t.Fatalf("%s: %+v", e.name, r)
			}
			most := s.result.lost * s.tasksPerSave() // the task in work, and those before it
			switch {
			case e.restarts:
				most += s.result.lost * int64(u.workers)
			case !e.keeps:
				most = s.result.lost * cells(3000, s.executor.parcels(3000, u.workers))
			}
			if repeated := s.result.begun - s.result.tasks; repeated > most {
				t.Errorf("%s: %d tasks were repeated, at most %d should be", e.name, repeated, most)
			}
		}
	}
}

// checkEnded checks that a stage that ends has no parcel with tasks that are not done.
func checkEnded(t *testing.T, s *simulation) {
	t.Helper()
	left := append(s.offered, s.unseen...)
	for _, p := range s.processes {
		if p.parcel != nil {
			left = append(left, p.parcel)
		}
	}
	for _, p := range left {
		if p.done < p.count {
			t.Fatalf("%s: stage %d ends with %d of %d tasks of a parcel", s.executor.name, s.stage, p.done, p.count)
		}
	}
	if s.fresh() != nil || s.published {
		t.Fatalf("%s: stage %d ends with parcels that nobody had", s.executor.name, s.stage)
	}
}

// TestEqualSeeds checks that equal setups have equal results, also at the same time.
func TestEqualSeeds(t *testing.T) {
	c := quiet(t)
	c.life, c.start = 2000, 30
	u := setup{c, secondsEach(20, 2000), bare(4), 50, each, 7}
	r := runs([]setup{u, u})
	if r[0].total != r[1].total || r[0].begun != r[1].begun {
		t.Errorf("%+v and %+v", r[0], r[1])
	}
	u.seed++
	if other := simulate(u); other.total == r[0].total {
		t.Error("another seed has the same result")
	}
}

// few returns a number of parcels that has so many tasks in each.
func few(tasks int64) func(int64, int) int64 {
	return func(all int64, _ int) int64 { return max(1, all/tasks) }
}
