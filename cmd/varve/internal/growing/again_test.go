// SPDX-License-Identifier: Apache-2.0

package growing

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/rechunk"
)

// TestAgain checks after which errors --by looks again: after those of other writers, and
// of a rechunk that runs.
func TestAgain(t *testing.T) {
	for _, c := range []struct {
		err   error
		tries int
	}{
		{nil, 1},
		{zarr.ErrInvalidArgument, 1},
		{&growth.Duplicates{}, 1},
		{zarr.ErrConflict, 2},
		{rechunk.ErrClaimed, 1}, // it may be dead
		{fmt.Errorf("%w: %w", rechunk.ErrClaimed, zarr.ErrLocked), 2},
	} {
		tries := 0
		err := again(t.Context(), func() error {
			if tries++; tries == 1 {
				return c.err
			}
			return nil
		}, func() error { return nil })
		if tries != c.tries || tries == 1 && err != c.err {
			t.Errorf("%v: %d tries, %v, want %d", c.err, tries, err, c.tries)
		}
	}
}

// TestAgainWaits looks at arrays whose other writer takes a while between its documents.
func TestAgainWaits(t *testing.T) {
	var ended atomic.Bool
	time.AfterFunc(20*time.Millisecond, func() { ended.Store(true) })
	err := again(t.Context(), func() error {
		if !ended.Load() {
			return zarr.ErrConflict
		}
		return nil
	}, func() error { return nil })
	if err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = again(ctx, func() error { return zarr.ErrConflict }, func() error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
