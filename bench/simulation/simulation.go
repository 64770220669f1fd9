// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"math/rand/v2"
)

// parcel is what a process takes at a time: tasks, of which some are done.
type parcel struct{ count, done int64 }

// listings says how processes that join learn what is stored and done. All but each are
// suppositions; spread and merged may be true at once.
type listings int

// each lists the store, and reads the records of the stage before: what Varve does.
const each listings = 0

const (
	// spread lists several prefixes at a time.
	spread listings = 1 << iota
	// merged reads one object for each process of the stage before, which has all records
	// of that process.
	merged
	// once reads tables that somebody has made, and looks only at tasks of its own.
	once
)

// contains reports whether a supposition is one of them.
func (l listings) contains(is listings) bool { return l&is != 0 }

// setup is what is simulated.
type setup struct {
	costs    costs
	work     *workload
	executor executor
	workers  int
	listings listings
	seed     uint64
}

// result is what came of it. Times are in seconds.
type result struct {
	complete       bool    // it ended within mostTime
	list           float64 // the listing that all share
	stages         []float64
	publish, clean float64 // until the new grid is visible, and to delete scratch and records
	total          float64
	tasks          int64 // of all stages
	begun          int64 // tasks, each time that one was begun
	lost           int64 // workers
	reads, writes  int64 // requests by their price
	refused        int64
	givenUp        int64
}

// simulation is one run.
type simulation struct {
	setup
	clock     clock
	dice      dice
	service   *service
	processes []*process
	stage     int
	began     float64 // of the stage
	finished  int64   // tasks of the stage
	offered   []*parcel
	fresh     func() *parcel // the next parcel that nobody had, or nil
	dealt     bool           // somebody has found that there is none
	unseen    []*parcel      // of lost workers, which nobody has looked for yet
	left      left           // by earlier stages
	published bool
	result    result
	ended     func() // for tests: the tasks of the stage are done; may be nil
}

// mostTime is when a run is given up.
const mostTime = 3 * 24 * 3600

// simulate runs a setup.
func simulate(u setup) result {
	s := begin(u)
	s.result.complete = s.clock.run(mostTime, func() bool { return s.published })
	s.result.total = s.clock.seconds
	s.result.reads, s.result.writes = s.service.reads(), s.service.writes()
	if u.executor.renews {
		s.result.writes += int64(s.clock.seconds / u.costs.lease * 3 * float64(u.workers))
	}
	s.result.refused, s.result.givenUp = s.service.refused, s.service.givenUp
	return s.result
}

// begin returns a simulation whose clock has not run.
func begin(u setup) *simulation {
	s := &simulation{setup: u, dice: newDice(u.seed), service: newService(&u.costs)}
	for _, w := range u.work.stages {
		s.result.tasks += w.tasks
	}
	s.prepare()
	return s
}

// prepare starts the workers, after the listing that all share, if any.
func (s *simulation) prepare() {
	begin := func() {
		s.result.list = s.clock.seconds
		s.deal()
		for range s.workers {
			p := newProcess(s)
			s.processes = append(s.processes, p)
			p.start()
		}
	}
	if s.listings.contains(once) {
		newProcess(s).do(listing(&s.costs, float64(s.work.sources)), 1, begin)
		return
	}
	begin()
}

// tasks returns the number of tasks of the stage.
func (s *simulation) tasks() int64 { return s.work.stages[s.stage].tasks }

// task returns the load of a task.
func (s *simulation) task() load { return s.work.stages[s.stage].each }

// parcels returns the number of parcels of the stage.
func (s *simulation) parcels() int64 { return s.executor.parcels(s.tasks(), s.workers) }

// deal divides the tasks of the stage into parcels.
func (s *simulation) deal() {
	all := s.tasks()
	n := s.parcels()
	s.began, s.finished, s.offered, s.unseen, s.dealt = s.clock.seconds, 0, nil, nil, false
	k := int64(0)
	s.fresh = func() *parcel {
		if k == n {
			return nil
		}
		k++
		return &parcel{count: all*k/n - all*(k-1)/n}
	}
}

