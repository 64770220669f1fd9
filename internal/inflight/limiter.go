// SPDX-License-Identifier: Apache-2.0

// Package inflight limits the requests in flight to a host, for drivers of services. A
// [Limiter] adapts their number to what the host bears. The stores of one process share
// the limiter of a host; see [Of].
package inflight

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"varve.dev/zarr/internal/driver"
)

// Limits are the settings of a [Limiter].
type Limits struct {
	// First is the number of requests in flight at first. 0 sets no limit until the host
	// throttles.
	First int
	// Most is the largest number of requests in flight. It counts only if First is set; 0
	// means First.
	Most int
}

// Adaptive is the limits of object stores: 32 requests in flight at first and at most
// 256. Clouds answer 32 to 64 requests of a few MiB in the time of one, and more on fast
// networks.
func Adaptive() Limits { return Limits{First: 32, Most: 256} }

// Limiter adapts the number of requests in flight.
//
//  1. The limit begins at [Limits.First].
//  2. While requests wait and each step raises the throughput, it grows by half, up to
//     [Limits.Most]. A step that does not is taken back, and tried again later.
//  3. If the host throttles, the limit becomes half the number of requests in flight, at
//     least 1. Requests that began before that do not lower it again.
//  4. Then it grows by an eighth for each round of requests without throttling, until it
//     has the value before step 3.
//
// A limiter that was idle for a minute begins again at 1. It has no goroutine. Its
// methods are safe for concurrent use. A nil Limiter sets no limit.
type Limiter struct {
	limits Limits
	moved  atomic.Int64 // bytes transferred; see Moved

	mu       sync.Mutex
	limit    int
	inFlight int
	cuts     uint32    // number of cuts
	target   int       // step 4 ends there
	idle     time.Time // when the last request ended

	queue, last *waiter // in the order of arrival
	free        *waiter

	round round
	climb climb
}

// round is a sequence of requests after which the limit may grow.
type round struct {
	ended  int       // requests
	begin  time.Time // zero if the round is not timed
	moved  int64     // at begin
	waited bool      // the limit was reached
}

// climb is the state of step 2.
type climb struct {
	lower int     // limit before the last growth, 0 if there was none
	rate  float64 // with that limit
	hold  int     // rounds until the next attempt
	pause int     // rounds to hold after the next failed attempt
}

// waiter is a request that waits.
type waiter struct {
	ready  chan Permit
	behind *waiter
}

const (
	leastRound   = 100 * time.Millisecond // shorter rounds tell too little about the rate
	forgotten    = time.Minute
	requestBytes = 256 << 10 // bytes that take about the time of a request
	firstHold    = 8
	longestHold  = 128
)

// New returns a limiter for a host. Stores use [Of].
func New(limits Limits) *Limiter {
	limits.First = max(0, limits.First)
	limits.Most = max(limits.First, limits.Most)
	l := &Limiter{limits: limits}
	l.reset()
	return l
}

// reset forgets what was learned. No request is in flight or waits.
func (l *Limiter) reset() {
	l.limit = l.limits.First
	if l.limit == 0 {
		l.limit = math.MaxInt
	}
	l.target, l.free = l.limit, nil
	l.round, l.climb = round{}, climb{pause: firstHold}
}

// Most returns the largest number of requests that the limiter ever allows in flight, or
// 0 if it is not set.
func (l *Limiter) Most() int {
	if l == nil || l.limits.First == 0 {
		return 0
	}
	return l.limits.Most
}

