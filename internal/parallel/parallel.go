// SPDX-License-Identifier: Apache-2.0

// Package parallel runs work in several goroutines and returns the first error. No other
// package starts goroutines that cancel each other. See [Group.Wait] for the reason.
package parallel

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Group is work in several goroutines. The first error cancels the rest.
type Group struct {
	parent context.Context
	cancel context.CancelCauseFunc
	work   errgroup.Group
	failed sync.Once
	first  error
}

// New returns a group and the context of its goroutines. The context ends with the first
// error, and when Wait returns.
func New(ctx context.Context) (*Group, context.Context) {
	g := &Group{parent: ctx}
	within, cancel := context.WithCancelCause(ctx)
	g.cancel = cancel
	return g, within
}

// SetLimit makes Go wait while n goroutines run.
func (g *Group) SetLimit(n int) { g.work.SetLimit(n) }

// Go calls part in a new goroutine. A panic is an error.
func (g *Group) Go(part func() error) {
	g.work.Go(func() error {
		// errgroup gets no error: it would return the first one to return, which may be a
		// cancellation.
		g.Fail(safely(part))
		return nil
	})
}

func safely(part func() error) (err error) {
	defer Recover(&err)
	return part()
}

// Fail cancels the group with an error, unless that is nil. Only the first error counts.
func (g *Group) Fail(err error) {
	if err != nil {
		g.failed.Do(func() {
			// Store the error before the cancellation, which makes the other goroutines
			// fail.
			g.first = err
			g.cancel(err)
		})
	}
}

// Wait waits for all goroutines and returns the first error. err, if not nil, is an error
// of the caller, such as that of a listing which fed the goroutines.
//
// After the first error, the other goroutines fail with [context.Canceled]. Wait drops
// these errors, so that a full disk is never reported as an interrupt.
func (g *Group) Wait(err error) error {
	// The caller may have seen a cancellation that a goroutine caused. Fail ignores it
	// then, because the first error counts.
	g.Fail(err)
	_ = g.work.Wait() // the goroutines report errors to Fail
	// Goroutines that end without an error after a cancellation by the caller may have
	// skipped work.
	g.Fail(g.parent.Err())
	g.cancel(nil)
	return g.first
}

const (
	// batchesAhead is the length of a batch in multiples of the calls that run at once.
	// Longer batches wait less often for their slowest call.
	batchesAhead = 4
	// bytesAhead bounds the memory of a batch: no more calls start once it holds so much.
	bytesAhead = 1 << 20
)

// Prefetch calls open for the numbers below n, at most atATime at once, and passes the
// results to yield in order until yield returns false. It reports whether yield always
// returned true. It works in batches: no call of open runs while yield does. The first
// batch has first calls, and the next ones are longer, because a caller may want few
// results. open also returns the size of its result in bytes.
func Prefetch[T any](n, first, atATime int, open func(i int) (v T, bytes int), yield func(T) bool) bool {
	atATime = min(atATime, n)
	longest := min(n, atATime*batchesAhead)
	if atATime == 1 {
		// Without concurrency, a longer batch would only delay the first result.
		longest = 1
	}
	results := make([]T, 0, longest)
	for done, length := 0, min(first, longest); done < n; length = min(2*length, longest) {
		results = results[:min(length, n-done)]
		opened := batch(results, atATime, func(i int) (T, int) { return open(done + i) })
		for i := range opened {
			if !yield(results[i]) {
				return false
			}
		}
		// The caller has the results now. Do not keep them in memory.
		clear(results)
		done += opened
	}
	return true
}

// batch fills results from the front until they hold bytesAhead bytes, at least the
// first one, and returns how many it filled.
func batch[T any](results []T, atATime int, open func(i int) (v T, bytes int)) int {
	var claimed, taken atomic.Int64
	work := func() {
		for taken.Load() < bytesAhead {
			// Claims are in order, so the results before the last claimed one have no
			// gap.
			i := int(claimed.Add(1)) - 1
			if i >= len(results) {
				return
			}
			var bytes int
			results[i], bytes = open(i)
			taken.Add(int64(bytes))
		}
	}
	var others sync.WaitGroup
	for range min(atATime, len(results)) - 1 {
		others.Go(work)
	}
	// The calling goroutine works, too, so one call at a time needs no goroutine.
	work()
	others.Wait()
	// A goroutine that finds no more work has advanced the counter, perhaps past the end.
	return min(int(claimed.Load()), len(results))
}
