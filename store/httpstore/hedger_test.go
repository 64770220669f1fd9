// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr/internal/inflight"
	"varve.dev/zarr/store"
)

// after records answers that took a time, and returns the delay of the next request.
func (h *hedger) after(n int, took time.Duration) time.Duration {
	for range n {
		h.begin()
		h.answered(took)
	}
	return h.begin()
}

// TestHedger checks when a request counts as late, and that none does while the median is
// more than twice the usual one.
func TestHedger(t *testing.T) {
	const ms = time.Millisecond
	h := &hedger{}
	for i, c := range []struct {
		n          int
		took, want time.Duration
	}{
		{30, 40 * ms, 0}, // too few
		{2, 40 * ms, 45 * ms},
		{1000, 40 * ms, 45 * ms},
		{5, 400 * ms, 45 * ms},   // less than 5 % of 128
		{11, 400 * ms, 450 * ms}, // more
		{112, 400 * ms, 0},       // all
		{144, 79 * ms, 79 * ms * 9 / 8},
		{144, 150 * ms, 0},
		{10_000, 150 * ms, 150 * ms * 9 / 8}, // that is usual now
		{10_000, time.Microsecond, hedgeEarliest},
	} {
		if got := h.after(c.n, c.took); got/ms != c.want/ms {
			t.Errorf("%d: %d requests of %v: the delay is %v, want %v", i, c.n, c.took, got, c.want)
		}
	}
}

// TestHedgerShare checks that at most one of 20 requests is repeated, whatever happens,
// and that a bad judgement stops all for a while.
func TestHedgerShare(t *testing.T) {
	h, repeated := &hedger{}, 0
	for asked := 1; asked <= 10_000; asked++ {
		h.begin()
		for range 3 {
			if h.repeat() {
				repeated++
			}
		}
		if repeated > asked/20 {
			t.Fatalf("%d of %d requests are repeated", repeated, asked)
		}
	}
	if repeated != 500 {
		t.Errorf("%d requests are repeated", repeated)
	}
	for i := range hedgeJudged {
		h.begin()
		h.judge(i < hedgeWins-1)
	}
	for range hedgePause {
		if h.repeat() {
			t.Fatal("a request is repeated although that was of no use")
		}
		h.begin()
	}
	if !h.repeat() {
		t.Error("no request is repeated any more")
	}
}

// sends is a transport that notes requests.
type sends func(r *http.Request) (*http.Response, error)

func (f sends) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestHedgePin checks that a request is not repeated before it is sent, however long
// [Hooks.Pin] takes, and that the repeated one has a URL of its own.
func TestHedgePin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var queries []string
		slow := sends(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			queries = append(queries, r.URL.RawQuery)
			n := len(queries)
			mu.Unlock()
			if n == 1 {
				time.Sleep(time.Second)
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
		})
		pins := 0
		s, err := OpenStore("http://h/x?q=1", &Options{Hedge: true, Transport: slow, Hooks: Hooks{
			Pin: func(r *http.Request, version string) {
				if pins++; pins == 1 {
					time.Sleep(time.Second)
					mu.Lock()
					if len(queries) > 0 {
						t.Error("a request was repeated before it was sent")
					}
					mu.Unlock()
				}
				r.URL.RawQuery += "&version=" + version
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
		s.Limited(inflight.New(inflight.Limits{}))
		s.hedger.after(100, 10*time.Millisecond)
		r, err := s.exchange(t.Context(), ask{method: http.MethodGet, match: "v"}, s.url(store.MustKey("k")))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		synctest.Wait()
		if want := "q=1&version=v"; !slices.Equal(queries, []string{want, want}) {
			t.Errorf("the requests have the queries %q, want twice %q", queries, want)
		}
	})
}

// closes reports when a body is closed.
type closes struct {
	io.Reader
	closed bool
}

func (c *closes) Close() error {
	c.closed = true
	return nil
}

// TestRace checks that of two answers that come at the same time one is returned and the
// other one closed.
func TestRace(t *testing.T) {
	for _, secondFirst := range []bool{false, true} {
		c := &race{s: &web{hedger: &hedger{}}}
		_, c.cancelFirst = context.WithCancel(t.Context())
		_, c.cancelSecond = context.WithCancel(t.Context())
		var bodies [2]closes
		first := &http.Response{StatusCode: 200, Body: &bodies[0]}
		second := &http.Response{StatusCode: 206, Body: &bodies[1]}
		if secondFirst != (secondFirst && c.win(second, nil)) {
			t.Fatal("the second answer came first and did not win")
		}
		r, err := c.finish(time.Now(), first, nil)
		if !secondFirst && c.win(second, nil) {
			t.Fatal("both answers win")
		}
		if want := map[bool]*http.Response{false: first, true: second}[secondFirst]; r != want || err != nil || bodies[0].closed != secondFirst {
			t.Errorf("the answer is that of status %d, the first one is closed: %t, error %v", r.StatusCode, bodies[0].closed, err)
		}
	}
}
