// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
)

// TestEach calls work once for each number, with any number of cores, and takes only free
// cores.
func TestEach(t *testing.T) {
	for _, cores := range []int{0, 1, 2, 5} {
		for _, n := range []int64{0, 1, 3, 100} {
			t.Run(fmt.Sprint(cores, n), func(t *testing.T) {
				c := make(Cores, cores)
				if cores > 0 {
					c.Enter()
				}
				var busy, most atomic.Int64
				calls, workers := make([]atomic.Int64, n), make([]atomic.Int64, max(1, cores))
				err := c.Each(t.Context(), n, func(worker int, i int64) error {
					calls[i].Add(1)
					if workers[worker].Add(1) != 1 {
						t.Errorf("two goroutines have number %d", worker)
					}
					now := busy.Add(1)
					for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
					}
					busy.Add(-1)
					workers[worker].Add(-1)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				for i := range calls {
					if got := calls[i].Load(); got != 1 {
						t.Errorf("number %d was called %d times", i, got)
					}
				}
				if most.Load() > int64(max(1, cores)) {
					t.Errorf("%d goroutines worked at one time on %d cores", most.Load(), cores)
				}
				if want := min(1, cores); len(c) != want {
					t.Errorf("%d cores are taken in the end, want %d", len(c), want)
				}
			})
		}
	}
}

// TestEachWithinEach calls Each within Each on the same cores. No call waits for a core.
func TestEachWithinEach(t *testing.T) {
	c := make(Cores, 2)
	c.Enter()
	var calls atomic.Int64
	err := c.Each(t.Context(), 20, func(int, int64) error {
		return c.Each(t.Context(), 20, func(int, int64) error { calls.Add(1); return nil })
	})
	if err != nil || calls.Load() != 400 {
		t.Errorf("%d calls (%v), want 400", calls.Load(), err)
	}
}

// TestEachFails checks that Each ends with the first error, or that of the context.
func TestEachFails(t *testing.T) {
	c := make(Cores, 3)
	c.Enter()
	failed := errors.New("failed")
	var calls atomic.Int64
	err := c.Each(t.Context(), 1_000_000, func(_ int, i int64) error {
		calls.Add(1)
		if i == 10 {
			return failed
		}
		return nil
	})
	if !errors.Is(err, failed) || calls.Load() == 1_000_000 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Each(ctx, 3, func(int, int64) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want that of the context", err)
	}
}
