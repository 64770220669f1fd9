// SPDX-License-Identifier: Apache-2.0

package main

import "math"

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

	load      load // in work, in steps
	k, n      int64
	left      load // of the step, what the service has not permitted yet
	tries     int
	factor    float64
	then      func() // after the load
	ask, next func() // methods as values, made once
}

func newProcess(s *simulation) *process {
	p := &process{sim: s, slow: 1}
	p.ask, p.next = p.request, p.stepped
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
	p.load, p.factor, p.then = l, factor, then
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
	if s.service.permit(s.clock.now, &p.left) {
		l := p.load.part(p.k, p.n)
		d := l.seconds(&s.costs, s.costs.latency*s.dice.logNormal(latencySigma))
		s.clock.after(max(d*p.factor*p.slow, s.service.wait(s.clock.now, &l)), p, p.next)
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
	p.then()
}
