// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// TestTwoSteps runs many goroutines with work in two steps, on budgets of any size. All
// of them end. Together they never exceed the budget, unless one requests more than its
// step may have.
func TestTwoSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, second := rapid.Int64Range(0, 40).Draw(t, "size"), rapid.Int64Range(0, 50).Draw(t, "second")
		work := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]int64 {
			return [2]int64{rapid.Int64Range(0, 60).Draw(t, "first step"), rapid.Int64Range(0, 60).Draw(t, "second step")}
		}), 1, 30).Draw(t, "work")
		b := NewInTwo(size, second)
		var taken, most, wrong atomic.Int64
		take := func(n int64) {
			now := taken.Add(n)
			for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
			}
		}
		var wg sync.WaitGroup
		for _, w := range work {
			wg.Go(func() {
				first, err := b.Acquire(context.Background(), w[0])
				take(first)
				more, moreErr := b.AcquireMore(context.Background(), w[1])
				take(more)
				if err != nil || moreErr != nil || first > w[0] || more > w[1] {
					wrong.Add(1)
				}
				taken.Add(-more)
				b.ReleaseMore(more)
				taken.Add(-first)
				b.Release(first)
			})
		}
		wg.Wait()
		if wrong.Load() > 0 {
			t.Fatalf("%d failed, or got more than they asked for", wrong.Load())
		}
		if most.Load() > max(1, size) || taken.Load() != 0 {
			t.Fatalf("%d of %d bytes were taken, %d in the end", most.Load(), size, taken.Load())
		}
		all, err := b.Acquire(context.Background(), 100)
		if least := max(1, size/4); err != nil || all < least {
			t.Fatalf("after all, %d bytes for first steps (%v), want %d at least", all, err, least)
		}
		if more, _ := b.AcquireMore(context.Background(), 100); more < min(second, max(1, size)-max(1, size/4)) {
			t.Fatalf("%d bytes for a second step beside them", more)
		}
	})
}

// TestStepsWait lets a first step wait for the bytes of second steps, and a second step
// for another one. Both waits end with the context, and no bytes are lost.
func TestStepsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewInTwo(100, 40)
		ctx, cancel := context.WithCancel(t.Context())
		first, _ := b.Acquire(ctx, 60)
		more, _ := b.AcquireMore(ctx, 40)
		var failed [2]error
		go func() { _, failed[0] = b.Acquire(ctx, 1) }()
		go func() { _, failed[1] = b.AcquireMore(ctx, 1) }()
		synctest.Wait()
		if failed[0] != nil || failed[1] != nil {
			t.Fatal("somebody did not wait")
		}
		cancel()
		synctest.Wait()
		if !errors.Is(failed[0], context.Canceled) || !errors.Is(failed[1], context.Canceled) {
			t.Errorf("%v, %v", failed[0], failed[1])
		}
		b.ReleaseMore(more)
		b.Release(first)
		if n, err := b.Acquire(t.Context(), 60); n != 60 || err != nil {
			t.Errorf("%d bytes (%v), want all", n, err)
		}
		if n, err := b.AcquireMore(t.Context(), 40); n != 40 || err != nil {
			t.Errorf("%d more bytes (%v), want all", n, err)
		}
	})
}

// TestFirstStepsMayFillUp checks that first steps can take all bytes except those of one
// second step, and that second steps can take all of theirs.
func TestFirstStepsMayFillUp(t *testing.T) {
	b, ctx := NewInTwo(100, 30), context.Background()
	few, _ := b.Acquire(ctx, 10)
	for range 3 {
		if n, err := b.AcquireMore(ctx, 30); n != 30 || err != nil {
			t.Fatalf("%d bytes (%v)", n, err)
		}
	}
	for range 3 {
		b.ReleaseMore(30)
	}
	if n, err := b.Acquire(ctx, 60); n != 60 || err != nil {
		t.Fatalf("%d bytes (%v)", n, err)
	}
	b.Release(60)
	b.Release(few)
}

func TestRatio(t *testing.T) {
	var r Ratio
	if n := r.Expect(1<<40, 7, 9); n != 7 {
		t.Errorf("%d expected before anything was seen", n)
	}
	r.Learn(0, 100)
	if n := r.Expect(100, 7, 9); n != 7 {
		t.Errorf("%d expected after a value of no bytes", n)
	}
	var wg sync.WaitGroup
	for i := range int64(101) {
		wg.Go(func() { r.Learn(i*(1<<10), 1<<20) })
	}
	wg.Wait()
	for _, tt := range []struct{ decoded, most, want int64 }{
		{1 << 20, 1 << 20, 96<<10*129/100 + spareBytes}, {1 << 30, 1 << 30, 96<<20*129/100 + spareBytes}, {0, 1 << 20, spareBytes},
		{1 << 20, 100, 100}, {1 << 62, 1<<63 - 1, 0}, {1<<63 - 1, 1 << 40, 1 << 40},
	} {
		if n := r.Expect(tt.decoded, 1, tt.most); n != tt.want && tt.want > 0 || n < 0 || n > tt.most {
			t.Errorf("%d bytes of %d, at most %d; want %d", n, tt.decoded, tt.most, tt.want)
		}
	}
	var one Ratio
	one.Learn(10<<20, 100<<20)
	if few, many := one.Expect(1<<20, 0, 1<<20), r.Expect(1<<20, 0, 1<<20); few < 4*many {
		t.Errorf("%d bytes after one value, %d after many: little more to spare", few, many)
	}
	// One value says what to expect of the next, but not to make room for five of them.
	if n := one.Ready(100<<20, 0, 1<<40); n < 10<<20*5/4 || n > 14<<20 {
		t.Errorf("%d bytes are made ready after one value of %d", n, 10<<20)
	}
	if few, ready := one.Expect(1<<20, 0, 1<<20), one.Ready(1<<20, 0, 1<<20); few != ready {
		t.Errorf("%d bytes of a short value are made ready, %d expected", ready, few)
	}
	var short Ratio
	short.Learn(18, 2)
	if n := short.Expect(1<<20, 1<<20, 1<<20); n != spareBytes {
		t.Errorf("%d bytes of a long value after one of 2 bytes", n)
	}
	r.Learn(1<<63-1, 0)
	if n := r.Expect(1<<63-1, 1, 1<<63-1); n != 1<<63-1 {
		t.Errorf("%d", n)
	}
}
