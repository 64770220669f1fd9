// SPDX-License-Identifier: Apache-2.0

package inflight_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/inflight"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBroken = errors.New("broken")

var errBusy = driver.Throttled(errors.New("slow down"), 0)

// host is a server that answers after a while.
type host struct {
	serve          func(flying int) (time.Duration, error)
	flying, most   int
	asked, refused int
	mu             sync.Mutex
}

// request makes one request of 1 MiB.
func (h *host) request(l *inflight.Limiter) error {
	h.mu.Lock()
	h.flying++
	h.asked++
	h.most = max(h.most, h.flying)
	takes, err := h.serve(h.flying)
	if err != nil {
		h.refused++
	}
	h.mu.Unlock()
	time.Sleep(takes)
	h.mu.Lock()
	h.flying--
	h.mu.Unlock()
	if err == nil {
		l.Moved(1 << 20)
	}
	return err
}

// drive makes n requests, as many at a time as the limiter permits but at most wanted. It
// returns the time that they take. Refused requests are made again.
func (h *host) drive(t *testing.T, l *inflight.Limiter, wanted, n int) time.Duration {
	t.Helper()
	begin := time.Now()
	var all sync.WaitGroup
	var next atomic.Int64
	for range wanted {
		all.Go(func() {
			for next.Add(1) <= int64(n) {
				for err := errBusy; err != nil; {
					p, failed := l.Acquire(t.Context())
					if failed != nil {
						t.Error(failed)
						return
					}
					err = h.request(l)
					p.Release(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(begin)
}

// steady answers every request after 30 ms.
func steady(int) (time.Duration, error) { return 30 * time.Millisecond, nil }

// TestNoLimit checks that a host that does not throttle gets all requests at once from
// stores without a first limit, and 32 at once from the others.
func TestNoLimit(t *testing.T) {
	for wanted, limits := range map[int]inflight.Limits{5000: {}, 32: inflight.Adaptive()} {
		synctest.Test(t, func(t *testing.T) {
			l, h := inflight.New(limits), &host{serve: steady}
			if took := h.drive(t, l, wanted, 10*wanted); took != 300*time.Millisecond || h.most != wanted {
				t.Errorf("%d requests at a time took %v, %d in flight", wanted, took, h.most)
			}
		})
	}
	var none *inflight.Limiter
	p, err := none.Acquire(t.Context())
	p.Release(errBusy)
	if none.Moved(1); err != nil || none.Most() != 0 || none.Limit() < 1e9 {
		t.Error("a nil limiter limits")
	}
}

// TestGrows checks that the limit finds the number of requests that the host can answer
// at once.
func TestGrows(t *testing.T) {
	for name, c := range map[string]struct {
		serve  func(flying int) (time.Duration, error)
		wanted int
		atMost time.Duration // for 20,000 requests
		limits [2]int        // least and largest limit at the end
	}{
		// Without a limit, 20,000 requests take 20000/400*30 ms = 1.5 s, and with 256 at
		// a time 2.34 s.
		"without end": {steady, 400, 3300 * time.Millisecond, [2]int{256, 256}},
		// More than 64 requests at a time only make each of them slower.
		"a full line": {func(flying int) (time.Duration, error) {
			return max(30*time.Millisecond, time.Duration(flying)*30*time.Millisecond/64), nil
		}, 400, 12 * time.Second, [2]int{48, 108}},
		"full at 32": {func(flying int) (time.Duration, error) {
			return max(30*time.Millisecond, time.Duration(flying)*30*time.Millisecond/32), nil
		}, 400, 20 * time.Second, [2]int{32, 48}},
		"not wanted": {steady, 32, 19 * time.Second, [2]int{32, 32}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, h := inflight.New(inflight.Adaptive()), &host{serve: c.serve}
				took := h.drive(t, l, c.wanted, 20_000)
				t.Logf("%v, limit %d, %d in flight", took, l.Limit(), h.most)
				if n := l.Limit(); n < c.limits[0] || n > c.limits[1] || took > c.atMost || h.most > 256 {
					t.Errorf("took %v, at most %d in flight, the limit is %d", took, h.most, n)
				}
			})
		})
	}
}

// TestHalves checks that the limit is halved once for all requests that were in flight
// when the host began to throttle, down to 1, and that it grows again.
func TestHalves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := inflight.New(inflight.Adaptive())
		acquire := func(n int) (list []inflight.Permit) {
			for range n {
				p, ok := l.TryAcquire()
				if !ok {
					t.Fatalf("%d of %d places with limit %d", len(list), n, l.Limit())
				}
				list = append(list, p)
			}
			if _, ok := l.TryAcquire(); ok {
				t.Fatalf("more than %d places", n)
			}
			return list
		}
		for n := 32; n >= 1; n /= 2 {
			for _, p := range acquire(n) {
				p.Release(errBusy)
			}
			if want := max(1, n/2); l.Limit() != want {
				t.Fatalf("the limit of %d became %d, want %d", n, l.Limit(), want)
			}
		}
		rounds := 0
		for ; l.Limit() < 32; rounds++ {
			before := l.Limit()
			for _, p := range acquire(before) {
				p.Release(nil)
			}
			if grown := l.Limit() - before; grown != min(max(1, before/8), 32-before) {
				t.Fatalf("the limit of %d grew by %d", before, grown)
			}
		}
		if rounds != 22 {
			t.Errorf("the limit took %d rounds from 1 to 32", rounds)
		}
	})
}

