// SPDX-License-Identifier: Apache-2.0

package virtual

import "context"

// gate is a lock whose callers give up when their context ends. Whoever holds it may wait
// for a store.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

// lock waits for the gate. It returns the error of the context without it.
func (g gate) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g gate) unlock() { <-g }