// take returns a parcel, or nil if all are taken. Those of lost workers come first.
func (s *simulation) take() *parcel {
	if len(s.offered) > 0 {
		p := s.offered[0]
		s.offered = s.offered[1:]
		return p
	}
	p := s.fresh()
	if p == nil && !s.dealt {
		s.dealt = true
		for _, p := range s.unseen {
			s.offer(p)
		}
		s.unseen = nil
	}
	return p
}

// forget takes back the tasks of a parcel that nobody knows of after its worker was lost:
// all, or those whose records were not stored yet.
func (s *simulation) forget(p *parcel) {
	n := p.done
	if s.executor.keeps {
		n %= s.tasksPerSave()
	}
	s.finished -= n
	p.done -= n
}

// abandoned takes a parcel back from a lost worker.
func (s *simulation) abandoned(p *parcel) {
	s.forget(p)
	if s.executor.late && !s.dealt {
		s.unseen = append(s.unseen, p)
		return
	}
	s.offer(p)
}

// offer offers a parcel again when it is noticed that its worker is lost.
func (s *simulation) offer(p *parcel) {
	stage := s.stage
	s.clock.after(s.executor.notice(&s.costs), nil, func() {
		if stage != s.stage {
			return
		}
		s.offered = append(s.offered, p)
		for _, p := range s.processes {
			if p.idle {
				p.idle = false
				p.ready()
				return
			}
		}
	})
}

// looksAtDone is how often a process waits for an answer to find that a parcel is done:
// it reads the records, and asks for their objects.
const looksAtDone = 2

// restart begins the job again after a worker was lost. Another one takes its place at
// once.
func (s *simulation) restart(dead *process, had *parcel) {
	if had != nil {
		s.forget(had)
		s.offered = append(s.offered, had)
	}
	dead.up = true
	done := float64(s.finished) / float64(s.tasks()) * float64(s.parcels())
	looks := load{looks: looksAtDone * int64(done) / int64(s.workers)}
	for _, p := range s.processes {
		if !p.up {
			continue
		}
		if had := p.stop(); had != nil {
			s.offered = append(s.offered, had) // whoever is stopped stores the records
		}
		p.mayDie()
		p.joined = 0
		s.clock.after(s.costs.restart, p, func() { p.do(looks, 1, p.ready) })
	}
}

// advance continues with the next stage, or publishes.
func (s *simulation) advance() {
	if s.ended != nil {
		s.ended()
	}
	s.result.stages = append(s.result.stages, s.clock.seconds-s.began)
	for _, p := range s.processes {
		if p.up {
			p.stop()
		}
	}
	if s.isLast() {
		s.finish()
		return
	}
	s.leave()
	s.deal()
	for _, p := range s.processes {
		if p.up {
			p.mayDie()
			p.ready()
		}
	}
}

// leave continues with the next stage.
func (s *simulation) leave() {
	now := s.present()
	s.left.scratch, s.left.records, s.left.markers = s.left.scratch+now.scratch, s.left.records+now.records, s.left.markers+now.markers
	s.stage++
}

// finish publishes, and deletes scratch and records. One process does that, on a machine
// that is not lost.
func (s *simulation) finish() {
	for _, p := range s.processes {
		p.life++
		p.up = false
	}
	p := newProcess(s)
	begin := s.clock.seconds
	visible, clean := s.publishing()
	p.do(visible, 1, func() {
		s.result.publish = s.clock.seconds - begin
		begin = s.clock.seconds
		p.do(clean, 1, func() {
			s.result.clean = s.clock.seconds - begin
			s.published = true
		})
	})
}

// clock runs events in the order of their times, in seconds from 0 on.
type clock struct {
	seconds float64
	events  events
	order   int64 // of the next event
}

// event is something that happens. It does not if its process has another life by then.
type event struct {
	at    float64
	order int64 // events of one time happen in the order in which they were planned
	of    *process
	life  int
	do    func()
}

