// SPDX-License-Identifier: Apache-2.0

package httpstore_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr/internal/inflight"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
)

// crowd is a server that answers after 30 ms, but throttles requests beyond some number.
type crowd struct {
	status int
	after  string // Retry-After

	mu                           sync.Mutex
	bears                        int
	flying, most, asked, refused int
}

func (c *crowd) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.asked++
	c.flying++
	c.most = max(c.most, c.flying)
	refuse := c.flying > c.bears
	if refuse {
		c.refused++
	}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.flying--
	}()
	w := &http.Response{StatusCode: 200, ProtoMajor: 1, Header: http.Header{}, ContentLength: 5, Body: io.NopCloser(strings.NewReader("value"))}
	if refuse {
		w.StatusCode = c.status
		w.Header.Set("Retry-After", c.after)
		time.Sleep(5 * ms)
		return w, nil
	}
	time.Sleep(30 * ms)
	return w, nil
}

// counts returns the counts since the last call.
func (c *crowd) counts() (most, asked, refused int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	most, asked, refused = c.most, c.asked, c.refused
	c.most, c.asked, c.refused = 0, 0, 0
	return most, asked, refused
}

// TestThrottled checks that the requests in flight to a server that throttles fall to
// what it bears, and rise again when it bears more, for a store of a plain web server and
// for one with an adaptive limit.
func TestThrottled(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		after  string
		limits inflight.Limits
	}{
		"429":                    {429, "", inflight.Limits{}},
		"429, adaptive":          {429, "", inflight.Adaptive()},
		"503 for a second":       {503, "1", inflight.Limits{}},
		"503, adaptive":          {503, "1", inflight.Adaptive()},
		"429 for 2 s, on a date": {429, "Sat, 01 Jan 2000 00:00:02 GMT", inflight.Limits{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &crowd{status: c.status, after: c.after, bears: 20}
				limiter := inflight.New(c.limits)
				s := open(t, "http://crowd/x", httpstore.Options{Attempts: 20, Pause: 50 * ms, Transport: server}).Limited(limiter)
				drive := func(wanted, n int) {
					var all sync.WaitGroup
					for range wanted {
						all.Go(func() {
							for range n / wanted {
								whole(t, s)
							}
						})
					}
					all.Wait()
				}
				drive(100, 200)
				begun, _, refused := server.counts()
				if refused == 0 || limiter.Limit() > 40 {
					t.Errorf("of a burst of %d, %d were refused; the limit is %d", begun, refused, limiter.Limit())
				}
				drive(100, 4000)
				most, asked, refused := server.counts()
				t.Logf("%d at a time, then %d; %d of %d refused", begun, most, refused, asked)
				if most > 60 || refused > asked/20 {
					t.Errorf("%d at a time, %d of %d were refused", most, refused, asked)
				}
				server.bears = 1000
				drive(100, 10_000)
				if most, _, refused = server.counts(); most != 100 || refused > 0 {
					t.Errorf("recovered to %d at a time, %d refused", most, refused)
				}
			})
		})
	}
}

// TestRestart checks that a server that restarts gets as many requests as before.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := inflight.New(inflight.Limits{First: 8})
		s := open(t, "http://crowd/x", httpstore.Options{Transport: &scripted{statuses: []int{503, 502, 0, 200}}}).Limited(limiter)
		if _, _, err := get(t, s, "k", store.Request{}); err != nil || limiter.Limit() != 8 {
			t.Errorf("the limit is %d, error %v", limiter.Limit(), err)
		}
	})
}

// TestSharedLimiter checks that the stores of a host share its limiter, that of a plain
// web server or that of an object store.
func TestSharedLimiter(t *testing.T) {
	limiter := func(url string, opt httpstore.Options) *inflight.Limiter { return open(t, url, opt).Limiter() }
	a := limiter("http://shared.example/x", httpstore.Options{})
	if b := limiter("http://shared.example:80/y", httpstore.Options{}); a != b || a.Most() != 0 {
		t.Error("two stores of one host have two limiters")
	}
	if b := limiter("https://shared.example/x", httpstore.Options{}); a == b {
		t.Error("two ports of one host have one limiter")
	}
	s := open(t, "http://shared.example/x", httpstore.Options{Part: 8 << 20})
	if l := s.Limiter(); l.Most() != 256 || l.Limit() != 32 || store.TraitsOf(s).Requests != 256 || l == a {
		t.Errorf("the limiter of an object store permits %d requests, at most %d", l.Limit(), l.Most())
	}
}
