// SPDX-License-Identifier: Apache-2.0

// Package retry repeats requests to a service that fail for temporary reasons, and limits
// the requests in flight to its host. Drivers of stores use it for every request.
//
// [Policy.Do] makes attempts until one succeeds or fails permanently. An attempt reports
// with [Temporary], [Throttled], [TimedOut] or [Network] that another one may succeed.
// Every other error is permanent. So an operation that must not be repeated, such as a
// conditional write whose answer was lost, returns an error of its own.
//
// A [Limiter] adapts the number of requests in flight to what the host bears. The stores
// of one process share the limiter of a host; see [LimiterOf].
package retry

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Policy says how often and after which pauses a request is repeated. The zero Policy has
// the defaults.
type Policy struct {
	// Attempts is the largest number of attempts; 0 means 5.
	Attempts int
	// Pause is the pause before the second attempt. It doubles with each further one, and
	// a random part of it is left out. 0 means 200 ms.
	Pause time.Duration
	// LongestPause is the longest pause. If a service asks for more, the request fails at
	// once. 0 means 30 s.
	LongestPause time.Duration
	// Total is the time after the first failure in which further attempts may begin. An
	// attempt in progress is not ended, because it may be receiving bytes. 0 means ten
	// times LongestPause, so 5 minutes; a negative Total sets no limit.
	Total time.Duration
	// Limiter, if not nil, limits the attempts in flight. An attempt holds its place
	// until it returns. It must not wait for another request of the same limiter.
	Limiter *Limiter
}

// mostTimedOut is the largest number of attempts of one request that may time out. A slow
// server usually stays slow, and each such attempt takes long.
const mostTimedOut = 2

// Do calls attempt until it returns nil or a permanent error, or the policy allows no
// further attempt. The error is that of the last attempt. After a cancellation it is that
// of ctx.
func (p Policy) Do(ctx context.Context, attempt func(ctx context.Context) error) error {
	p = p.WithDefaults()
	pause, timeouts := p.Pause, 0
	var failed time.Time // first failure
	for tries := 1; ; tries++ {
		err := p.once(ctx, attempt)
		if err == nil {
			return nil
		}
		// The caller has cancelled. Return that as the reason, not the error of the
		// attempt.
		if cause := ctx.Err(); cause != nil {
			return cause
		}
		f := find(err)
		if f == nil {
			return err
		}
		if f.timedOut {
			timeouts++
		}
		now := time.Now()
		if failed.IsZero() {
			failed = now
		}
		switch {
		case tries >= p.Attempts || timeouts >= mostTimedOut:
			return fmt.Errorf("%w (after %d attempts)", err, tries)
		// The server would refuse an earlier attempt.
		case f.after > p.LongestPause:
			return fmt.Errorf("%w (and the server asks to wait %v)", err, f.after)
		}
		// A part of the pause is random, so that requests that failed at the same time
		// are not repeated at the same time.
		wait := min(max(f.after, pause/2+rand.N(pause/2+1)), p.LongestPause)
		if p.Total > 0 && now.Add(wait).Sub(failed) > p.Total {
			return fmt.Errorf("%w (after %d attempts in %v)", err, tries, p.Total)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		pause = min(2*pause, p.LongestPause)
	}
}

// WithDefaults returns the policy with the defaults in place of zero values.
func (p Policy) WithDefaults() Policy {
	if p.Attempts <= 0 {
		p.Attempts = 5
	}
	if p.Pause <= 0 {
		p.Pause = 200 * time.Millisecond
	}
	if p.LongestPause <= 0 {
		p.LongestPause = 30 * time.Second
	}
	if p.Total == 0 {
		p.Total = 10 * min(p.LongestPause, math.MaxInt64/10)
	}
	return p
}

// once makes one attempt within the limiter.
func (p Policy) once(ctx context.Context, attempt func(ctx context.Context) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	permit, err := p.Limiter.Acquire(ctx)
	if err != nil {
		return err
	}
	// A panic in attempt must not keep the place.
	defer func() { permit.Release(err) }()
	return attempt(ctx)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
