// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"time"
)

// lockGrace is how long a call with a finishing context waits for a lock after its caller
// has cancelled. Most writers hold a lock for less.
const lockGrace = 200 * time.Millisecond

type finishingKey struct{}

// Finishing returns a context for work that must be completed even if the caller cancels.
// It does not end with ctx. Only the wait for a lock ends soon after ctx, because another
// writer may hold the lock forever.
func Finishing(ctx context.Context) context.Context {
	if ctx.Done() == nil { // it never ends, or is a finishing context already
		return ctx
	}
	return context.WithValue(context.WithoutCancel(ctx), finishingKey{}, ctx)
}

// awaiting returns the context for a wait for a lock. It ends with ctx and, if ctx is a
// finishing context, [lockGrace] after its caller has cancelled.
func awaiting(ctx context.Context) (context.Context, context.CancelFunc) {
	caller, finishing := ctx.Value(finishingKey{}).(context.Context)
	if !finishing {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	// Once the caller has cancelled, give the holder a little time to release the lock.
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
