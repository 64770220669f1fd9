// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr/store"
)

// TestTurnWithoutWaiting holds a turn that two keys may share. A call that does not wait
// for locks still waits for the turn, until its context ends.
func TestTurnWithoutWaiting(t *testing.T) {
	w := &worker{}
	w.key = store.MustKey("a/c/0")
	ctx := store.WithLocking(t.Context(), store.Locking{Timeout: -1})
	held, err := w.lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	if _, err := w.lock(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v, want %v", err, context.DeadlineExceeded)
	}
	time.AfterFunc(5*time.Millisecond, func() { held.Release(1) })
	again, err := w.lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	again.Release(1)
}

// TestTurnInBubble takes a turn first in a synctest bubble, and then outside: turns are
// shared by the whole process.
func TestTurnInBubble(t *testing.T) {
	w := &worker{}
	w.key = store.MustKey("bubble/c/0")
	take := func(t *testing.T) {
		held, err := w.lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held.Release(1)
	}
	synctest.Test(t, take)
	take(t)
}
