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
	// changeTries is the number of attempts to plan and publish a change while
	// concurrent writers publish first.
	changeTries = 32
	// LongestPause bounds the pause between two attempts in a store that answers at once.
	LongestPause = 50 * time.Millisecond
	// crowd is the number of writers that share a node without starving one. In a store
	// that answers late, pauses grow to the time that so many attempts take.
	crowd = 16
	// farthestPause bounds the pause between two attempts in any store.
	farthestPause = 10 * time.Second
)

// Final is a conflict that remains when the change is tried again.
type Final interface {
	error
	Final()
}

// Retry calls do, with random pauses, until it returns no [store.ErrConflict]. It does
// not repeat a call after a [Final] conflict, for a node that is held, or if the change
// was published.
func Retry(ctx context.Context, do func() error) (err error) {
	pause := time.Millisecond
	for range changeTries {
		begin := time.Now()
		if err = do(); !errors.Is(err, store.ErrConflict) || isFinal(err) {
			return err
		}
		took := time.Since(begin)
		pause = max(pause, min(took, farthestPause))
		select {
		case <-time.After(rand.N(pause)): // random, so that writers do not conflict again
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, max(LongestPause, crowd*took), farthestPause)
	}
	return fmt.Errorf("%w; gave up after %d tries", err, changeTries)
}

// isFinal reports whether a conflict stays when the change is tried again.
func isFinal(err error) bool {
	var final Final
	return errors.As(err, &final) || errors.Is(err, ErrHeld) || errors.Is(err, ErrIncomplete)
}
