// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
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

// table is a table of Markdown.
type table struct {
	strings.Builder
	columns int
}

// newTable returns a table whose first columns have text. The others have numbers.
func newTable(text int, heads ...string) *table {
	t := &table{columns: len(heads)}
	t.row(heads...)
	t.WriteString("|" + strings.Repeat("---|", text) + strings.Repeat("--:|", len(heads)-text) + "\n")
	return t
}

func (t *table) row(cells ...string) {
	for len(cells) < t.columns {
		cells = append(cells, "–")
	}
	t.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// duration formats seconds with two or three digits.
func duration(s float64) string {
	switch {
	case s < 100:
		return fmt.Sprintf("%.0f s", s)
	case s < 100*60:
		return fmt.Sprintf("%.0f min", s/60)
	case s < 100*3600:
		return fmt.Sprintf("%.1f h", s/3600)
	}
	return fmt.Sprintf("%.1f d", s/86400)
}

// amount formats a number with three digits.
func amount(n float64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%.0f", n)
	case n < 1e6:
		return fmt.Sprintf("%.0f k", n/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.1f M", n/1e6)
	}
	return fmt.Sprintf("%.2f G", n/1e9)
}

// percent formats a fraction.
func percent(f float64) string { return fmt.Sprintf("%.0f %%", 100*f) }

// value formats an input with its unit.
func (c *cost) value() string {
	v := fmt.Sprintf("%g", c.Value)
	switch {
	case c.Unit == "s" && c.Value > 0 && c.Value < 1e-3:
		return fmt.Sprintf("%.3g µs", c.Value*1e6)
	case c.Unit == "s" && c.Value > 0 && c.Value < 0.1:
		return fmt.Sprintf("%.3g ms", c.Value*1e3)
	case c.Unit == "bytes/s":
		return fmt.Sprintf("%g MB/s", c.Value/1e6)
	case c.Unit == "bytes":
		return fmt.Sprintf("%g MiB", c.Value/(1<<20))
	case c.Unit == "workers":
		return percent(c.Value) + " of workers"
	case c.Unit == "sigma":
		return "σ " + v
	case c.Unit == "USD" && c.Value < 0.1:
		return fmt.Sprintf("%.3g USD per 1,000", c.Value*1000)
	}
	return v + " " + c.Unit
}

// sensitivity is the table of runs in which one input differs from those of the others:
// the rechunking by claims, if tables tell what is stored.
func (p *page) sensitivity() string {
	var v variants
	base := p.setup(p.chunks, taking(claimsEach), once)
	v.add(base, "nothing", "")
	u := base
	u.executor = taking(10)
	v.add(u, "--take", "10,000")
	v.set(base, "lease", "5 min", func(c *costs) { c.lease = 300 })
	v.set(base, "life of workers", "for ever", func(c *costs) { c.life = 0 })
	v.set(base, "partitions", "1", func(c *costs) { c.partitions = 1 })
	v.set(base, "parts in flight", "32", func(c *costs) { c.uploads = 32 })
	u = base
	u.workers = 3000
	v.add(u, "workers", "3,000")
	u = base
	u.executor, u.costs.life = restarting("", perWorker(claimsEach)), 0
	v.add(u, "an engine that restarts, life", "for ever")
	return p.outcomes([2]string{"changed", "to"}, v.rows, v.setups)
}

// variants are setups with their names.
type variants struct {
	rows   [][2]string
	setups []setup
}

func (v *variants) add(u setup, what, to string) {
	v.rows, v.setups = append(v.rows, [2]string{what, to}), append(v.setups, u)
}

// set adds a setup with other costs. The loads of its stages follow from them.
func (v *variants) set(u setup, what, to string, change func(c *costs)) {
	change(&u.costs)
	u.work = rechunking(&u.costs, chunks)
	v.add(u, what, to)
}

// stage is one pass over the array.
type stage struct {
	tasks int64
	each  load
}

// workload is what is simulated: a rechunk with its stages and what a process that
// joins has to find out.
type workload struct {
	name             string
	bytes            float64 // decoded
	sources, targets int64   // stored objects before and after
	pairs            float64 // of a source and a target that have elements in common
	stages           []stage
}

// objects are the sizes of the chunks or shards of a rechunking, and the plan for them.
type objects struct {
	name           string
	source, target []int64  // the shape of an object
	tasks          [2]int64 // of both stages
	// pieces are the ranges of scratch objects that the tasks of the second stage read.
	// Unlike tasks, no plan shows them: package blocks has counted them.
	pieces int64
}

// The rechunking: five variables of a reanalysis, hourly for 40 years, on 137 levels and
// a grid of 721 by 1440, from maps to series of a year. They are float32 and are stored
// in half of their bytes.
var (
	shape  = []int64{5, 350640, 137, 721, 1440}
	unit   = []int64{1, 16, 1, 721, 1440} // a source chunk of 63 MiB, read as a whole
	chunks = objects{"chunks of 63 MiB", unit, []int64{1, 8766, 1, 43, 44}, [2]int64{156865, 191800}, 1285060}
	shards = objects{
		"shards of about 0.5 GiB", []int64{1, 128, 1, 721, 1440}, []int64{1, 8766, 1, 129, 132}, [2]int64{156865, 219200}, 1468640,
	}
	large = objects{
		"shards of about 4 GiB", []int64{1, 1024, 1, 721, 1440}, []int64{1, 8766, 1, 361, 352}, [2]int64{156865, 219200}, 1468640,
	}
)

const (
	size     = 4 // bytes of an element
	encoded  = 0.5
	inParts  = 4     // parts from which on an object is uploaded in parts
	upload   = 2     // requests that begin and end an upload in parts
	copyEach = 5.0e7 // bytes of a daily shard
)

// rechunking returns the workload for objects of some size.
func rechunking(c *costs, o objects) *workload {
	w := &workload{name: o.name, bytes: size, pairs: 1, sources: 1, targets: 1}
	units := int64(1)
	for i, n := range shape {
		w.bytes *= float64(n)
		w.pairs *= float64(pairs(n, o.source[i], o.target[i]))
		w.sources *= cells(n, o.source[i])
		w.targets *= cells(n, o.target[i])
		units *= cells(n, unit[i])
	}
	w.stages = []stage{readStage(c, w, o.tasks[0], units), writeStage(c, w, o.tasks[1], o.pieces)}
	return w
}

// cells returns the number of chunks of a length along an axis.
func cells(extent, length int64) int64 { return (extent + length - 1) / length }

// pairs returns how many pairs of chunks of two lengths along an axis have elements in
// common.
func pairs(extent, a, b int64) int64 {
	n := int64(0)
	for at := int64(0); at < extent; n++ {
		at = min(extent, (at/a+1)*a, (at/b+1)*b)
	}
	return n
}

// readStage returns the first stage: tasks decode chunks, each of them once, and write a
// scratch object.
func readStage(c *costs, w *workload, tasks, chunks int64) stage {
	n := float64(tasks)
	raw := w.bytes / n
	l := load{in: raw * encoded, out: raw, compute: raw/c.decode + c.task, getsAtOnce: c.reads, putsAtOnce: c.uploads}
	l.gets = requests(float64(chunks)/n, l.in, c.part)
	l.puts = requests(1, raw, c.part) + upload
	l.finish(c)
	return stage{tasks, l}
}

// writeStage returns the last stage: tasks read pieces of scratch objects and encode
// chunks.
func writeStage(c *costs, w *workload, tasks, pieces int64) stage {
	n := float64(tasks)
	raw, objects := w.bytes/n, float64(w.targets)/n
	l := load{in: raw, out: raw * encoded, compute: raw/c.encode + c.task, getsAtOnce: c.reads, putsAtOnce: c.writes}
	l.gets = requests(float64(pieces)/n, raw, c.part)
	l.puts = int64(math.Ceil(objects))
	if l.out/objects > inParts*c.part {
		l.puts = requests(objects, l.out, c.part) + int64(upload*objects)
	}
	l.finish(c)
	return stage{tasks, l}
}

// requests returns how many requests of at most part bytes move so many values.
func requests(values, bytes, part float64) int64 {
	return int64(math.Ceil(values * math.Ceil(bytes/values/part)))
}

// finish adds what follows from the bytes of a load.
func (l *load) finish(c *costs) {
	l.reading, l.writing = l.in/c.connection, l.out/c.connection
	l.compute += (l.in + l.out) / c.tls
}

// The compaction: a shard for each day becomes one for each month. The service copies
// the bytes. Only the indexes of shards pass through the workers.
const (
	days   = 14610
	months = 480
	fields = 5 * 137 // variables and levels
)

// compaction returns the workload of the compaction.
func compaction(c *costs) *workload {
	each := float64(days) / months
	l := load{gets: int64(math.Ceil(each)), puts: int64(math.Ceil(each)) + upload + 1, compute: c.task, getsAtOnce: c.reads, putsAtOnce: c.uploads}
	l.writing = c.copy * each
	return &workload{
		name: "compaction", bytes: copyEach * days * fields / encoded, sources: days * fields, targets: months * fields,
		pairs: days * fields, stages: []stage{{months * fields, l}},
	}
}

// ideal returns the seconds of all stages on undisturbed workers that have nothing to do
// but their tasks.
func (w *workload) ideal(c *costs, workers int) float64 {
	sum := 0.0
	for _, s := range w.stages {
		sum += float64(s.tasks) * s.each.seconds(c, c.latency) / float64(workers)
	}
	return sum
}