// after plans an event. Unless of is nil, it belongs to the present life of a process.
func (c *clock) after(seconds float64, of *process, do func()) {
	e := event{at: c.seconds + seconds, order: c.order, of: of, do: do}
	if of != nil {
		e.life = of.life
	}
	c.order++
	c.events.push(e)
}

// run lets events happen until done reports true or the time is over. It reports whether
// done was true.
func (c *clock) run(until float64, done func() bool) bool {
	for len(c.events) > 0 && !done() {
		e := c.events.pop()
		if e.at > until {
			c.seconds = until
			return false
		}
		c.seconds = e.at
		if e.of == nil || e.of.life == e.life {
			e.do()
		}
	}
	return done()
}

// events is a heap; the next one comes first. It is not a [container/heap], which would
// allocate memory for each event.
type events []event

// before reports whether event i comes before event k.
func (h events) before(i, k int) bool {
	if h[i].at != h[k].at {
		return h[i].at < h[k].at
	}
	return h[i].order < h[k].order
}

func (h *events) push(e event) {
	*h = append(*h, e)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if !a.before(i, up) {
			return
		}
		a[i], a[up] = a[up], a[i]
		i = up
	}
}

func (h *events) pop() event {
	a := *h
	first, last := a[0], len(a)-1
	a[0], a[last] = a[last], event{}
	a = a[:last]
	*h = a
	for i := 0; ; {
		least := i
		for k := 2*i + 1; k <= 2*i+2 && k < last; k++ {
			if a.before(k, least) {
				least = k
			}
		}
		if least == i {
			return first
		}
		a[i], a[least] = a[least], a[i]
		i = least
	}
}

// process is Varve on one worker. When the worker is lost, another one takes its place
// and begins another life.
type process struct {
	sim    *simulation
	life   int     // events of earlier lives do not happen
	up     bool    // it runs
	idle   bool    // it waits for a parcel
	slow   float64 // how much slower than others it is
	joined int     // stages that it has joined
	parcel *parcel

	load        load // in work, in steps
	k, n        int64
	left        load // of the step, what the service has not permitted yet
	tries       int
	factor      float64
	afterLoad   func() // after the load
	ask, onStep func() // methods as values, made once
}

func newProcess(s *simulation) *process {
	p := &process{sim: s, slow: 1}
	p.ask, p.onStep = p.request, p.stepped
	return p
}

const (
	slowTimes    = 4   // how much slower a slow worker is
	latencySigma = 0.6 // of the latency of requests
	longestPause = 30  // seconds before a request is repeated
)

// start begins a life.
func (p *process) start() {
	s := p.sim
	p.life++
	p.joined, p.slow = 0, 1
	if s.dice.Float64() < s.costs.slow {
		p.slow = slowTimes
	}
	s.clock.after(s.dice.between(s.costs.start, 2*s.costs.start), p, func() {
		p.up = true
		p.mayDie()
		p.ready()
	})
}

// mayDie plans the end of this life. An exponential life has no memory, so it may be
// planned again at any time.
func (p *process) mayDie() {
	if s := p.sim; s.costs.life > 0 {
		s.clock.after(s.dice.exponential(s.costs.life), p, p.die)
	}
}

// die ends a life. The worker is replaced.
func (p *process) die() {
	s := p.sim
	s.result.lost++
	had := p.stop()
	p.up = false
	if s.executor.restarts {
		s.restart(p, had)
		return
	}
	if had != nil {
		s.abandoned(had)
	}
	s.clock.after(s.dice.between(s.costs.replace, 2.5*s.costs.replace), p, p.start)
}

// stop forgets what the process does, and returns the parcel that it had.
func (p *process) stop() *parcel {
	had := p.parcel
	p.life++
	p.parcel, p.idle = nil, false
	return had
}

// ready takes the next parcel. A long-lived process joins first.
func (p *process) ready() {
	s := p.sim
	if !s.executor.each && p.joined <= s.stage {
		p.do(s.joining(), 1, func() {
			p.joined = s.stage + 1
			p.ready()
		})
		return
	}
	p.parcel = s.take()
	switch {
	case p.parcel == nil:
		p.idle = true
	case s.executor.each:
		l := s.joining()
		l.serial += s.costs.launch
		p.work(l)
	default:
		p.work(s.executor.requests(&s.costs, s.workers))
	}
}