// TestOthersDoNotHalve checks that lost and cancelled requests leave the limit.
func TestOthersDoNotHalve(t *testing.T) {
	l := inflight.New(inflight.Adaptive())
	for _, err := range []error{driver.Temporary(errBroken, 0), driver.TimedOut(errBroken), context.Canceled, errBroken, nil} {
		p, _ := l.TryAcquire()
		if p.Release(err); l.Limit() != 32 {
			t.Errorf("after %v the limit is %d", err, l.Limit())
		}
	}
}

// TestThrottled checks requests to a host that refuses more than 50 at a time, for stores
// with and without a first limit: the requests in flight fall and recover, few requests
// are refused, and the host always has work. When it bears more again, it gets more.
func TestThrottled(t *testing.T) {
	for name, limits := range map[string]inflight.Limits{"adaptive": inflight.Adaptive(), "free": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, bears := inflight.New(limits), 50
				h := &host{serve: func(flying int) (time.Duration, error) {
					if flying > bears {
						return 5 * time.Millisecond, errBusy
					}
					return 30 * time.Millisecond, nil
				}}
				took := h.drive(t, l, 300, 10_000)
				// 50 at a time take 6 s.
				t.Logf("%v, %d of %d refused", took, h.refused, h.asked)
				if took > 12*time.Second || h.refused > h.asked/20+300 {
					t.Errorf("took %v, %d of %d refused", took, h.refused, h.asked)
				}
				bears, h.most, h.refused = 1000, 0, 0
				if h.drive(t, l, 300, 50_000); h.most < 256 || h.refused > 0 {
					t.Errorf("recovered to %d in flight", h.most)
				}
			})
		})
	}
}

// TestWaiters checks that places go to those who wait in the order of arrival, and that
// one who stops waiting loses none.
func TestWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := inflight.New(inflight.Limits{First: 1})
		held, _ := l.TryAcquire()
		var order []int
		stopped, stop := context.WithCancel(t.Context())
		for i := range 10 {
			ctx := t.Context()
			if i%3 == 0 {
				ctx = stopped
			}
			go func() {
				p, err := l.Acquire(ctx)
				if (err != nil) != (i%3 == 0) {
					t.Errorf("%d: error %v", i, err)
				}
				if err == nil {
					order = append(order, i)
					p.Release(nil)
				}
			}()
			synctest.Wait()
		}
		stop()
		synctest.Wait()
		held.Release(nil)
		synctest.Wait()
		if len(order) != 6 || order[0] != 1 || order[1] != 2 || order[2] != 4 || order[5] != 8 {
			t.Errorf("places went to %v", order)
		}
	})
}

