package httpstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Causes of an attempt that is given up.
var (
	errStalled = errors.New("the server sends nothing")
	errSlow    = errors.New("the server sends too little")
)

// watched makes one attempt and cancels it when the server sends nothing, or too little.
func (s *Store) watched(ctx context.Context, attempt func(ctx context.Context) error) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.flying.Add(1)
	defer s.flying.Add(-1)
	w := &watch{s: s, cancel: cancel}
	w.timer = time.AfterFunc(s.options.Stall, func() { cancel(errStalled) })
	defer w.timer.Stop()
	defer w.notice()()
	err := attempt(context.WithValue(inner, watchKey{}, w))
	if err == nil || ctx.Err() != nil {
		return err
	}
	switch cause := context.Cause(inner); cause {
	case errStalled:
		return &passing{slow: true, err: fmt.Errorf("%w, or no whole headers for %v (Options.Stall waits longer)",
			errStalled, s.options.Stall)}
	case errSlow:
		return &passing{slow: true, err: fmt.Errorf("%w: less than its share of %d bytes a second over %v "+
			"(Options.LeastRate permits less)", errSlow, s.options.LeastRate, s.options.Stall)}
	}
	return err
}

// watch looks after one attempt. Its timer ends an attempt that is silent. A body that
// trickles keeps the timer from firing, so the bytes of each period are counted as well.
type watch struct {
	s      *Store
	cancel context.CancelCauseFunc
	timer  *time.Timer
	begin  time.Time // of the period
	got    int64     // bytes since then
	all    atomic.Int64
}

// noticed is the longest time after which somebody is told of a server that is slow.
const noticed = 5 * time.Second

// notice tells [Options.Waiting] once if little or nothing has come after a while. The
// function that it returns ends that: nothing is told after it.
func (w *watch) notice() (end func()) {
	o := &w.s.options
	if o.Waiting == nil || w.s.told.Load() {
		return func() {}
	}
	after := min(noticed, o.Stall/4)
	var mu sync.Mutex
	ended := false
	timer := time.AfterFunc(after, func() {
		mu.Lock()
		defer mu.Unlock()
		enough := max(1, w.s.share()*after.Seconds())
		if !ended && float64(w.all.Load()) < enough && !w.s.told.Swap(true) {
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

// share returns how many bytes a second one attempt has to get. Attempts share the rate,
// or else a narrow line would fail because many use it.
func (s *Store) share() float64 {
	return float64(s.options.LeastRate) / float64(max(1, s.flying.Load()))
}

type watchKey struct{}

// watching returns body as one that tells the watch of the attempt what comes.
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
		b.watch.came(n)
	}
	return n, err
}

// came notes that bytes have come, and ends an attempt that had too few in a period.
func (w *watch) came(n int) {
	w.timer.Reset(w.s.options.Stall)
	w.got += int64(n)
	w.all.Add(int64(n))
	took := time.Since(w.begin)
	if took < w.s.options.Stall {
		return
	}
	if float64(w.got) < w.s.share()*took.Seconds() {
		w.cancel(errSlow)
	}
	w.begin, w.got = w.begin.Add(took), 0
}
