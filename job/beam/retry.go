// SPDX-License-Identifier: Apache-2.0

package beam

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"varve.dev/zarr"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/internal/lease"
	"varve.dev/zarr/internal/sharing"
	"varve.dev/zarr/rechunk"
)

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
