// SPDX-License-Identifier: Apache-2.0

// Package lease keeps claims that run out unless they are renewed. A process that has
// died, or was stopped for long, renews nothing, so that others can take its claim over.
package lease

import (
	"context"
	"time"
)

// Usual is how long a claim stays as it is until others may take it over.
const Usual = time.Minute

// perLease is how often a claim is renewed in the time of a lease. A request may fail, or
// take long.
const perLease = 4

// Keep calls renew again and again, until the context ends or renew reports that the
// claim is lost.
func Keep(ctx context.Context, lease time.Duration, renew func(context.Context) (ours bool)) {
	for Sleep(ctx, lease/perLease) == nil && renew(ctx) {
	}
}

// Sleep waits, or returns an error if the context ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
