// SPDX-License-Identifier: Apache-2.0

// Package parallel runs work in several goroutines and returns the first error. No other
// package starts goroutines that cancel each other. See [Group.Wait] for the reason.
package parallel

import (
	"context"
	"sync"

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
