// SPDX-License-Identifier: Apache-2.0

package httpstore_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
)

// scripted answers with the statuses in order, and then repeats the last one.
type scripted struct {
	statuses []int
	after    func() string // Retry-After
	asked    int
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	status := s.statuses[min(s.asked, len(s.statuses)-1)]
	s.asked++
	if status == 0 {
		return nil, errors.New("connection lost")
	}
	h := http.Header{}
	if s.after != nil {
		h.Set("Retry-After", s.after())
	}
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, Header: h, ContentLength: 5, Body: io.NopCloser(strings.NewReader("value")), Request: r,
	}, nil
}

// TestRetry checks the number of retries and the pauses before them.
func TestRetry(t *testing.T) {
	said := func(s string) func() string { return func() string { return s } }
	for name, c := range map[string]struct {
		script   scripted
		ok       bool
		asked    int
		min, max time.Duration
	}{
		"at once":    {scripted{statuses: []int{200}}, true, 1, 0, 0},
		"lost":       {scripted{statuses: []int{0, 200}}, true, 2, 50 * time.Millisecond, 100 * time.Millisecond},
		"busy":       {scripted{statuses: []int{503, 429, 500, 502, 200}}, true, 5, 750 * time.Millisecond, 1500 * time.Millisecond},
		"always":     {scripted{statuses: []int{503}}, false, 5, 750 * time.Millisecond, 1500 * time.Millisecond},
		"never":      {scripted{statuses: []int{501}}, false, 1, 0, 0},
		"bad":        {scripted{statuses: []int{400}}, false, 1, 0, 0},
		"after 7 s":  {scripted{statuses: []int{429, 200}, after: said("7")}, true, 2, 7 * time.Second, 7 * time.Second},
		"too long":   {scripted{statuses: []int{429, 200}, after: said("11")}, false, 1, 0, 0},
		"for ages":   {scripted{statuses: []int{429, 200}, after: said("99999999999999999999")}, true, 2, 50 * time.Millisecond, 100 * time.Millisecond},
		"a year":     {scripted{statuses: []int{429, 200}, after: said("31536000")}, false, 1, 0, 0},
		"until then": {scripted{statuses: []int{503, 200}, after: func() string { return time.Now().Add(5 * time.Second).UTC().Format(http.TimeFormat) }}, true, 2, 4 * time.Second, 5 * time.Second},
		"nonsense":   {scripted{statuses: []int{503, 200}, after: said("soon")}, true, 2, 50 * time.Millisecond, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, "http://host/x", httpstore.Options{Pause: 100 * time.Millisecond, LongestPause: 10 * time.Second, Transport: &c.script})
				begin := time.Now()
				got, _, err := get(t, s, "k", store.Request{})
				if took := time.Since(begin); took < c.min || took > c.max {
					t.Errorf("took %v, want %v to %v", took, c.min, c.max)
				}
				if (err == nil) != c.ok || c.ok && string(got) != "value" || c.script.asked != c.asked {
					t.Errorf("%q and error %v after %d requests, want %d", got, err, c.script.asked, c.asked)
				}
			})
		})
	}
}

// TestRetryStops checks that a pause ends with the context.
func TestRetryStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, "http://host/x", httpstore.Options{Pause: time.Hour, LongestPause: time.Hour, Transport: &scripted{statuses: []int{503}}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if _, err := s.Stat(ctx, store.MustKey("k")); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("error is %v after %v", err, time.Since(begin))
		}
	})
}

// trickle is a body that sends a few bytes at a time.
type trickle struct {
	left  int
	every time.Duration
	step  int
}

func (r *trickle) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(r.every)
	n := copy(p[:min(r.left, r.step, len(p))], strings.Repeat("x", r.step))
	r.left -= n
	return n, nil
}

func (r *trickle) RoundTrip(q *http.Request) (*http.Response, error) {
	time.Sleep(r.every)
	return &http.Response{StatusCode: 200, ProtoMajor: 1, Header: http.Header{}, ContentLength: int64(r.left), Body: &tied{r, q.Context()}}, nil
}

// tied is a body that ends with the context of its request, as one of net/http does.
type tied struct {
	*trickle
	ctx context.Context
}

func (b *tied) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.trickle.Read(p)
}

func (b *tied) Close() error { return nil }

// TestSlow checks that a slow server does not count as stalled.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, "http://host/x", httpstore.Options{
			Attempts: 1, Stall: 61 * time.Second, LeastRate: -1, Transport: &trickle{60, time.Minute, 1},
		})
		if got, _, err := get(t, s, "k", store.Request{}); len(got) != 60 || err != nil {
			t.Errorf("%d bytes, error %v", len(got), err)
		}
	})
}

