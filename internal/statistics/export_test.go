// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"context"
	"time"
)

// Waiting calls wait in place of waiting, and returns a function that undoes this.
func Waiting(instead func()) (undo func()) {
	was := wait
	wait = func(ctx context.Context, _ time.Duration) error {
		instead()
		return ctx.Err()
	}
	return func() { wait = was }
}

// Bounding sets the most bytes of blocks, and returns a function that undoes this.
func Bounding(most int64) (undo func()) {
	was := mostHeld
	mostHeld = most
	return func() { mostHeld = was }
}

// Awaited waits for the answer of a store that never comes.
func Awaited(ctx context.Context) bool { return (&look{done: make(chan struct{})}).isKept(ctx) }
