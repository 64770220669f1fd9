// SPDX-License-Identifier: Apache-2.0

package httpstore_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr/internal/inflight"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
	"varve.dev/zarr/store/storetest"
)

// line is a transport on which the n-th request, from 0 on, takes a time until its
// headers. It counts what happens to requests and bodies.
type line struct {
	takes  func(n int) time.Duration
	status func(n int) int // nil is 200
	slow   time.Duration   // the time of each byte of a body

	mu                      sync.Mutex
	asked, cancelled        int
	answers, read, unclosed int
	from                    []int // the numbers of the answers whose bodies were read
}

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	n := l.asked
	l.asked++
	takes := l.takes(n)
	l.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-r.Context().Done():
		l.mu.Lock()
		l.cancelled++
		l.mu.Unlock()
		return nil, r.Context().Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	status := 200
	if l.status != nil {
		status = l.status(n)
	}
	text := fmt.Sprintf("%05d", n)
	l.answers++
	l.unclosed++
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, Header: http.Header{}, ContentLength: int64(len(text)),
		Body: &lineBody{l: l, r: r, n: n, rest: strings.NewReader(text)},
	}, nil
}

// lineBody is a body of a line. It ends with the context of its request.
type lineBody struct {
	l      *line
	r      *http.Request
	n      int
	rest   *strings.Reader
	begun  bool
	closed bool
}

func (b *lineBody) Read(p []byte) (int, error) {
	time.Sleep(b.l.slow)
	if err := b.r.Context().Err(); err != nil {
		return 0, err
	}
	if b.closed {
		return 0, io.ErrClosedPipe
	}
	if !b.begun {
		b.begun = true
		b.l.mu.Lock()
		b.l.read++
		b.l.from = append(b.l.from, b.n)
		b.l.mu.Unlock()
	}
	return b.rest.Read(p[:min(len(p), 1)])
}

func (b *lineBody) Close() error {
	b.l.mu.Lock()
	defer b.l.mu.Unlock()
	if !b.closed {
		b.closed = true
		b.l.unclosed--
	}
	return nil
}

// hedged opens a store on a line. With it, learn makes requests until the store knows how
// long they take.
func hedged(t *testing.T, l *line) (s *httpstore.Store, learn func()) {
	s = open(t, "http://hedged/x", httpstore.Options{Hedge: true, Transport: l}).Limited(inflight.New(inflight.Limits{}))
	return s, func() {
		t.Helper()
		for range 100 {
			whole(t, s)
		}
	}
}

// whole reads a value and returns the time that takes.
func whole(t *testing.T, s *httpstore.Store) time.Duration {
	t.Helper()
	begin := time.Now()
	got, _, err := get(t, s, "k", store.Request{})
	if len(got) != 5 || err != nil {
		t.Errorf("%q, error %v", got, err)
	}
	return time.Since(begin)
}

// check compares the counts of a line once all requests have ended.
func (l *line) check(t *testing.T, asked, cancelled, read int) {
	t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked != asked || l.cancelled != cancelled || l.read != read || l.unclosed != 0 {
		t.Errorf("%d requests, %d cancelled, %d bodies read, %d not closed; want %d, %d, %d, 0", l.asked, l.cancelled, l.read, l.unclosed, asked, cancelled, read)
	}
}

// except returns a time for all requests but those from first to last.
func except(usual, other time.Duration, first, last int) func(int) time.Duration {
	return func(n int) time.Duration {
		if n >= first && n <= last {
			return other
		}
		return usual
	}
}

const ms = time.Millisecond

// TestHedge checks that a late request is repeated, that the first answer counts, and
// that the other request is cancelled without a read of its body.
func TestHedge(t *testing.T) {
	const late = 10*ms + 10*ms/8
	for name, c := range map[string]struct {
		first, second      time.Duration
		status             int // of the second
		took               time.Duration
		asked, cancelled   int
		winner, bodiesRead int
	}{
		"in time":          {10 * ms, 10 * ms, 200, 10 * ms, 101, 0, 100, 101},
		"second wins":      {time.Second, 10 * ms, 200, late + 10*ms, 102, 1, 101, 101},
		"first wins":       {15 * ms, 10 * ms, 200, 15 * ms, 102, 1, 100, 101},
		"at the same time": {late + 10*ms, 10 * ms, 200, late + 10*ms, 102, 0, -1, 101},
		"second is busy":   {time.Second, 10 * ms, 503, time.Second, 102, 0, 100, 102},
		"second is gone":   {time.Second, 10 * ms, 404, time.Second, 102, 0, 100, 102},
		"both are late":    {time.Second, 500 * ms, 200, late + 500*ms, 102, 1, 101, 101},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &line{takes: func(n int) time.Duration {
					switch n {
					case 100:
						return c.first
					case 101:
						return c.second
					}
					return 10 * ms
				}, status: func(n int) int {
					if n == 101 {
						return c.status
					}
					return 200
				}}
				s, learn := hedged(t, l)
				learn()
				if took := whole(t, s); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				synctest.Wait()
				if name == "at the same time" { // either one may win
					c.cancelled = l.cancelled
				}
				l.check(t, c.asked, c.cancelled, c.bodiesRead)
				if last := l.from[len(l.from)-1]; c.winner >= 0 && last != c.winner {
					t.Errorf("the body of request %d was read, want %d", last, c.winner)
				}
			})
		})
	}
}