// TestLeastRate checks that a body that is too slow fails after one period, that the rate
// can be set, and that requests in flight share it.
func TestLeastRate(t *testing.T) {
	const half = 500 * time.Millisecond
	for name, c := range map[string]struct {
		step   int // bytes every half second
		rate   int64
		flying int
		ok     bool
	}{
		"a byte":           {1, 0, 1, false},
		"just too few":     {511, 0, 1, false},
		"just enough":      {512, 0, 1, true},
		"another rate":     {511, 1000, 1, true},
		"any rate":         {1, -1, 1, true},
		"a narrow line":    {16, 0, 32, true},
		"too narrow":       {15, 0, 32, false},
		"a byte among ten": {1, 0, 10, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, "http://host/x", httpstore.Options{Attempts: 1, LeastRate: c.rate, Transport: each(func() http.RoundTripper {
					return &trickle{100 * c.step, half, c.step}
				})})
				var all sync.WaitGroup
				for range c.flying {
					all.Go(func() {
						begin := time.Now()
						got, _, err := get(t, s, "k", store.Request{})
						if took := time.Since(begin); (err == nil) != c.ok || c.ok && len(got) != 100*c.step || !c.ok && took > 31*time.Second {
							t.Errorf("%d bytes after %v, error %v", len(got), took, err)
						}
					})
				}
				all.Wait()
			})
		})
	}
}

// each makes every request by a transport of its own.
type each func() http.RoundTripper

func (f each) RoundTrip(r *http.Request) (*http.Response, error) { return f().RoundTrip(r) }

// TestSlowTwice checks that a request to a server that is too slow or never answers is
// made at most twice, regardless of Attempts, and that Waiting is called.
func TestSlowTwice(t *testing.T) {
	for name, transport := range map[string]http.RoundTripper{
		"body":       &trickle{1 << 20, time.Second, 3},
		"no headers": waits{},
		"no answer":  late{},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries, told := 0, []string(nil)
				s := open(t, "http://host:81/x", httpstore.Options{Attempts: 9, Transport: tripper(func(r *http.Request) (*http.Response, error) {
					tries++
					return transport.RoundTrip(r)
				}), Waiting: func(host string) { told = append(told, host) }})
				begin := time.Now()
				_, _, err := get(t, s, "k", store.Request{})
				if took := time.Since(begin); err == nil || tries != 2 || took > 65*time.Second {
					t.Errorf("%d attempts in %v, error %v", tries, took, err)
				}
				if name != "no answer" && (!strings.Contains(err.Error(), "(Options.") || !slices.Equal(told, []string{"host:81"})) {
					t.Errorf("error %v, told %q", err, told)
				}
				if _, _, err := get(t, s, "k", store.Request{}); err == nil || len(told) > 1 {
					t.Errorf("again: error %v, told %q", err, told)
				}
			})
		})
	}
}

// TestNotWaiting checks that Waiting is not called for a server that sends fast enough,
// or that ends soon.
func TestNotWaiting(t *testing.T) {
	for name, transport := range map[string]*trickle{
		"long": {100 << 10, time.Second, 4 << 10}, "soon": {3, time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, "http://host/x", httpstore.Options{Transport: transport, Waiting: func(host string) { t.Errorf("told of %s", host) }})
				if _, _, err := get(t, s, "k", store.Request{}); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// waits never answers.
type waits struct{}

func (waits) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// late fails with a timeout, as a dialer does.
type late struct{}

func (late) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(time.Second)
	return nil, &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
}

// tripper is a transport that is a function.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestTricklingHeaders checks that a request whose headers never end fails.
func TestTricklingHeaders(t *testing.T) {
	var n atomic.Int32
	url := serve(t, wrap(fixture(), func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		n.Add(1)
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		for line := "HTTP/1.1 200 OK\r\n"; err == nil; line = "X-Line: x\r\n" {
			_, err = c.Write([]byte(line))
			time.Sleep(2 * time.Millisecond)
		}
	}))
	s := open(t, url, httpstore.Options{Attempts: 9, Stall: 50 * time.Millisecond})
	if _, _, err := get(t, s, key, store.Request{}); err == nil || !strings.Contains(err.Error(), "no complete headers for 50ms") || n.Load() != 2 {
		t.Errorf("%d attempts, error %v", n.Load(), err)
	}
}
