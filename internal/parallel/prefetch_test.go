// SPDX-License-Identifier: Apache-2.0

package parallel

import (
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestPrefetch compares Prefetch with a loop. The results are in order, up to where the
// caller stops. No call of open is repeated, runs during yield, or is far ahead of it,
// and at most the permitted number run at once.
func TestPrefetch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, atATime := rapid.IntRange(0, 200).Draw(t, "n"), rapid.IntRange(1, 9).Draw(t, "at a time")
		wanted := rapid.IntRange(0, 250).Draw(t, "wanted")
		weight := rapid.SampledFrom([]int{0, 1, bytesAhead / 3, bytesAhead, math.MaxInt32}).Draw(t, "weight")
		var opened, now atomic.Int64
		var got []int
		open := func(i int) (int, int) {
			if now.Add(1) > int64(atATime) {
				t.Errorf("more than %d at a time", atATime)
			}
			opened.Add(1)
			now.Add(-1)
			return i, weight
		}
		whole := Prefetch(n, 1, atATime, open, func(i int) bool {
			if now.Load() != 0 {
				t.Error("something is opened while the caller looks at a result")
			}
			most := len(got) + atATime*batchesAhead
			if weight >= bytesAhead {
				most = len(got) + atATime
			}
			if int(opened.Load()) > most+1 {
				t.Errorf("%d opened when %d were seen", opened.Load(), len(got))
			}
			got = append(got, i)
			return len(got) < wanted
		})
		want := make([]int, min(n, max(1, wanted)))
		for i := range want {
			want[i] = i
		}
		if !slices.Equal(got, want) || whole != (len(want) == n && (n == 0 || wanted > n)) {
			t.Errorf("%d of %d, %d wanted: %v, whole is %t", len(got), n, wanted, got, whole)
		}
		if whole && int(opened.Load()) != n {
			t.Errorf("%d opened of %d", opened.Load(), n)
		}
	})
}

// TestPrefetchOverlap checks with a fake clock that calls of open run concurrently.
func TestPrefetchOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, atATime = 127, 8
		begin := time.Now()
		Prefetch(n, 1, atATime, func(i int) (int, int) {
			time.Sleep(time.Second)
			return i, 0
		}, func(int) bool { return true })
		// Batches of 1, 2, 4, 8, 16, and of 32 from there on.
		if got := time.Since(begin).Round(time.Second); got != (1+1+1+1+2+4*3)*time.Second {
			t.Errorf("it took %v", got)
		}
	})
}