// TestHedgeBody checks that no request is repeated once its headers have come, and that
// one that was repeated before is cancelled then: bytes would come twice.
func TestHedgeBody(t *testing.T) {
	for headers, asked := range map[time.Duration]int{9 * ms: 101, 15 * ms: 102} {
		synctest.Test(t, func(t *testing.T) {
			l := &line{takes: except(10*ms, headers, 100, 100)}
			s, learn := hedged(t, l)
			learn()
			l.slow = time.Second
			if took := whole(t, s); took < 5*time.Second || took > 7*time.Second {
				t.Errorf("took %v", took)
			}
			time.Sleep(time.Minute)
			l.check(t, asked, asked-101, 101)
		})
	}
}

// TestHedgeShare checks that at most 5 % of the requests are repeated, however many are
// late, and that the longest times become short.
func TestHedgeShare(t *testing.T) {
	for name, late := range map[string]float64{"3 %": 0.03, "20 %": 0.2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, 2))
				l := &line{takes: func(int) time.Duration {
					if random.Float64() < late {
						return time.Second
					}
					return 10*ms + time.Duration(random.IntN(int(5*ms)))
				}}
				s, _ := hedged(t, l)
				const all = 4000
				long := 0
				for range all {
					if whole(t, s) >= time.Second {
						long++
					}
				}
				synctest.Wait()
				repeated := l.asked - all
				t.Logf("%d of %d repeated, %d took a second", repeated, all, long)
				if repeated > all/20 || late == 0.03 && repeated < all/50 {
					t.Errorf("%d of %d requests were repeated", repeated, all)
				}
				if name == "3 %" && long > 30 {
					t.Errorf("%d requests took a second, where %d would without hedging", long, all*3/100)
				}
			})
		})
	}
}

// TestHedgeOff checks that few requests are repeated when the server becomes slow as a
// whole, and when the repeated ones are not faster.
func TestHedgeOff(t *testing.T) {
	for name, takes := range map[string]func(n int, repeated bool) time.Duration{
		"all are slow": func(n int, _ bool) time.Duration { return except(10*ms, 200*ms, 1000, 1e9)(n) },
		"no use": func(n int, repeated bool) time.Duration {
			switch {
			case repeated:
				return 60 * ms
			case n%25 == 0:
				return 30 * ms
			}
			return 10 * ms
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var flying atomic.Int32
				l := &line{takes: func(n int) time.Duration { return takes(n, flying.Load() > 1) }}
				flown := tripper(func(r *http.Request) (*http.Response, error) {
					flying.Add(1)
					defer flying.Add(-1)
					return l.RoundTrip(r)
				})
				s := open(t, "http://hedged/x", httpstore.Options{Hedge: true, Transport: flown}).Limited(inflight.New(inflight.Limits{}))
				for range 1000 {
					whole(t, s)
				}
				for range 1000 {
					whole(t, s)
				}
				synctest.Wait()
				repeated := l.asked - 2000
				t.Logf("%d repeated", repeated)
				// Without a judgement of their use, 80 would be.
				if repeated > 32 || repeated == 0 {
					t.Errorf("%d of 2000 requests were repeated", repeated)
				}
			})
		})
	}
}

// TestHedgeWaits checks that no request is repeated if it would have to wait for a place,
// that none is without the option, and that cancellation ends both requests at once.
func TestHedgeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{takes: except(10*ms, time.Second, 100, 100)}
		s := open(t, "http://hedged/x", httpstore.Options{Hedge: true, Transport: l}).Limited(inflight.New(inflight.Limits{First: 1}))
		for range 101 {
			whole(t, s)
		}
		l.check(t, 101, 0, 101)
		without := &line{takes: except(10*ms, time.Second, 100, 100)}
		plain := open(t, "http://hedged/x", httpstore.Options{Transport: without})
		for range 101 {
			whole(t, plain)
		}
		without.check(t, 101, 0, 101)
	})
	synctest.Test(t, func(t *testing.T) {
		l := &line{takes: except(10*ms, time.Hour, 100, 101)}
		s, learn := hedged(t, l)
		learn()
		ctx, cancel := context.WithTimeout(t.Context(), 25*ms)
		defer cancel()
		begin := time.Now()
		if _, _, err := s.Get(ctx, store.MustKey("k"), store.Request{}, nil); err == nil || time.Since(begin) != 25*ms {
			t.Errorf("error %v after %v", err, time.Since(begin))
		}
		l.check(t, 102, 2, 100)
	})
}

// TestHedgeStore runs the suite, with hedging and parts, against a server that delays
// some answers.
func TestHedgeStore(t *testing.T) {
	var n atomic.Int32
	url := serve(t, wrap(fixture(), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if n.Add(1)%40 == 0 {
			time.Sleep(30 * ms)
		}
		next.ServeHTTP(w, r)
	}))
	s := open(t, url, httpstore.Options{Hedge: true, Part: 100})
	for range 2 {
		storetest.Run(t, func(t *testing.T) store.Store { return s })
	}
}
