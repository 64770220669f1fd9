package store

import (
	"context"
	"time"
)

// lockGrace is how long a lock is still waited for once the caller has given up, where
// the change is to be finished: writers hold most locks for less.
const lockGrace = 200 * time.Millisecond

type finishingKey struct{}

// Finishing returns a context for what is to be done although its caller may give up: it
// does not end with ctx. Only waits for locks end soon after ctx has, since another
// writer may hold a lock without end.
func Finishing(ctx context.Context) context.Context {
	if ctx.Done() == nil { // it never ends, or it is such a context already
		return ctx
	}
	return context.WithValue(context.WithoutCancel(ctx), finishingKey{}, ctx)
}

// awaiting returns the context in which a lock is waited for: ctx, which also ends where
// its caller has given up.
func awaiting(ctx context.Context) (context.Context, context.CancelFunc) {
	caller, finishing := ctx.Value(finishingKey{}).(context.Context)
	if !finishing {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(caller, func() {
		select {
		case <-time.After(lockGrace):
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		stop()
		cancel()
	}
}
