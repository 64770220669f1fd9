// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"varve.dev/zarr/store"
)

const (
	// changeTries bounds how often a change is planned, if other writers keep publishing
	// first.
	changeTries = 32
	// LongestPause bounds the time between two tries.
	LongestPause = 50 * time.Millisecond
)

// Final is a conflict that does not go away when the change is tried again.
type Final interface {
	error
	Final()
}

// Retry calls do until it no longer fails because of a concurrent writer, with random
// pauses. It does not retry conflicts that cannot go away: a [Final] one, a reservation, or
// a change that was published already.
func Retry(ctx context.Context, do func() error) (err error) {
	pause := time.Millisecond
	for range changeTries {
		if err = do(); !errors.Is(err, store.ErrConflict) || isFinal(err) {
			return err
		}
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, LongestPause)
	}
	return fmt.Errorf("%w; gave up after %d tries", err, changeTries)
}

// isFinal reports whether a conflict stays when the change is tried again.
func isFinal(err error) bool {
	var final Final
	return errors.As(err, &final) || errors.Is(err, ErrHeld) || errors.Is(err, ErrIncomplete)
}
