// SPDX-License-Identifier: Apache-2.0

package main

// clock runs events in the order of their times, in seconds from 0 on.
type clock struct {
	now    float64
	events events
	order  int64 // of the next event
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
	e := event{at: c.now + seconds, order: c.order, of: of, do: do}
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
			c.now = until
			return false
		}
		c.now = e.at
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
