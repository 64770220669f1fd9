// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
)

// workers is the number of workers, where nothing else is said.
const workers = 1000

// seed is that of all runs.
const seed = 1

// page makes the tables of docs/scale.md.
type page struct {
	costs costs
	list  []cost
	// The rechunking with objects of three sizes, and the compaction.
	chunks, shards, large, compaction *workload
}

func newPage(data []byte) (*page, error) {
	c, list, err := parseCosts(data)
	if err != nil {
		return nil, err
	}
	return &page{
		costs: c, list: list, compaction: compaction(&c),
		chunks: rechunking(&c, chunks), shards: rechunking(&c, shards), large: rechunking(&c, large),
	}, nil
}

// sections returns the tables by their names.
func (p *page) sections() map[string]string {
	return map[string]string{
		"inputs": p.inputs(), "work": p.tasks(), "joining": p.joins(), "present": p.present(),
		"remedies": p.remedies(), "executors": p.executors(), "sensitivity": p.sensitivity(),
	}
}

// names are those of the sections, in the order of the page.
var names = []string{"inputs", "work", "joining", "present", "remedies", "executors", "sensitivity"}

// inputs is the table of the inputs that matter most.
func (p *page) inputs() string {
	t := newTable(4, "input", "value", "what", "source")
	for i := range p.list {
		if c := &p.list[i]; !c.Minor {
			t.row(c.Name, c.value(), c.What, c.Source)
		}
	}
	return t.String()
}

// tasks is the table of what has to be done.
func (p *page) tasks() string {
	t := newTable(1, "stage", "tasks", "reads", "writes", "bytes in", "bytes out", "a task alone", "1,000 undisturbed workers")
	add := func(name string, s *stage) {
		n, l, alone := float64(s.tasks), &s.each, s.each.seconds(&p.costs, p.costs.latency)
		t.row(name, amount(n), amount(n*float64(l.gets)), amount(n*float64(l.puts)), petabytes(n*l.in), petabytes(n*l.out), fmt.Sprintf("%.1f s", alone), duration(n*alone/workers))
	}
	add("rechunking, 1 of 2", &p.chunks.stages[0])
	add("rechunking, 2 of 2", &p.chunks.stages[1])
	add("compaction", &p.compaction.stages[0])
	return t.String()
}

// petabytes formats an amount of bytes.
func petabytes(n float64) string {
	if n == 0 {
		return "copied"
	}
	return fmt.Sprintf("%.2f PB", n/1e15)
}

// joins is the table of what a process does when it joins the last stage, before any of
// its tasks is done.
func (p *page) joins() string {
	t := newTable(1, "", "objects before, after", "pages of listings", "records read", "alone", "1,000 processes", "USD")
	for _, w := range []*workload{p.chunks, p.shards, p.large, p.compaction} {
		s := &simulation{setup: p.setup(w, taking(claimsEach), each)}
		for s.stage < len(w.stages)-1 {
			s.leave()
		}
		l := s.joining()
		n := float64(l.pages + l.records)
		usd := workers * (float64(l.pages)*p.costs.pricePut + float64(l.records)*p.costs.priceGet)
		t.row(w.name, amount(float64(w.sources))+", "+amount(float64(w.targets)), amount(float64(l.pages)), amount(float64(l.records)),
			duration(l.seconds(&p.costs, p.costs.latency)), duration(max(workers*n/p.costs.gets, l.seconds(&p.costs, p.costs.latency))), fmt.Sprintf("%.0f", usd))
	}
	return t.String()
}

// runs simulates setups, several at once, and returns the results in their order.
func runs(setups []setup) []result {
	results := make([]result, len(setups))
	var group sync.WaitGroup
	permits := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range setups {
		group.Go(func() {
			permits <- struct{}{}
			results[i] = simulate(setups[i])
			<-permits
		})
	}
	group.Wait()
	return results
}

