// Package parallel runs work in several goroutines and reports why it failed. It is the
// only place that starts goroutines which cancel each other: see [Group.Wait] for the
// reason.
package parallel

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Group is work in several goroutines, of which the first failure ends the rest.
type Group struct {
	parent context.Context
	cancel context.CancelCauseFunc
	work   errgroup.Group
	once   sync.Once
	first  error
}

// New returns a group, and the context that its goroutines work with. That context ends
// with the first failure and when Wait returns.
func New(ctx context.Context) (*Group, context.Context) {
	g := &Group{parent: ctx}
	within, cancel := context.WithCancelCause(ctx)
	g.cancel = cancel
	return g, within
}

// SetLimit lets Go wait while n goroutines are at work.
func (g *Group) SetLimit(n int) { g.work.SetLimit(n) }

// Go does a part of the work in a goroutine of its own.
func (g *Group) Go(part func() error) {
	g.work.Go(func() error {
		g.Fail(part())
		return nil
	})
}

// Fail ends the work for a reason; nil is none. Only the first reason counts.
func (g *Group) Fail(err error) {
	if err != nil {
		g.once.Do(func() {
			g.first = err
			g.cancel(err)
		})
	}
}

// Wait waits for all goroutines and returns the first failure. err is what the caller
// found while it handed out the work, such as the end of a listing; nil stands for
// nothing.
//
// Everything that the group's context stops fails with [context.Canceled]. These errors
// say nothing of the reason, so that Wait drops them: a full disk is never reported as an
// interrupt.
func (g *Group) Wait(err error) error {
	g.Fail(err)
	_ = g.work.Wait() // its goroutines fail the group
	g.Fail(g.parent.Err())
	g.cancel(nil)
	return g.first
}
