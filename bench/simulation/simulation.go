// SPDX-License-Identifier: Apache-2.0

package main

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

// has reports whether a supposition is one of them.
func (l listings) has(is listings) bool { return l&is != 0 }

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
	s.result.total = s.clock.now
	s.result.reads, s.result.writes = s.service.reads(), s.service.writes()
	if u.executor.renews {
		s.result.writes += int64(s.clock.now / u.costs.lease * 3 * float64(u.workers))
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
		s.result.list = s.clock.now
		s.deal()
		for range s.workers {
			p := newProcess(s)
			s.processes = append(s.processes, p)
			p.start()
		}
	}
	if s.listings.has(once) {
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
	s.began, s.finished, s.offered, s.unseen, s.dealt = s.clock.now, 0, nil, nil, false
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

// advance goes on with the next stage, or publishes.
func (s *simulation) advance() {
	if s.ended != nil {
		s.ended()
	}
	s.result.stages = append(s.result.stages, s.clock.now-s.began)
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

// leave goes on with the next stage.
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
	begin := s.clock.now
	visible, clean := s.publishing()
	p.do(visible, 1, func() {
		s.result.publish = s.clock.now - begin
		begin = s.clock.now
		p.do(clean, 1, func() {
			s.result.clean = s.clock.now - begin
			s.published = true
		})
	})
}