// Limit returns the number of requests that may be in flight now.
func (l *Limiter) Limit() int {
	if l == nil {
		return math.MaxInt
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit
}

// Moved adds to the bytes that were sent or received. The limiter measures the throughput
// by it.
func (l *Limiter) Moved(n int) {
	if l != nil {
		l.moved.Add(int64(n))
	}
}

// Permit is the place of one request. Release ends it.
type Permit struct {
	l    *Limiter
	cuts uint32 // when the request began
}

// Acquire waits until another request may be in flight. Its only error is that of ctx.
// Requests get their places in the order of arrival.
func (l *Limiter) Acquire(ctx context.Context) (Permit, error) {
	if l == nil {
		return Permit{}, nil
	}
	l.mu.Lock()
	if p, ok := l.enter(); ok {
		l.mu.Unlock()
		return p, nil
	}
	w := l.enqueue()
	l.mu.Unlock()
	select {
	case p := <-w.ready:
		l.mu.Lock()
		w.behind, l.free = l.free, w
		l.mu.Unlock()
		return p, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.dequeue(w) {
		// The place came at the same time. Pass it on.
		<-w.ready
		l.leave()
	}
	w.behind, l.free = l.free, w
	return Permit{}, ctx.Err()
}

// Do makes one request, which must not wait for another one of the same limiter. The
// errors are those of request and of ctx.
func (l *Limiter) Do(ctx context.Context, request func(context.Context) error) (err error) {
	permit, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	// A panic in request must not keep the place.
	defer func() { permit.Release(err) }()
	return request(ctx)
}

// TryAcquire is Acquire for a request that is made only if it need not wait.
func (l *Limiter) TryAcquire() (p Permit, ok bool) {
	if l == nil {
		return Permit{}, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.enter()
}

// Release ends the request. The error is its result: the limit falls after
// [driver.Throttled],
// and may grow after other results.
func (p Permit) Release(err error) {
	l := p.l
	if l == nil {
		return
	}
	throttled := isThrottled(err)
	// Lost connections and cancelled requests say nothing about what the host bears.
	counts := err == nil || !driver.IsTemporary(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case throttled && p.cuts == l.cuts:
		l.cut()
	case counts:
		l.end()
	}
	l.leave()
}

// isThrottled reports whether err is one of [driver.Throttled].
func isThrottled(err error) bool {
	if err == nil {
		return false // without the allocation below
	}
	var f interface{ Throttled() bool }
	return errors.As(err, &f) && f.Throttled()
}

// enter takes a place if one is free. Then nobody waits for it: see leave.
func (l *Limiter) enter() (Permit, bool) {
	if l.inFlight == 0 {
		l.wake()
	}
	if l.inFlight >= l.limit {
		l.round.waited = true
		return Permit{}, false
	}
	l.inFlight++
	return Permit{l, l.cuts}, true
}

// leave gives a place back, and gives free places to those who wait.
func (l *Limiter) leave() {
	l.inFlight--
	for l.queue != nil && l.inFlight < l.limit {
		w := l.queue
		if l.queue = w.behind; l.queue == nil {
			l.last = nil
		}
		w.behind = nil
		l.inFlight++
		w.ready <- Permit{l, l.cuts} // has room for one
	}
	if l.inFlight == 0 {
		l.idle = time.Now()
	}
}

// wake is called before the first request in flight.
func (l *Limiter) wake() {
	now := time.Now()
	if d := now.Sub(l.idle); !l.idle.IsZero() && (d < 0 || d > forgotten) {
		l.reset()
	}
	// The time without requests does not count as part of a round.
	if !l.round.begin.IsZero() {
		l.round = l.timed(now)
	}
}

// timed returns a round that begins now.
func (l *Limiter) timed(now time.Time) round { return round{begin: now, moved: l.moved.Load()} }

func (l *Limiter) enqueue() *waiter {
	w := l.free
	if w != nil {
		l.free, w.behind = w.behind, nil
	} else {
		w = &waiter{ready: make(chan Permit, 1)}
	}
	if l.last == nil {
		l.queue = w
	} else {
		l.last.behind = w
	}
	l.last = w
	return w
}

// dequeue removes a waiter and reports whether it still waited.
func (l *Limiter) dequeue(w *waiter) bool {
	var before *waiter
	for v := l.queue; v != nil; before, v = v, v.behind {
		if v != w {
			continue
		}
		if before == nil {
			l.queue = w.behind
		} else {
			before.behind = w.behind
		}
		if l.last == w {
			l.last = before
		}
		w.behind = nil
		return true
	}
	return false
}

// cut is step 3. A limit that was not reached says nothing, so it counts the requests
// that were in flight.
func (l *Limiter) cut() {
	l.cuts++
	l.target = min(l.limit, l.inFlight)
	l.limit = max(1, l.target/2)
	l.round, l.climb = round{}, climb{hold: firstHold, pause: firstHold}
}

// end counts a request that the host answered.
func (l *Limiter) end() {
	switch l.round.ended++; {
	case l.limit < max(l.target, l.limits.First) || l.limits.First == 0 && l.limit < math.MaxInt:
		l.recover()
	case l.limit < l.limits.Most || l.climb.lower > 0:
		l.grow()
	}
}

// recover is step 4. Below the first limit, growth needs no reason.
func (l *Limiter) recover() {
	if l.round.ended < l.limit {
		return
	}
	l.round = round{}
	l.limit += max(1, l.limit/8)
	if l.limits.First > 0 {
		l.limit = min(l.limit, max(l.target, l.limits.First))
	} else if l.limit >= 2*l.target {
		// Nobody throttles any more.
		l.limit = math.MaxInt
	}
}

// grow is step 2.
func (l *Limiter) grow() {
	r := &l.round
	if r.begin.IsZero() {
		*r = l.timed(time.Now())
		return
	}
	// In the first half of a round, requests end that began with the limit before.
	if r.ended < 2*l.limit {
		return
	}
	now := time.Now()
	took := now.Sub(r.begin)
	if took < leastRound {
		return
	}
	rate := float64(l.moved.Load()-r.moved+int64(r.ended)*requestBytes) / took.Seconds()
	waited := r.waited
	*r = l.timed(now)
	c := &l.climb
	switch {
	// More places would stay free.
	case !waited:
		c.lower = 0
		return
	case c.hold > 0:
		c.hold--
		return
	case c.lower > 0 && rate < c.rate*l.enough():
		l.limit = c.lower
		*c = climb{hold: c.pause, pause: min(2*c.pause, longestHold)}
		return
	case l.limit == l.limits.Most:
		c.lower = 0
		return
	}
	c.lower, c.rate = l.limit, rate
	l.limit = min(l.limits.Most, l.limit+max(1, l.limit/2))
}

// enough returns the growth of the throughput that keeps a larger limit: a quarter of the
// growth of the limit.
func (l *Limiter) enough() float64 {
	return 1 + float64(l.limit-l.climb.lower)/float64(4*l.climb.lower)
}

// shared is the limiters of this process. An entry goes with the last store that uses it.
var shared = struct {
	sync.Mutex
	limiters map[host]weak.Pointer[Limiter]
}{limiters: map[host]weak.Pointer[Limiter]{}}

// host is the key of a shared limiter.
type host struct {
	name   string
	limits Limits
}

// Of returns the limiter of a host, such as "example.org:443". All callers with
// the same limits share it for as long as one of them keeps it.
func Of(name string, limits Limits) *Limiter {
	h := host{name, limits}
	shared.Lock()
	defer shared.Unlock()
	if l := shared.limiters[h].Value(); l != nil {
		return l
	}
	l := New(limits)
	shared.limiters[h] = weak.Make(l)
	runtime.AddCleanup(l, forget, h)
	return l
}

// forget removes the entry of a limiter that nobody uses, unless it has a successor.
func forget(h host) {
	shared.Lock()
	defer shared.Unlock()
	if shared.limiters[h].Value() == nil {
		delete(shared.limiters, h)
	}
}