// work begins the tasks of the parcel after a load, to which its records and its marker
// add. Who has joined before looks whether the marker is there.
func (p *process) work(l load) {
	l.changes += p.sim.saves(p.parcel.count) + 1
	if !p.sim.executor.each {
		l.looks++
	}
	p.do(l, 1, p.run)
}

// run executes the tasks of the parcel that are left.
func (p *process) run() {
	s := p.sim
	if p.parcel.done == p.parcel.count {
		p.parcel = nil
		p.ready()
		return
	}
	s.result.begun++
	p.do(s.task(), s.dice.factor(s.costs.spread), func() {
		p.parcel.done++
		if s.finished++; s.finished == s.tasks() {
			s.advance()
			return
		}
		p.run()
	})
}

// do executes a load in steps, and calls then.
func (p *process) do(l load, factor float64, then func()) {
	p.load, p.factor, p.afterLoad = l, factor, then
	p.k, p.n = 0, l.steps()
	p.step()
}

// step begins a step.
func (p *process) step() {
	p.left, p.tries = p.load.part(p.k, p.n), 0
	p.request()
}

// request asks the service for what is left of the step. A request that is refused is
// repeated after a pause that grows.
func (p *process) request() {
	s := p.sim
	if s.service.permit(s.clock.seconds, &p.left) {
		l := p.load.part(p.k, p.n)
		d := l.seconds(&s.costs, s.costs.latency*s.dice.logNormal(latencySigma))
		s.clock.after(max(d*p.factor*p.slow, s.service.wait(s.clock.seconds, &l)), p, p.onStep)
		return
	}
	if p.tries++; p.tries == attempts {
		s.service.givenUp++
	}
	pause := min(longestPause, s.costs.pause*math.Pow(2, float64(p.tries-1)))
	s.clock.after(s.dice.between(pause/2, pause), p, p.ask)
}

// stepped ends a step.
func (p *process) stepped() {
	if p.k++; p.k < p.n {
		p.step()
		return
	}
	p.afterLoad()
}

// executor is a way to hand out the tasks of a stage. Tasks are handed out in parcels:
// the shares of jobs, claims, or the bundles of an engine.
type executor struct {
	name    string
	parcels func(tasks int64, workers int) int64
	each    bool // a process joins for each parcel; else once for each stage
	// keeps is set if who continues a parcel joins after that, so that it knows which
	// of its tasks are done.
	keeps bool
	// restarts is set if the loss of a worker restarts the job: everybody begins again,
	// and finished parcels are offered once more.
	restarts bool
	renews   bool // whoever has a parcel says so again and again
	// late is set if nobody looks for the parcels of lost workers while there are others.
	late     bool
	notice   func(c *costs) float64           // seconds until a parcel of a lost worker is offered again
	requests func(c *costs, workers int) load // for a parcel
}

// longestLook is the longest time between looks at the claims of others, in seconds.
const longestLook = 5

// perWorker returns a number of parcels that has so many for each worker.
func perWorker(n int64) func(int64, int) int64 {
	return func(all int64, workers int) int64 { return min(all, n*int64(workers)) }
}

// shares are array jobs: as many for each worker as given. The scheduler begins a job
// again whose worker was lost.
func shares(name string, n int64) executor {
	return executor{
		name: name, parcels: perWorker(n), each: true, keeps: true,
		notice: func(c *costs) float64 { return c.requeue },
	}
}

// claims are long-lived processes that take one claim after the other from the store. A
// process that finds no free claim looks at those of others every few seconds. It takes a
// claim over when it has seen no renewal for a lease.
func claims(name string, parcels func(int64, int) int64) executor {
	return executor{
		name: name, parcels: parcels, renews: true, late: true,
		notice: func(c *costs) float64 { return c.lease + min(c.lease/4, longestLook)/2 },
		requests: func(c *costs, workers int) load {
			// A listing has a page for 1,000 claims, and another one for 1,000 records.
			// Each worker has parcels/workers claims, so their number cancels out.
			return load{looks: int64(2 * c.looks * float64(workers) / pageNames), changes: 2}
		},
	}
}