// outcomes is a table of runs, one of each setup.
func (p *page) outcomes(heads [2]string, rows [][2]string, setups []setup) string {
	t := newTable(2, heads[0], heads[1], "time", "efficiency", "stages", "publish", "clean up", "workers lost", "repeated", "given up", "requests, USD", "workers, USD")
	for i, r := range runs(setups) {
		u := &setups[i]
		if !r.complete {
			t.row(rows[i][0], rows[i][1], fmt.Sprintf("over %d d", mostTime/86400))
			continue
		}
		sum, stages := 0.0, make([]string, len(r.stages))
		for k, s := range r.stages {
			stages[k] = duration(s)
			sum += s
		}
		t.row(rows[i][0], rows[i][1], duration(r.total), percent(u.work.ideal(&u.costs, u.workers)/r.total), strings.Join(stages, " + "),
			duration(r.publish), duration(r.clean), amount(float64(r.lost)), amount(float64(r.begun-r.tasks)), amount(float64(r.givenUp)),
			fmt.Sprintf("%.0f", float64(r.reads)*p.costs.priceGet+float64(r.writes)*p.costs.pricePut), fmt.Sprintf("%.0f", sum/3600*float64(u.workers)*p.costs.priceHour))
	}
	return t.String()
}

// setup returns the usual setup of a workload.
func (p *page) setup(w *workload, e executor, l listings) setup {
	return setup{p.costs, w, e, workers, l, seed}
}

// claimsEach is the number of claims for each worker: the N of varve run --take N,
// divided by their number.
const claimsEach = 40

// taking returns workers that take claims, of which there are so many for each. The name
// is that for 1,000 workers.
func taking(each int64) executor {
	return claims(fmt.Sprintf("--take %d,000", each*workers/1000), perWorker(each))
}

// The ways to hand out tasks.
func ways() []executor {
	return []executor{
		shares("1,000 jobs with a share each", 1), shares("10,000 jobs", 10), taking(claimsEach),
		bundles("an engine that repeats bundles", perWorker(claimsEach)), restarting("an engine that restarts the job", perWorker(claimsEach)),
	}
}

// usualEach is the number of claims for each worker where nothing else is said.
const usualEach = 20

// present is the table of runs in which each process lists for itself.
func (p *page) present() string {
	var v variants
	add := func(w *workload, n int, how string, e executor) {
		u := p.setup(w, e, each)
		u.workers = n
		v.add(u, w.name, fmt.Sprintf("%d%s", n, how))
	}
	usual := taking(usualEach)
	for _, n := range []int{100, 300, 1000} {
		add(p.chunks, n, "", usual)
	}
	for _, n := range []int64{1, 10, 160} {
		add(p.chunks, 300, fmt.Sprintf(", --take %d", 300*n), taking(n))
	}
	add(p.chunks, 300, " jobs with a share each", shares("", 1))
	add(p.chunks, 300, ", 3,000 jobs", shares("", 10))
	for _, n := range []int{300, 1000} {
		add(p.large, n, "", usual)
	}
	for _, n := range []int{300, 1000} {
		add(p.compaction, n, "", usual)
	}
	add(p.compaction, 300, ", 3,000 jobs", shares("", 10))
	return p.outcomes([2]string{"", "workers"}, v.rows, v.setups)
}

// remedies is the table of runs with what would make joining and publishing cheaper.
func (p *page) remedies() string {
	var v variants
	add := func(what string, n int, l listings) {
		u := p.setup(p.chunks, taking(usualEach), l)
		u.workers = n
		v.add(u, what, fmt.Sprint(n))
	}
	add("one object with the records of each process", workers, merged)
	add("64 prefixes listed at a time", workers, spread)
	for _, n := range []int{300, workers} {
		add("these two", n, spread|merged)
		add("tables that one process makes", n, once)
	}
	return p.outcomes([2]string{"supposed", "workers"}, v.rows, v.setups)
}

// executors is the table of the ways to hand out tasks, if tables tell what is stored.
func (p *page) executors() string {
	var v variants
	for _, e := range ways() {
		v.add(p.setup(p.chunks, e, once), p.chunks.name, e.name)
	}
	return p.outcomes([2]string{"", "tasks are handed out as"}, v.rows, v.setups)
}
