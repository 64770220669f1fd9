// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
)

const (
	// changeTries bounds how often a change is planned, if other writers keep publishing
	// first.
	changeTries = 32
	// longestPause bounds the time between two tries.
	longestPause = 50 * time.Millisecond
)

// retry calls do until it no longer fails because of a concurrent writer, with random
// pauses. It does not retry conflicts that cannot go away: an unexpected shape, a
// reservation, or a change that was published already.
func retry(ctx context.Context, do func() error) (err error) {
	pause := time.Millisecond
	for range changeTries {
		var final *snapshot.Unexpected
		if err = do(); !errors.Is(err, ErrConflict) || errors.As(err, &final) || fault.Any(err, publish.ErrHeld, ErrIncomplete) {
			return err
		}
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, longestPause)
	}
	return fmt.Errorf("%w; gave up after %d tries", err, changeTries)
}