// TestCancelledAtOnce checks that a place is passed on if it comes to one who has just
// stopped waiting.
func TestCancelledAtOnce(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			l := inflight.New(inflight.Limits{First: 1})
			held, _ := l.TryAcquire()
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				if p, err := l.Acquire(ctx); err == nil {
					p.Release(nil)
				}
			}()
			synctest.Wait()
			cancel()
			held.Release(nil)
			synctest.Wait()
			if _, ok := l.TryAcquire(); !ok {
				t.Fatal("the place is lost")
			}
			if _, ok := l.TryAcquire(); ok {
				t.Fatal("a place too many")
			}
		})
	}
}

// TestCrowd takes and gives back places on several goroutines, some of which do not wait
// for them.
func TestCrowd(t *testing.T) {
	l := inflight.New(inflight.Limits{First: 3})
	var all sync.WaitGroup
	var flying atomic.Int32
	for i := range 8 {
		all.Go(func() {
			for n := range 2000 {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+n)%2 == 0 {
					go cancel()
				}
				if p, err := l.Acquire(ctx); err == nil {
					if flying.Add(1) > 3 {
						t.Error("more than three places")
					}
					runtime.Gosched()
					flying.Add(-1)
					p.Release(nil)
				}
				cancel()
			}
		})
	}
	all.Wait()
}

// TestForgets checks that a limiter begins again after a minute without requests.
func TestForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := inflight.New(inflight.Limits{First: 8})
		once := func(err error) int {
			p, _ := l.Acquire(t.Context())
			p.Release(err)
			return l.Limit()
		}
		once(errBusy)
		time.Sleep(59 * time.Second)
		if n := once(driver.Temporary(errBroken, 0)); n != 1 {
			t.Errorf("after 59 s the limit is %d", n)
		}
		time.Sleep(61 * time.Second)
		if n := once(nil); n != 8 {
			t.Errorf("after a minute the limit is %d", n)
		}
	})
}

// TestShared checks that callers with the same host and limits share a limiter, which
// goes with the last of them.
func TestShared(t *testing.T) {
	a, b := inflight.Of("h:1", inflight.Adaptive()), inflight.Of("h:1", inflight.Adaptive())
	if a != b || a == inflight.Of("h:2", inflight.Adaptive()) || a == inflight.Of("h:1", inflight.Limits{}) {
		t.Error("hosts share limiters, or one has several")
	}
	p, _ := a.TryAcquire()
	if p.Release(errBusy); b.Limit() != 1 {
		t.Errorf("the limit is %d", b.Limit())
	}
	runtime.KeepAlive(a)
}

// TestNoAllocation checks that a request allocates nothing, even if it waits.
func TestNoAllocation(t *testing.T) {
	l := inflight.New(inflight.Limits{First: 1})
	if n := testing.AllocsPerRun(1000, func() {
		p, _ := l.Acquire(t.Context())
		p.Release(nil)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	ended, next := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for range next {
			p, _ := l.Acquire(context.Background())
			p.Release(nil)
			ended <- struct{}{}
		}
	}()
	n := testing.AllocsPerRun(1000, func() {
		p, _ := l.Acquire(context.Background())
		next <- struct{}{}
		runtime.Gosched()
		p.Release(nil)
		<-ended
	})
	close(next)
	if <-ended; n != 0 {
		t.Errorf("%v allocations of a request that waits", n)
	}
}

// BenchmarkLimiter measures one request through a limiter.
func BenchmarkLimiter(b *testing.B) {
	l := inflight.New(inflight.Limits{})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p, _ := l.Acquire(context.Background())
			l.Moved(1)
			p.Release(nil)
		}
	})
}

// TestDoStops checks that a cancellation ends the wait of Do at once, and that the place
// is not lost.
func TestDoStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		full := inflight.New(inflight.Limits{First: 1})
		held, _ := full.Acquire(ctx)
		err := driver.Policy{}.Do(ctx, func(ctx context.Context) error {
			return full.Do(ctx, func(context.Context) error { return nil })
		})
		if ctx.Err() == nil || !errors.Is(err, ctx.Err()) || time.Since(begin) > time.Second {
			t.Errorf("error %v after %v", err, time.Since(begin))
		}
		held.Release(nil)
		if err := full.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		if p, ok := full.TryAcquire(); !ok {
			t.Error("the place of a cancelled request is lost")
		} else {
			p.Release(nil)
		}
	})
}
