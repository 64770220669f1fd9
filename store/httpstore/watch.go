// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
)

// Causes of a cancelled attempt.
var (
	errStalled = errors.New("the server sends nothing")
	errSlow    = errors.New("the server sends too little")
)

// watched makes one attempt. It cancels the attempt if the server stalls or is too slow.
func (s *web) watched(ctx context.Context, attempt func(ctx context.Context) error) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.flying.Add(1)
	defer s.flying.Add(-1)
	w := &watch{s: s, cancel: cancel}
	w.timer = time.AfterFunc(s.options.Stall, func() { cancel(errStalled) })
	defer w.timer.Stop()
	defer w.notice()()
	err := attempt(context.WithValue(inner, watchKey{}, w))
	// Retry after a cancellation by the watch, not after one by the caller.
	if err == nil || ctx.Err() != nil {
		return err
	}
	switch cause := context.Cause(inner); cause {
	case errStalled:
		return s.late(fmt.Errorf("%w, or no complete headers for %v", errStalled, s.options.Stall), remedy.Stall+" waits longer")
	case errSlow:
		return s.late(fmt.Errorf("%w: less than its share of %s a second over %v", errSlow, quantity.Count(s.options.LeastRate, "bytes"), s.options.Stall), remedy.LeastRate)
	}
	return err
}

// late returns the error of an attempt that took too long, with the option that permits
// that.
func (s *web) late(err error, option string) error {
	return &unanswered{host: s.base.Host, err: driver.TimedOut(err), advice: "check the network and proxies, and try again (" + option + ")"}
}

// watch observes one attempt. Its timer ends a silent attempt. A slow body keeps
// resetting the timer, so the bytes of each period are counted too.
type watch struct {
	s      *web
	cancel context.CancelCauseFunc
	timer  *time.Timer
	begin  time.Time // of the period
	got    int64     // bytes in this period
	all    atomic.Int64
}

// noticed is the time that an attempt may be slow before Waiting is called.
const noticed = 5 * time.Second

// notice calls [Options.Waiting] once if little or nothing has arrived after a while.
// Once end returns, Waiting is not called any more.
func (w *watch) notice() (end func()) {
	o := &w.s.options
	if o.Waiting == nil || w.s.reported.Load() {
		return func() {}
	}
	after := min(noticed, o.Stall/4)
	var mu sync.Mutex
	ended := false
	timer := time.AfterFunc(after, func() {
		// The lock makes end wait until a running Waiting returns.
		mu.Lock()
		defer mu.Unlock()
		enough := max(1, w.s.share()*after.Seconds())
		if !ended && float64(w.all.Load()) < enough && !w.s.reported.Swap(true) {
			o.Waiting(w.s.base.Host)
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		ended = true
	}
}

// share returns the rate in bytes per second that one attempt must sustain. Attempts
// share LeastRate, because they share the network connection.
func (s *web) share() float64 {
	return float64(s.options.LeastRate) / float64(max(1, s.flying.Load()))
}

type watchKey struct{}

// watching returns body as one that reports arriving bytes to the watch of its attempt.
func watching(ctx context.Context, body io.ReadCloser) io.ReadCloser {
	w, ok := ctx.Value(watchKey{}).(*watch)
	if !ok {
		return body
	}
	w.timer.Reset(w.s.options.Stall) // headers have come
	w.begin, w.got = time.Now(), 0
	return &watchedBody{body, w}
}

// watchedBody is a body under a watch.
type watchedBody struct {
	io.ReadCloser
	watch *watch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.count(n)
	}
	return n, err
}

// count counts arriving bytes. It cancels an attempt that gets too few in a period.
func (w *watch) count(n int) {
	w.timer.Reset(w.s.options.Stall)
	w.got += int64(n)
	w.all.Add(int64(n))
	w.s.limiter.Moved(n)
	took := time.Since(w.begin)
	// Check whole periods only, because a single read may be much slower or faster.
	if took < w.s.options.Stall {
		return
	}
	if float64(w.got) < w.s.share()*took.Seconds() {
		w.cancel(errSlow)
	}
	w.begin, w.got = w.begin.Add(took), 0
}

// sent counts bytes of a request.
func (w *watch) sent(n int) {
	w.timer.Reset(w.s.options.Stall)
	w.all.Add(int64(n))
	w.s.limiter.Moved(n)
}

// clock is what a store knows about the clock of its service: how far that of this
// machine is ahead, by the dates of answers. Not all answers need to have the same clock,
// because proxies replace dates by their own. The answer that is furthest behind counts,
// for some minutes. By a clock that is ahead, values would seem older than they are. Then
// a chunk of a newer grid could be taken for one of an older grid, and a grace would end
// too early. A value that seems younger is only looked at more closely, or kept longer.
type clock struct {
	mu          sync.Mutex
	began       time.Time     // of the present interval
	most, older time.Duration // the largest difference in it, and in the one before
}

// interval is how long an answer counts at least. It counts twice as long at most, so
// that a clock that was set, or an answer that was late, does not count forever.
const interval = 5 * time.Minute

// ahead takes the date of an answer that came now, and returns how far the clock of this
// machine is ahead.
func (c *clock) ahead(date, now time.Time) time.Duration {
	by := now.Sub(date)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch age := now.Sub(c.began); {
	case c.began.IsZero() || age >= 2*interval:
		c.began, c.most, c.older = now, by, by
	case age >= interval:
		c.began, c.most, c.older = now, by, c.most
	}
	c.most = max(c.most, by)
	return max(c.most, c.older)
}

// unknown reports whether no answer has had a date so far.
func (c *clock) unknown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.began.IsZero()
}

// Local returns a function for the times that the service tells in an answer with these
// headers. Call Local as soon as the answer has come: the time until then counts as a
// difference of the clocks.
//
// The function returns a time by the clock of this machine. It is not later than the
// answer, and at most one second early if all answers have the clock of the service.
//
// If the answer has no date that can be read, but another one had, the time is zero. If
// no answer has had a date so far, a proxy probably removes them. Then Local assumes that
// the clocks agree, and returns the time as it is: without any time, every read would
// suspect its chunks, and nothing that is old would be cleaned up.
func (s *web) Local(h http.Header) func(at time.Time) time.Time {
	now := time.Now()
	var ahead time.Duration
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		ahead = s.clock.ahead(date, now)
	} else if h.Get("Date") != "" || !s.clock.unknown() {
		return func(time.Time) time.Time { return time.Time{} }
	}
	return func(at time.Time) time.Time {
		// Dates are in whole seconds, and so are most times.
		if local := at.Add(ahead); local.Before(now) {
			return local
		}
		return now
	}
}
