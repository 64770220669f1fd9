// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Do makes attempts of an operation as Get does: within the policy and its limiter, and
// ending an attempt in which [web.Send] moves no bytes for the time of Options.Stall.
// Attempts send their requests with the context that they get.
func (s *web) Do(ctx context.Context, attempt func(ctx context.Context) error) error {
	return s.policy.Do(ctx, func(ctx context.Context) error {
		return s.limiter.Do(ctx, func(ctx context.Context) error { return s.watched(ctx, attempt) })
	})
}

// Send sends one request of an attempt of [web.Do]. It neither adds headers of the
// options nor follows redirections. An error is [driver.Temporary] if the connection was
// lost: then the service may or may not have acted on the request. The caller closes the
// body, and passes an error of its reader to [driver.Network].
func (s *web) Send(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if w, ok := ctx.Value(watchKey{}).(*watch); ok {
		r = w.uploading(r)
	}
	answer, err := s.transport.RoundTrip(r)
	if err != nil {
		return nil, s.lost(ctx, r.Method, r.URL.Host, err)
	}
	answer.Body = watching(ctx, answer.Body)
	return answer, nil
}

// uploading returns a request whose body reports to the watch.
func (w *watch) uploading(r *http.Request) *http.Request {
	if r.Body == nil || r.Body == http.NoBody {
		return r
	}
	c := *r
	c.Body = &upload{r.Body, w}
	if r.GetBody != nil {
		c.GetBody = func() (io.ReadCloser, error) {
			b, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			return &upload{b, w}, nil
		}
	}
	return &c
}

// upload is a body of a request under a watch. The transport reads it on a goroutine of
// its own.
type upload struct {
	io.ReadCloser
	watch *watch
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if n > 0 {
		u.watch.sent(n)
	}
	return n, err
}

const (
	hedgeSamples  = 128                  // requests from which the delay is computed
	hedgeRefresh  = 16                   // requests between two computations
	hedgeEarliest = 5 * time.Millisecond // the pause of a runtime may be as long
	hedgeShare    = 20                   // requests for each repeated one: 5 %
	hedgeJudged   = 16                   // repeated requests after which their use is judged
	hedgeWins     = 4                    // of those, the fewest that must come first
	hedgePause    = 1024                 // requests without hedging otherwise
)

// hedger decides when a second request is sent ([Options.Hedge]). It is a server's record
// of the times until the headers of answers came.
type hedger struct {
	mu            sync.Mutex
	recent        [hedgeSamples]time.Duration // a ring
	answers       int
	delay         time.Duration // a little more than 95 % of recent, 0 if they are too few
	median, usual time.Duration // of recent, and in the long run
	asked, hedged int
	judged, won   int // repeated requests since the last judgement
	pause         int // requests until hedging resumes
}

// begin counts a request. It returns the time after which the request is late, or 0 if it
// is not repeated.
func (h *hedger) begin() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked++
	if h.pause > 0 {
		h.pause--
		return 0
	}
	// The server is slow as a whole. More requests would make it slower.
	if h.median > 2*h.usual {
		return 0
	}
	return h.delay
}

// repeat reports whether a late request may be repeated, and counts that.
func (h *hedger) repeat() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pause > 0 || (h.hedged+1)*hedgeShare > h.asked {
		return false
	}
	h.hedged++
	return true
}

// answered records the time until the headers came, or until the request was abandoned
// for a faster one.
func (h *hedger) answered(took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recent[h.answers%hedgeSamples] = took
	h.answers++
	if h.answers%hedgeRefresh != 0 || h.answers < 2*hedgeRefresh {
		return
	}
	sorted := h.recent
	list := sorted[:min(h.answers, hedgeSamples)]
	slices.Sort(list)
	// If all requests take about the same time, none of them is late.
	p95 := list[len(list)*95/100]
	h.delay = max(hedgeEarliest, p95+p95/8)
	h.median = list[len(list)/2]
	if h.usual == 0 {
		h.usual = h.median
	}
	h.usual += (h.median - h.usual) / 128
}

// judge counts the result of a repeated request. If too few come first, the server is not
// slow by chance, and repeating does not help.
func (h *hedger) judge(won bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.judged++
	if won {
		h.won++
	}
	if h.judged < hedgeJudged {
		return
	}
	if h.won < hedgeWins {
		h.pause = hedgePause
	}
	h.judged, h.won = 0, 0
}

// exchange sends a request, and with [Options.Hedge] another one if the answer is late.
// It returns the answer whose headers come first. The other request is cancelled, so only
// one body is ever read.
func (s *web) exchange(ctx context.Context, a ask, u *url.URL) (*http.Response, error) {
	if s.hedger == nil || a.method != http.MethodGet {
		return s.transport.RoundTrip(s.request(ctx, a, u))
	}
	begin, delay := time.Now(), s.hedger.begin()
	if delay == 0 {
		r, err := s.transport.RoundTrip(s.request(ctx, a, u))
		if err == nil {
			s.hedger.answered(time.Since(begin))
		}
		return r, err
	}
	again := *u
	race := &race{s: s, ask: a, url: &again}
	// The winner's context ends with that of the attempt, after its body.
	var first context.Context
	first, race.cancelFirst = context.WithCancel(ctx)
	race.second, race.cancelSecond = context.WithCancel(ctx)
	// Options.Pin may change u, and may take its time.
	request := s.request(first, a, u)
	timer := time.AfterFunc(delay, race.repeat)
	r, err := s.transport.RoundTrip(request)
	timer.Stop()
	return race.finish(begin, r, err)
}

// race is a request and its repetition. The first one runs on the goroutine of the
// caller, the second one on that of a timer.
type race struct {
	s   *web
	ask ask
	url *url.URL // of the second request, which alone has it

	cancelFirst, cancelSecond context.CancelFunc
	second                    context.Context

	mu      sync.Mutex
	decided bool           // one of them has won
	answer  *http.Response // of the second request, if that has won
}

// over reports whether one of the requests has won.
func (c *race) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.decided
}

// repeat sends the second request.
func (c *race) repeat() {
	h := c.s.hedger
	// The first answer may have come while the timer fired.
	if c.over() {
		return
	}
	// A second request must not take the place of another first one.
	permit, ok := c.s.limiter.TryAcquire()
	if !ok {
		return
	}
	if !h.repeat() {
		permit.Release(context.Canceled)
		return
	}
	r, err := c.s.transport.RoundTrip(c.s.request(c.second, c.ask, c.url))
	won := c.win(r, err)
	if err = context.Canceled; !won && r != nil {
		if r.StatusCode/100 != 2 {
			err = c.s.statusError(r)
		}
		r.Body.Close()
	}
	// If it wins, the place of the first request is enough for both.
	permit.Release(err)
	h.judge(won)
}

// win makes the second request the winner, unless its answer comes later or is not a
// value. Then the first one decides.
func (c *race) win(r *http.Response, err error) bool {
	c.mu.Lock()
	won := !c.decided && err == nil && r.StatusCode/100 == 2
	if won {
		c.decided, c.answer = true, r
	}
	c.mu.Unlock()
	if won {
		c.cancelFirst()
	}
	return won
}

// finish ends the first request and returns the answer of the race.
func (c *race) finish(begin time.Time, r *http.Response, err error) (*http.Response, error) {
	c.mu.Lock()
	second := c.answer
	c.decided = true
	c.mu.Unlock()
	if second == nil {
		c.cancelSecond()
	}
	if err == nil || second != nil {
		c.s.hedger.answered(time.Since(begin))
	}
	if second == nil {
		return r, err
	}
	if err == nil {
		r.Body.Close()
	}
	return second, nil
}