// bundles are those of an engine that offers a bundle again alone. A worker that has
// joined before does not know what was done in it.
func bundles(name string, parcels func(int64, int) int64) executor {
	return executor{
		name: name, parcels: parcels,
		notice:   func(c *costs) float64 { return c.bundle },
		requests: func(*costs, int) load { return load{} },
	}
}

// restarting is an engine that restarts the job when a worker is lost.
func restarting(name string, parcels func(int64, int) int64) executor {
	e := bundles(name, parcels)
	e.restarts, e.keeps = true, true
	return e
}

// load is what something asks of a worker and of the service.
type load struct {
	in, out    float64 // bytes over the link
	compute    float64 // seconds of a core, on all cores
	serial     float64 // seconds of one core
	gets, puts int64   // requests, many in flight
	reading    float64 // seconds of all gets, one after the other, beside their latency
	writing    float64 // the same of puts
	getsAtOnce float64 // gets in flight
	putsAtOnce float64 // puts in flight
	pages      int64   // of listings of the array
	// pagesAtOnce are the pages that are asked for at a time; 0 is one.
	pagesAtOnce float64
	records     int64 // small values that are read, some at a time
	looks       int64 // claims and markers that are read or listed, one after the other
	changes     int64 // small values that are written or deleted one after the other
}

// part returns one of n equal parts. The requests that remain are in the first ones.
func (l *load) part(k, n int64) load {
	share := func(all int64) int64 { return all*(k+1)/n - all*k/n }
	p, f := *l, float64(n)
	p.in, p.out, p.compute, p.serial = l.in/f, l.out/f, l.compute/f, l.serial/f
	p.reading, p.writing = l.reading/f, l.writing/f
	p.gets, p.puts, p.pages = share(l.gets), share(l.puts), share(l.pages)
	p.records, p.looks, p.changes = share(l.records), share(l.looks), share(l.changes)
	return p
}

// Figures of steps: what is asked for at once. Fewer requests would take more events and
// change little.
const (
	stepRequests = 512
	stepNames    = 5000
)

// steps returns into how many parts a load is divided.
func (l *load) steps() int64 {
	return max(1, (max(l.gets, l.puts)+stepRequests-1)/stepRequests, (l.pages+l.records+l.looks+l.changes+stepNames-1)/stepNames)
}

// seconds returns how long a load takes when the service has permitted its requests. The
// link, the cores and the requests work side by side; what is done one after the other
// is added.
func (l *load) seconds(c *costs, latency float64) float64 {
	s := max(l.in/c.link, l.out/c.link, l.compute/c.cores)
	if l.gets > 0 {
		s = max(s, (float64(l.gets)*latency+l.reading)/l.getsAtOnce)
	}
	if l.puts > 0 {
		s = max(s, (float64(l.puts)*latency+l.writing)/l.putsAtOnce)
	}
	return s + l.serial + float64(l.pages)*c.page/max(1, l.pagesAtOnce) + (float64(l.records)/c.records+float64(l.looks+l.changes))*latency
}

// dice draws what is random. Equal seeds give equal draws.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0))} }

// exponential draws a time with a mean.
func (d dice) exponential(mean float64) float64 { return d.ExpFloat64() * mean }

// between draws a number from a to b.
func (d dice) between(a, b float64) float64 { return a + (b-a)*d.Float64() }

// logNormal draws a factor whose median is 1.
func (d dice) logNormal(sigma float64) float64 {
	if sigma == 0 {
		return 1
	}
	return math.Exp(sigma * d.NormFloat64())
}

const (
	rare      = 0.001 // tasks that take much longer
	rareTimes = 5     // as long as others
)

// factor draws by how much a task takes longer than it should. Its median is 1.
func (d dice) factor(sigma float64) float64 {
	f := d.logNormal(sigma)
	if sigma > 0 && d.Float64() < rare {
		f *= rareTimes
	}
	return f
}
