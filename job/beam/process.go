// SPDX-License-Identifier: Apache-2.0

package beam

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"varve.dev/zarr"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/internal/lease"
	"varve.dev/zarr/internal/sharing"
	"varve.dev/zarr/rechunk"
)

// process has the workers of this process. An engine may execute several bundles in one
// process at once; they share a worker, which executes one task at a time with all cores.
var process = struct {
	mu      sync.Mutex
	workers map[spec]*worker
}{workers: map[spec]*worker{}}

// worker is a worker that bundles share.
type worker struct {
	*job.Worker
	opening sync.Mutex
	users   int         // tasks and publications; guarded by process.mu
	idle    *time.Timer // closes the worker when no task has used it for a while; may be nil
}

// mostIdle is how long an unused worker stays open, and keeps other processes from
// publishing. A bundle that ends lets them publish at once; one that the engine gives up
// between two tasks does not tell.
var mostIdle = 5 * time.Second

// join returns the worker of this process, which is opened first if there is none. The
// caller parts from it at the end.
func (s spec) join(ctx context.Context) (*worker, error) {
	process.mu.Lock()
	w := process.workers[s]
	if w == nil {
		w = new(worker)
		process.workers[s] = w
	}
	w.users++
	if w.idle != nil {
		w.idle.Stop()
	}
	process.mu.Unlock()
	if err := w.open(ctx, s); err != nil {
		s.part(w)
		return nil, err
	}
	return w, nil
}

// open opens a worker, unless it is open.
func (w *worker) open(ctx context.Context, s spec) error {
	w.opening.Lock()
	defer w.opening.Unlock()
	if w.Worker != nil {
		return nil
	}
	return s.try(ctx, "the plan", func() (err error) {
		w.Worker, err = s.newWorker(ctx)
		return err
	})
}

// newWorker reads the plan, which must be the one that the pipeline was made for.
func (s spec) newWorker(ctx context.Context) (*job.Worker, error) {
	p, err := job.Open(ctx, s.Location)
	if err != nil {
		return nil, err
	}
	if p.ID != s.ID {
		return nil, fmt.Errorf("%w: %s was replaced by another plan since the pipeline was made", job.ErrPlan, s.Location)
	}
	return job.NewWorker(p, &job.Options{
		TakeOver: s.Ended, Exact: s.Exact,
		Note: func(node, text string) { log.Warnf(context.Background(), "%s: %s", node, text) },
	})
}

// part ends one use of a worker.
func (s spec) part(w *worker) {
	process.mu.Lock()
	defer process.mu.Unlock()
	if w.users--; w.users == 0 {
		w.idle = time.AfterFunc(mostIdle, func() { s.dismiss(context.Background()) })
	}
}

// leave lets others publish, unless another bundle is in a task: that one does so later.
// A task that begins meanwhile joins again.
func (s spec) leave(ctx context.Context) {
	process.mu.Lock()
	w := process.workers[s]
	idle := w != nil && w.users == 0
	process.mu.Unlock()
	if !idle {
		return
	}
	w.opening.Lock()
	defer w.opening.Unlock()
	if w.Worker == nil {
		return
	}
	if err := s.try(ctx, "leaving", w.Leave); err != nil {
		log.Warnf(ctx, "publishing may have to wait: %v", err)
	}
}

// dismiss closes the worker of this process, unless it is in use. Another task opens it
// again.
func (s spec) dismiss(ctx context.Context) {
	process.mu.Lock()
	w := process.workers[s]
	if w == nil || w.users > 0 {
		process.mu.Unlock()
		return
	}
	if w.idle != nil {
		w.idle.Stop()
	}
	delete(process.workers, s)
	process.mu.Unlock()
	w.opening.Lock()
	defer w.opening.Unlock()
	if w.Worker == nil {
		return
	}
	if err := w.Close(); err != nil {
		log.Warnf(ctx, "closing %s: %v", s.Location, err)
	}
}

// pause is the time before a second attempt. Before a third one it is four times as long,
// and at most 32 times.
var pause = time.Second

// fault fails steps in tests.
var fault = func(step string, t job.Task) error { return nil }

// try calls do until it succeeds, or has failed too often. While others still execute
// tasks, it waits for them.
func (s spec) try(ctx context.Context, what string, do func() error) error {
	patient := time.Now().Add(s.Patience)
	for n := 1; ; n++ {
		err := do()
		claimed := errors.Is(err, rechunk.ErrClaimed) && time.Now().Before(patient)
		switch {
		case err == nil || ctx.Err() != nil || isFinal(err):
			return err
		case claimed:
			n--
		case n >= s.Attempts:
			return err
		}
		retries.Inc(ctx, 1)
		log.Warnf(ctx, "%s: trying again: %v", what, err)
		if lease.Sleep(ctx, backoff(n)) != nil {
			return err
		}
	}
}

// isFinal reports whether another attempt would fail, too.
func isFinal(err error) bool {
	for _, final := range []error{job.ErrPlan, zarr.ErrInvalidArgument, zarr.ErrUnsupported, sharing.ErrUnfinished} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// backoff returns the time after so many attempts. It is random by a half, so that
// workers that have failed at once do not try again at once.
func backoff(attempts int) time.Duration {
	d := pause << min(2*max(0, attempts-1), 5)
	return d/2 + rand.N(d)
}
